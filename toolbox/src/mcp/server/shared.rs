//! The state of a service: its box and its options.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::info::ServerInfo;
use super::list::{ListedTools, Listing, Listings};
use super::offers::OfferListings;
use super::protocol::ProtocolVersion;
use super::rounds::WaitingCalls;
use super::running::ServiceActivity;
use super::tasks::Tasks;
use crate::collection::{Resources, ToolBox};
use crate::context::ToolContext;
use crate::event::Reporter;
use crate::mcp::telemetry::reporter_of;

/// The key in `_meta` of results for the name and version of the server.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The maximum number of subscriptions on one pair of streams. A client needs one.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The state shared by all connections of a service.
pub(super) struct ServiceShared {
    pub(super) toolbox: ToolBox,
    pub(super) options: ServiceOptions,
    pub(super) listings: Listings,
    pub(super) offers: OfferListings,
    /// The calls that wait for answers of their clients.
    pub(super) waiting: WaitingCalls,
    pub(super) tasks: Arc<Tasks>,
    /// The sinks of the box, if one wants the requests of clients.
    pub(super) reporter: Option<Arc<Reporter>>,
}

impl ServiceShared {
    pub(super) fn new(toolbox: ToolBox, options: ServiceOptions) -> Arc<Self> {
        Arc::new(Self {
            reporter: reporter_of(&toolbox),
            toolbox,
            options,
            listings: Listings::default(),
            offers: OfferListings::default(),
            waiting: WaitingCalls::default(),
            tasks: Arc::default(),
        })
    }

    /// Returns the name and version of the server, in the form of the protocol.
    pub(super) fn server_info(&self) -> Value {
        let ServiceOptions { info, title, .. } = &self.options;
        let mut value = json!({ "name": info.name, "version": info.version });
        if let Some(title) = title {
            value["title"] = title.as_str().into();
        }
        value
    }

    /// Returns the members that follow the items of a list in a version.
    pub(super) fn list_members(&self, version: ProtocolVersion) -> String {
        if !version.is_modern() {
            return String::new();
        }
        let fresh = self.options.list_fresh_for.as_millis().min(u64::MAX.into());
        let is_private = self.options.private_list || self.toolbox.is_conditional();
        let who = if is_private { "private" } else { "public" };
        format!(r#","resultType":"complete","ttlMs":{fresh},"cacheScope":"{who}""#)
    }

    /// Reads the folders of skills again.
    #[cfg_attr(not(feature = "mcp-skills"), allow(clippy::unused_async, reason = "no folder"))]
    pub(super) async fn refresh_skills(&self, resources: &Resources) {
        #[cfg(feature = "mcp-skills")]
        for folder in &self.options.skills {
            folder.refresh(resources).await;
        }
        #[cfg(not(feature = "mcp-skills"))]
        let _ = resources;
    }

    /// Returns all tools that a client of this identity may be told of.
    pub(super) fn listing(&self, identity: &ToolContext) -> Arc<Listing> {
        self.listing_for(true, identity)
    }

    /// Returns the tools that a client is told of, which may have pages of apps.
    pub(super) fn listing_for(&self, for_apps: bool, identity: &ToolContext) -> Arc<Listing> {
        let deferred = self.options.list_deferred;
        self.listings.of(&self.toolbox, ListedTools { deferred, for_apps }, identity)
    }
}

/// The instructions on the tools as a whole, by the id of the session, if there is one.
type Instructions = dyn Fn(Option<&str>) -> String + Send + Sync;

#[derive(Clone)]
pub(super) struct ServiceOptions {
    pub(super) info: ServerInfo,
    pub(super) title: Option<String>,
    pub(super) instructions: Option<Arc<Instructions>>,
    pub(super) list_deferred: bool,
    pub(super) list_fresh_for: Duration,
    pub(super) page_size: usize,
    pub(super) max_calls: usize,
    pub(super) max_calls_per_second: Option<u32>,
    pub(super) max_message_bytes: usize,
    pub(super) grace: Duration,
    /// The time for the answer to a question of a call.
    pub(super) answer_timeout: Duration,
    /// The time for which a task is kept.
    pub(super) task_ttl: Duration,
    /// `true` if clients must not share the list of tools.
    pub(super) private_list: bool,
    /// The folders of skills, whose files are among the resources of the box.
    #[cfg(feature = "mcp-skills")]
    pub(super) skills: Vec<crate::mcp::skills::SkillFolder>,
    #[cfg(feature = "mcp-server-http")]
    pub(super) http: super::http::HttpOptions,
}

impl ServiceOptions {
    /// Returns the state for serving over streams, where the client is the parent process.
    pub(super) fn running_over_streams(&self) -> ServiceActivity {
        ServiceActivity::new(self.max_calls_per_second.unwrap_or(0), MAX_SUBSCRIPTIONS)
    }
}
