//! The channel and the id of a conversation.

use serde::{Deserialize, Serialize};

/// The channel and the id of a conversation: the usual value in a call's context.
///
/// ```
/// let place = toolbox::context::Conversation::new("telegram", "42");
/// assert_eq!((place.channel.as_str(), place.chat_id.as_str()), ("telegram", "42"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Conversation {
    /// The channel, such as `telegram` or `cli`.
    pub channel: String,
    /// The id of the conversation within the channel.
    pub chat_id: String,
}

impl Conversation {
    /// Returns a conversation from its channel and its id there.
    pub fn new(channel: impl Into<String>, chat_id: impl Into<String>) -> Self {
        Self { channel: channel.into(), chat_id: chat_id.into() }
    }
}
