//! The resources of whose changes a client wants to hear.

use std::collections::HashMap;

use crate::collection::{Resources, WantedUri};
use crate::sync::Mutex;

/// The maximum number of URIs that one client may subscribe to.
const MAX_SUBSCRIBED: usize = 1024;

/// The URIs that a client with a handshake subscribed to.
#[derive(Default)]
pub(super) struct SubscribedUris(Mutex<HashMap<String, WantedUri>>);

impl SubscribedUris {
    /// Adds a URI, unless there are too many.
    pub(super) fn insert(&self, uri: &str, resources: &Resources) -> bool {
        let mut uris = self.0.lock();
        let has_room = uris.len() < MAX_SUBSCRIBED || uris.contains_key(uri);
        if has_room {
            uris.insert(uri.to_owned(), resources.want(uri));
        }
        has_room
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().remove(uri);
    }

    /// Returns whether the client wants to hear of a change of this URI.
    pub(super) fn cover(&self, uri: &str) -> bool {
        self.0.lock().keys().any(|own| covers(own, uri))
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }
}

/// Returns whether a URI is that of a subscription, or below it.
pub(super) fn covers(subscribed: &str, uri: &str) -> bool {
    uri.strip_prefix(subscribed).is_some_and(|rest| {
        rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}
