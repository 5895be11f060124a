//! The parts of results and definitions that a client's protocol version supports.

use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;

/// The protocol version of a client.
#[derive(Debug, Clone)]
pub(super) struct ClientVersion(ProtocolVersion);

impl ClientVersion {
    /// Returns the protocol version of a request; a request without one comes from a client with a
    /// handshake.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self(context.protocol_version().unwrap_or(ProtocolVersion::V_2025_11_25))
    }

    /// Returns whether requests are stateless. Structured results may then be of any kind, not only
    /// objects.
    pub(super) fn is_modern(&self) -> bool {
        self.0 >= ProtocolVersion::V_2026_07_28
    }

    /// Returns whether audio content is supported.
    pub(super) fn has_audio(&self) -> bool {
        self.0 >= ProtocolVersion::V_2025_03_26
    }

    /// Returns whether structured results, resource links, titles and `_meta` of definitions and
    /// parts are supported.
    pub(super) fn has_structure(&self) -> bool {
        self.0 >= ProtocolVersion::V_2025_06_18
    }

    /// Returns whether icons are supported.
    pub(super) fn has_icons(&self) -> bool {
        self.0 >= ProtocolVersion::V_2025_11_25
    }
}
