//! The state of a service: its box and its options.

use std::sync::Arc;
use std::time::Duration;

use super::info::ServerInfo;
use super::list::{Listing, Listings};
use super::running::Running;
use crate::collection::ToolBox;

/// The state that all connections of a service share.
pub(super) struct Shared {
    pub(super) toolbox: ToolBox,
    pub(super) options: Options,
    pub(super) listings: Listings,
}

impl Shared {
    pub(super) fn listing(&self) -> Arc<Listing> {
        self.listings.of(&self.toolbox, self.options.list_deferred)
    }
}

#[derive(Clone)]
pub(super) struct Options {
    pub(super) info: ServerInfo,
    pub(super) title: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) list_deferred: bool,
    pub(super) list_fresh_for: Duration,
    pub(super) page_size: usize,
    pub(super) max_calls: usize,
    pub(super) max_calls_per_second: Option<u32>,
    pub(super) max_message_bytes: usize,
    pub(super) grace: Duration,
    /// Clients are told to keep the list of tools to themselves.
    pub(super) private_list: bool,
    #[cfg(feature = "mcp-server-http")]
    pub(super) http: super::http::HttpOptions,
}

impl Options {
    /// Begins what runs over streams, where the client is whoever started the program.
    pub(super) fn running_over_streams(&self) -> Running {
        Running::new(self.max_calls_per_second.unwrap_or(0))
    }
}
