//! The state behind a page.

use std::collections::HashMap;
use std::sync::Arc;

use super::app_frames::AppFrames;
use super::large::LargeResults;
use super::log::LiveLog;
use super::offers::WantedResources;
use super::options::PageOptions;
use super::sessions::Sessions;
use super::tools::ToolIndex;
use crate::context::CancellationToken;
use crate::mcp::AllowedOrigins;
use crate::sync::Mutex;

/// The state behind a page, shared by its requests.
pub(super) struct PageInner {
    pub(super) options: PageOptions,
    pub(super) allowed: AllowedOrigins,
    pub(super) sessions: Sessions,
    /// The running calls of the page, by the id that it gave them.
    pub(super) calls: Mutex<HashMap<String, CancellationToken>>,
    /// The resources whose changes some page wants to hear of.
    pub(super) wanted: Mutex<WantedResources>,
    pub(super) large: LargeResults,
    pub(super) apps: AppFrames,
    pub(super) index: ToolIndex,
    pub(super) live: Arc<LiveLog>,
    #[cfg(feature = "agent")]
    pub(super) chat: Option<super::chat::store::Chat>,
}

impl PageInner {
    pub(super) fn new(options: PageOptions) -> Self {
        let sessions = Sessions::new(options.sessions.clone());
        // The origin is compared with the host of each request, whatever it is: see `admission`.
        let any_origin = ["http", "https"]
            .map(|scheme| options.hosts.iter().map(move |host| format!("{scheme}://{host}:*")));
        let origins: Vec<String> = any_origin.into_iter().flatten().collect();
        Self {
            allowed: AllowedOrigins::new(&options.hosts, &origins, sessions.has_token()),
            sessions,
            calls: Mutex::default(),
            wanted: Mutex::default(),
            large: LargeResults::default(),
            apps: AppFrames::default(),
            index: ToolIndex::default(),
            live: Arc::new(LiveLog::new()),
            #[cfg(feature = "agent")]
            chat: options.chat.clone().map(super::chat::store::Chat::new),
            options,
        }
    }
}

/// The state as axum hands it to a route.
pub(super) type PageState = axum::extract::State<Arc<PageInner>>;
