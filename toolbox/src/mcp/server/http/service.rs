//! The HTTP options of a service: limits, authentication and addresses.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, ToSocketAddrs};

use super::bearer::ResourceMetadata;
use super::endpoint::Endpoint;
use super::{TokenVerifier, listen};
use crate::context::Principal;
use crate::mcp::server::running::ServiceActivity;
use crate::mcp::server::shared::ServiceOptions;
use crate::mcp::server::{ServeError, Service};

/// The default limit on calls per second of a principal over HTTP: more than a model ever makes.
const CALLS_PER_SECOND: u32 = 100;

fn running(options: &ServiceOptions) -> ServiceActivity {
    // Connections bound the subscriptions: each has its own.
    ServiceActivity::new(options.max_calls_per_second.unwrap_or(CALLS_PER_SECOND), usize::MAX)
}

/// Streamable HTTP (feature `mcp-server-http`).
impl Service {
    /// Limits the number of connections that [`serve_http`](Self::serve_http) holds. Default 1 024.
    ///
    /// At the limit, the connection that has been idle for longest is closed for the next one; if
    /// all have requests in progress, the next is closed at once. Listening streams take at most
    /// three quarters of them, and one authenticated principal half; an excess request gets status
    /// 503. Anonymous clients cannot be told apart.
    #[must_use]
    pub fn max_connections(self, connections: usize) -> Self {
        self.with(|options| options.http.max_connections = connections)
    }

    /// Limits the number of connections from one address, other than the loopback. Default a
    /// quarter of [`max_connections`](Self::max_connections). Raise it for a proxy on another
    /// machine.
    #[must_use]
    pub fn max_connections_per_address(self, connections: usize) -> Self {
        self.with(|options| options.http.max_connections_per_address = Some(connections))
    }

    /// Limits the number of HTTP sessions, which clients before 2026-07-28 use; an excess one gets
    /// status 503. Default 1 024.
    #[must_use]
    pub fn max_sessions(self, sessions: usize) -> Self {
        self.with(|options| options.http.max_sessions = sessions)
    }

    /// Sets the idle time after which an HTTP session ends. Default 5 minutes.
    #[must_use]
    pub fn session_idle(self, time: Duration) -> Self {
        self.with(|options| options.http.session_idle = time)
    }

    /// Limits the time a client may take to send the head of an HTTP request, and then its body.
    /// Default 10 seconds each.
    ///
    /// The time for a head begins when the client took the last part of the response before, so an
    /// idle connection is closed after it. A connection with a request in progress is not.
    #[must_use]
    pub fn read_timeout(self, time: Duration) -> Self {
        self.with(|options| options.http.read_timeout = time)
    }

    /// Sets the silence after which a comment is sent on an HTTP stream. Default 15 seconds.
    #[must_use]
    pub fn keep_alive(self, time: Duration) -> Self {
        self.with(|options| options.http.keep_alive = time)
    }

    /// Allows HTTP requests to a host, such as `mcp.example.com` or `mcp.example.com:8080`, and
    /// those of its pages; others get status 403, which names the host.
    ///
    /// Default: `localhost`, `127.0.0.1` and `[::1]`, which stay allowed, and any host if a [bearer
    /// token](Self::bearer_token) is required and no host is named. Names are
    /// compared as a whole, ignoring case; one without a port matches every port. This prevents web
    /// pages from reaching the server under a name of their own (DNS rebinding).
    #[must_use]
    pub fn allow_host(self, host: impl Into<String>) -> Self {
        self.with(|options| options.http.hosts.push(host.into()))
    }

    /// Allows HTTP requests of web pages from an origin, such as `https://app.example.com`; the
    /// port `*` matches any, and a missing one is the default port of the scheme.
    ///
    /// Default: pages on this machine. The first call replaces the default; pages of an [allowed
    /// host](Self::allow_host) are let in too. Requests of programs have no origin.
    #[must_use]
    pub fn allow_origin(self, origin: impl Into<String>) -> Self {
        self.with(|options| options.http.origins.push(origin.into()))
    }

    /// Requires a token of HTTP clients, `Authorization: Bearer <token>`; without it they get
    /// status 401.
    ///
    /// Tools see the [`Principal`] `bearer`, and never the token. Several tokens may be set.
    #[must_use]
    pub fn bearer_token(self, token: impl Into<String>) -> Self {
        self.bearer_token_of(Principal::new("bearer"), token)
    }

    /// Requires a token of HTTP clients, like [`bearer_token`](Self::bearer_token), that identifies
    /// one principal.
    #[must_use]
    pub fn bearer_token_of(self, principal: Principal, token: impl Into<String>) -> Self {
        self.with(|options| {
            options.http.tokens.push((principal, token.into()));
            options.private_list = true;
        })
    }

    /// Requires a token of an external issuer of HTTP clients, such as a JWT of an identity
    /// provider, and admits the principal that the verifier returns; without a valid token they get
    /// status 401.
    ///
    /// The verifier is called for every request that has none of the [tokens](Self::bearer_token)
    /// of this service. An expired token is refused, whatever the verifier returns, and a listening
    /// stream ends with it; an admitted call runs to its end. A session belongs to the principal
    /// that opened it. The token is passed to nothing but the verifier: no tool, no mounted server,
    /// no log.
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

    /// Publishes the issuers of tokens to HTTP clients (RFC 9728). Default: not published.
    ///
    /// `base_url` is the public URL of the [router](Self::router), such as
    /// `https://mcp.example.com`; the issuers are given by their URLs. The router then also answers
    /// at `/.well-known/oauth-protected-resource`, without authentication, and a request without a
    /// valid token is referred to it. Tokens have to be issued for `<base_url>/mcp`.
    #[must_use]
    pub fn protected_resource<I>(self, base_url: impl AsRef<str>, authorization_servers: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let servers = authorization_servers.into_iter().map(Into::into).collect();
        self.with(|options| {
            options.http.resource = Some(ResourceMetadata::new(base_url.as_ref(), servers));
        })
    }

    /// Permits [`serve_http`](Self::serve_http) to listen on an address that other machines can
    /// reach without requiring a token.
    ///
    /// Every client that reaches it can then call every tool. Set its host names with
    /// [`allow_host`](Self::allow_host).
    #[must_use]
    pub fn allow_public_without_auth(self) -> Self {
        self.with(|options| options.http.public_without_auth = true)
    }

    /// Answers other paths than `/mcp` with a router, on the same listener.
    ///
    /// The checks of this service (hosts, origins, tokens) are not made for these routes; the
    /// router makes its own.
    #[must_use]
    pub fn routes(self, router: axum::Router) -> Self {
        self.with(|options| {
            let before = options.http.routes.take();
            options.http.routes = Some(before.map_or(router.clone(), |own| own.merge(router)));
        })
    }

    /// Returns an axum router that answers at `/mcp`, to be merged into an application or nested in
    /// it.
    ///
    /// Each router has its own sessions and limits. It performs the checks of hosts, origins and
    /// tokens of this service; add your own authentication and TLS around it. A layer that
    /// authenticates clients inserts a [`Principal`] into the extensions of the request. Limits on
    /// connections and their speed are up to the server that runs it;
    /// [`serve_http`](Self::serve_http) has both.
    ///
    /// ```no_run
    /// use toolbox::mcp::Service;
    /// use toolbox::ToolBox;
    ///
    /// # async fn serve() -> std::io::Result<()> {
    /// let service = Service::new(ToolBox::new()).bearer_token("from your secrets");
    /// // Answers at `/tools/mcp`.
    /// let application = axum::Router::new().nest("/tools", service.router());
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    /// axum::serve(listener, application).await
    /// # }
    /// ```
    pub fn router(&self) -> axum::Router {
        Arc::new(Endpoint::new(&self.shared, running(&self.shared.options))).router()
    }

    /// Listens at an address and serves at `/mcp` until `shutdown` ends, then lets calls finish.
    ///
    /// Running calls get the [grace](Self::grace) period; it returns when every connection has
    /// ended.
    ///
    /// # Errors
    ///
    /// [`ServeError::PublicWithoutAuth`] if other machines can reach the address and no token is
    /// required; [`ServeError::Io`] if it cannot listen there.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes every connection and cancels running calls.
    pub async fn serve_http(
        &self,
        address: impl ToSocketAddrs,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let listener = TcpListener::bind(address).await?;
        self.serve_listener(listener, shutdown).await
    }

    /// Serves like [`serve_http`](Self::serve_http) on a bound listener, for example to know its
    /// port.
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
        let endpoint = Arc::new(Endpoint::new(&self.shared, running.clone()));
        listen::serve(listener, endpoint, running, options, shutdown).await;
        Ok(())
    }
}
