//! The programs that servers are taken over from: their files, and the keys of the servers.

use std::path::{Path, PathBuf};

/// A program with MCP servers in its settings.
#[derive(Debug)]
pub(super) struct HostProgram {
    /// The name on the command line.
    pub(super) name: &'static str,
    /// The keys that lead to the object of servers.
    pub(super) servers: &'static [&'static str],
    pub(super) variables: VariableSyntax,
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

use Folder::{AppData, Codex, Config, Home, Project};

/// The programs, by the names of `--from`.
pub(super) const HOSTS: &[HostProgram] = &[
    HostProgram {
        name: "claude-desktop",
        servers: &["mcpServers"],
        variables: VariableSyntax::Literal,
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
        files: &[(Home, ".cursor/mcp.json"), (Project, ".cursor/mcp.json")],
        settings: &[(Home, ".cursor/cli-config.json"), (Project, ".cursor/cli.json")],
    },
    HostProgram {
        name: "vscode",
        servers: &["servers"],
        variables: VariableSyntax::Editor,
        files: &[
            (Config, "Code/User/mcp.json"),
            (Home, "Library/Application Support/Code/User/mcp.json"),
            (AppData, "Code/User/mcp.json"),
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
        files: &[(Codex, "config.toml"), (Project, ".codex/config.toml")],
        settings: &[],
    },
    HostProgram {
        name: "opencode",
        servers: &["mcp"],
        variables: VariableSyntax::Own,
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
        files: &[(Home, ".gemini/settings.json"), (Project, ".gemini/settings.json")],
        settings: &[],
    },
];

/// Returns the host of a name on the command line.
pub(in crate::cli) fn named(name: &str) -> Result<&'static str, String> {
    let known = || HOSTS.iter().map(|host| host.name);
    known()
        .find(|known| *known == name)
        .ok_or_else(|| format!("the programs are {}", known().collect::<Vec<_>>().join(", ")))
}

/// The folders of a user, from the environment.
pub(super) struct UserFolders {
    pub(super) home: Option<PathBuf>,
    config: Option<PathBuf>,
    app_data: Option<PathBuf>,
    codex: Option<PathBuf>,
    project: Option<PathBuf>,
}

impl UserFolders {
    pub(super) fn of_environment() -> Self {
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
    files.filter_map(|(folder, name)| Some(folders.folder(*folder)?.join(name))).collect()
}

/// A file of a host that is there.
#[derive(Debug)]
pub(super) struct HostFile {
    pub(super) host: &'static HostProgram,
    pub(super) path: PathBuf,
    /// The folder of the project that the file belongs to.
    pub(super) project: Option<PathBuf>,
}

impl HostFile {
    pub(super) fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "toml")
    }
}

/// Returns the files of the hosts that are there, each once.
pub(super) fn files(folders: &UserFolders, wanted: &[&str]) -> Vec<HostFile> {
    let mut found: Vec<HostFile> = Vec::new();
    for host in HOSTS.iter().filter(|host| wanted.is_empty() || wanted.contains(&host.name)) {
        for (folder, name) in host.files {
            let Some(base) = folders.folder(*folder) else { continue };
            let path = base.join(name);
            let is_known = found.iter().any(|file| file.path == path);
            // A link to nothing is reported as a file that cannot be read.
            if !is_known && path.symlink_metadata().is_ok() {
                let project = (*folder == Project).then(|| base.to_owned());
                found.push(HostFile { host, path, project });
            }
        }
    }
    found
}
