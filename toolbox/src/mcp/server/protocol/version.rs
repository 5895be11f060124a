//! Versions of the protocol, and the parts of results and definitions that each supports.

/// A version of the protocol that this server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::mcp::server) enum ProtocolVersion {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl ProtocolVersion {
    pub(in crate::mcp::server) const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest version with a handshake.
    pub(in crate::mcp::server) const NEWEST_WITH_HANDSHAKE: Self = Self::V2025_11_25;

    pub(in crate::mcp::server) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    pub(in crate::mcp::server) fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the version of a session whose client asked for `requested`: that one, or the newest
    /// with a handshake.
    pub(in crate::mcp::server) fn negotiated(requested: &str) -> Self {
        Self::parse(requested)
            .filter(|version| !version.is_modern())
            .unwrap_or(Self::NEWEST_WITH_HANDSHAKE)
    }

    /// Returns whether requests are stateless. Structured results may then be of any kind, not only
    /// objects.
    pub(in crate::mcp::server) fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Returns whether several messages may come in one list.
    pub(in crate::mcp::server) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Returns whether audio content is supported.
    pub(in crate::mcp::server) fn has_audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Returns whether structured results, resource links, titles and `_meta` of definitions and
    /// parts are supported.
    pub(in crate::mcp::server) fn has_structure(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Returns whether icons are supported.
    pub(in crate::mcp::server) fn has_icons(self) -> bool {
        self >= Self::V2025_11_25
    }
}
