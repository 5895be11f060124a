//! The resources of whose changes a client wants to hear.

use std::collections::HashSet;

use crate::sync::Mutex;

/// The maximum number of URIs that one client may subscribe to.
const MAX_SUBSCRIBED: usize = 1024;

/// The URIs that a client with a handshake subscribed to.
#[derive(Default)]
pub(super) struct SubscribedUris(Mutex<HashSet<String>>);

impl SubscribedUris {
    /// Adds a URI, unless there are too many.
    pub(super) fn insert(&self, uri: String) -> bool {
        let mut uris = self.0.lock();
        let has_room = uris.len() < MAX_SUBSCRIBED || uris.contains(&uri);
        if has_room {
            uris.insert(uri);
        }
        has_room
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().remove(uri);
    }

    /// Returns whether the client wants to hear of a change of this URI.
    pub(super) fn cover(&self, uri: &str) -> bool {
        self.0.lock().iter().any(|own| covers(own, uri))
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }
}

/// Returns whether a URI is that of a subscription, or below it.
pub(super) fn covers(subscribed: &str, uri: &str) -> bool {
    uri.strip_prefix(subscribed).is_some_and(|rest| {
        rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}
