//! What a program is told about servers: one server as a value, and the file that names many.

mod problem;
mod read;
mod server;
mod table;
mod variables;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use problem::ConfigProblem;
use read::{Fields, GivenServer, Reader};
#[cfg(feature = "mcp-oauth")]
pub(crate) use server::OAuthClient;
pub use server::ServerConfig;
pub(crate) use server::{Reach, shown_url};

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The variable that names the file.
const PATH_VARIABLE: &str = "OPENCODE_TOOLBOX_CONFIG";

/// Servers and settings from a file: `toolbox.jsonc`.
///
/// JSON with comments and trailing commas. Servers stand under `mcp`, the way `OpenCode` writes
/// them, or under `mcpServers`, the way desktop hosts do; in any text, `{env:NAME}` is the variable
/// of that name, and `{env:NAME:-default}` has a default. [`Config::schema`] is the whole of it.
///
/// A file with a fault is read as far as possible, and every fault is reported. A server with a
/// fault is left out and the others stay; when it cannot be known which tools are forbidden, no
/// server stays.
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
/// assert_eq!(problems[0].message(), "the environment variable `EXA_KEY` that `headers` of server `exa` needs is not set");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    servers: Vec<(String, ServerConfig)>,
    settings: Settings,
}

/// What a file says for all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Whether tools are found by search instead of listed. Default true.
    pub deferred: bool,
    /// Whether servers are started at the first search or call instead of at once. Default false.
    pub lazy: bool,
    /// How many tools a search finds when the model does not say, from 1 to 20. Default 5.
    pub default_limit: usize,
    /// The longest reply to a search, in bytes. Default 16 KiB.
    pub max_reply_bytes: usize,
    /// The longest result of a call, in bytes
    /// ([`ToolBoxBuilder::max_result_bytes`](crate::ToolBoxBuilder::max_result_bytes)). Default 256
    /// KiB.
    pub max_result_bytes: usize,
    /// Whether a search ranks by BM25 of the textbook instead of the tuned ranking. Default false.
    pub plain_ranking: bool,
    /// Tools that are neither found nor called, as rules. Default: none.
    pub blacklist: Vec<String>,
    /// The only tools that are found and called, as rules; `None` is all.
    pub allow: Option<Vec<String>>,
    /// The file with digests of approved definitions. Default: none, and nothing is withheld.
    pub lock_file: Option<PathBuf>,
    /// The file with the tokens of servers that somebody signed in at. Default: the program's own.
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
            #[cfg(feature = "mcp-oauth")]
            credential_file: None,
        }
    }
}

impl Config {
    /// Returns where the file is when nobody says otherwise: what the variable
    /// `OPENCODE_TOOLBOX_CONFIG` names, or else `opencode/toolbox.jsonc` in `XDG_CONFIG_HOME` or
    /// `~/.config`.
    ///
    /// A file in the current directory is not looked for: a program that starts what a folder names
    /// would run whatever comes with a folder. `None` if the home directory is unknown.
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
    /// Returns what could be read, and everything that is wrong. Relative paths in the file are
    /// seen from its folder. More than 4 MiB are refused.
    #[must_use = "the second part says what is wrong with the file"]
    pub fn read(path: impl AsRef<Path>) -> (Self, Vec<ConfigProblem>) {
        let path = path.as_ref();
        match text_of(path) {
            Ok(text) => Self::parse(&text, path, |name| std::env::var(name).ok()),
            Err(problem) => (Self::default(), vec![*problem]),
        }
    }

    /// Reads the text of a file; `environment` gives the values of variables.
    ///
    /// Nothing is read from the file system: `path` is named in problems, and relative paths are
    /// seen from its folder.
    #[must_use = "the second part says what is wrong with the text"]
    pub fn parse(
        text: &str,
        path: impl AsRef<Path>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> (Self, Vec<ConfigProblem>) {
        let path = path.as_ref();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader::new(text, path, &environment);
        let Some(mut file) = reader.file() else {
            return (Self::default(), reader.problems);
        };
        let folder = Folder { of_file: path.parent(), home: environment("HOME") };
        let unreadable = file.is_refused("settings");
        let mut said = file.object("settings").unwrap_or_default();
        // Nobody knows then what was meant to be forbidden.
        let closed = unreadable || said.is_refused("blacklist") || said.is_refused("allow");
        let usual = Usual {
            timeout: said.time("timeout"),
            connect_timeout: said.time("connectTimeout"),
            retries: said.count("retries"),
            strict: said.flag("strict"),
        };
        let settings = settings(&mut said, &folder);
        let mut config = Self { servers: Vec::new(), settings };
        let mut names = Vec::new();
        for key in ["mcp", "mcpServers"] {
            for server in file.servers(key).unwrap_or_default() {
                config.add(server, &mut names, &mut reader, &usual, &folder);
            }
        }
        if closed {
            config.servers.clear();
        }
        (config, reader.problems)
    }

    fn add(
        &mut self,
        mut server: GivenServer,
        names: &mut Vec<String>,
        reader: &mut Reader<'_>,
        usual: &Usual,
        folder: &Folder<'_>,
    ) {
        let name = std::mem::take(&mut server.name);
        reader.about(Some(&name));
        let lower = name.to_ascii_lowercase();
        if names.contains(&lower) {
            // Which of them was meant is not known, so that neither stays.
            self.servers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
            let message = format!("there are two servers `{name}`, whatever the case");
            reader.problem(server.place, message, Some("rename one of them".to_owned()));
        } else {
            names.push(lower);
            let config = assembled(&mut server, reader, usual, folder);
            self.servers.extend(config.map(|config| (name, config)));
        }
        reader.about(None);
    }

    /// Returns the servers by name, in the order of the file; those that are not enabled too.
    #[must_use]
    pub fn servers(&self) -> &[(String, ServerConfig)] {
        &self.servers
    }

    /// Returns what the file says for all servers.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the JSON Schema of the file, made of the table by which it is read.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        let mut schema = table::schema(table::FILE);
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = "toolbox.jsonc".into();
        schema
    }

    /// Returns a file with comments that shows what can be said, for a beginning.
    #[must_use]
    pub fn starter() -> &'static str {
        include_str!("starter.jsonc")
    }
}

/// What servers have that say nothing of their own.
struct Usual {
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    retries: Option<u64>,
    strict: Option<bool>,
}

/// From where relative paths are seen.
struct Folder<'a> {
    of_file: Option<&'a Path>,
    home: Option<String>,
}

impl Folder<'_> {
    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            _ => self.of_file.map_or_else(|| text.into(), |folder| folder.join(text)),
        }
    }
}

fn settings(said: &mut Fields, folder: &Folder<'_>) -> Settings {
    let usual = Settings::default();
    let bytes = |given: Option<u64>, usual: usize| {
        given.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usual)
    };
    Settings {
        deferred: said.flag("deferred").unwrap_or(usual.deferred),
        lazy: said.text("connect").is_some_and(|when| when == "lazy"),
        default_limit: bytes(said.count("defaultLimit"), usual.default_limit),
        plain_ranking: said.text("ranking").is_some_and(|ranking| ranking == "plain"),
        max_reply_bytes: bytes(said.count("maxReplyBytes"), usual.max_reply_bytes),
        max_result_bytes: bytes(said.count("maxResultBytes"), usual.max_result_bytes),
        blacklist: said.texts("blacklist").unwrap_or_default(),
        allow: said.texts("allow"),
        lock_file: said.text("lockFile").map(|path| folder.path(&path)),
        #[cfg(feature = "mcp-oauth")]
        credential_file: said.text("credentialFile").map(|path| folder.path(&path)),
    }
}

/// Makes a server of what the file says, if it fits together.
fn assembled(
    server: &mut GivenServer,
    reader: &mut Reader<'_>,
    usual: &Usual,
    folder: &Folder<'_>,
) -> Option<ServerConfig> {
    let (place, before) = (server.place.clone(), reader.problems.len());
    let fields = &mut server.fields;
    let kind = fields.text("type");
    let local = kind.as_deref().map(|kind| table::LOCAL.contains(&kind));
    let said = |key: &str| fields.has(key) || fields.is_refused(key);
    let (command, url) = (said("command"), said("url"));
    let is_local = local.unwrap_or(command || !url);
    let (needed, foreign): (&str, &[&str]) = if is_local {
        ("command", &["url", "headers", "oauth"])
    } else {
        ("url", &["command", "args", "environment", "cwd"])
    };
    // A key that nobody knows may have been meant for it.
    if !said(needed) && !server.broken {
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
                if is_local { "a program" } else { "at a URL" }
            );
            reader.problem(place, message, Some("leave it out".to_owned()));
        }
    }
    let config =
        if is_local { local_server(fields, reader, folder) } else { remote_server(fields, reader) };
    let (enabled, disabled) = (fields.flag("enabled"), fields.flag("disabled"));
    if enabled.is_some() && enabled == disabled {
        let message = "`enabled` and `disabled` contradict each other".to_owned();
        reader.problem(place, message, Some("keep one of them".to_owned()));
    }
    let mut config = config?.enabled(enabled.unwrap_or(disabled != Some(true)));
    if let Some(timeout) = fields.time("timeout").or(usual.timeout) {
        config = config.timeout(timeout);
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
    fields: &mut Fields,
    reader: &mut Reader<'_>,
    folder: &Folder<'_>,
) -> Option<ServerConfig> {
    let (place, args_place) = (fields.place("command"), fields.place("args"));
    let environment_place = fields.place("environment");
    let mut command = fields.texts("command")?.into_iter();
    let program = command.next()?;
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

fn remote_server(fields: &mut Fields, reader: &mut Reader<'_>) -> Option<ServerConfig> {
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
    if let Some(said) = fields.object("oauth") {
        server = oauth(server, said);
    }
    Some(server)
}

#[cfg(feature = "mcp-oauth")]
fn oauth(mut server: ServerConfig, mut said: Fields) -> ServerConfig {
    if let Some(id) = said.text("clientId") {
        server = server.oauth_client(id, said.text("clientSecret"));
    }
    if let Some(scope) = said.text("scope") {
        server = server.oauth_scopes(scope.split_whitespace());
    }
    match said.count("callbackPort").map(u16::try_from) {
        Some(Ok(port)) => server.oauth_callback_port(port),
        _ => server,
    }
}

/// The text of a file, or why there is none.
fn text_of(path: &Path) -> Result<String, Box<ConfigProblem>> {
    let problem = |message: String| ConfigProblem::new(path, message);
    let unreadable = |error: &std::io::Error| {
        let problem = problem(format!("the file cannot be read: {error}"));
        Box::new(match error.kind() {
            std::io::ErrorKind::NotFound => problem.help("`toolbox init` writes one"),
            _ => problem,
        })
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
        return Err(Box::new(problem("the file is longer than 4 MiB".to_owned())));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        Box::new(
            problem("the file is not UTF-8".to_owned())
                .at(&text, valid..valid + 1)
                .help("save it as UTF-8"),
        )
    })
}
