//! A service: the tools of a box, and how clients are served.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::handler::Handler;
use super::lines::{self, Lines};
use super::list::Listings;
use super::running::LAST_WORDS;
use super::shared::{Options, Shared};
use super::stdio;
use super::{ServeError, ServerInfo};
use crate::collection::ToolBox;

/// Serves a box as an MCP server over standard input and output, until the input ends.
///
/// The same as [`Service::serve_stdio`] with everything at its default: the server introduces
/// itself by the file name of the program. [`serve_stdio_as`] takes a name and a version.
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
/// The [limits of the box](ToolBox#limits) hold for its clients as well: 60 seconds a call, 1 MiB
/// of arguments, 256 KiB of results.
///
/// Clients of both eras of the protocol are served: 2026-07-28, where each request stands alone,
/// and the versions from 2024-11-05 to 2025-11-25, which begin with a handshake. Every call passes
/// the gate of the box, which reads the text of the arguments as the client wrote it.
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
///   [`Gateway`](crate::search::Gateway) so shows the three tools of the gateway. See
///   [`Service::list_deferred`].
/// - A failure (a denial, bad arguments, a timeout, a panic) as a result with `isError`. Only a
///   tool that is not there is an error of the protocol, −32602, and so is a [`MissingCapability`].
/// - The text of a structured result as text as well. Clients before 2026-07-28 get structured
///   results that are objects only. A structured result, an image or a document that is larger than
///   the limit of the box (256 KiB by default,
///   [`max_result_bytes`](crate::ToolBoxBuilder::max_result_bytes)) is a failure that says so;
///   longer text is cut.
/// - [`ToolResult::user_text`](crate::ToolResult::user_text) as a further text for the audience
///   `user`; a silent result for the audience `assistant` alone.
/// - A notification whenever the list changes.
/// - Schemas as they are. An argument that says `x-mcp-header` (`#[schemars(extend("x-mcp-header" =
///   "Region"))]` on a field) is held against the header `Mcp-Param-Region` over HTTP, from
///   2026-07-28 on.
///
/// # What a tool sees
///
/// The context of its call holds a [`Caller`], a [`TraceContext`](super::TraceContext) if the
/// client sent one, a [`Principal`](crate::context::Principal) if somebody is signed in, and the
/// [`Conversation`](crate::context::Conversation) `mcp` with the id of the session where there is
/// one. It is cancelled when the client cancels the request or, from 2026-07-28 on, closes the
/// connection; an older client may come back for the answer. Progress goes to a client that asked
/// for it. `_meta["toolbox/depth"]` counts agents at work above the call in other processes, and
/// can only make the limit on them be reached sooner.
#[derive(Clone)]
pub struct Service {
    pub(super) shared: Arc<Shared>,
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
            grace: Duration::from_secs(5),
            private_list: false,
            #[cfg(feature = "mcp-server-http")]
            http: super::http::HttpOptions::default(),
        };
        Self { shared: Arc::new(Shared { toolbox, options, listings: Listings::default() }) }
    }

    pub(super) fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.shared.options.clone();
        change(&mut options);
        let toolbox = self.shared.toolbox.clone();
        Self { shared: Arc::new(Shared { toolbox, options, listings: Listings::default() }) }
    }

    /// Sets the name and the version that clients are told, usually
    /// [`server_info!()`](crate::server_info). Default: the file name of the program, and
    /// `unknown`.
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

    /// Lists deferred tools like the others, and lets them be called by their own names. Default:
    /// off.
    ///
    /// Off, a client finds them through a [`Gateway`](crate::search::Gateway) in the box, or knows
    /// their names.
    #[must_use]
    pub fn list_deferred(self, list: bool) -> Self {
        self.with(|options| options.list_deferred = list)
    }

    /// Says how long clients may keep the list without asking again, unless they are told of a
    /// change. Default 60 seconds.
    ///
    /// What a client keeps grants nothing: a tool that is forbidden meanwhile is refused when it is
    /// called.
    #[must_use]
    pub fn list_fresh_for(self, time: Duration) -> Self {
        self.with(|options| options.list_fresh_for = time)
    }

    /// Limits how many tools one page of the list holds. Default 1 000. Zero counts as one.
    #[must_use]
    pub fn page_size(self, tools: usize) -> Self {
        self.with(|options| options.page_size = tools)
    }

    /// Limits how many calls run at once, on one connection over streams, and over HTTP in all; one
    /// more is told that the server is busy. Default 1 024.
    #[must_use]
    pub fn max_calls(self, calls: usize) -> Self {
        self.with(|options| options.max_calls = calls)
    }

    /// Limits how many calls a [`Principal`](crate::context::Principal) may make in a second; one
    /// more is told when to call again, and nothing is called. Default 100 over HTTP, and any
    /// number over streams, where the client is the program that started this one. Zero is any
    /// number.
    ///
    /// Twice as many may come at once after a pause. Each principal is counted by itself, and all
    /// that come over HTTP without one count as one: a client that is not known could come as a new
    /// one each time.
    #[must_use]
    pub fn max_calls_per_second(self, calls: u32) -> Self {
        self.with(|options| options.max_calls_per_second = Some(calls))
    }

    /// Limits one message of a client, in bytes; a longer one is refused unread. Default 4 MiB.
    #[must_use]
    pub fn max_message_bytes(self, bytes: usize) -> Self {
        self.with(|options| options.max_message_bytes = bytes)
    }

    /// Gives calls that run when the service ends so long to come to their end; then they are
    /// cancelled. Default 5 seconds.
    #[must_use]
    pub fn grace(self, time: Duration) -> Self {
        self.with(|options| options.grace = time)
    }

    /// Serves over standard input and output, until the input ends.
    ///
    /// A host starts such a server as its child. Calls run beside each other; those that run when
    /// the input ends get the [grace](Self::grace) period. On Unix, what the program prints
    /// meanwhile goes to standard error, so that a `println!` in a tool does not break the
    /// protocol; elsewhere nothing may be printed.
    ///
    /// # Errors
    ///
    /// [`ServeError::Io`] if the standard streams cannot be used.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the calls that run. A thread that reads standard input stays
    /// until there is more of it.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        self.serve_stdio_until(std::future::pending()).await
    }

    /// Serves over standard input and output, until the input ends or `shutdown` does, such as
    /// `tokio::signal::ctrl_c()`.
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
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.shared.options.info.name)
            .field("toolbox", &self.shared.toolbox)
            .finish_non_exhaustive()
    }
}
