//! The requests and sessions of the Model Context Protocol, as events.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fields::milliseconds;

/// The end of one request, as the side that sent it or the side that answered it saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpRequest {
    /// The connection.
    #[serde(flatten)]
    pub peer: McpPeer,
    /// The method, such as `tools/call`; `_OTHER` for one that the protocol does not have.
    pub method: Cow<'static, str>,
    /// The tool, by its name at the server. `None` where there is no such tool: a name that a
    /// client made up is in no event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The prompt, by its name at the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The code of the JSON-RPC error that answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_code: Option<i32>,
    /// The class of the failure, by the conventions of OpenTelemetry: `tool_error` for a result
    /// that is one, the code of an error as text, or `cancelled`, `connection_lost`,
    /// `unauthorized`, `invalid_answer`. `None` if it went well.
    ///
    /// An error that blames the client is a failure at the client alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'static, str>>,
    /// The time from the request to its answer.
    #[serde(rename = "duration_ms", with = "milliseconds")]
    pub took: Duration,
}

/// The end of one session: from a handshake (`initialize`) to the end of its connection. From
/// protocol 2026-07-28 on there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpSession {
    /// The connection.
    #[serde(flatten)]
    pub peer: McpPeer,
    /// `connection_lost` at a client whose server went away; `None` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'static, str>>,
    /// The time that the session took.
    #[serde(rename = "duration_ms", with = "milliseconds")]
    pub took: Duration,
}

/// The connection of a request or a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpPeer {
    /// The side that reports.
    pub side: McpSide,
    /// The version of the protocol, such as `2026-07-28`, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<Cow<'static, str>>,
    /// `pipe` for standard streams, `tcp` for HTTP; `None` for other streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Cow<'static, str>>,
    /// The host of a server that is reached by its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_address: Option<String>,
    /// The port of that server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_port: Option<u16>,
}

impl McpPeer {
    #[allow(dead_code, reason = "the protocol is a module on top of this one")]
    pub(crate) fn new(side: McpSide) -> Self {
        Self {
            side,
            protocol_version: None,
            transport: None,
            server_address: None,
            server_port: None,
        }
    }
}

/// The side of a request: the one that sent it, or the one that answers it.
///
/// A server that asks its client something is the client of that request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpSide {
    /// It sent the request.
    Client,
    /// It answers the request.
    Server,
}
