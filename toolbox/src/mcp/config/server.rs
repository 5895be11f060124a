//! The configuration of one server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "mcp-oauth")]
use super::oauth::OAuthClient;

/// The configuration of an MCP server: its command or URL, limits and trust.
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
    pub(crate) endpoint: ServerEndpoint,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) max_total_timeout: Option<Duration>,
    pub(crate) protocol: Option<String>,
    pub(crate) retries: u32,
    pub(crate) deferred: Option<bool>,
    pub(crate) enabled: bool,
    pub(crate) trusted: bool,
    pub(crate) strict: bool,
    #[cfg(feature = "mcp-oauth")]
    pub(crate) oauth: OAuthClient,
}

/// The transport and address of a server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum ServerEndpoint {
    /// A child process that uses its standard streams.
    Command {
        program: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        directory: Option<PathBuf>,
    },
    /// A streamable HTTP endpoint.
    Url { url: String, headers: BTreeMap<String, String> },
}

impl ServerConfig {
    /// Returns a server that is a child process. The program is looked up in `PATH`, without a
    /// shell.
    #[must_use]
    pub fn command(program: impl Into<String>) -> Self {
        Self::with_endpoint(ServerEndpoint::Command {
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            directory: None,
        })
    }

    /// Returns a server at a URL, over streamable HTTP.
    #[must_use]
    pub fn url(url: impl Into<String>) -> Self {
        Self::with_endpoint(ServerEndpoint::Url { url: url.into(), headers: BTreeMap::new() })
    }

    /// Returns whether a token is configured, which takes precedence over one from a sign-in.
    pub(crate) fn has_own_token(&self) -> bool {
        let ServerEndpoint::Url { headers, .. } = &self.endpoint else { return false };
        headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
    }

    /// Returns whether a user may sign in: nothing else is configured.
    pub(crate) fn has_user(&self) -> bool {
        !self.has_own_token() && !self.has_program_grant()
    }

    /// Returns whether tokens are granted to this program without a browser.
    #[cfg_attr(
        not(feature = "mcp-oauth"),
        allow(clippy::unused_self, reason = "a grant is of that feature")
    )]
    pub(crate) fn has_program_grant(&self) -> bool {
        #[cfg(feature = "mcp-oauth")]
        return self.oauth.grant.is_some();
        #[cfg(not(feature = "mcp-oauth"))]
        false
    }

    /// Returns the extension of the protocol that the grant of this program belongs to.
    #[cfg_attr(
        not(feature = "mcp-oauth"),
        allow(clippy::unused_self, reason = "a grant is of that feature")
    )]
    pub(crate) fn grant_extension(&self) -> Option<&'static str> {
        #[cfg(feature = "mcp-oauth")]
        return self.oauth.grant.as_ref().and_then(super::oauth::ProgramGrant::extension);
        #[cfg(not(feature = "mcp-oauth"))]
        None
    }

    fn with_endpoint(endpoint: ServerEndpoint) -> Self {
        Self {
            endpoint,
            connect_timeout: Duration::from_secs(60),
            timeout: Duration::from_secs(60),
            max_total_timeout: None,
            protocol: None,
            retries: 2,
            deferred: None,
            enabled: true,
            trusted: false,
            strict: false,
            #[cfg(feature = "mcp-oauth")]
            oauth: OAuthClient::default(),
        }
    }

    /// Adds an argument to the command. Has no effect on a server with a URL.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        if let ServerEndpoint::Command { arguments, .. } = &mut self.endpoint {
            arguments.push(argument.into());
        }
        self
    }

    /// Adds arguments to the command. Has no effect on a server with a URL.
    #[must_use]
    pub fn args<A: Into<String>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets a variable in the environment of the command. Has no effect on a server with a URL.
    ///
    /// The child inherits only these variables and the few that programs need to start (`PATH`,
    /// `HOME` and the like).
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ServerEndpoint::Command { environment, .. } = &mut self.endpoint {
            environment.insert(name.into(), value.into());
        }
        self
    }

    /// Sets the working directory of the command. Default: that of this process. Has no effect on a
    /// server with a URL.
    #[must_use]
    pub fn current_dir(mut self, path: impl Into<PathBuf>) -> Self {
        if let ServerEndpoint::Command { directory, .. } = &mut self.endpoint {
            *directory = Some(path.into());
        }
        self
    }

    /// Adds a header to every request to the URL. Has no effect on a command.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ServerEndpoint::Url { headers, .. } = &mut self.endpoint {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Limits the time until the server is connected and has listed its tools. Default 60 seconds:
    /// the first start of `npx`, `uvx` or `docker` downloads the server.
    ///
    /// A child that lives and is silent is waited for until then; one that ends is reported at
    /// once. A server that took too long is not started again by itself, but by a call, by the
    /// gateway for a search, both after a pause of 30 seconds that doubles up to 10 minutes, and by
    /// [`Servers::reconnect`](crate::mcp::Servers::reconnect).
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

    /// Lets each report of progress begin the [`timeout`](Self::timeout) of its call anew, up to
    /// this time in all. Default: progress extends nothing.
    #[must_use]
    pub fn max_total_timeout(mut self, timeout: Duration) -> Self {
        self.max_total_timeout = Some(timeout);
        self
    }

    /// Speaks one version of the protocol with the server, such as `2025-11-25`, and no other. A
    /// server may answer a version before 2026-07-28 with another of these. Default: 2026-07-28, or
    /// what an older server speaks.
    ///
    /// A version that is unknown is a server that cannot be connected, and its status says why.
    #[must_use]
    pub fn protocol(mut self, version: impl Into<String>) -> Self {
        self.protocol = Some(version.into());
        self
    }

    /// Returns the longest time of one call, with what progress adds to it.
    pub(crate) fn longest_call(&self) -> Duration {
        self.max_total_timeout.map_or(self.timeout, |most| most.max(self.timeout))
    }

    /// Returns the longest silence of a call, where progress extends its time.
    pub(crate) fn longest_silence(&self) -> Option<Duration> {
        self.max_total_timeout.is_some_and(|most| most > self.timeout).then_some(self.timeout)
    }

    /// Sets the number of retries after a failed connection. Default 2. A server that took longer
    /// than its [connect timeout](Self::connect_timeout) is not retried.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets whether the server's tools are left out of the list sent to a model. Default: the
    /// setting for all servers.
    #[must_use]
    pub fn deferred(mut self, deferred: bool) -> Self {
        self.deferred = Some(deferred);
        self
    }

    /// Sets whether the server is used. Default `true`.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Sets whether the program vouches for the results of the server's tools. Default `false`: a
    /// conversation with one is [tainted](crate::context::Taint).
    #[must_use]
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.trusted = trusted;
        self
    }

    /// Sets whether the schemas of the server's tools are closed for `OpenAI`'s strict mode, as
    /// [`Tool::strict`](crate::Tool::strict) does. Default `false`.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }
}

/// Returns a URL for display: without user, query and fragment, which may hold secrets.
pub(crate) fn public_url(url: &str) -> String {
    let Ok(mut public) = reqwest::Url::parse(url) else { return "a URL that is none".to_owned() };
    // This fails only for a URL without a host, which has no user either.
    let _ = public.set_username("");
    let _ = public.set_password(None);
    public.set_query(None);
    public.set_fragment(None);
    public.into()
}

/// Hides the values of variables and headers, and the parts of a URL that may be secret.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("ServerConfig");
        match &self.endpoint {
            ServerEndpoint::Command { program, arguments, environment, directory } => fields
                .field("command", program)
                .field("arguments", arguments)
                .field("environment", &environment.keys())
                .field("directory", directory),
            ServerEndpoint::Url { url, headers } => {
                fields.field("url", &public_url(url)).field("headers", &headers.keys())
            }
        };
        #[cfg(feature = "mcp-oauth")]
        fields.field("oauth", &self.oauth);
        fields
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .field("max_total_timeout", &self.max_total_timeout)
            .field("protocol", &self.protocol)
            .field("retries", &self.retries)
            .field("deferred", &self.deferred)
            .field("enabled", &self.enabled)
            .field("trusted", &self.trusted)
            .field("strict", &self.strict)
            .finish()
    }
}
