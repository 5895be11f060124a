//! The program `toolbox`: the servers of a configuration file as one box.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;

use super::outcome::{Exit, Outcome, Problem, exit_of};
use super::progress::Progress;
use super::source::{Source, ranking};
use super::text::line;
use crate::collection::ToolBox;
use crate::mcp::{
    Config, ConfigProblem, Connect, CredentialFile, MountServersError, ServerConfig, ServerState,
    Servers,
};
use crate::text::clean;

/// The configuration of a run of the program.
pub(super) struct Configured {
    pub(super) config: Config,
    pub(super) problems: Vec<ConfigProblem>,
}

impl Configured {
    /// Reads the file that is named, or the usual one.
    pub(super) fn read(path: Option<PathBuf>) -> Self {
        let (config, problems) = match path.map_or_else(usual_path, Ok) {
            Ok(path) => Config::read(path),
            Err(problem) => (Config::default(), vec![*problem]),
        };
        Self { config, problems }
    }

    /// Returns an empty box with the limits and rules of the file.
    pub(super) fn toolbox(&self) -> ToolBox {
        let settings = self.config.settings();
        // What a server is given to answer stands with its tools.
        let built = ToolBox::builder()
            .max_result_bytes(settings.max_result_bytes)
            .suggest_tools(true)
            .build();
        let toolbox = built.unwrap_or_default();
        // The reader has checked the rules.
        for rule in &settings.blacklist {
            let _ = toolbox.try_blacklist(rule);
        }
        if let Some(rules) = &settings.allow {
            let own = [
                crate::search::SEARCH_WORDS,
                crate::search::SEARCH_PATTERN,
                crate::search::EXECUTE,
            ];
            let _ = toolbox.allow_only(rules.iter().map(String::as_str).chain(own));
        }
        toolbox
    }

    /// Puts the servers into a box.
    pub(super) async fn mount(
        &self,
        toolbox: &ToolBox,
        connect: Connect,
        deferred: bool,
        on_change: impl Fn(&crate::mcp::ServerStatus) + Send + Sync + 'static,
    ) -> Result<Servers, MountServersError> {
        let mut builder = Servers::builder()
            .servers(self.config.servers().iter().cloned())
            .deferred(deferred)
            .connect_when(connect)
            .on_change(on_change);
        if let Some(path) = &self.config.settings().lock_file {
            builder = builder.lock_file(path);
        }
        if let Some(credentials) = self.credentials() {
            builder = builder.credentials(credentials);
        }
        builder.mount(toolbox).await
    }

    /// The file with the tokens of servers that somebody signed in at; `None` if the home directory
    /// is unknown.
    pub(super) fn credentials(&self) -> Option<CredentialFile> {
        let path = self.config.settings().credential_file.clone();
        path.or_else(CredentialFile::default_path).map(CredentialFile::new)
    }

    pub(super) fn shown_problems(&self) -> Vec<Problem> {
        self.problems.iter().map(of_config).collect()
    }

    /// The servers that are used.
    pub(super) fn enabled(&self) -> impl Iterator<Item = &(String, ServerConfig)> {
        self.config.servers().iter().filter(|(_, server)| server.enabled)
    }
}

fn usual_path() -> Result<PathBuf, Box<ConfigProblem>> {
    Config::default_path().ok_or_else(|| Box::new(ConfigProblem::without_home()))
}

/// Which tools a command has to see before it can go on.
pub(super) enum Wanted<'a> {
    All,
    /// One, by its name; the servers of the others are waited for no longer than [`OTHERS`].
    One(&'a str),
}

/// How long servers are waited for that a command does not need: a program that is not there is
/// told of each time, and a slow server holds nothing up.
const OTHERS: Duration = Duration::from_millis(200);

/// Connects the servers of a file, and waits for what is wanted.
pub(super) async fn connected(configured: &Configured, wanted: Wanted<'_>) -> Source {
    let toolbox = configured.toolbox();
    let mut source = Source::own(toolbox.clone());
    source.limit = configured.config.settings().default_limit;
    source.ranking = ranking(configured.config.settings());
    source.problems = configured.shown_problems();
    let names = configured.enabled().map(|(name, _)| name.clone()).collect();
    let progress = Arc::new(Progress::of_servers(names));
    let changed = Arc::new(Notify::new());
    let (shown, told) = (Arc::clone(&progress), Arc::clone(&changed));
    let listener = move |status: &crate::mcp::ServerStatus| {
        shown.changed(status);
        told.notify_one();
    };
    let connect = match wanted {
        Wanted::All => Connect::Now,
        Wanted::One(_) => Connect::InBackground,
    };
    match configured.mount(&toolbox, connect, true, listener).await {
        Ok(servers) => {
            if let Wanted::One(name) = wanted {
                let ready = servers.ready();
                tokio::pin!(ready);
                let mut all_tried = false;
                while !all_tried && !toolbox.has(name) {
                    tokio::select! {
                        () = &mut ready => all_tried = true,
                        () = changed.notified() => {}
                    }
                }
                if !all_tried {
                    let _ = tokio::time::timeout(OTHERS, ready).await;
                }
            }
            source.problems.extend(of_servers(&servers));
            source.servers = Some(servers);
        }
        Err(error) => source.problems.push(of_mount(&error)),
    }
    progress.end();
    source
}

fn of_config(problem: &ConfigProblem) -> Problem {
    Problem {
        kind: "config",
        server: problem.server().map(str::to_owned),
        file: Some(problem.file().display().to_string()),
        line: problem.line(),
        column: problem.column(),
        message: problem.hint().map_or_else(
            || problem.message().to_owned(),
            |hint| format!("{}: {hint}", problem.message()),
        ),
        shown: clean(&problem.to_string()).into_owned(),
    }
}

pub(super) fn of_mount(error: &MountServersError) -> Problem {
    plain("config", None, error.to_string())
}

fn plain(kind: &'static str, server: Option<&str>, message: String) -> Problem {
    let shown = format!("error: {message}");
    let server = server.map(str::to_owned);
    Problem { kind, server, file: None, line: None, column: None, message, shown }
}

/// What is wrong with servers: those that cannot be reached, and tools that are withheld.
pub(super) fn of_servers(servers: &Servers) -> Vec<Problem> {
    let mut problems = Vec::new();
    for status in servers.status() {
        let name = &status.name;
        // One that is tried again just now has failed all the same.
        let is_trying_again = status.state == ServerState::Connecting && status.error.is_some();
        if status.state == ServerState::Failed || is_trying_again {
            let why = status.error.as_deref().map_or("it gave no reason".to_owned(), line);
            let message = if status.wants_sign_in {
                format!("the server `{name}` wants to know who asks: run `toolbox login {name}`")
            } else {
                format!("the server `{name}` cannot be reached: {why}")
            };
            problems.push(plain("server", Some(name), message));
        }
        for tool in &status.withheld {
            let (tool, why) = (line(&tool.name), line(&tool.detail));
            let message = format!("the tool `{tool}` of the server `{name}` is withheld: {why}");
            problems.push(plain("withheld", Some(name), message));
        }
    }
    problems
}

/// Writes the commented file.
pub(super) fn init(path: Option<PathBuf>, force: bool) -> Outcome {
    let path = match path.map_or_else(usual_path, Ok) {
        Ok(path) => path,
        Err(problem) => return Outcome::failed(Exit::Config, problem.summary()),
    };
    match written(&path, force) {
        Ok(()) => Outcome::fine(
            format!(
                "wrote {}\nname your servers in it, then see what they offer with `toolbox check`",
                path.display()
            ),
            json!({"file": path}),
        ),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Outcome::failed(
            Exit::Failed,
            format!("{} is there already: add --force to replace it", path.display()),
        ),
        Err(error) => {
            Outcome::failed(Exit::Failed, format!("{} cannot be written: {error}", path.display()))
        }
    }
}

fn written(path: &Path, force: bool) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    if force {
        return std::fs::write(path, Config::starter());
    }
    let mut file = std::fs::File::create_new(path)?;
    std::io::Write::write_all(&mut file, Config::starter().as_bytes())
}

/// Says that there is no server of a name.
pub(super) fn no_server(name: &str, known: &[impl AsRef<str>]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    match known.as_slice() {
        [] => "the configuration has no server".to_owned(),
        known => format!("there is no server `{}`: there are {}", line(name), known.join(", ")),
    }
}

/// Approves of what servers offer now.
pub(super) fn approve(source: &Source, configured: &Configured, name: Option<&str>) -> Outcome {
    let Some(file) = &configured.config.settings().lock_file else {
        let help =
            "name a file in the configuration: \"settings\": {\"lockFile\": \"toolbox.lock.json\"}";
        return Outcome::failed(Exit::Config, format!("there is no lock file: {help}"));
    };
    let Some(servers) = &source.servers else {
        return Outcome::failed(exit_of(&source.problems), "nothing was approved");
    };
    let known: Vec<String> = servers.status().into_iter().map(|status| status.name).collect();
    let approved = match name {
        None => servers.approve_all(),
        Some(name) if known.iter().any(|known| known == name) => servers.approve(name).map(|_| ()),
        Some(name) => {
            return Outcome::failed(Exit::Failed, no_server(name, &known));
        }
    };
    if let Err(error) = approved {
        return Outcome::failed(Exit::Failed, error.to_string());
    }
    let ready = servers.status().into_iter().filter(|status| {
        status.state == ServerState::Ready && name.is_none_or(|name| name == status.name)
    });
    let ready: Vec<_> = ready.map(|status| (status.name, status.tools.len())).collect();
    let lines: Vec<String> =
        ready.iter().map(|(name, tools)| format!("approved of {tools} tools of {name}")).collect();
    let value = json!({
        "file": file,
        "approved": ready.iter().map(|(name, tools)| json!({"server": name, "tools": tools})).collect::<Vec<_>>(),
    });
    let mut outcome = Outcome::fine(lines.join("\n"), value);
    let left_out = |problem: &&Problem| {
        problem.kind == "server" && name.is_none_or(|name| problem.server.as_deref() == Some(name))
    };
    if source.problems.iter().any(|problem| left_out(&problem)) {
        outcome.exit = Exit::Unreachable;
    }
    outcome
}
