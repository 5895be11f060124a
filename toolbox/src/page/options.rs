//! The options of a page.

use std::sync::Arc;

use super::config_change::ConfigFile;
use super::inbox::Inbox;
use super::sessions::SessionSettings;
use crate::collection::ToolBox;
use crate::event::EventReceiver;
use crate::search::Ranking;
use crate::sync::Mutex;

/// The options of a page.
#[derive(Clone)]
pub(super) struct PageOptions {
    pub(super) toolbox: ToolBox,
    pub(super) inbox: Inbox,
    /// The receiver of events, until the page takes it.
    pub(super) events: Arc<Mutex<Option<EventReceiver>>>,
    pub(super) sessions: SessionSettings,
    pub(super) hosts: Vec<String>,
    pub(super) title: String,
    pub(super) ranking: Ranking,
    pub(super) mcp_url: Option<String>,
    pub(super) config_file: Option<Arc<dyn ConfigFile>>,
    #[cfg(feature = "agent")]
    pub(super) chat: Option<crate::agent::Agent>,
    #[cfg(feature = "durable")]
    pub(super) journal: Option<crate::durable::Journal>,
    #[cfg(feature = "mcp-client")]
    pub(super) servers: Option<crate::mcp::Servers>,
    #[cfg(feature = "mcp-client")]
    pub(super) has_lock: bool,
    #[cfg(feature = "mcp-client")]
    pub(super) frames: Option<crate::mcp::FrameLog>,
}

impl PageOptions {
    /// Returns `true` if the page shows what principals spend.
    #[cfg(feature = "durable")]
    pub(super) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns `false`: there are no journals.
    #[cfg(not(feature = "durable"))]
    #[allow(clippy::unused_self, reason = "it is that of pages with a journal")]
    pub(super) fn has_journal(&self) -> bool {
        false
    }

    pub(super) fn new(toolbox: ToolBox) -> Self {
        Self {
            toolbox,
            inbox: Inbox::new(),
            events: Arc::default(),
            sessions: SessionSettings::default(),
            hosts: Vec::new(),
            title: "toolbox".to_owned(),
            ranking: Ranking::default(),
            mcp_url: None,
            config_file: None,
            #[cfg(feature = "agent")]
            chat: None,
            #[cfg(feature = "durable")]
            journal: None,
            #[cfg(feature = "mcp-client")]
            servers: None,
            #[cfg(feature = "mcp-client")]
            has_lock: false,
            #[cfg(feature = "mcp-client")]
            frames: None,
        }
    }
}
