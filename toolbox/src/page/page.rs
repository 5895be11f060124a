//! The builder of a page.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;

use super::app_listen;
use super::inbox::Inbox;
use super::inner::PageInner;
use super::options::PageOptions;
use super::routes;
use crate::collection::ToolBox;
use crate::context::CancellationToken;
use crate::event::EventReceiver;
use crate::search::Ranking;
use crate::sync::Mutex;

/// A page over a box. See the [module](super) for who is let in.
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::page::Page;
///
/// let page = Page::new(ToolBox::new()).title("tools of the office");
/// let link = page.link("http://127.0.0.1:8080");
/// assert!(link.starts_with("http://127.0.0.1:8080/#token="));
/// ```
///
/// Set the options first: they hold from the first [`link`](Self::link), [`router`](Self::router)
/// or [`serve`](Self::serve) on. Clones are one page.
#[derive(Clone)]
pub struct Page {
    options: PageOptions,
    inner: Arc<OnceLock<Arc<PageInner>>>,
}

impl Page {
    /// Makes a page over a box.
    #[must_use]
    pub fn new(toolbox: ToolBox) -> Self {
        let options = PageOptions::new(toolbox);
        Self { options, inner: Arc::default() }
    }

    fn with(mut self, change: impl FnOnce(&mut PageOptions)) -> Self {
        change(&mut self.options);
        self.inner = Arc::default();
        self
    }

    /// Shows what waits in an inbox, which is the approver and the asker of the box: see [`Inbox`].
    ///
    /// Default: an inbox for the calls that the page itself makes.
    #[must_use]
    pub fn inbox(self, inbox: Inbox) -> Self {
        self.with(|options| options.inbox = inbox)
    }

    /// Shows what happens in the box: the receiver of a sink that the box reports to
    /// ([`ToolBoxBuilder::events`](crate::ToolBoxBuilder::events)). With
    /// [content](crate::event::EventSink::with_content), the page shows whole results and the text
    /// of models as they write it.
    ///
    /// Default: nothing is shown live.
    #[must_use]
    pub fn events(self, events: EventReceiver) -> Self {
        self.with(|options| options.events = Arc::new(Mutex::new(Some(events))))
    }

    /// Sets the name at the top of the page. Default `toolbox`.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.with(|options| options.title = title.into())
    }

    /// Sets the ranking of searches. Default: that of the models' own searches.
    #[must_use]
    pub fn ranking(self, ranking: Ranking) -> Self {
        self.with(|options| options.ranking = ranking)
    }

    /// Lets people in who type a token, besides those with a link. Needed where other machines can
    /// reach the page.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        self.with(|options| options.sessions.token = Some(token.into()))
    }

    /// Answers requests to a host name, such as `tools.example.com`; others get status 403.
    ///
    /// Default: `localhost`, `127.0.0.1` and `[::1]`, and any host if there is a
    /// [token](Self::token). The first call replaces the default.
    #[must_use]
    pub fn allow_host(self, host: impl Into<String>) -> Self {
        self.with(|options| options.hosts.push(host.into()))
    }

    /// Sets the time without a request after which a session ends. Default 30 minutes. An open
    /// page makes a request every few minutes while somebody looks at it.
    #[must_use]
    pub fn session_idle(self, time: Duration) -> Self {
        self.with(|options| options.sessions.idle = time)
    }

    /// Sets the time after which a session ends in any case. Default 12 hours.
    #[must_use]
    pub fn session_life(self, time: Duration) -> Self {
        self.with(|options| options.sessions.life = time)
    }

    /// Keeps sessions in a file, so that open pages go on after a restart of the program. Default:
    /// they end with it.
    ///
    /// The file holds digests and times, and can be read by its owner alone.
    #[must_use]
    pub fn session_file(self, path: impl Into<PathBuf>) -> Self {
        self.with(|options| options.sessions.file = Some(path.into()))
    }

    /// Limits the requests per second of a session; twice as many may follow each other at once.
    /// Default 50. An excess one gets status 429.
    #[must_use]
    pub fn max_requests_per_second(self, requests: u32) -> Self {
        self.with(|options| options.sessions.requests_per_second = requests.max(1))
    }

    /// Names the MCP endpoint that serves the same box, such as `http://127.0.0.1:8080/mcp`, for
    /// the commands that the page offers to copy.
    #[must_use]
    pub fn mcp_url(self, url: impl Into<String>) -> Self {
        self.with(|options| options.mcp_url = Some(url.into()))
    }

    /// Shows the state of the servers that are mounted in the box (feature `mcp-client`), and lets
    /// people approve of changed tools if there is a `lock` file.
    #[cfg(feature = "mcp-client")]
    #[must_use]
    pub fn servers(self, servers: crate::mcp::Servers, lock: bool) -> Self {
        self.with(|options| {
            options.servers = Some(servers);
            options.has_lock = lock;
        })
    }

    /// Shows the messages of mounted servers as they are on the wire, from a log that
    /// [`ServersBuilder::on_frame`](crate::mcp::ServersBuilder::on_frame) fills (feature
    /// `mcp-client`).
    ///
    /// They hold the arguments of all calls, secret ones included. Default: none are shown.
    #[cfg(feature = "mcp-client")]
    #[must_use]
    pub fn frames(self, log: crate::mcp::FrameLog) -> Self {
        self.with(|options| options.frames = Some(log))
    }

    /// Lets people at the page talk to an agent, in the tab *Chat* (feature `agent`): its model,
    /// its system prompt, its prices and limits are those of the agent, and calls that need
    /// approval wait in the [inbox](Self::inbox). Give the agent the box of the page.
    ///
    /// The browser gets the name of the model, and neither its key nor the system prompt. A run
    /// ends after 30 minutes, or after 3 without a page that looks at it. Default: the tab says how
    /// to switch it on.
    ///
    /// ```
    /// use toolbox::agent::Agent;
    /// use toolbox::page::Page;
    /// use toolbox::testing::ScriptedModel;
    /// use toolbox::ToolBox;
    ///
    /// let toolbox = ToolBox::new();
    /// // In place of a real one, such as `OpenAi::from_env("gpt-5")?`.
    /// let model = ScriptedModel::answering("Hello.");
    /// let agent = Agent::builder(model).toolbox(toolbox.clone()).system("Be brief.").build()?;
    /// let page = Page::new(toolbox).chat(agent);
    /// # Ok::<(), toolbox::agent::BuildAgentError>(())
    /// ```
    #[cfg(feature = "agent")]
    #[must_use]
    pub fn chat(self, agent: crate::agent::Agent) -> Self {
        self.with(|options| options.chat = Some(agent))
    }

    /// Shows what principals spent by day and month, as a journal has it: that of the
    /// [limits](crate::durable::Journal::spending_limits) of its agents (feature `durable`).
    ///
    /// Default: there is no such tab.
    #[cfg(feature = "durable")]
    #[must_use]
    pub fn journal(self, journal: crate::durable::Journal) -> Self {
        self.with(|options| options.journal = Some(journal))
    }

    /// Lets people at the page change the file that the servers are configured in.
    #[cfg(feature = "cli")]
    pub(crate) fn config_file(self, file: Arc<dyn super::ConfigFile>) -> Self {
        self.with(|options| options.config_file = Some(file))
    }

    /// Returns a link that opens the page once, within a day. `base_url` is the URL of the page,
    /// such as `http://127.0.0.1:8080`.
    ///
    /// The token is in the fragment, which browsers send to nobody.
    #[must_use]
    pub fn link(&self, base_url: &str) -> String {
        let token = self.inner().sessions.link();
        format!("{}/#token={token}", base_url.trim_end_matches('/'))
    }

    /// Returns an axum router with the page at `/` and what it needs at `/api`, `/page.js` and
    /// `/page.css`.
    ///
    /// It performs the checks of the [module](super); limits on connections are up to the server
    /// that runs it, and [`serve`](Self::serve) has them.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, if there are [events](Self::events) to follow.
    pub fn router(&self) -> Router {
        self.router_until(CancellationToken::new())
    }

    /// Returns a router whose streams end with a token.
    pub(super) fn router_until(&self, closing: CancellationToken) -> Router {
        routes::router(Arc::clone(self.inner()), closing)
    }

    /// Returns the routes of the frames of apps.
    pub(super) fn app_router(&self) -> Router {
        app_listen::router(Arc::clone(self.inner()))
    }

    pub(super) fn listen_for_apps(&self, port: Option<u16>) {
        self.inner().apps.listen_on(port);
    }

    pub(super) fn has_token(&self) -> bool {
        self.options.sessions.token.is_some()
    }

    fn inner(&self) -> &Arc<PageInner> {
        self.inner.get_or_init(|| Arc::new(PageInner::new(self.options.clone())))
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("title", &self.options.title).finish_non_exhaustive()
    }
}

/// The error of opening a page.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenPageError {
    /// Other machines can reach the address, and no token is required.
    PublicWithoutToken {
        /// The address.
        address: SocketAddr,
    },
    /// The listener cannot be used.
    Io(io::Error),
}

impl fmt::Display for OpenPageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PublicWithoutToken { address } => write!(
                f,
                "other machines reach {address}, and the page has no token: set one with `Page::token`, or listen on 127.0.0.1"
            ),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenPageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::PublicWithoutToken { .. } => None,
            Self::Io(error) => Some(error),
        }
    }
}

impl From<io::Error> for OpenPageError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
