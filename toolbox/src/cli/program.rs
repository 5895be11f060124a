//! The program `toolbox`: the servers of a configuration file as one box.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;

use super::extension::ProgramExtension;
use super::gateway::PATIENCE;
use super::outcome::{Exit, Outcome, Problem};
use super::progress::Progress;
use super::source::{ToolSource, ranking};
use super::text::{grouped, line};
use crate::collection::{ToolBox, ToolBoxBuilder};
use crate::context::rules::ToolRule;
use crate::disk::{Access, replace};
use crate::mcp::{
    Config, ConfigProblem, ConfigWatch, Connect, CredentialFile, MountServersError, ServerConfig,
    ServerState, Servers, sign_in_again,
};
use crate::results::RESULT_READ;
use crate::search::{EXECUTE, SEARCH_PATTERN, SEARCH_WORDS};
use crate::text::{clean, nearest_n};
use crate::tool::{Next, Tool};

/// The configuration of a run of the program.
pub(super) struct Configured {
    pub(super) config: Config,
    pub(super) problems: Vec<ConfigProblem>,
    /// `true` for a host of a version of the protocol with a handshake.
    pub(super) prefers_handshake: bool,
    /// The file that the command line names.
    path: Option<PathBuf>,
    /// The tools that other crates add.
    pub(super) extension: Arc<dyn ProgramExtension>,
}

/// Sets the rules of a file for a box. The tools of the gateway are always allowed.
pub(super) fn set_rules(toolbox: &ToolBox, config: &Config) {
    let settings = config.settings();
    let of = |rules: &[String]| rules.iter().flat_map(|rule| names_of(rule, config)).collect();
    let forbidden: Vec<String> = of(&settings.blacklist);
    let allowed = settings.allow.as_ref().map(|rules| {
        let mut names: Vec<String> = of(rules);
        names.extend([SEARCH_WORDS, SEARCH_PATTERN, EXECUTE, RESULT_READ].map(str::to_owned));
        names
    });
    let forbidden: Vec<&str> = forbidden.iter().map(String::as_str).collect();
    let allowed: Option<Vec<&str>> =
        allowed.as_ref().map(|names| names.iter().map(String::as_str).collect());
    // The reader has validated the rules.
    let _ = toolbox.set_rules(&forbidden, allowed.as_deref());
}

/// Returns the names that a rule means: a bare name is that of a tool of each server, too.
pub(super) fn names_of(rule: &str, config: &Config) -> Vec<String> {
    let mut names = vec![rule.to_owned()];
    // No name of a tool holds a colon: a rule with one names a tag.
    if !rule.contains(['*', ':']) {
        names.extend(config.servers().iter().map(|(server, _)| format!("{server}_{rule}")));
    }
    names
}

/// Returns a sentence for each rule that no tool of the servers meets.
pub(super) fn unmet_rules(toolbox: &ToolBox, servers: &Servers, config: &Config) -> Vec<String> {
    let settings = config.settings();
    let statuses = servers.status();
    let names: Vec<String> = statuses.iter().flat_map(|status| status.tools.clone()).collect();
    let tools = toolbox.tools();
    let is_met = |rule: &&String| {
        let rules = names_of(rule, config);
        let mut rules = rules.iter().map(|rule| ToolRule::new(rule));
        rules.any(|rule| {
            names.iter().any(|name| rule.matches_name(name))
                || tools.iter().any(|tool| rule.covers(tool.definition()))
        })
    };
    let keys = [("blacklist", Some(&settings.blacklist)), ("allow", settings.allow.as_ref())];
    let rules = keys.iter().flat_map(|(key, rules)| {
        rules.iter().flat_map(move |rules| rules.iter().map(move |rule| (key, rule)))
    });
    let unmet = rules.filter(|(_, rule)| !is_met(rule));
    unmet.map(|(key, rule)| {
        let rule = line(rule);
        format!("the rule `{rule}` of `{key}` matches none of the tools that are there: the names are those of `toolbox list`")
    })
    .collect()
}

impl Configured {
    /// Reads the given file, or the default one, and watches it; a file without a place is not.
    pub(super) fn watched(path: Option<PathBuf>) -> (Self, Option<ConfigWatch>) {
        let given = path.clone();
        let Ok(path) = path.map_or_else(usual_path, Ok) else { return (Self::read(None), None) };
        let watch = Config::watch(path);
        let (config, problems) = (watch.config().clone(), watch.problems().to_vec());
        (Self::of(config, problems, given), Some(watch))
    }

    /// Reads the given file, or the default one.
    pub(super) fn read(path: Option<PathBuf>) -> Self {
        let (config, problems) = match path.clone().map_or_else(usual_path, Ok) {
            Ok(path) => Config::read(path),
            Err(problem) => (Config::default(), vec![*problem]),
        };
        Self::of(config, problems, path)
    }

    fn of(config: Config, problems: Vec<ConfigProblem>, path: Option<PathBuf>) -> Self {
        Self { config, problems, prefers_handshake: false, path, extension: Arc::new(()) }
    }

    /// Sets what other crates add.
    pub(super) fn with(mut self, extension: &Arc<dyn ProgramExtension>) -> Self {
        self.extension = Arc::clone(extension);
        self
    }

    /// Returns the beginning of a command of this program over the same file.
    fn program(&self) -> String {
        let name = std::env::args_os().next();
        super::show::program(name.as_deref(), self.path.as_deref())
    }

    /// Returns an empty box with the limits and rules of the file.
    pub(super) fn toolbox(&self) -> ToolBox {
        self.built(ToolBox::builder())
    }

    /// Returns the box of a builder, with the limits and rules of the file.
    pub(super) fn built(&self, builder: ToolBoxBuilder) -> ToolBox {
        let settings = self.config.settings();
        #[cfg(feature = "otlp")]
        let builder = super::telemetry::observing(builder);
        // The timeout of a server is set on its tools.
        let built = builder.max_result_bytes(settings.max_result_bytes).build();
        let toolbox = built.unwrap_or_default();
        set_rules(&toolbox, &self.config);
        toolbox
    }

    /// Mounts the servers into a box.
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
            .relay_questions(true)
            .relay_apps(true)
            .prefer_handshake(self.prefers_handshake)
            .ask_to_sign_in(io::stdin().is_terminal())
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

    /// Adds the tools of the extension to a box, and returns the reasons for those that are
    /// withheld.
    pub(super) fn extend(
        &self,
        toolbox: &ToolBox,
        servers: Option<&Servers>,
        deferred: bool,
    ) -> Vec<String> {
        let mut withheld = Vec::new();
        let mut tools = Vec::new();
        for added in self.extension.tools(toolbox, &self.config, deferred) {
            match added {
                Ok(tool) => tools.push(awaiting_servers(tool, servers.cloned())),
                Err(reason) => withheld.push(reason),
            }
        }
        toolbox.exchange(|_| false, tools);
        withheld
    }

    /// Returns the file with the tokens of sign-ins; `None` if the home directory is unknown.
    pub(super) fn credentials(&self) -> Option<CredentialFile> {
        let path = self.config.settings().credential_file.clone();
        path.or_else(CredentialFile::default_path).map(CredentialFile::new)
    }

    pub(super) fn shown_problems(&self) -> Vec<Problem> {
        self.reports().map(of_config).collect()
    }

    /// Returns the problems and the warnings of the file.
    pub(super) fn reports(&self) -> impl Iterator<Item = &ConfigProblem> {
        self.problems.iter().chain(self.config.warnings())
    }

    /// Returns the enabled servers.
    pub(super) fn enabled(&self) -> impl Iterator<Item = &(String, ServerConfig)> {
        self.config.servers().iter().filter(|(_, server)| server.enabled)
    }
}

/// Lets the calls of a tool wait for servers that were just started, as a search does.
fn awaiting_servers(tool: Tool, servers: Option<Servers>) -> Tool {
    let Some(servers) = servers else { return tool };
    tool.layer(move |next: Next| {
        let servers = servers.clone();
        async move {
            servers.ready_within(PATIENCE, || false).await;
            servers.retry_failed();
            next.run().await
        }
    })
}

pub(super) fn usual_path() -> Result<PathBuf, Box<ConfigProblem>> {
    Config::default_path().ok_or_else(|| Box::new(ConfigProblem::without_home()))
}

/// The part of the servers that a command needs before it can continue.
pub(super) enum Needed<'a> {
    All,
    /// One tool, by its name; the servers of others are waited for no longer than [`OTHERS`].
    Tool(&'a str),
    /// One prompt, by its name.
    Prompt(&'a str),
    /// One resource, by its URI. A template that it matches may be that of the wrong server, before
    /// all are there.
    Resource(&'a str),
}

impl Needed<'_> {
    fn is_in(&self, toolbox: &ToolBox) -> bool {
        match self {
            Self::All => false,
            Self::Tool(name) => toolbox.has(name),
            Self::Prompt(name) => toolbox.prompts().find(name).is_some(),
            Self::Resource(uri) => toolbox.resources().get(uri).is_some(),
        }
    }
}

/// The time to wait for servers that a command does not need: a missing program is reported every
/// time, and a slow server delays nothing.
const OTHERS: Duration = Duration::from_millis(200);

/// Connects the servers of a file, and waits for the required ones.
pub(super) async fn connected(configured: &Configured, needed: Needed<'_>) -> ToolSource {
    connected_as(configured, needed, true).await
}

/// Connects the servers of a file, like [`connected`], with tools that are found by search
/// (`deferred`), or that each request offers.
pub(super) async fn connected_as(
    configured: &Configured,
    needed: Needed<'_>,
    deferred: bool,
) -> ToolSource {
    let toolbox = configured.toolbox();
    let mut source = ToolSource::own(toolbox.clone(), configured.program());
    source.limit = configured.config.settings().default_limit;
    source.ranking = ranking(configured.config.settings());
    source.problems = configured.shown_problems();
    let names = configured.enabled().map(|(name, _)| name.clone()).collect();
    let progress = Arc::new(Progress::of_servers(names));
    let changed = Arc::new(Notify::new());
    let (display, notify) = (Arc::clone(&progress), Arc::clone(&changed));
    let listener = move |status: &crate::mcp::ServerStatus| {
        display.changed(status);
        notify.notify_one();
    };
    let connect = match needed {
        Needed::All => Connect::Now,
        _ => Connect::InBackground,
    };
    match configured.mount(&toolbox, connect, deferred, listener).await {
        Ok(servers) => {
            let withheld = configured.extend(&toolbox, Some(&servers), deferred);
            source.problems.extend(withheld.into_iter().map(of_withheld));
            if !matches!(needed, Needed::All) {
                let ready = servers.ready();
                tokio::pin!(ready);
                let mut all_tried = false;
                while !all_tried && !needed.is_in(&toolbox) {
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
            if matches!(needed, Needed::All) {
                let unmet = unmet_rules(&toolbox, &servers, &configured.config);
                source.problems.extend(unmet.into_iter().map(|what| plain("rule", None, what)));
                let faults = configured.extension.faults(&toolbox, &configured.config);
                source.problems.extend(faults.into_iter().map(of_withheld));
            }
            source.servers = Some(servers);
        }
        Err(error) => source.problems.push(of_mount(&error)),
    }
    progress.end();
    source
}

fn of_config(problem: &ConfigProblem) -> Problem {
    Problem {
        kind: if problem.is_warning() { "warning" } else { "config" },
        server: problem.server().map(str::to_owned),
        file: Some(problem.file().display().to_string()),
        line: problem.line(),
        column: problem.column(),
        message: problem.hint().map_or_else(
            || problem.message().to_owned(),
            |hint| format!("{}: {hint}", problem.message()),
        ),
        displayed: clean(&problem.to_string()).into_owned(),
    }
}

pub(super) fn of_mount(error: &MountServersError) -> Problem {
    plain("config", None, error.to_string())
}

fn of_withheld(reason: String) -> Problem {
    plain("withheld", None, reason)
}

fn plain(kind: &'static str, server: Option<&str>, message: String) -> Problem {
    let level = if kind == "warning" { kind } else { "error" };
    let displayed = format!("{level}: {message}");
    let server = server.map(str::to_owned);
    Problem { kind, server, file: None, line: None, column: None, message, displayed }
}

/// Returns the problems of servers: unreachable ones, lists that are cut, and withheld tools.
pub(super) fn of_servers(servers: &Servers) -> Vec<Problem> {
    let mut problems = Vec::new();
    for status in servers.status() {
        let name = &status.name;
        // A server that is being retried has failed all the same.
        let is_trying_again = status.state == ServerState::Connecting && status.error.is_some();
        if status.state == ServerState::Failed || is_trying_again {
            let why = status.error.as_deref().map_or("it gave no reason".to_owned(), line);
            let message = if why.ends_with(&sign_in_again(name)) {
                format!("the server `{name}` cannot be used: {why}")
            } else if status.wants_sign_in {
                format!("the server `{name}` requires authorization: run `toolbox login {name}`")
            } else {
                format!("the server `{name}` cannot be reached: {why}")
            };
            problems.push(plain("server", Some(name), message));
        }
        if status.is_cut {
            let count = grouped(status.tools.len());
            let message = format!(
                "the list of tools of the server `{name}` goes on behind the {count} here: the rest is not read, and cannot be called"
            );
            problems.push(plain("warning", Some(name), message));
        }
        for tool in &status.withheld {
            let (tool, why) = (line(&tool.name), line(&tool.detail));
            let message = format!("the tool `{tool}` of the server `{name}` is withheld: {why}");
            problems.push(plain("withheld", Some(name), message));
        }
    }
    problems
}

/// Writes the commented starter file.
pub(super) fn init(path: Option<PathBuf>, force: bool) -> Outcome {
    let path = match path.map_or_else(usual_path, Ok) {
        Ok(path) => path,
        Err(problem) => return Outcome::failed(Exit::Config, problem.summary()),
    };
    let width = FileWidth::of(&path);
    match written(&path, force) {
        Ok(()) => {
            let narrowed = width.narrowed().map(|narrowed| format!("\n{narrowed}"));
            Outcome::fine(
                format!(
                    "wrote {}{}\nname your servers in it, then see what they offer with `toolbox check`",
                    path.display(),
                    narrowed.unwrap_or_default()
                ),
                json!({"file": path}),
            )
        }
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
    if !force && path.symlink_metadata().is_ok() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    // It may come to hold tokens.
    replace(path, Config::starter().as_bytes(), Access::Owner)
}

/// Returns `true` if other users than its owner may read or change a file.
#[cfg(unix)]
pub(super) fn is_wide(path: &Path) -> bool {
    let mode = |file| std::os::unix::fs::MetadataExt::mode(&file);
    std::fs::metadata(path).is_ok_and(|file| mode(file) & 0o077 != 0)
}

/// Files have no such permissions there.
#[cfg(not(unix))]
pub(super) fn is_wide(_: &Path) -> bool {
    false
}

/// The users who could read a file before it is replaced.
pub(super) struct FileWidth<'a> {
    path: &'a Path,
    is_wide: bool,
}

impl<'a> FileWidth<'a> {
    pub(super) fn of(path: &'a Path) -> Self {
        Self { path, is_wide: is_wide(path) }
    }

    /// Returns the line for the user if others could read the file, and cannot any longer.
    pub(super) fn narrowed(&self) -> Option<String> {
        (self.is_wide && !is_wide(self.path)).then(|| {
            let shown = line(&self.path.display().to_string());
            format!("others could read {shown}; now its owner alone can: it may hold tokens")
        })
    }
}

/// Returns the message for an unknown server name.
pub(super) fn no_server(name: &str, known: &[impl AsRef<str>]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    match known.as_slice() {
        [] => "the configuration has no server".to_owned(),
        [only] => format!("there is no server `{}`: the only one is `{}`", line(name), line(only)),
        known => {
            let near = nearest_n(name, known.iter().copied(), 1);
            let near = near.first().map(|near| format!("did you mean `{}`? ", line(near)));
            let all = line(&known.join(", "));
            let near = near.unwrap_or_default();
            format!("there is no server `{}`: {near}The servers are {all}", line(name))
        }
    }
}
