//! What a service over HTTP is told: its limits, who may come in, and where it listens.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, ToSocketAddrs};

use super::bearer::Resource;
use super::routes::Http;
use super::{TokenVerifier, listen};
use crate::context::Principal;
use crate::mcp::server::running::Running;
use crate::mcp::server::shared::Options;
use crate::mcp::server::{ServeError, Service};

/// Calls a second that a principal may make over HTTP: more than a model ever does.
const CALLS_PER_SECOND: u32 = 100;

fn running(options: &Options) -> Running {
    Running::new(options.max_calls_per_second.unwrap_or(CALLS_PER_SECOND))
}

/// Streamable HTTP (feature `mcp-server-http`).
impl Service {
    /// Limits how many connections [`serve_http`](Self::serve_http) holds. Default 1 024.
    ///
    /// When there are so many, the one on which nothing has been answered for longest makes room
    /// for the next; where all are being answered, the next is closed at once. Streams that only
    /// listen take three quarters of them at most, and whoever is signed in half; one more request
    /// gets status 503. Clients that are not signed in cannot be told apart.
    #[must_use]
    pub fn max_connections(self, connections: usize) -> Self {
        self.with(|options| options.http.max_connections = connections)
    }

    /// Limits how many of the connections one address holds, other than the loopback. Default a
    /// quarter of [`max_connections`](Self::max_connections). Raise it where a proxy on another
    /// machine stands between.
    #[must_use]
    pub fn max_connections_per_address(self, connections: usize) -> Self {
        self.with(|options| options.http.max_connections_per_address = Some(connections))
    }

    /// Limits how many sessions of clients before 2026-07-28 there are over HTTP; one more gets
    /// status 503. Default 1 024.
    #[must_use]
    pub fn max_sessions(self, sessions: usize) -> Self {
        self.with(|options| options.http.max_sessions = sessions)
    }

    /// Ends a session over HTTP when nothing happened in it for so long. Default 5 minutes.
    #[must_use]
    pub fn session_idle(self, time: Duration) -> Self {
        self.with(|options| options.http.session_idle = time)
    }

    /// Limits how long a client may take to send the head of a request over HTTP, and then its
    /// body. Default 10 seconds each.
    #[must_use]
    pub fn read_timeout(self, time: Duration) -> Self {
        self.with(|options| options.http.read_timeout = time)
    }

    /// Sends a comment on streams over HTTP that were silent for so long. Default 15 seconds.
    #[must_use]
    pub fn keep_alive(self, time: Duration) -> Self {
        self.with(|options| options.http.keep_alive = time)
    }

    /// Answers HTTP requests to a host, such as `mcp.example.com` or `mcp.example.com:8080`; others
    /// are refused with status 403.
    ///
    /// Default: `localhost`, `127.0.0.1` and `[::1]`, and any host at all where a [bearer
    /// token](Self::bearer_token) is asked for. Naming one replaces that. Names are compared as a
    /// whole, case aside; one without a port stands for every port. It keeps web pages from
    /// reaching the server by a name of their own (DNS rebinding).
    #[must_use]
    pub fn allow_host(self, host: impl Into<String>) -> Self {
        self.with(|options| options.http.hosts.push(host.into()))
    }

    /// Answers HTTP requests of web pages from an origin, such as `https://app.example.com`; a port
    /// of `*` is any, and none is the usual one of the scheme.
    ///
    /// Default: pages on this machine. Naming one replaces that. Requests that no web page makes
    /// have no origin.
    #[must_use]
    pub fn allow_origin(self, origin: impl Into<String>) -> Self {
        self.with(|options| options.http.origins.push(origin.into()))
    }

    /// Asks HTTP clients for a token, `Authorization: Bearer <token>`; without it they get status
    /// 401.
    ///
    /// Tools see the [`Principal`] `bearer`, and never the token. Several tokens are all valid.
    #[must_use]
    pub fn bearer_token(self, token: impl Into<String>) -> Self {
        self.bearer_token_of(Principal::new("bearer"), token)
    }

    /// Asks HTTP clients for a token, like [`bearer_token`](Self::bearer_token), that is the sign
    /// of one principal.
    #[must_use]
    pub fn bearer_token_of(self, principal: Principal, token: impl Into<String>) -> Self {
        self.with(|options| {
            options.http.tokens.push((principal, token.into()));
            options.private_list = true;
        })
    }

    /// Asks HTTP clients for a token that somebody else issues, such as a JWT of an identity
    /// provider, and lets in whom the verifier names; without a valid token they get status 401.
    ///
    /// It is asked on every request that shows none of the [tokens](Self::bearer_token) of this
    /// service. A token that has expired lets nobody in, whatever the verifier says, and a stream
    /// that only listens ends with it; a call that was let in comes to its end. A session belongs
    /// to the principal that opened it. The token reaches nothing behind the verifier: no tool, no
    /// server that the box has tools of, no log.
    ///
    /// ```
    /// use toolbox::mcp::{AccessToken, BearerToken, Service, VerifyTokenError};
    /// use toolbox::ToolBox;
    /// use toolbox::context::Principal;
    /// # struct Claims { sub: String, aud: String, exp: u64 }
    /// # fn decode(_: &str) -> Result<Claims, VerifyTokenError> { Err(VerifyTokenError::Invalid) }
    ///
    /// let service = Service::new(ToolBox::new()).token_verifier(|token: BearerToken| async move {
    ///     // `decode` checks the signature, with the JWT library of your choice.
    ///     let claims: Claims = decode(token.as_str())?;
    ///     if claims.aud != "https://mcp.example.com/mcp" {
    ///         return Err(VerifyTokenError::WrongAudience);
    ///     }
    ///     Ok(AccessToken::new(Principal::new(claims.sub)).expires_at(claims.exp))
    /// });
    /// ```
    #[must_use]
    pub fn token_verifier(self, verifier: impl TokenVerifier) -> Self {
        self.with(|options| {
            options.http.verifier = Some(Arc::new(verifier));
            options.private_list = true;
        })
    }

    /// Tells HTTP clients who issues tokens (RFC 9728). Default: nothing is told.
    ///
    /// `base_url` is where others reach the [router](Self::router), such as
    /// `https://mcp.example.com`; the issuers are named by their URLs. The router then answers at
    /// `/.well-known/oauth-protected-resource` as well, to everybody, and who has no valid token is
    /// told so. What a token has to be issued for is `<base_url>/mcp`.
    #[must_use]
    pub fn protected_resource<I>(self, base_url: impl AsRef<str>, authorization_servers: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let servers = authorization_servers.into_iter().map(Into::into).collect();
        self.with(|options| options.http.resource = Some(Resource::new(base_url.as_ref(), servers)))
    }

    /// Lets [`serve_http`](Self::serve_http) listen on an address that other machines reach, though
    /// it asks for no token.
    ///
    /// Everybody who reaches it can then call every tool. Name the hosts it answers to with
    /// [`allow_host`](Self::allow_host).
    #[must_use]
    pub fn allow_public_without_auth(self) -> Self {
        self.with(|options| options.http.public_without_auth = true)
    }

    /// Returns an axum router that answers at `/mcp`, to be merged into an application or nested in
    /// it.
    ///
    /// Each router has sessions and limits of its own. The checks of hosts, origins and tokens are
    /// those of this service; put sign-in and TLS of your own around it. A layer that signs clients
    /// in says who they are by a [`Principal`] in the extensions of the request. How connections
    /// are accepted, and how slow they may be, is up to whoever serves it:
    /// [`serve_http`](Self::serve_http) has limits for both.
    ///
    /// ```no_run
    /// use toolbox::mcp::Service;
    /// use toolbox::ToolBox;
    ///
    /// # async fn serve() -> std::io::Result<()> {
    /// let service = Service::new(ToolBox::new()).bearer_token("from your secrets");
    /// let application = axum::Router::new().nest("/tools", service.router()); // answers at `/tools/mcp`
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    /// axum::serve(listener, application).await
    /// # }
    /// ```
    pub fn router(&self) -> axum::Router {
        Http::new(&self.shared, running(&self.shared.options)).router
    }

    /// Listens at an address and serves at `/mcp` until `shutdown` ends, then lets calls come to
    /// their end.
    ///
    /// Calls that run get the [grace](Self::grace) period; it returns when every connection has
    /// ended.
    ///
    /// # Errors
    ///
    /// [`ServeError::PublicWithoutAuth`] if other machines reach the address and no token is asked
    /// for; [`ServeError::Io`] if it cannot listen there.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes every connection and cancels the calls that run.
    pub async fn serve_http(
        &self,
        address: impl ToSocketAddrs,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let listener = TcpListener::bind(address).await?;
        self.serve_listener(listener, shutdown).await
    }

    /// Serves like [`serve_http`](Self::serve_http) on a listener that is bound already: to learn
    /// its port, for example.
    ///
    /// # Errors
    ///
    /// As for [`serve_http`](Self::serve_http).
    ///
    /// # Cancellation
    ///
    /// As for [`serve_http`](Self::serve_http).
    pub async fn serve_listener(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr()?;
        let options = &self.shared.options;
        let is_open = !options.http.asks_for_token() && !options.http.public_without_auth;
        if is_open && !address.ip().to_canonical().is_loopback() {
            return Err(ServeError::PublicWithoutAuth { address });
        }
        let running = running(options);
        let http = Http::new(&self.shared, running.clone());
        listen::serve(listener, http, running, options, shutdown).await;
        Ok(())
    }
}
