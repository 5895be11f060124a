//! How one server is reached.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How an MCP server is reached, and what is expected of it.
///
/// ```
/// use std::time::Duration;
/// use toolbox::mcp::ServerConfig;
///
/// let time = ServerConfig::command("uvx").arg("mcp-server-time").env("TZ", "UTC");
/// let docs = ServerConfig::url("https://example.com/mcp").header("Authorization", "Bearer …").timeout(Duration::from_secs(30));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServerConfig {
    pub(crate) reach: Reach,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) deferred: Option<bool>,
    pub(crate) enabled: bool,
    pub(crate) trusted: bool,
    pub(crate) strict: bool,
    #[cfg(feature = "mcp-oauth")]
    pub(crate) oauth: OAuthClient,
}

/// How this client is known where the tokens of a server are given out.
#[cfg(feature = "mcp-oauth")]
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct OAuthClient {
    pub(crate) id: Option<String>,
    pub(crate) secret: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) callback_port: Option<u16>,
}

/// Where a server is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A child process that speaks over its standard streams.
    Command {
        program: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        directory: Option<PathBuf>,
    },
    /// A service that speaks streamable HTTP.
    Url { url: String, headers: BTreeMap<String, String> },
}

impl ServerConfig {
    /// Returns a server that is a child process. The program is looked up in `PATH`; no shell reads
    /// the line.
    #[must_use]
    pub fn command(program: impl Into<String>) -> Self {
        Self::reached(Reach::Command {
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            directory: None,
        })
    }

    /// Returns a server that answers at a URL, over streamable HTTP.
    #[must_use]
    pub fn url(url: impl Into<String>) -> Self {
        Self::reached(Reach::Url { url: url.into(), headers: BTreeMap::new() })
    }

    /// Returns whether a token is configured, which goes before what was granted at a sign-in.
    pub(crate) fn has_own_token(&self) -> bool {
        let Reach::Url { headers, .. } = &self.reach else { return false };
        headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
    }

    fn reached(reach: Reach) -> Self {
        Self {
            reach,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            retries: 2,
            deferred: None,
            enabled: true,
            trusted: false,
            strict: false,
            #[cfg(feature = "mcp-oauth")]
            oauth: OAuthClient::default(),
        }
    }

    /// Adds an argument to the command. Of no effect on a server with a URL.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        if let Reach::Command { arguments, .. } = &mut self.reach {
            arguments.push(argument.into());
        }
        self
    }

    /// Adds arguments to the command. Of no effect on a server with a URL.
    #[must_use]
    pub fn args<A: Into<String>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets a variable in the environment of the command. Of no effect on a server with a URL.
    ///
    /// The child gets these variables and the few that programs need to start at all (`PATH`,
    /// `HOME` and the like), and none of the others that this process has.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Reach::Command { environment, .. } = &mut self.reach {
            environment.insert(name.into(), value.into());
        }
        self
    }

    /// Sets the directory the command runs in. Default: the one of this process. Of no effect on a
    /// server with a URL.
    #[must_use]
    pub fn current_dir(mut self, path: impl Into<PathBuf>) -> Self {
        if let Reach::Command { directory, .. } = &mut self.reach {
            *directory = Some(path.into());
        }
        self
    }

    /// Adds a header to every request to the URL. Of no effect on a command.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Reach::Url { headers, .. } = &mut self.reach {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Names the client that a [`SignIn`](crate::mcp::SignIn) asks as, for servers where one has to
    /// be registered beforehand. Default: it registers by itself. Of no effect on a command.
    #[cfg(feature = "mcp-oauth")]
    #[must_use]
    pub fn oauth_client(mut self, id: impl Into<String>, secret: Option<String>) -> Self {
        self.oauth.id = Some(id.into());
        self.oauth.secret = secret;
        self
    }

    /// Asks for these scopes at a [`SignIn`](crate::mcp::SignIn). Default: those that the server
    /// names. Of no effect on a command.
    #[cfg(feature = "mcp-oauth")]
    #[must_use]
    pub fn oauth_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.oauth.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the port of the loopback that a browser comes back to at a
    /// [`SignIn`](crate::mcp::SignIn), where the address had to be registered:
    /// `http://127.0.0.1:<port>/callback`. Default: any that is free. Of no effect on a command.
    #[cfg(feature = "mcp-oauth")]
    #[must_use]
    pub fn oauth_callback_port(mut self, port: u16) -> Self {
        self.oauth.callback_port = Some(port);
        self
    }

    /// Limits the time until the server is connected and has listed its tools. Default 10 seconds.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Limits the time of one call. Default 60 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how often a failed connection is tried again before it is given up for now. Default 2;
    /// 0 means once and no more.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Keeps the server's tools out of the list that is sent to a model, or puts them into it.
    /// Default: as all servers are mounted.
    #[must_use]
    pub fn deferred(mut self, deferred: bool) -> Self {
        self.deferred = Some(deferred);
        self
    }

    /// Says whether the server is used at all. Default yes.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Says whether the program vouches for what the server's tools return. Default no: a
    /// conversation in which one answered is [tainted](crate::context::Taint).
    #[must_use]
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.trusted = trusted;
        self
    }

    /// Closes the schemas of the server's tools for `OpenAI`'s strict mode, as
    /// [`Tool::strict`](crate::Tool::strict) does. Default no.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }
}

/// Returns a URL as it may be shown: without user, query and fragment, where secrets are.
pub(crate) fn shown_url(url: &str) -> String {
    let Ok(mut shown) = reqwest::Url::parse(url) else { return "a URL that is none".to_owned() };
    // Of no effect where a URL has no host, and so no user either.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}

/// Shows no value of a variable or a header, and of a URL no part that may be secret.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ServerConfig");
        match &self.reach {
            Reach::Command { program, arguments, environment, directory } => shown
                .field("command", program)
                .field("arguments", arguments)
                .field("environment", &environment.keys())
                .field("directory", directory),
            Reach::Url { url, headers } => {
                shown.field("url", &shown_url(url)).field("headers", &headers.keys())
            }
        };
        #[cfg(feature = "mcp-oauth")]
        shown.field("oauth", &self.oauth);
        shown
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("deferred", &self.deferred)
            .field("enabled", &self.enabled)
            .field("trusted", &self.trusted)
            .field("strict", &self.strict)
            .finish()
    }
}

/// Shows no secret.
#[cfg(feature = "mcp-oauth")]
impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("id", &self.id)
            .field("secret", &self.secret.as_ref().map(|_| "***"))
            .field("scopes", &self.scopes)
            .field("callback_port", &self.callback_port)
            .finish()
    }
}
