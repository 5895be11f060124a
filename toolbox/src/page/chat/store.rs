//! The conversations of a page.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::StatusCode;

use super::conversation::ChatConversation;
use crate::agent::Agent;
use crate::sync::Mutex;

/// The most conversations that are kept; the one that was not looked at for longest is forgotten
/// for the next.
const MAX_CONVERSATIONS: usize = 64;

/// The most conversations in which the model works at once.
const MAX_RUNS: usize = 16;

/// The longest id of a conversation.
const MAX_ID: usize = 64;

/// The agent of a page, and its conversations by their session and id.
pub(in crate::page) struct Chat {
    pub(super) agent: Agent,
    all: Mutex<HashMap<(u64, String), Arc<ChatConversation>>>,
}

impl Chat {
    pub(in crate::page) fn new(agent: Agent) -> Self {
        Self { agent, all: Mutex::default() }
    }

    pub(super) fn find(&self, session: u64, id: &str) -> Option<Arc<ChatConversation>> {
        self.all.lock().get(&(session, id.to_owned())).cloned()
    }

    /// Returns a conversation, which is a new one if there is none.
    pub(super) fn open(
        &self,
        session: u64,
        id: &str,
    ) -> Result<Arc<ChatConversation>, (StatusCode, &'static str)> {
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(is_id) {
            let why = "the id of a conversation is 1 to 64 letters, digits and hyphens";
            return Err((StatusCode::BAD_REQUEST, why));
        }
        let mut all = self.all.lock();
        let key = (session, id.to_owned());
        let is_new = !all.contains_key(&key);
        let running = all.iter().filter(|(own, talk)| **own != key && talk.is_running()).count();
        if running >= MAX_RUNS {
            let why = "the model works in too many conversations; wait for one, or stop it";
            return Err((StatusCode::TOO_MANY_REQUESTS, why));
        }
        if is_new && all.len() >= MAX_CONVERSATIONS {
            let idle = all.iter().filter(|(_, talk)| !talk.is_running());
            let oldest = idle.min_by_key(|(_, talk)| talk.looked_at()).map(|(key, _)| key.clone());
            oldest.map(|oldest| all.remove(&oldest));
        }
        Ok(Arc::clone(all.entry(key).or_default()))
    }

    pub(super) fn forget(&self, session: u64, is_one: impl Fn(&str) -> bool) {
        self.all.lock().retain(|(own, id), talk| {
            let goes = *own == session && is_one(id);
            if goes {
                talk.stop();
            }
            !goes
        });
    }
}
