//! Errors of the protocol, as clients receive them.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::ProtocolVersion;
use crate::text::{QUOTED, quote};

/// The error that answers a request.
#[derive(Debug, Serialize)]
pub(in crate::mcp::server) struct ProtocolError {
    pub(in crate::mcp::server) code: ErrorCode,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<Value>>,
}

/// The kind of an error. Some share a number, where a status of HTTP tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp::server) enum ErrorCode {
    /// The bytes are no JSON.
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    /// The `_meta` of a stateless request or a handshake lacks a required field.
    MissingParams,
    InternalError,
    /// There is no such resource: the number of clients with a handshake.
    ResourceNotFound,
    /// A header of HTTP contradicts the body.
    #[cfg(feature = "mcp-server-http")]
    HeaderMismatch,
    MissingCapability,
    UnsupportedVersion,
}

impl ErrorCode {
    pub(in crate::mcp::server) fn number(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams | Self::MissingParams => -32602,
            Self::InternalError => -32603,
            Self::ResourceNotFound => -32002,
            #[cfg(feature = "mcp-server-http")]
            Self::HeaderMismatch => -32020,
            Self::MissingCapability => -32021,
            Self::UnsupportedVersion => -32022,
        }
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.number())
    }
}

impl ProtocolError {
    pub(in crate::mcp::server) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(in crate::mcp::server) fn message(&self) -> &str {
        &self.message
    }

    pub(in crate::mcp::server) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    pub(in crate::mcp::server) fn method_not_found(method: &str) -> Self {
        Self::new(ErrorCode::MethodNotFound, quote(method, QUOTED))
    }

    pub(in crate::mcp::server) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// Returns the error of parameters that cannot be read, for the reason that the parser gives.
    pub(in crate::mcp::server) fn unreadable_params(
        method: &str,
        reason: &serde_json::Error,
    ) -> Self {
        let reason = quote(&reason.to_string(), 4 * QUOTED);
        Self::invalid_params(format!("the parameters of `{method}` cannot be read: {reason}"))
    }

    /// Returns the error of a stateless request whose `_meta` lacks keys.
    pub(in crate::mcp::server) fn missing_meta(missing: &[&str]) -> Self {
        let missing = missing.join(", ");
        let message =
            format!("request _meta is missing or has malformed required fields: {missing}");
        Self::new(ErrorCode::MissingParams, message)
    }

    pub(in crate::mcp::server) fn unsupported_version(requested: &str) -> Self {
        let supported = ProtocolVersion::ALL.map(ProtocolVersion::as_str);
        Self::new(ErrorCode::UnsupportedVersion, "Unsupported protocol version")
            .with_data(json!({ "requested": quote(requested, QUOTED), "supported": supported }))
    }
}
