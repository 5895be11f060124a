//! Configuration files that make other programs run something; tools may read them, but not change
//! them.

use std::borrow::Cow;
use std::ffi::OsString;

use unicode_normalization::UnicodeNormalization as _;

use crate::text::is_invisible;

/// The files and folders that tools may read, but not change.
///
/// The [default](Self::default) lists the paths that `git`, version control systems like it,
/// editors, shells, debuggers and agents take for configuration, and run something for, without
/// being asked: entering, opening or viewing the folder is enough. [`iter`](Self::iter) gives each
/// with the program that reads it; `docs/files.md` has the same as a table.
///
/// Files that merely build or test a project (`Makefile`, `package.json`, `build.rs`,
/// `eslint.config.js`, the workflows of a CI service) are not in it: they are the work that tools
/// are for, and run only on a build, a test or a push.
///
/// ```
/// use toolbox::builtin::{ProtectedPaths, Workspace};
///
/// # fn main() -> std::io::Result<()> {
/// let more = ProtectedPaths::default().with("deploy/*.sh", "the nightly deployment");
/// assert!(more.iter().any(|path| path.path() == ".envrc" && path.read_by() == "direnv"));
/// let workspace = Workspace::open(".")?.protect(more);
/// // A list of its own, in place of the default.
/// let other = Workspace::open(".")?.protect(["policy/", "/locked.toml"]);
/// # Ok(())
/// # }
/// ```
///
/// # Paths
///
/// A path is one or several names, and covers a file or a folder with all that is in it, at any
/// depth below the workspace; with a `/` in front, at its top only. A name may hold one `*` for any
/// characters. Names are compared as the most lenient file system would: without regard to case, to
/// the form of accents (Unicode NFD), to invisible characters, to dots and blanks at the end and to
/// anything that follows a `:`, and a short name such as `GIT~1` matches each long name that it may
/// stand for.
///
/// Both the spelling of a path and its target, with links followed, are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPaths(Vec<ProtectedPath>);

/// A file or folder of a list of [`ProtectedPaths`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPath {
    path: Cow<'static, str>,
    read_by: Cow<'static, str>,
    beside: Option<&'static str>,
    names: Vec<Name>,
    /// `true` if it applies at the top of the workspace only.
    top: bool,
}

impl ProtectedPath {
    fn new(path: Cow<'static, str>, read_by: Cow<'static, str>) -> Self {
        let names = path.split(['/', '\\']).filter(|name| !name.is_empty()).map(Name::new);
        Self { names: names.collect(), top: path.starts_with('/'), path, read_by, beside: None }
    }

    /// Returns the path as it was given.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the program that reads it as configuration.
    #[must_use]
    pub fn read_by(&self) -> &str {
        &self.read_by
    }

    /// Returns the name that must be in the same folder for the path to be protected, if there is
    /// one.
    #[must_use]
    pub fn beside(&self) -> Option<&str> {
        self.beside
    }

    /// Returns `true` if the path, or a folder that it is in, is this one.
    fn covers(&self, path: &[String], stands: impl Fn(usize, &str) -> bool) -> bool {
        let last = path.len().checked_sub(self.names.len());
        let last = last.map(|last| if self.top { 0 } else { last });
        last.is_some_and(|last| {
            (0..=last).any(|at| {
                self.names.iter().zip(&path[at..]).all(|(name, found)| name.matches(found))
                    && self.beside.is_none_or(|beside| stands(at, beside))
            })
        })
    }
}

impl ProtectedPaths {
    /// Returns a list with nothing in it: every file of the workspace can be changed.
    #[must_use]
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Adds a path, and the program that reads it.
    #[must_use]
    pub fn with(
        mut self,
        path: impl Into<Cow<'static, str>>,
        read_by: impl Into<Cow<'static, str>>,
    ) -> Self {
        let path = ProtectedPath::new(path.into(), read_by.into());
        // A path without a name would match every path.
        if !path.names.is_empty() {
            self.0.push(path);
        }
        self
    }

    /// Removes a path, as it is spelled in the list.
    #[must_use]
    pub fn without(mut self, path: &str) -> Self {
        self.0.retain(|protected| protected.path != path);
        self
    }

    /// Returns the paths.
    pub fn iter(&self) -> impl Iterator<Item = &ProtectedPath> {
        self.0.iter()
    }

    /// Finds the entry that protects a path, given as its names. `stands` returns `true` if a
    /// folder, given as the number of names that lead to it, has an entry.
    pub(super) fn find(
        &self,
        path: &[OsString],
        stands: impl Fn(usize, &str) -> bool,
    ) -> Option<&ProtectedPath> {
        let path: Vec<String> = path.iter().map(|name| folded(&name.to_string_lossy())).collect();
        self.0.iter().find(|protected| protected.covers(&path, &stands))
    }
}

/// Lists the paths at which other programs find configuration, and run something for it.
impl Default for ProtectedPaths {
    fn default() -> Self {
        let mut paths = Self::none();
        for (read_by, listed) in READ_BY {
            for path in *listed {
                paths = paths.with(*path, *read_by);
            }
        }
        for path in BESIDE_HEAD {
            let mut path = ProtectedPath::new((*path).into(), GIT_LAYOUT.into());
            path.beside = Some("HEAD");
            paths.0.push(path);
        }
        paths
    }
}

impl<P: Into<Cow<'static, str>>> FromIterator<P> for ProtectedPaths {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Self {
        paths.into_iter().fold(Self::none(), |list, path| list.with(path, "the program"))
    }
}

impl<P: Into<Cow<'static, str>>, const N: usize> From<[P; N]> for ProtectedPaths {
    fn from(paths: [P; N]) -> Self {
        paths.into_iter().collect()
    }
}

impl<P: Into<Cow<'static, str>>> From<Vec<P>> for ProtectedPaths {
    fn from(paths: Vec<P>) -> Self {
        paths.into_iter().collect()
    }
}

/// A name of a path, folded, with the characters before and after its `*` if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Whole(String),
    Around(String, String),
}

impl Name {
    fn new(name: &str) -> Self {
        match name.split_once('*') {
            Some((before, after)) => Self::Around(folded(before), folded(after)),
            None => Self::Whole(folded(name)),
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Whole(whole) => name == whole || is_short_for(name, whole),
            Self::Around(before, after) => {
                name.len() >= before.len() + after.len()
                    && name.starts_with(before.as_str())
                    && name.ends_with(after.as_str())
            }
        }
    }
}

/// Folds a name as the most lenient file system would.
fn folded(name: &str) -> String {
    let name = name.split(':').next().unwrap_or_default();
    let seen = name.nfd().filter(|c| !is_invisible(*c));
    // By way of capitals, as `ſ` is `s` to a file system.
    let name: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    name.trim_end_matches(['.', ' ']).to_owned()
}

/// Returns `true` if a name such as `git~1` or `mcp~2.jso` may be the short name of a long one on
/// FAT and NTFS.
fn is_short_for(short: &str, long: &str) -> bool {
    let (base, extension) = short.rsplit_once('.').unwrap_or((short, ""));
    let Some((begin, number)) = base.split_once('~') else { return false };
    if begin.is_empty() || number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let long = long.trim_start_matches('.');
    let (stem, ending) = long.rsplit_once('.').unwrap_or((long, ""));
    let kept = |text: &str, most: usize| -> String {
        text.chars().filter(|c| !matches!(c, '.' | ' ')).take(most).collect()
    };
    // `~` and the number take the place of characters beyond the eighth.
    let most = 6.min(7_usize.saturating_sub(number.len()));
    begin == kept(stem, most) && extension == kept(ending, 3)
}

/// The reader of a folder that is laid out like a repository, with no `.git` above it.
const GIT_LAYOUT: &str = "git, in a folder laid out as a repository";

/// The names that make a folder with a `HEAD` a repository, or that git obeys there.
const BESIDE_HEAD: &[&str] = &[
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "hooks",
    "info",
    "modules",
    "objects",
    "refs",
    "reftable",
    "packed-refs",
    "worktrees",
];

/// The readers of configuration, and the paths that each reads.
const READ_BY: &[(&str, &[&str])] = &[
    // Version control.
    ("git", &[".git", ".gitmodules", ".gitconfig", ".gitattributes"]),
    // Without it no folder is a repository, and no project file is called so.
    (GIT_LAYOUT, &["HEAD"]),
    ("git, where `core.hooksPath` says so", &[".githooks", ".git-hooks"]),
    ("Husky, at a commit", &[".husky", ".huskyrc*"]),
    ("pre-commit, at a commit", &[".pre-commit-config.yaml", ".pre-commit-config.yml"]),
    (
        "Lefthook, at a commit",
        &["lefthook*.yml", "lefthook*.yaml", "lefthook*.toml", "lefthook*.json", ".lefthook*"],
    ),
    ("Overcommit, at a commit", &[".overcommit.yml", ".git-hooks.yml"]),
    ("simple-git-hooks, at a commit", &[".simple-git-hooks.*", "simple-git-hooks.*"]),
    ("lint-staged, at a commit", &[".lintstagedrc*", "lint-staged.config.*"]),
    ("Mercurial", &[".hg"]),
    ("Jujutsu", &[".jj"]),
    ("Sapling", &[".sl"]),
    ("Subversion", &[".svn"]),
    ("Darcs", &["_darcs"]),
    ("Pijul", &[".pijul"]),
    // Editors.
    ("Visual Studio Code and its relatives", &[".vscode", "*.code-workspace"]),
    ("Visual Studio", &[".vs"]),
    ("IDEs of JetBrains", &[".idea", ".run", ".fleet", "*.ipr", "*.iws"]),
    ("Zed", &[".zed", ".rules"]),
    (
        "Vim and Neovim",
        &[".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".vim", ".lvimrc", ".local.vimrc"],
    ),
    ("Emacs", &[".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.d"]),
    ("Helix", &[".helix"]),
    ("Sublime Text", &["*.sublime-project", "*.sublime-workspace"]),
    ("Eclipse", &[".project", ".settings", ".externalToolBuilders"]),
    ("Nova", &[".nova"]),
    ("Theia", &[".theia"]),
    // Environments that are entered with the folder.
    ("direnv", &[".envrc", ".direnv"]),
    (
        "mise",
        &[
            "mise*.toml",
            ".mise*.toml",
            ".mise",
            "mise/config*.toml",
            ".config/mise",
            ".config/mise*.toml",
        ],
    ),
    ("asdf and mise", &[".tool-versions"]),
    ("development containers", &[".devcontainer", ".devcontainer.json"]),
    ("Gitpod", &[".gitpod.yml"]),
    ("Replit", &[".replit"]),
    ("Project IDX", &[".idx"]),
    ("devbox", &["devbox.json"]),
    ("Flox", &[".flox"]),
    ("editors that enter a Python environment", &[".venv", "venv", "pyvenv.cfg"]),
    // Files that package managers run in place of the called program.
    ("Cargo and rust-analyzer", &[".cargo"]),
    ("rustup", &["rust-toolchain", "rust-toolchain.toml"]),
    ("npm and pnpm", &[".npmrc", ".pnpmfile.*", "pnpmfile.*"]),
    ("Yarn", &[".yarnrc", ".yarnrc.yml", ".yarn"]),
    ("Bun", &["bunfig.toml", ".bunfig.toml"]),
    ("Bundler", &[".bundle"]),
    ("Bazel", &[".bazelrc", "*.bazelrc", ".bazeliskrc", "tools/bazel"]),
    ("Buck", &[".buckconfig*"]),
    ("Maven", &[".mvn"]),
    ("Nix", &["flake.nix", "shell.nix"]),
    // What an editor or a runner of tests runs as it opens the folder.
    ("Python, where it starts", &["sitecustomize.py", "usercustomize.py", "*.pth"]),
    ("pytest, as it collects tests", &["conftest.py"]),
    ("Pylint and mypy", &[".pylintrc*", "pylintrc*", ".mypy.ini", "mypy.ini"]),
    ("ESLint", &[".eslintrc*", "eslint.config.*"]),
    ("Prettier", &[".prettierrc*", "prettier.config.*"]),
    ("Stylelint", &[".stylelintrc*", "stylelint.config.*"]),
    ("the language server of Lua", &[".luarc.json", ".luarc.jsonc"]),
    ("RuboCop", &[".rubocop.yml", ".rubocop"]),
    // What a service runs once it is pushed.
    ("workflows of GitHub", &[".github/workflows", ".github/actions"]),
    ("GitLab", &[".gitlab-ci.yml"]),
    ("Forgejo and Gitea", &[".forgejo", ".gitea"]),
    ("CircleCI", &[".circleci"]),
    // Debuggers and interpreters that read a file where they start.
    ("gdb and lldb", &[".gdbinit", ".lldbinit"]),
    (
        "interactive interpreters",
        &[
            ".pdbrc",
            ".pdbrc.py",
            ".irbrc",
            ".pryrc",
            ".Rprofile",
            ".Renviron",
            ".ghci",
            ".ocamlinit",
            ".iex.exs",
            ".octaverc",
        ],
    ),
    // A home folder as workspace.
    (
        "shells",
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".config/fish",
        ],
    ),
    ("OpenSSH", &[".ssh"]),
    (
        "the desktop session",
        &[
            ".config/autostart",
            ".config/systemd",
            ".config/environment.d",
            ".xprofile",
            ".xinitrc",
            ".xsession",
            ".pam_environment",
        ],
    ),
    ("git, of a user", &[".config/git"]),
    // Agents: instructions, commands, hooks and MCP servers.
    ("clients of MCP", &[".mcp.json", "mcp.json"]),
    ("this crate's own program", &["toolbox.jsonc", "toolbox.lock.json"]),
    (
        "agents of many makers",
        &["AGENTS.md", "AGENTS.override.md", "AGENT.md", ".agents", ".agent"],
    ),
    ("Claude Code", &["CLAUDE.md", "CLAUDE.local.md", ".claude", ".claude.json", ".claude-plugin"]),
    ("Codex", &[".codex"]),
    ("Gemini CLI", &["GEMINI.md", ".gemini"]),
    ("Qwen Code", &["QWEN.md", ".qwen"]),
    ("Cursor", &[".cursor", ".cursorrules"]),
    ("Windsurf", &[".windsurf", ".windsurfrules", ".codeium"]),
    (
        "GitHub Copilot",
        &[
            ".github/copilot-instructions.md",
            ".github/instructions",
            ".github/prompts",
            ".github/chatmodes",
            ".github/agents",
            ".github/skills",
            ".github/hooks",
            ".github/copilot",
            ".copilot",
        ],
    ),
    ("OpenCode", &["opencode.json", "opencode.jsonc", ".opencode", ".config/opencode"]),
    ("Crush", &["CRUSH.md", "CRUSH.local.md", "crush.json", ".crush.json", ".crush"]),
    ("Aider", &[".aider*"]),
    ("Cline", &[".clinerules", ".cline"]),
    ("Roo Code", &[".roo", ".roorules*", ".roomodes"]),
    ("Kilo Code", &[".kilocode", ".kilocodemodes", ".kilocoderules*"]),
    ("Continue", &[".continue", ".continuerules", ".continuerc.json"]),
    ("Goose", &[".goosehints", ".goose"]),
    ("Amazon Q and Kiro", &[".amazonq", ".kiro"]),
    ("Junie", &[".junie"]),
    ("Augment", &[".augment", ".augment-guidelines"]),
    ("Trae", &[".trae"]),
    ("OpenHands", &[".openhands", ".openhands_instructions"]),
    ("Amp", &[".amp"]),
    ("Factory", &[".factory"]),
    ("Warp", &["WARP.md", ".warp"]),
];
