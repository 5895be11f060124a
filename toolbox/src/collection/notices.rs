//! Changes of the contents of resources, and who wants to hear of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::{broadcast, watch};

/// The maximum number of changes of resources that a slow receiver may lag behind.
const WAITING_UPDATES: usize = 64;

/// The URIs that somebody wants to hear of, each with the number of those.
pub(crate) type WantedUris = watch::Receiver<HashMap<String, usize>>;

/// The channels between those who change resources and those who want to hear of it; clones share
/// them.
#[derive(Clone)]
pub(super) struct ResourceNotices {
    pub(super) updates: broadcast::Sender<Arc<str>>,
    wanted: watch::Sender<HashMap<String, usize>>,
    /// `true` if some resources are skills, or may become some.
    pub(super) skills: Arc<AtomicBool>,
}

impl Default for ResourceNotices {
    fn default() -> Self {
        let updates = broadcast::Sender::new(WAITING_UPDATES);
        Self { updates, wanted: watch::Sender::default(), skills: Arc::default() }
    }
}

impl ResourceNotices {
    pub(super) fn want(&self, uri: &str) -> WantedUri {
        self.wanted.send_modify(|all| *all.entry(uri.to_owned()).or_default() += 1);
        WantedUri { notices: self.clone(), uri: uri.to_owned() }
    }

    pub(super) fn wanted(&self) -> WantedUris {
        self.wanted.subscribe()
    }
}

/// A URI that somebody wants to hear of, until this is dropped.
pub(crate) struct WantedUri {
    notices: ResourceNotices,
    uri: String,
}

impl WantedUri {
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn as_str(&self) -> &str {
        &self.uri
    }
}

impl Drop for WantedUri {
    fn drop(&mut self) {
        self.notices.wanted.send_modify(|all| {
            let Some(count) = all.get_mut(&self.uri) else { return };
            *count -= 1;
            if *count == 0 {
                all.remove(&self.uri);
            }
        });
    }
}
