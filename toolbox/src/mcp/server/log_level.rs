//! Levels of log messages to a client.

use serde_json::Value;

/// The severity of a log message to an MCP client, from least to most.
///
/// ```
/// use toolbox::mcp::LogLevel;
///
/// assert!(LogLevel::Debug < LogLevel::Error);
/// assert_eq!(LogLevel::Warning.as_str(), "warning");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Details for developers.
    Debug,
    /// Normal progress.
    Info,
    /// Normal, and worth noting.
    Notice,
    /// Something that may become an error.
    Warning,
    /// A failed operation.
    Error,
    /// A failed part of the server.
    Critical,
    /// Something that needs action at once.
    Alert,
    /// The server is unusable.
    Emergency,
}

impl LogLevel {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the word of the protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Reads the word of the protocol.
    pub(super) fn read(word: &Value) -> Option<Self> {
        Self::ALL.into_iter().find(|level| *word == level.as_str())
    }
}
