//! A box as a server of the protocol, over standard streams and over HTTP.

mod authority;
mod bearer;
mod body;
mod call;
mod caller;
mod error;
mod handler;
mod http;
mod in_flight;
mod info;
mod lines;
mod list;
mod listen;
mod pace;
mod result;
mod running;
mod share;
mod stdio;
mod text;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::time::timeout;

pub use bearer::{AccessToken, BearerToken, TokenVerifier, VerifyTokenError};
pub use caller::{Caller, MissingCapability};
pub use error::ServeError;
pub use info::ServerInfo;

use self::bearer::Resource;
use self::handler::Handler;
use self::lines::Lines;
use self::list::{Listing, Listings};
use self::running::{LAST_WORDS, Running};
use crate::collection::ToolBox;
use crate::principal::Principal;

/// Calls a second that a principal may make over HTTP: more than a model ever does.
const CALLS_PER_SECOND: u32 = 100;

/// Serves a box as an MCP server over standard input and output, until the input ends.
///
/// The same as [`Service::serve_stdio`] with everything at its default: the server introduces itself by the file name of the
/// program. [`serve_stdio_as`] takes a name and a version.
///
/// # Errors
///
/// [`ServeError::Io`] if the standard streams cannot be used.
pub async fn serve_stdio(toolbox: ToolBox) -> Result<(), ServeError> {
    Service::new(toolbox).serve_stdio().await
}

/// Serves a box over standard input and output like [`serve_stdio`], under a name and a version.
///
/// ```no_run
/// # async fn serve(toolbox: toolbox::ToolBox) -> Result<(), toolbox::mcp::ServeError> {
/// toolbox::mcp::serve_stdio_as(toolbox, toolbox::server_info!()).await
/// # }
/// ```
///
/// # Errors
///
/// As for [`serve_stdio`].
pub async fn serve_stdio_as(
    toolbox: ToolBox,
    info: impl Into<ServerInfo>,
) -> Result<(), ServeError> {
    Service::new(toolbox).info(info).serve_stdio().await
}

/// A box as an MCP server: what it says of itself, its limits, and the ways to reach it.
///
/// The [limits of the box](ToolBox#limits) hold for its clients as well: 60 seconds a call, 1 MiB of arguments, 256 KiB of results.
///
/// Clients of both eras of the protocol are served: 2026-07-28, where each request stands alone, and the versions from
/// 2024-11-05 to 2025-11-25, which begin with a handshake. Every call passes the gate of the box, which reads the text of the
/// arguments as the client wrote it.
///
/// ```no_run
/// use toolbox::mcp::Service;
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # async fn serve() -> Result<(), toolbox::mcp::ServeError> {
/// let service = Service::new(ToolBox::from(tools![add])).name("calculator").version("1.2.0");
/// service.serve_stdio().await?;
/// # Ok(())
/// # }
/// ```
///
/// # What a client sees
///
/// - The tools that may be called and are not deferred, in the order of the box; a box with a
///   [`Gateway`](crate::search::Gateway) so shows the three tools of the gateway. See [`Service::list_deferred`].
/// - A failure (a denial, bad arguments, a timeout, a panic) as a result with `isError`. Only a tool that is not there is an
///   error of the protocol, −32602, and so is a [`MissingCapability`].
/// - The text of a structured result as text as well. Clients before 2026-07-28 get structured results that are objects only.
///   A structured result, an image or a document that is larger than the limit of the box (256 KiB by default,
///   [`max_result_bytes`](crate::ToolBoxBuilder::max_result_bytes)) is a failure that says so; longer text is cut.
/// - [`ToolResult::user_text`](crate::ToolResult::user_text) as a further text for the audience `user`; a silent result for the
///   audience `assistant` alone.
/// - A notification whenever the list changes.
/// - Schemas as they are. An argument that says `x-mcp-header` (`#[schemars(extend("x-mcp-header" = "Region"))]` on a field) is held
///   against the header `Mcp-Param-Region` over HTTP, from 2026-07-28 on.
///
/// # What a tool sees
///
/// The context of its call holds a [`Caller`], a [`TraceContext`](super::TraceContext) if the client sent one, a [`Principal`](crate::Principal) if somebody is signed
/// in, and the [`Conversation`](crate::Conversation) `mcp` with the id of the session where there is one. It is cancelled when
/// the client cancels the request or, from 2026-07-28 on, closes the connection; an older client may come back for the answer.
/// Progress goes to a client that asked for it. `_meta["toolbox/depth"]` counts agents at work above the call in other
/// processes, and can only make the limit on them be reached sooner.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

/// What every connection of a service shares.
pub(super) struct Shared {
    toolbox: ToolBox,
    options: Options,
    listings: Listings,
}

impl Shared {
    fn listing(&self) -> Arc<Listing> {
        self.listings.of(&self.toolbox, self.options.list_deferred)
    }
}

#[derive(Clone)]
struct Options {
    info: ServerInfo,
    title: Option<String>,
    instructions: Option<String>,
    list_deferred: bool,
    list_fresh_for: Duration,
    page_size: usize,
    max_calls: usize,
    max_calls_per_second: Option<u32>,
    max_message_bytes: usize,
    max_connections: usize,
    max_connections_per_address: Option<usize>,
    max_sessions: usize,
    session_idle: Duration,
    read_timeout: Duration,
    keep_alive: Duration,
    grace: Duration,
    hosts: Vec<String>,
    origins: Vec<String>,
    tokens: Vec<(Principal, String)>,
    verifier: Option<Arc<dyn TokenVerifier>>,
    resource: Option<Resource>,
    public_without_auth: bool,
}

impl Options {
    fn asks_for_token(&self) -> bool {
        !self.tokens.is_empty() || self.verifier.is_some()
    }

    /// Begins what runs over streams, where the client is whoever started the program.
    fn running_over_streams(&self) -> Running {
        Running::new(self.max_calls_per_second.unwrap_or(0))
    }

    fn running_over_http(&self) -> Running {
        Running::new(self.max_calls_per_second.unwrap_or(CALLS_PER_SECOND))
    }
}

impl Service {
    /// Returns a service of the tools that are in the box, and of those that come later.
    #[must_use]
    pub fn new(toolbox: ToolBox) -> Self {
        let options = Options {
            info: ServerInfo::default(),
            title: None,
            instructions: None,
            list_deferred: false,
            list_fresh_for: Duration::from_secs(60),
            page_size: 1000,
            max_calls: 1024,
            max_calls_per_second: None,
            max_message_bytes: 4 << 20,
            max_connections: 1024,
            max_connections_per_address: None,
            max_sessions: 1024,
            session_idle: Duration::from_secs(300),
            read_timeout: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(5),
            hosts: Vec::new(),
            origins: Vec::new(),
            tokens: Vec::new(),
            verifier: None,
            resource: None,
            public_without_auth: false,
        };
        Self { shared: Arc::new(Shared { toolbox, options, listings: Listings::default() }) }
    }

    fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.shared.options.clone();
        change(&mut options);
        let toolbox = self.shared.toolbox.clone();
        Self { shared: Arc::new(Shared { toolbox, options, listings: Listings::default() }) }
    }

    /// Sets the name and the version that clients are told, usually [`server_info!()`](crate::server_info). Default: the file
    /// name of the program, and `unknown`.
    #[must_use]
    pub fn info(self, info: impl Into<ServerInfo>) -> Self {
        self.with(|options| options.info = info.into())
    }

    /// Sets the name that clients are told. Default: the file name of the program.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|options| options.info.name = name.into())
    }

    /// Sets the version that clients are told. Default `unknown`.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.with(|options| options.info.version = version.into())
    }

    /// Sets a name for people. Default: none.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.with(|options| options.title = Some(title.into()))
    }

    /// Sets a text about the tools as a whole, which hosts may give to the model. Default: none.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.with(|options| options.instructions = Some(instructions.into()))
    }

    /// Lists deferred tools like the others, and lets them be called by their own names. Default: off.
    ///
    /// Off, a client finds them through a [`Gateway`](crate::search::Gateway) in the box, or knows their names.
    #[must_use]
    pub fn list_deferred(self, list: bool) -> Self {
        self.with(|options| options.list_deferred = list)
    }

    /// Says how long clients may keep the list without asking again, unless they are told of a change. Default 60 seconds.
    ///
    /// What a client keeps grants nothing: a tool that is forbidden meanwhile is refused when it is called.
    #[must_use]
    pub fn list_fresh_for(self, time: Duration) -> Self {
        self.with(|options| options.list_fresh_for = time)
    }

    /// Limits how many tools one page of the list holds. Default 1 000. Zero counts as one.
    #[must_use]
    pub fn page_size(self, tools: usize) -> Self {
        self.with(|options| options.page_size = tools)
    }

    /// Limits how many calls run at once, on one connection over streams, and over HTTP in all; one more is told that the server
    /// is busy. Default 1 024.
    #[must_use]
    pub fn max_calls(self, calls: usize) -> Self {
        self.with(|options| options.max_calls = calls)
    }

    /// Limits how many calls a [`Principal`] may make in a second; one more is told when to call again, and nothing is called.
    /// Default 100 over HTTP, and any number over streams, where the client is the program that started this one. Zero is any number.
    ///
    /// Twice as many may come at once after a pause. Each principal is counted by itself, and all that come over HTTP without
    /// one count as one: a client that is not known could come as a new one each time.
    #[must_use]
    pub fn max_calls_per_second(self, calls: u32) -> Self {
        self.with(|options| options.max_calls_per_second = Some(calls))
    }

    /// Limits one message of a client, in bytes; a longer one is refused unread. Default 4 MiB.
    #[must_use]
    pub fn max_message_bytes(self, bytes: usize) -> Self {
        self.with(|options| options.max_message_bytes = bytes)
    }

    /// Limits how many connections [`serve_http`](Self::serve_http) holds. Default 1 024.
    ///
    /// When there are so many, the one on which nothing has been answered for longest makes room for the next; where all are being
    /// answered, the next is closed at once. Streams that only listen take three quarters of them at most, and whoever is signed in
    /// half; one more request gets status 503. Clients that are not signed in cannot be told apart.
    #[must_use]
    pub fn max_connections(self, connections: usize) -> Self {
        self.with(|options| options.max_connections = connections)
    }

    /// Limits how many of the connections one address holds, other than the loopback. Default a quarter of
    /// [`max_connections`](Self::max_connections). Raise it where a proxy on another machine stands between.
    #[must_use]
    pub fn max_connections_per_address(self, connections: usize) -> Self {
        self.with(|options| options.max_connections_per_address = Some(connections))
    }

    /// Limits how many sessions of clients before 2026-07-28 there are over HTTP; one more gets status 503. Default 1 024.
    #[must_use]
    pub fn max_sessions(self, sessions: usize) -> Self {
        self.with(|options| options.max_sessions = sessions)
    }

    /// Ends a session over HTTP when nothing happened in it for so long. Default 5 minutes.
    #[must_use]
    pub fn session_idle(self, time: Duration) -> Self {
        self.with(|options| options.session_idle = time)
    }

    /// Limits how long a client may take to send the head of a request over HTTP, and then its body. Default 10 seconds each.
    #[must_use]
    pub fn read_timeout(self, time: Duration) -> Self {
        self.with(|options| options.read_timeout = time)
    }

    /// Sends a comment on streams over HTTP that were silent for so long. Default 15 seconds.
    #[must_use]
    pub fn keep_alive(self, time: Duration) -> Self {
        self.with(|options| options.keep_alive = time)
    }

    /// Gives calls that run when the service ends so long to come to their end; then they are cancelled. Default 5 seconds.
    #[must_use]
    pub fn grace(self, time: Duration) -> Self {
        self.with(|options| options.grace = time)
    }

    /// Answers HTTP requests to a host, such as `mcp.example.com` or `mcp.example.com:8080`; others are refused with status 403.
    ///
    /// Default: `localhost`, `127.0.0.1` and `[::1]`, and any host at all where a [bearer token](Self::bearer_token) is asked
    /// for. Naming one replaces that. Names are compared as a whole, case aside; one without a port stands for every port. It keeps web pages from reaching the server by a name of their own (DNS rebinding).
    #[must_use]
    pub fn allow_host(self, host: impl Into<String>) -> Self {
        self.with(|options| options.hosts.push(host.into()))
    }

    /// Answers HTTP requests of web pages from an origin, such as `https://app.example.com`; a port of `*` is any, and none is the
    /// usual one of the scheme.
    ///
    /// Default: pages on this machine. Naming one replaces that. Requests that no web page makes have no origin.
    #[must_use]
    pub fn allow_origin(self, origin: impl Into<String>) -> Self {
        self.with(|options| options.origins.push(origin.into()))
    }

    /// Asks HTTP clients for a token, `Authorization: Bearer <token>`; without it they get status 401.
    ///
    /// Tools see the [`Principal`] `bearer`, and never the token. Several tokens are all valid.
    #[must_use]
    pub fn bearer_token(self, token: impl Into<String>) -> Self {
        self.bearer_token_of(Principal::new("bearer"), token)
    }

    /// Asks HTTP clients for a token, like [`bearer_token`](Self::bearer_token), that is the sign of one principal.
    #[must_use]
    pub fn bearer_token_of(self, principal: Principal, token: impl Into<String>) -> Self {
        self.with(|options| options.tokens.push((principal, token.into())))
    }

    /// Asks HTTP clients for a token that somebody else issues, such as a JWT of an identity provider, and lets in whom the
    /// verifier names; without a valid token they get status 401.
    ///
    /// It is asked on every request that shows none of the [tokens](Self::bearer_token) of this service. A token that has
    /// expired lets nobody in, whatever the verifier says, and a stream that only listens ends with it; a call that was let in
    /// comes to its end. A session belongs to the principal that opened it. The token reaches nothing behind the verifier: no
    /// tool, no server that the box has tools of, no log.
    ///
    /// ```
    /// use toolbox::mcp::{AccessToken, BearerToken, Service, VerifyTokenError};
    /// use toolbox::{Principal, ToolBox};
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
        self.with(|options| options.verifier = Some(Arc::new(verifier)))
    }

    /// Tells HTTP clients who issues tokens (RFC 9728). Default: nothing is told.
    ///
    /// `base_url` is where others reach the [router](Self::router), such as `https://mcp.example.com`; the issuers are named by
    /// their URLs. The router then answers at `/.well-known/oauth-protected-resource` as well, to everybody, and who has no valid
    /// token is told so. What a token has to be issued for is `<base_url>/mcp`.
    #[must_use]
    pub fn protected_resource<I>(self, base_url: impl AsRef<str>, authorization_servers: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let servers = authorization_servers.into_iter().map(Into::into).collect();
        self.with(|options| options.resource = Some(Resource::new(base_url.as_ref(), servers)))
    }

    /// Lets [`serve_http`](Self::serve_http) listen on an address that other machines reach, though it asks for no token.
    ///
    /// Everybody who reaches it can then call every tool. Name the hosts it answers to with [`allow_host`](Self::allow_host).
    #[must_use]
    pub fn allow_public_without_auth(self) -> Self {
        self.with(|options| options.public_without_auth = true)
    }

    /// Serves over standard input and output, until the input ends.
    ///
    /// A host starts such a server as its child. Calls run beside each other; those that run when the input ends get
    /// the [grace](Self::grace) period. On Unix, what the program prints meanwhile goes to standard error, so that
    /// a `println!` in a tool does not break the protocol; elsewhere nothing may be printed.
    ///
    /// # Errors
    ///
    /// [`ServeError::Io`] if the standard streams cannot be used.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the calls that run. A thread that reads standard input stays until there is more of it.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        self.serve_stdio_until(std::future::pending()).await
    }

    /// Serves over standard input and output, until the input ends or `shutdown` does, such as `tokio::signal::ctrl_c()`.
    ///
    /// # Errors
    ///
    /// As for [`serve_stdio`](Self::serve_stdio).
    ///
    /// # Cancellation
    ///
    /// As for [`serve_stdio`](Self::serve_stdio).
    pub async fn serve_stdio_until(
        &self,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let reserved = stdio::Reserved::take()?;
        let output = lines::to_blocking(reserved.output()?);
        self.converse(stdio::Input::open(), output, shutdown).await;
        Ok(())
    }

    /// Serves one client over any pair of streams, a message a line, until the input ends.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the calls that run.
    pub async fn serve<R, W>(&self, input: R, output: W)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.serve_until(input, output, std::future::pending()).await;
    }

    /// Serves one client over any pair of streams, until the input ends or `shutdown` does.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the calls that run.
    pub async fn serve_until<R, W>(&self, input: R, output: W, shutdown: impl Future<Output = ()>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.converse(input, lines::to_stream(output), shutdown).await;
    }

    async fn converse<R>(&self, input: R, output: lines::Output, shutdown: impl Future<Output = ()>)
    where
        R: AsyncRead + Send + Unpin + 'static,
    {
        let options = &self.shared.options;
        let running = options.running_over_streams();
        let (lines, written) = output;
        let transport =
            Lines::new(input, lines, options.max_message_bytes, running.clone(), options.grace);
        let handler = Handler::new(Arc::clone(&self.shared), running.clone());
        let _end = running.end_on_drop();
        let talk = async {
            match handler.serve(transport).await {
                Ok(service) => {
                    if let Err(error) = service.waiting().await {
                        tracing::error!(%error, "the connection ended by a fault of its own");
                    }
                }
                Err(ServerInitializeError::ConnectionClosed(_)) => {}
                Err(error) => {
                    tracing::warn!(%error, "the client did not begin as the protocol asks");
                }
            }
        };
        let mut talk = pin!(talk);
        tokio::select! {
            () = &mut talk => {}
            () = shutdown => {
                running.closing().cancel();
                talk.await;
            }
        }
        running.settle().await;
        // A client that does not read what it is sent is not waited for.
        let _ = timeout(LAST_WORDS, written).await;
    }

    /// Returns an axum router that answers at `/mcp`, to be merged into an application or nested in it.
    ///
    /// Each router has sessions and limits of its own. The checks of hosts, origins and tokens are those of this service; put
    /// sign-in and TLS of your own around it. A layer that signs clients in says who they are by a [`Principal`] in the extensions
    /// of the request. How connections are accepted, and how slow they may be, is up to
    /// whoever serves it: [`serve_http`](Self::serve_http) has limits for both.
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
        http::Http::new(&self.shared, self.shared.options.running_over_http()).router
    }

    /// Listens at an address and serves at `/mcp` until `shutdown` ends, then lets calls come to their end.
    ///
    /// Calls that run get the [grace](Self::grace) period; it returns when every connection has ended.
    ///
    /// # Errors
    ///
    /// [`ServeError::PublicWithoutAuth`] if other machines reach the address and no token is asked for;
    /// [`ServeError::Io`] if it cannot listen there.
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

    /// Serves like [`serve_http`](Self::serve_http) on a listener that is bound already: to learn its port, for example.
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
        let is_open = !options.asks_for_token() && !options.public_without_auth;
        if is_open && !address.ip().to_canonical().is_loopback() {
            return Err(ServeError::PublicWithoutAuth { address });
        }
        let running = options.running_over_http();
        let http = http::Http::new(&self.shared, running.clone());
        listen::serve(listener, http, running, options, shutdown).await;
        Ok(())
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.shared.options.info.name)
            .field("toolbox", &self.shared.toolbox)
            .finish_non_exhaustive()
    }
}
