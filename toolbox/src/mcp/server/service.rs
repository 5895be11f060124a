//! `Service`: a box as an MCP server, with its options and transports.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::lines::{BoxedInput, LineConnection, LineOutput};
use super::running::{EndOnDrop, ServiceActivity};
use super::shared::{ServiceOptions, ServiceShared};
use super::stdio;
use super::{ServeError, ServerInfo};
use crate::collection::ToolBox;
use crate::future::BoxFuture;

/// Serves a box as an MCP server over standard input and output, until the input ends.
///
/// The same as [`Service::serve_stdio`] with default options: the server reports the file name of
/// the program as its name. [`serve_stdio_as`] takes a name and a version.
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

/// A box as an MCP server: its description, its limits and its transports.
///
/// The [limits of the box](ToolBox#limits) apply to its clients as well: 60 seconds per call, 1 MiB
/// of arguments, 256 KiB of results.
///
/// Clients of both eras of the protocol are served: 2026-07-28, with stateless requests, and the
/// versions from 2024-11-05 to 2025-11-25, with a handshake. Every call passes the gate of the box,
/// which reads the text of the arguments as sent by the client.
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
/// # The client's view
///
/// - The tools that may be called and are not deferred, in the order of the box; a box with a
///   [`Gateway`](crate::search::Gateway) so shows the three tools of the gateway. See
///   [`Service::list_deferred`].
/// - A failure (a denial, bad arguments, a timeout, a panic) as a result with `isError`. Only an
///   unknown tool and a [`MissingCapability`](super::MissingCapability) are protocol errors, the
///   former −32602.
/// - The text of a structured result as text as well. Clients before 2026-07-28 get structured
///   results that are objects only. A structured result, an image or a document that is larger than
///   the limit of the box (256 KiB by default,
///   [`max_result_bytes`](crate::ToolBoxBuilder::max_result_bytes)) is a failure that says so;
///   longer text is cut.
/// - [`ToolResult::user_text`](crate::ToolResult::user_text) as an additional text for the audience
///   `user`; a silent result for the audience `assistant` only.
/// - A notification whenever the list changes.
/// - Schemas unchanged. An argument with `x-mcp-header` (`#[schemars(extend("x-mcp-header" =
///   "Region"))]` on a field) is checked against the header `Mcp-Param-Region` over HTTP, from
///   2026-07-28 on.
///
/// # The tool's view
///
/// The context of its call holds a [`Caller`](super::Caller), a
/// [`TraceContext`](crate::context::TraceContext) if the client sent one, a
/// [`Principal`](crate::context::Principal) if the client is authenticated, and the
/// [`Conversation`](crate::context::Conversation) `mcp` with the id of the session, if any. It is
/// cancelled when the client cancels the request or, from 2026-07-28 on, closes the connection; an
/// older client may reconnect for the answer. Progress goes to a client that requested it.
/// `_meta["toolbox/depth"]` is the number of agents running above the call in other processes; it
/// can only lower the remaining depth.
///
/// # Tasks
///
/// A client of protocol 2026-07-28 or later that declares the extension
/// `io.modelcontextprotocol/tasks` in a call of a [background](crate::Tool::background) or durable
/// tool is answered at once by a task, and asks for its end by `tasks/get`. What the tool
/// [asks](crate::ToolContext::ask) meanwhile is in the answer, and `tasks/update` answers it. A
/// task belongs to the [`Principal`](crate::context::Principal) of its call. A principal has at
/// most 256 tasks, and a service 4 096; beyond that, calls are answered by their results, as to all
/// other clients.
#[derive(Clone)]
pub struct Service {
    pub(super) shared: Arc<ServiceShared>,
}

impl Service {
    /// Returns a service of the tools in the box, including those added later.
    #[must_use]
    pub fn new(toolbox: ToolBox) -> Self {
        let options = ServiceOptions {
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
            answer_timeout: Duration::from_secs(600),
            task_ttl: Duration::from_secs(3600),
            private_list: false,
            #[cfg(feature = "mcp-skills")]
            skills: Vec::new(),
            #[cfg(feature = "mcp-server-http")]
            http: super::http::HttpOptions::default(),
        };
        Self { shared: ServiceShared::new(toolbox, options) }
    }

    pub(super) fn with(self, change: impl FnOnce(&mut ServiceOptions)) -> Self {
        let mut options = self.shared.options.clone();
        change(&mut options);
        let toolbox = self.shared.toolbox.clone();
        Self { shared: ServiceShared::new(toolbox, options) }
    }

    /// Sets the reported name and version, usually [`server_info!()`](crate::server_info). Default:
    /// the file name of the program, and `unknown`.
    #[must_use]
    pub fn info(self, info: impl Into<ServerInfo>) -> Self {
        self.with(|options| options.info = info.into())
    }

    /// Sets the reported name. Default: the file name of the program.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|options| options.info.name = name.into())
    }

    /// Sets the reported version. Default `unknown`.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.with(|options| options.info.version = version.into())
    }

    /// Sets a display name. Default: none.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.with(|options| options.title = Some(title.into()))
    }

    /// Sets instructions on the tools as a whole, which hosts may pass to the model. Default: none.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        let instructions = instructions.into();
        self.instructions_with(move || instructions.clone())
    }

    /// Computes the [instructions](Self::instructions) for each client that asks for them, for a
    /// box whose tools change.
    #[must_use]
    pub fn instructions_with(
        self,
        instructions: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        self.instructions_in(move |_| instructions())
    }

    /// Computes the instructions for a session of this id, or for clients without one.
    pub(crate) fn instructions_in(
        self,
        instructions: impl Fn(Option<&str>) -> String + Send + Sync + 'static,
    ) -> Self {
        self.with(|options| options.instructions = Some(Arc::new(instructions)))
    }

    /// Sets whether deferred tools are listed and callable by their own names. Default `false`.
    ///
    /// If `false`, a client finds them through a [`Gateway`](crate::search::Gateway) in the box, or
    /// by known names.
    #[must_use]
    pub fn list_deferred(self, list: bool) -> Self {
        self.with(|options| options.list_deferred = list)
    }

    /// Sets the time for which clients may cache the list unless notified of a change. Default 60
    /// seconds.
    ///
    /// A cached list grants nothing: a tool that has been forbidden since is refused when called.
    #[must_use]
    pub fn list_fresh_for(self, time: Duration) -> Self {
        self.with(|options| options.list_fresh_for = time)
    }

    /// Limits the number of tools on one page of the list. Default 1 000. Zero counts as one.
    #[must_use]
    pub fn page_size(self, tools: usize) -> Self {
        self.with(|options| options.page_size = tools)
    }

    /// Limits the number of concurrent calls, per connection over streams, and in total over HTTP;
    /// further ones get an error that the server is busy. Default 1 024.
    #[must_use]
    pub fn max_calls(self, calls: usize) -> Self {
        self.with(|options| options.max_calls = calls)
    }

    /// Limits the calls of a [`Principal`](crate::context::Principal) per second; an excess call is
    /// refused with the time to retry. Default 100 over HTTP, and no limit over streams, where the
    /// client is the program that started this one. Zero means no limit.
    ///
    /// Bursts of twice as many are allowed after a pause. Each principal is counted separately, and
    /// all anonymous HTTP clients count as one: an anonymous client could pose as a new one each
    /// time.
    #[must_use]
    pub fn max_calls_per_second(self, calls: u32) -> Self {
        self.with(|options| options.max_calls_per_second = Some(calls))
    }

    /// Limits the size of one message of a client, in bytes; a longer one is refused unread.
    /// Default 4 MiB.
    #[must_use]
    pub fn max_message_bytes(self, bytes: usize) -> Self {
        self.with(|options| options.max_message_bytes = bytes)
    }

    /// Sets the grace period for running calls when the service ends, after which they are
    /// cancelled. Default 5 seconds.
    #[must_use]
    pub fn grace(self, time: Duration) -> Self {
        self.with(|options| options.grace = time)
    }

    /// Limits the time for the answer to a question that a tool [asks](crate::ToolContext::ask) the
    /// user of a client of protocol 2026-07-28 or later; then the call is cancelled. Default 10
    /// minutes.
    ///
    /// Such a client makes the call again to give the answer, and the call goes on where it waited,
    /// in this process. At most 64 calls of one principal wait, the oldest end first, and 1 024 in
    /// all. They wait with the permits that they hold.
    #[must_use]
    pub fn answer_timeout(self, time: Duration) -> Self {
        self.with(|options| options.answer_timeout = time)
    }

    /// Sets the time for which a [task](Self#tasks) is kept, from its creation on; a call that
    /// still runs then is cancelled. Default 1 hour, at least 1 second.
    #[must_use]
    pub fn task_ttl(self, time: Duration) -> Self {
        self.with(|options| options.task_ttl = time.max(Duration::from_secs(1)))
    }

    /// Serves the skills of a folder as well, to clients of protocol 2026-07-28 or later: by
    /// `skills/list` and `skills/get`, and each file by `resources/read`. May be called several
    /// times.
    ///
    /// The files become resources of the box that no list of resources has, so reading them has the
    /// limits of all others. The folder is read here, and again for each request that lists or gets
    /// skills.
    #[cfg(feature = "mcp-skills")]
    #[must_use]
    pub fn skills(self, folder: crate::mcp::SkillFolder) -> Self {
        let resources = self.shared.toolbox.resources();
        resources.announce_skills();
        folder.refresh_now(&resources);
        self.with(|options| options.skills.push(folder))
    }

    /// Serves over standard input and output, until the input ends.
    ///
    /// A host starts such a server as its child. Calls run concurrently; those running when the
    /// input ends get the [grace](Self::grace) period. On Unix, output printed meanwhile goes to
    /// standard error, so that a `println!` in a tool does not corrupt the protocol; on other
    /// systems nothing may be printed.
    ///
    /// # Errors
    ///
    /// [`ServeError::Io`] if the standard streams cannot be used.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels running calls. The thread that reads standard input stays until
    /// the next input.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        self.serve_stdio_until(std::future::pending()).await
    }

    /// Serves over standard input and output, until the input or the future `shutdown` ends, such
    /// as `tokio::signal::ctrl_c()`.
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
        self.serve_host(stdio::HostInput::open(), shutdown).await
    }

    /// Serves over standard input, which was looked at, and standard output.
    pub(crate) async fn serve_host(
        &self,
        input: stdio::HostInput,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let reserved = stdio::StdoutGuard::take()?;
        let output = LineOutput::to_blocking(reserved.output()?);
        self.connect(input.into_input(), output).until(shutdown).await;
        Ok(())
    }

    /// Serves one client over any pair of streams, one message per line, until the input ends.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels running calls.
    pub async fn serve<R, W>(&self, input: R, output: W)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.connect(Box::new(input), LineOutput::to_stream(output)).ended().await;
    }

    /// Serves one client over any pair of streams, until the input or the future `shutdown` ends.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels running calls.
    pub async fn serve_until<R, W>(&self, input: R, output: W, shutdown: impl Future<Output = ()>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.connect(Box::new(input), LineOutput::to_stream(output)).until(shutdown).await;
    }

    fn connect(&self, input: BoxedInput, output: LineOutput) -> ServedConnection {
        let running = self.shared.options.running_over_streams();
        let connection =
            LineConnection::new(Arc::clone(&self.shared), running.clone(), input, output);
        ServedConnection { talk: connection.serve(), _end: running.end_on_drop(), running }
    }
}

/// The service of one connection. Its parts drop in this order.
struct ServedConnection {
    talk: BoxFuture<'static, ()>,
    _end: EndOnDrop,
    running: ServiceActivity,
}

impl ServedConnection {
    /// Goes on until the input ends.
    async fn ended(mut self) {
        (&mut self.talk).await;
    }

    /// Goes on until the input or `shutdown` ends.
    async fn until(mut self, shutdown: impl Future<Output = ()>) {
        tokio::select! {
            () = &mut self.talk => return,
            () = shutdown => {}
        }
        self.running.closing().cancel();
        self.talk.await;
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
