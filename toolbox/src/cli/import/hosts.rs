//! The programs that servers are taken over from: their files, and the keys of the servers.

use std::path::{Path, PathBuf};

use crate::text::nearest_n;

/// A program with MCP servers in its settings.
#[derive(Debug)]
pub(in crate::cli) struct HostProgram {
    /// The name on the command line.
    pub(in crate::cli) name: &'static str,
    /// The keys that lead to the object of servers.
    pub(super) servers: &'static [&'static str],
    pub(super) variables: VariableSyntax,
    /// `true` if `~` at the head of a path is the home directory.
    pub(super) expands_home: bool,
    /// The key that `timeout` of an entry is here, and its unit in milliseconds; `None` if the
    /// program has no such key.
    pub(super) timeout: Option<(&'static str, f64)>,
    /// The file, and files of other versions and systems; the first folder is where it stands.
    files: &'static [(Folder, &'static str)],
    /// Files without servers that may switch them off or restrict them.
    settings: &'static [(Folder, &'static str)],
}

/// The variables that a program expands in strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableSyntax {
    /// None: strings are taken literally.
    Literal,
    /// `${NAME}` and `${NAME:-default}`.
    Shell,
    /// Those, and `$NAME`.
    BareShell,
    /// `${env:NAME}`, `${input:ID}`, `${workspaceFolder}`, `${userHome}`.
    Editor,
    /// `{env:NAME}`, as in the configuration of this program, and `{file:PATH}`.
    Own,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    Home,
    Config,
    AppData,
    Codex,
    Project,
}

/// Units of times, in milliseconds.
const MILLISECOND: f64 = 1.0;
const SECOND: f64 = 1000.0;

use Folder::{AppData, Codex, Config, Home, Project};

/// The programs, by the names of `--from`.
pub(super) const HOSTS: &[HostProgram] = &[
    HostProgram {
        name: "claude-desktop",
        servers: &["mcpServers"],
        variables: VariableSyntax::Literal,
        expands_home: false,
        timeout: None,
        files: &[
            (Config, "Claude/claude_desktop_config.json"),
            (Home, "Library/Application Support/Claude/claude_desktop_config.json"),
            (AppData, "Claude/claude_desktop_config.json"),
        ],
        settings: &[],
    },
    HostProgram {
        name: "claude-code",
        servers: &["mcpServers"],
        variables: VariableSyntax::Shell,
        expands_home: false,
        timeout: Some(("timeout", MILLISECOND)),
        files: &[(Home, ".claude.json"), (Project, ".mcp.json")],
        settings: &[
            (Home, ".claude/settings.json"),
            (Project, ".claude/settings.json"),
            (Project, ".claude/settings.local.json"),
        ],
    },
    HostProgram {
        name: "cursor",
        servers: &["mcpServers"],
        variables: VariableSyntax::Editor,
        expands_home: false,
        timeout: None,
        files: &[(Home, ".cursor/mcp.json"), (Project, ".cursor/mcp.json")],
        settings: &[(Home, ".cursor/cli-config.json"), (Project, ".cursor/cli.json")],
    },
    HostProgram {
        name: "vscode",
        servers: &["servers"],
        variables: VariableSyntax::Editor,
        expands_home: true,
        timeout: None,
        files: &[
            (Config, "Code/User/mcp.json"),
            (Config, "Code - Insiders/User/mcp.json"),
            (Config, "VSCodium/User/mcp.json"),
            (Home, "Library/Application Support/Code/User/mcp.json"),
            (Home, "Library/Application Support/Code - Insiders/User/mcp.json"),
            (Home, "Library/Application Support/VSCodium/User/mcp.json"),
            (AppData, "Code/User/mcp.json"),
            (AppData, "Code - Insiders/User/mcp.json"),
            (AppData, "VSCodium/User/mcp.json"),
            (Project, ".vscode/mcp.json"),
        ],
        settings: &[
            (Config, "Code/User/settings.json"),
            (Home, "Library/Application Support/Code/User/settings.json"),
            (AppData, "Code/User/settings.json"),
            (Project, ".vscode/settings.json"),
        ],
    },
    HostProgram {
        name: "zed",
        servers: &["context_servers"],
        variables: VariableSyntax::Literal,
        expands_home: false,
        timeout: Some(("timeout", SECOND)),
        files: &[
            (Config, "zed/settings.json"),
            (AppData, "Zed/settings.json"),
            (Project, ".zed/settings.json"),
        ],
        settings: &[],
    },
    HostProgram {
        name: "codex",
        servers: &["mcp_servers"],
        variables: VariableSyntax::Literal,
        expands_home: false,
        timeout: None,
        files: &[(Codex, "config.toml"), (Project, ".codex/config.toml")],
        settings: &[],
    },
    HostProgram {
        name: "opencode",
        servers: &["mcp"],
        variables: VariableSyntax::Own,
        expands_home: false,
        timeout: Some(("connectTimeout", MILLISECOND)),
        files: &[
            (Config, "opencode/opencode.json"),
            (Config, "opencode/opencode.jsonc"),
            (Project, "opencode.json"),
            (Project, "opencode.jsonc"),
        ],
        settings: &[],
    },
    HostProgram {
        name: "gemini",
        servers: &["mcpServers"],
        variables: VariableSyntax::BareShell,
        expands_home: false,
        timeout: Some(("timeout", MILLISECOND)),
        files: &[(Home, ".gemini/settings.json"), (Project, ".gemini/settings.json")],
        settings: &[],
    },
    HostProgram {
        name: "windsurf",
        servers: &["mcpServers"],
        variables: VariableSyntax::Editor,
        expands_home: false,
        timeout: None,
        files: &[(Home, ".codeium/windsurf/mcp_config.json"), (Home, ".codeium/mcp_config.json")],
        settings: &[],
    },
    HostProgram {
        name: "lm-studio",
        servers: &["mcpServers"],
        variables: VariableSyntax::Editor,
        expands_home: false,
        timeout: None,
        files: &[(Home, ".lmstudio/mcp.json"), (Home, ".cache/lm-studio/mcp.json")],
        settings: &[],
    },
    HostProgram {
        name: "cline",
        servers: &["mcpServers"],
        variables: VariableSyntax::Editor,
        expands_home: false,
        timeout: Some(("timeout", SECOND)),
        // Of the command line, and of the extension in each editor.
        files: &[
            (Home, ".cline/data/settings/cline_mcp_settings.json"),
            (
                Config,
                "*/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            (
                Home,
                "Library/Application Support/*/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            (
                AppData,
                "*/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
        ],
        settings: &[],
    },
    HostProgram {
        name: "amp",
        servers: &["amp.mcpServers"],
        variables: VariableSyntax::Shell,
        expands_home: false,
        timeout: None,
        files: &[
            (Config, "amp/settings.json"),
            (Config, "amp/settings.jsonc"),
            (Project, ".amp/settings.json"),
            (Project, ".amp/settings.jsonc"),
        ],
        settings: &[],
    },
    HostProgram {
        name: "junie",
        servers: &["mcpServers"],
        variables: VariableSyntax::Literal,
        expands_home: false,
        timeout: None,
        files: &[(Home, ".junie/mcp/mcp.json"), (Project, ".junie/mcp/mcp.json")],
        settings: &[],
    },
];

/// A program whose servers are not read, since the form of its file is not known here.
#[derive(Debug)]
pub(super) struct UnreadProgram {
    pub(super) name: &'static str,
    files: &'static [(Folder, &'static str)],
}

/// The programs that are named where their files are found.
const UNREAD: &[UnreadProgram] = &[
    UnreadProgram {
        name: "jetbrains-ai",
        files: &[
            (Config, "JetBrains/*/options/llm.mcpServers.xml"),
            (Home, "Library/Application Support/JetBrains/*/options/llm.mcpServers.xml"),
            (AppData, "JetBrains/*/options/llm.mcpServers.xml"),
        ],
    },
    UnreadProgram {
        name: "copilot",
        files: &[(Home, ".copilot/mcp-config.json"), (Config, "github-copilot/intellij/mcp.json")],
    },
    UnreadProgram {
        name: "roo",
        files: &[
            (Config, "*/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
            (
                Home,
                "Library/Application Support/*/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
            (AppData, "*/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
        ],
    },
    UnreadProgram { name: "kiro", files: &[(Home, ".kiro/settings/mcp.json")] },
    UnreadProgram { name: "amazon-q", files: &[(Home, ".aws/amazonq/mcp.json")] },
    UnreadProgram { name: "continue", files: &[(Home, ".continue/config.yaml")] },
    UnreadProgram { name: "goose", files: &[(Config, "goose/config.yaml")] },
];

/// Returns the host of a name on the command line.
pub(in crate::cli) fn named(name: &str) -> Result<&'static str, String> {
    let known = || HOSTS.iter().map(|host| host.name);
    known().find(|known| *known == name).ok_or_else(|| {
        let programs = known().collect::<Vec<_>>().join(", ");
        let is_unread = UNREAD.iter().any(|program| program.name == name);
        let near = nearest_n(name, known(), 1);
        let why = match near.first() {
            _ if is_unread => "the form of its file is not known here; ".to_owned(),
            Some(near) => format!("did you mean `{near}`? "),
            None => String::new(),
        };
        format!("{why}the programs are {programs}")
    })
}

/// The folders of a user, from the environment.
pub(in crate::cli) struct UserFolders {
    pub(super) home: Option<PathBuf>,
    config: Option<PathBuf>,
    app_data: Option<PathBuf>,
    codex: Option<PathBuf>,
    project: Option<PathBuf>,
}

impl UserFolders {
    pub(in crate::cli) fn of_environment() -> Self {
        let named = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let home = std::env::home_dir().filter(|path| path.is_absolute());
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        Self {
            config: named("XDG_CONFIG_HOME").or_else(|| below_home(".config")),
            app_data: named("APPDATA"),
            codex: named("CODEX_HOME").or_else(|| below_home(".codex")),
            project: std::env::current_dir().ok(),
            home,
        }
    }

    /// The current directory.
    pub(super) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Returns the paths of a name in a folder; `*` in it stands for each folder that is there.
    fn paths(&self, folder: Folder, name: &str) -> Vec<PathBuf> {
        let Some(base) = self.folder(folder) else { return Vec::new() };
        let Some((before, after)) = name.split_once("*/") else { return vec![base.join(name)] };
        let entries = std::fs::read_dir(base.join(before)).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path().join(after)).collect();
        paths.retain(|path| path.symlink_metadata().is_ok());
        paths.sort();
        paths
    }

    fn folder(&self, folder: Folder) -> Option<&Path> {
        match folder {
            Home => self.home.as_deref(),
            Config => self.config.as_deref(),
            AppData => self.app_data.as_deref(),
            Codex => self.codex.as_deref(),
            Project => self.project.as_deref(),
        }
    }
}

/// Returns the files of a host that may restrict its servers, those of the project too if they are
/// wanted.
pub(super) fn settings(
    folders: &UserFolders,
    host: &HostProgram,
    of_project: bool,
) -> Vec<PathBuf> {
    let files = host.files.iter().chain(host.settings);
    let files = files.filter(|(folder, _)| of_project || *folder != Project);
    files.flat_map(|(folder, name)| folders.paths(*folder, name)).collect()
}

/// A file of a host that is there.
#[derive(Debug)]
pub(in crate::cli) struct HostFile {
    pub(in crate::cli) host: &'static HostProgram,
    pub(in crate::cli) path: PathBuf,
    /// The folder of the project that the file belongs to.
    pub(in crate::cli) project: Option<PathBuf>,
}

impl HostFile {
    pub(in crate::cli) fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "toml")
    }
}

/// Returns the files of the hosts that are there, each once.
pub(in crate::cli) fn files(folders: &UserFolders, wanted: &[&str]) -> Vec<HostFile> {
    let mut found: Vec<HostFile> = Vec::new();
    for host in HOSTS.iter().filter(|host| wanted.is_empty() || wanted.contains(&host.name)) {
        for (folder, name) in host.files {
            let project = folders.project().filter(|_| *folder == Project);
            for path in folders.paths(*folder, name) {
                let is_known = found.iter().any(|file| file.path == path);
                // A link to nothing is reported as a file that cannot be read.
                if !is_known && path.symlink_metadata().is_ok() {
                    found.push(HostFile { host, path, project: project.map(Path::to_owned) });
                }
            }
        }
    }
    found
}

/// Returns the file of a host that an entry is written to: the first that is there, or else the
/// usual one of this system. `None` if the host has none of the kind.
pub(in crate::cli) fn target(
    folders: &UserFolders,
    name: &'static str,
    of_project: bool,
) -> Option<HostFile> {
    let is_meant = |file: &HostFile| file.project.is_some() == of_project;
    if let Some(there) = files(folders, &[name]).into_iter().find(is_meant) {
        return Some(there);
    }
    let host = HOSTS.iter().find(|host| host.name == name)?;
    let usual = |(folder, path): &&(Folder, &str)| {
        let is_of_mac = path.starts_with("Library/");
        let rank = match folder {
            AppData if !cfg!(windows) => return None,
            AppData => 0,
            Home if is_of_mac && !cfg!(target_os = "macos") => return None,
            Home if is_of_mac => 0,
            _ => 1,
        };
        Some(rank)
    };
    let candidates = host
        .files
        .iter()
        .filter(|(folder, path)| (*folder == Project) == of_project && !path.contains('*'));
    let ranked = candidates.filter_map(|file| Some((usual(&file)?, file)));
    let (_, (folder, path)) = ranked.min_by_key(|(rank, _)| *rank)?;
    let project = folders.project().filter(|_| of_project).map(Path::to_owned);
    Some(HostFile { host, path: folders.folder(*folder)?.join(path), project })
}

/// Returns the number of a run that changes files of hosts, which its backups have.
pub(in crate::cli) fn next_number(folders: &UserFolders, of_project: bool) -> u32 {
    let files = files(folders, &[]).into_iter();
    let known = files.filter(|file| of_project || file.project.is_none());
    let last = known.filter_map(|file| super::files::last_backup(&file.path)).max();
    last.map_or(1, |last| last + 1)
}

/// Returns the files of programs that are not read, with the names of these.
pub(super) fn unread(folders: &UserFolders) -> Vec<(&'static str, PathBuf)> {
    let files = UNREAD.iter().flat_map(|program| {
        let paths = program.files.iter().flat_map(|(folder, name)| folders.paths(*folder, name));
        paths.map(|path| (program.name, path))
    });
    files.filter(|(_, path)| path.is_file()).collect()
}
