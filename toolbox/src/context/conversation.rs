//! The place of a conversation.

/// Where a conversation takes place: the usual value given with a call.
///
/// ```
/// let place = toolbox::context::Conversation::new("telegram", "42");
/// assert_eq!((place.channel.as_str(), place.chat_id.as_str()), ("telegram", "42"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Conversation {
    /// Such as `telegram` or `cli`.
    pub channel: String,
    /// Which of the channel's conversations.
    pub chat_id: String,
}

impl Conversation {
    /// Returns a conversation from its channel and its id there.
    pub fn new(channel: impl Into<String>, chat_id: impl Into<String>) -> Self {
        Self { channel: channel.into(), chat_id: chat_id.into() }
    }
}
