//! Configuration of servers: one server as a value, and the file that lists many.

mod described;
mod doubt;
mod launcher;
#[cfg(feature = "mcp-oauth")]
mod oauth;
mod problem;
mod read;
mod server;
mod spelling;
mod table;
pub(crate) use table::PROTOCOL_VERSIONS;
mod values;
mod variables;
mod watch;

#[cfg(feature = "cli")]
pub(crate) use described::{OPENAPI, start_here};

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "cli")]
pub(crate) use launcher::{is_mcp_remote, is_shell};
#[cfg(feature = "mcp-oauth")]
pub use oauth::IdentityProvider;
#[cfg(feature = "mcp-oauth")]
pub(crate) use oauth::{ClientCredentials, ClientProof, OAuthClient, ProgramGrant, TokenSource};
pub use problem::ConfigProblem;
use read::ConfigReader;
#[cfg(feature = "cli")]
pub(crate) use read::strict;
pub use server::ServerConfig;
pub(crate) use server::{ServerEndpoint, public_url};
#[cfg(feature = "cli")]
pub(crate) use spelling::{foreign, variable_of_input};
use values::{ObjectValues, RawServer};
#[cfg(feature = "cli")]
pub(crate) use variables::expanded;
pub use watch::ConfigWatch;

/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The folder of kept scripts, beside the file.
const SCRIPT_FOLDER: &str = "toolbox-scripts";

/// The variable with the path of the file.
const PATH_VARIABLE: &str = "OPENCODE_TOOLBOX_CONFIG";

/// Servers and settings from a file: `toolbox.jsonc`.
///
/// JSON with comments and trailing commas. Servers are listed under `mcp`, as `OpenCode` writes
/// them, or under `mcpServers`, as desktop hosts do; in any string, `{env:NAME}` is the variable of
/// that name, and `{env:NAME:-default}` has a default. [`Config::schema`] describes all keys.
///
/// A file with a fault is read as far as possible, and every fault is reported. A server with a
/// fault is left out and the others stay; if the list of forbidden tools is unreadable, no server
/// stays.
///
/// ```
/// use toolbox::mcp::Config;
///
/// let text = r#"{
///   "mcp": {
///     "time": {"type": "local", "command": ["uvx", "mcp-server-time"]}, // a comment
///     "exa": {"type": "remote", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer {env:EXA_KEY}"}},
///   },
/// }"#;
/// let (config, problems) = Config::parse(text, "toolbox.jsonc", |_| None);
/// assert_eq!(config.servers().len(), 1);
/// assert_eq!(
///     problems[0].message(),
///     "the environment variable `EXA_KEY` that `headers` of server `exa` needs is not set"
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    servers: Vec<(String, ServerConfig)>,
    settings: Settings,
    warnings: Vec<ConfigProblem>,
}

/// The settings of a file that apply to all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `true` if tools are found by search instead of listed. Default `true`.
    pub deferred: bool,
    /// `true` if servers are started at the first search or call instead of at once. Default
    /// `false`.
    pub lazy: bool,
    /// The number of tools that a search returns if the model does not specify it, from 1 to 20.
    /// Default 5.
    pub default_limit: usize,
    /// The maximum length of a reply to a search, in bytes. Default 16 KiB.
    pub max_reply_bytes: usize,
    /// The maximum length of a result, in bytes
    /// ([`ToolBoxBuilder::max_result_bytes`](crate::ToolBoxBuilder::max_result_bytes)). Default 256
    /// KiB.
    pub max_result_bytes: usize,
    /// `true` if a search ranks by textbook BM25 instead of the tuned ranking. Default `false`.
    pub plain_ranking: bool,
    /// Rules for tools that are neither found nor called. Default: none.
    pub blacklist: Vec<String>,
    /// Rules for the only tools that are found and called; `None` admits all.
    pub allow: Option<Vec<String>>,
    /// The file with digests of approved definitions. Default: none, and nothing is withheld.
    pub lock_file: Option<PathBuf>,
    /// The settings of scripts, if models may run them. Default: none.
    pub scripts: Option<ScriptSettings>,
    /// The file with the tokens of servers that a user signed in to. Default: the program's own.
    #[cfg(feature = "mcp-oauth")]
    pub credential_file: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deferred: true,
            lazy: false,
            default_limit: 5,
            plain_ranking: false,
            max_reply_bytes: 16 << 10,
            max_result_bytes: 256 << 10,
            blacklist: Vec::new(),
            allow: None,
            lock_file: None,
            scripts: None,
            #[cfg(feature = "mcp-oauth")]
            credential_file: None,
        }
    }
}

/// The settings of a file for scripts that call the tools.
///
/// What is `None` has the default of the crate that runs the scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptSettings {
    /// The folder of the scripts that are kept as tools. Default: `toolbox-scripts` beside the
    /// file.
    pub folder: PathBuf,
    /// The longest time that a script may compute.
    pub compute: Option<Duration>,
    /// The most calls of one script.
    pub calls: Option<u32>,
    /// The most calls of one script that run at once.
    pub parallel_calls: Option<usize>,
    /// The memory of one script, in bytes.
    pub memory_bytes: Option<usize>,
    /// `true` if each script runs in a confined process, and none where the system cannot confine
    /// one; `false` if all run in the program. `None` confines them where the system can.
    pub confined: Option<bool>,
}

impl Config {
    /// Returns the default path: the value of the variable `OPENCODE_TOOLBOX_CONFIG`, else
    /// `opencode/toolbox.jsonc` in `XDG_CONFIG_HOME` or `~/.config`.
    ///
    /// The current directory is not searched: a program that runs commands from a file there would
    /// run whatever a folder contains. Returns `None` if the home directory is unknown.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(path) = named(PATH_VARIABLE) {
            return Some(path.into());
        }
        let folder = named("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
        Some(folder.join("opencode").join("toolbox.jsonc"))
    }

    /// Reads a file, with the variables of this process.
    ///
    /// Returns everything that could be read, and all problems. Relative paths in the file are
    /// resolved from its folder. A file over 4 MiB is refused.
    #[must_use = "the second part says what is wrong with the file"]
    pub fn read(path: impl AsRef<Path>) -> (Self, Vec<ConfigProblem>) {
        let path = path.as_ref();
        match text_of(bytes_of(path), path) {
            Ok(text) => Self::parse(&text, path, |name| std::env::var(name).ok()),
            Err(problem) => (Self::default(), vec![*problem]),
        }
    }

    /// Parses the text of a file; `environment` returns the values of variables.
    ///
    /// The file system is not accessed: `path` is named in problems, and relative paths are
    /// resolved from its folder.
    #[must_use = "the second part says what is wrong with the text"]
    pub fn parse(
        text: &str,
        path: impl AsRef<Path>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> (Self, Vec<ConfigProblem>) {
        let path = path.as_ref();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = ConfigReader::new(text, path, &environment);
        let Some(mut file) = reader.file() else {
            return (Self::default(), reader.problems);
        };
        let home = environment("HOME").or_else(|| environment("USERPROFILE"));
        let folder = BaseFolder { of_file: path.parent(), home };
        let unreadable = file.is_refused("settings");
        let mut given = file.object("settings").unwrap_or_default();
        // The list of forbidden tools is unknown then.
        let closed = unreadable || given.is_refused("blacklist") || given.is_refused("allow");
        let usual = ServerDefaults {
            timeout: given.time("timeout"),
            max_total_timeout: given.time("maxTotalTimeout"),
            connect_timeout: given.time("connectTimeout"),
            retries: given.count("retries"),
            strict: given.flag("strict"),
        };
        let settings = settings(&mut given, &folder);
        let mut config = Self { servers: Vec::new(), settings, warnings: Vec::new() };
        let mut names = Vec::new();
        for key in ["mcp", "mcpServers"] {
            for server in file.servers(key).unwrap_or_default() {
                config.add(server, &mut names, &mut reader, &usual, &folder);
            }
        }
        if closed {
            config.servers.clear();
        }
        config.warnings = reader.warnings;
        (config, reader.problems)
    }

    fn add(
        &mut self,
        mut server: RawServer,
        names: &mut Vec<String>,
        reader: &mut ConfigReader<'_>,
        usual: &ServerDefaults,
        folder: &BaseFolder<'_>,
    ) {
        let name = std::mem::take(&mut server.name);
        reader.set_server(Some(&name));
        let lower = name.to_ascii_lowercase();
        if names.contains(&lower) {
            // It is unknown which of them was meant, so both are removed.
            self.servers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
            let message = format!("there are two servers `{name}`, whatever the case");
            reader.problem(server.place, message, Some("rename one of them".to_owned()));
        } else {
            names.push(lower);
            let config = assembled(&mut server, reader, usual, folder);
            self.servers.extend(config.map(|config| (name, config)));
        }
        reader.set_server(None);
    }

    /// Returns the servers by name, in the order of the file, including disabled ones.
    #[must_use]
    pub fn servers(&self) -> &[(String, ServerConfig)] {
        &self.servers
    }

    /// Returns the settings that apply to all servers.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns what is read as it stands and may not be meant so: a time of 30 milliseconds, or
    /// `${HOME}` in an argument, which no shell expands.
    #[must_use]
    pub fn warnings(&self) -> &[ConfigProblem] {
        &self.warnings
    }

    /// Returns the JSON Schema of the file, generated from the table that the reader uses.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        let mut schema = table::schema(table::FILE);
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = "toolbox.jsonc".into();
        schema
    }

    /// Returns a commented file that shows the available keys, to start from.
    #[must_use]
    pub fn starter() -> &'static str {
        include_str!("starter.jsonc")
    }
}

/// Defaults for servers that set no values of their own.
struct ServerDefaults {
    timeout: Option<Duration>,
    max_total_timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    retries: Option<u64>,
    strict: Option<bool>,
}

/// The folder from which relative paths are resolved.
struct BaseFolder<'a> {
    of_file: Option<&'a Path>,
    home: Option<String>,
}

impl BaseFolder<'_> {
    fn path(&self, text: &str) -> PathBuf {
        let of_file = || self.of_file.map_or_else(|| text.into(), |folder| folder.join(text));
        self.in_home(text).unwrap_or_else(of_file)
    }

    /// Returns the path that begins with `~`, if it does and the home directory is known.
    fn in_home(&self, text: &str) -> Option<PathBuf> {
        let rest = text.strip_prefix('~')?;
        let home = Path::new(self.home.as_ref()?);
        if rest.is_empty() {
            return Some(home.to_owned());
        }
        rest.strip_prefix(['/', '\\']).map(|rest| home.join(rest))
    }
}

fn settings(given: &mut ObjectValues, folder: &BaseFolder<'_>) -> Settings {
    let usual = Settings::default();
    let bytes = |value: Option<u64>, usual: usize| {
        value.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usual)
    };
    Settings {
        deferred: given.flag("deferred").unwrap_or(usual.deferred),
        lazy: given.text("connect").is_some_and(|when| when == "lazy"),
        default_limit: bytes(given.count("defaultLimit"), usual.default_limit),
        plain_ranking: given.text("ranking").is_some_and(|ranking| ranking == "plain"),
        max_reply_bytes: bytes(given.count("maxReplyBytes"), usual.max_reply_bytes),
        max_result_bytes: bytes(given.count("maxResultBytes"), usual.max_result_bytes),
        blacklist: given.texts("blacklist").unwrap_or_default(),
        allow: given.texts("allow"),
        lock_file: given.text("lockFile").map(|path| folder.path(&path)),
        scripts: given.switch("scripts").map(|given| scripts(given, folder)),
        #[cfg(feature = "mcp-oauth")]
        credential_file: given.text("credentialFile").map(|path| folder.path(&path)),
    }
}

fn scripts(mut given: ObjectValues, folder: &BaseFolder<'_>) -> ScriptSettings {
    let size = |count: Option<u64>| count.and_then(|count| usize::try_from(count).ok());
    ScriptSettings {
        folder: folder.path(&given.text("folder").unwrap_or_else(|| SCRIPT_FOLDER.to_owned())),
        compute: given.time("compute"),
        calls: given.count("calls").and_then(|count| u32::try_from(count).ok()),
        parallel_calls: size(given.count("parallelCalls")),
        memory_bytes: size(given.count("memoryBytes")),
        confined: given.flag("confined"),
    }
}

/// Makes a server of its keys if they are consistent.
fn assembled(
    server: &mut RawServer,
    reader: &mut ConfigReader<'_>,
    usual: &ServerDefaults,
    folder: &BaseFolder<'_>,
) -> Option<ServerConfig> {
    let (place, before) = (server.place.clone(), reader.problems.len());
    let fields = &mut server.fields;
    let kind = fields.text("type");
    let local = kind.as_deref().map(|kind| table::LOCAL.contains(&kind));
    let given = |key: &str| fields.has(key) || fields.is_refused(key);
    let (command, url) = (given("command"), given("url"));
    let is_local = local.unwrap_or(command || !url);
    let is_described = given("openapi");
    let (needed, foreign): (&str, &[&str]) = if is_described {
        ("openapi", &["type", "command", "args", "environment", "cwd", "url", "headers", "oauth"])
    } else if is_local {
        ("command", &["url", "headers", "oauth", "baseUrl", "credentials", "include", "exclude"])
    } else {
        (
            "url",
            &[
                "command",
                "args",
                "environment",
                "cwd",
                "baseUrl",
                "credentials",
                "include",
                "exclude",
            ],
        )
    };
    // An unknown key may be a misspelling of it.
    if !given(needed) && !server.broken {
        let (message, help) = match local {
            None => (
                "the server has neither a `command` nor a `url`".to_owned(),
                "say how it is reached",
            ),
            Some(_) => (
                format!(
                    "the server is {}, and has no `{needed}`",
                    if is_local { "local" } else { "remote" }
                ),
                "say how it is reached, or change `type`",
            ),
        };
        reader.problem(place.clone(), message, Some(help.to_owned()));
    }
    for key in foreign {
        if let Some(place) = fields.place(key) {
            let message = format!(
                "`{key}` is not for a server that is {}",
                match (is_described, is_local) {
                    (true, _) => "a description",
                    (_, true) => "a program",
                    _ => "at a URL",
                }
            );
            reader.problem(place, message, Some("leave it out".to_owned()));
        }
    }
    let (enabled, disabled) = (fields.flag("enabled"), fields.flag("disabled"));
    let is_used = enabled.unwrap_or(disabled != Some(true));
    let config = if is_described {
        described::server(fields, reader, |path| folder.path(path))
    } else if is_local {
        local_server(fields, reader, folder)
    } else {
        // The files of a server that is not used need not be there.
        remote_server(fields, reader, is_used.then_some(folder))
    };
    if enabled.is_some() && enabled == disabled {
        let message = "`enabled` and `disabled` contradict each other".to_owned();
        reader.problem(place, message, Some("keep one of them".to_owned()));
    }
    let mut config = config?.enabled(is_used);
    if let Some(timeout) = fields.time("timeout").or(usual.timeout) {
        config = config.timeout(timeout);
    }
    if let Some(timeout) = fields.time("maxTotalTimeout").or(usual.max_total_timeout) {
        config = config.max_total_timeout(timeout);
    }
    if let Some(version) = fields.text("protocol") {
        config = config.protocol(version);
    }
    if let Some(timeout) = fields.time("connectTimeout").or(usual.connect_timeout) {
        config = config.connect_timeout(timeout);
    }
    if let Some(retries) = fields.count("retries").or(usual.retries) {
        config = config.retries(u32::try_from(retries).unwrap_or(u32::MAX));
    }
    if let Some(deferred) = fields.flag("deferred") {
        config = config.deferred(deferred);
    }
    if let Some(strict) = fields.flag("strict").or(usual.strict) {
        config = config.strict(strict);
    }
    if let Some(trusted) = fields.flag("trusted") {
        config = config.trusted(trusted);
    }
    (!server.broken && reader.problems.len() == before).then_some(config)
}

fn local_server(
    fields: &mut ObjectValues,
    reader: &mut ConfigReader<'_>,
    folder: &BaseFolder<'_>,
) -> Option<ServerConfig> {
    let (place, args_place) = (fields.place("command"), fields.place("args"));
    let environment_place = fields.place("environment");
    let mut command = fields.texts("command")?.into_iter();
    let program = command.next()?;
    let in_home = folder.in_home(&program).map(|path| path.to_string_lossy().into_owned());
    let program = in_home.unwrap_or(program);
    let mut arguments: Vec<String> = command.collect();
    if let Some(more) = fields.texts("args") {
        if !arguments.is_empty() {
            let message = "the arguments stand in `command` and in `args`".to_owned();
            reader.problem(args_place?, message, Some("keep them in one place".to_owned()));
            return None;
        }
        arguments = more;
    }
    if program.contains('\0') || arguments.iter().any(|argument| argument.contains('\0')) {
        reader.problem(
            place?,
            "the command holds a NUL character".to_owned(),
            Some("leave it out".to_owned()),
        );
        return None;
    }
    let mut server = ServerConfig::command(program).args(arguments);
    for (name, value) in fields.map("environment").unwrap_or_default() {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let message = format!("{name:?} in `environment` cannot be a variable");
            reader.problem(
                environment_place?,
                message,
                Some("write `\"NAME\": \"value\"`".to_owned()),
            );
            return None;
        }
        server = server.env(name, value);
    }
    if let Some(path) = fields.text("cwd") {
        server = server.current_dir(folder.path(&path));
    }
    Some(server)
}

#[cfg_attr(not(feature = "mcp-oauth"), allow(unused_variables, reason = "of files with secrets"))]
fn remote_server(
    fields: &mut ObjectValues,
    reader: &mut ConfigReader<'_>,
    files: Option<&BaseFolder<'_>>,
) -> Option<ServerConfig> {
    let (place, headers_place) = (fields.place("url"), fields.place("headers"));
    let url = fields.text("url")?;
    let reachable = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if !reqwest::Url::parse(&url).is_ok_and(|url| reachable(&url)) {
        let message = "`url` must be an address that begins with http:// or https://".to_owned();
        reader.problem(place?, message, Some("such as https://example.com/mcp".to_owned()));
        return None;
    }
    let mut server = ServerConfig::url(url);
    for (name, value) in fields.map("headers").unwrap_or_default() {
        let fits = reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
            && reqwest::header::HeaderValue::from_str(&value).is_ok();
        if !fits {
            let message = format!("{name:?} in `headers` cannot be a header");
            let help = "names hold letters, digits and `-`; values hold no line breaks";
            reader.problem(headers_place?, message, Some(help.to_owned()));
            return None;
        }
        server = server.header(name, value);
    }
    #[cfg(feature = "mcp-oauth")]
    if let Some(given) = fields.object("oauth") {
        let path = files.map(|folder| |path: &str| folder.path(path));
        let path = path.as_ref().map(|path| path as &dyn Fn(&str) -> PathBuf);
        server = oauth::of_keys(server, given, reader, path)?;
    }
    Some(server)
}

/// Returns the contents of a file, or the problem reading it.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Box<ConfigProblem>> {
    let unreadable = |error: std::io::Error| {
        let problem = ConfigProblem::new(path, format!("the file cannot be read: {error}"));
        Box::new(match error.kind() {
            std::io::ErrorKind::NotFound => problem.help("`toolbox init` writes one"),
            _ => problem,
        })
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Returns the contents of a file as text, or the problem with them.
fn text_of(
    bytes: Result<Vec<u8>, Box<ConfigProblem>>,
    path: &Path,
) -> Result<String, Box<ConfigProblem>> {
    let bytes = bytes?;
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
        return Err(Box::new(ConfigProblem::new(path, "the file is longer than 4 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let problem = ConfigProblem::new(path, "the file is not UTF-8");
        Box::new(problem.at(&text, valid..valid + 1).help("save it as UTF-8"))
    })
}
