//! The messages of the protocol: frames, ids, errors, `_meta`, versions.
//!
//! Text in, text out: a message is read no further than its answer needs, and an answer is written
//! once, straight into the bytes that are sent.

mod error;
mod frame;
mod id;
#[cfg(feature = "mcp-server-http")]
mod member;
mod meta;
mod version;
mod write;

pub(super) use error::{ErrorCode, ProtocolError};
pub(super) use frame::{Message, MessageFault, RequestFrame, params_text, string};
pub(super) use id::RequestId;
#[cfg(feature = "mcp-server-http")]
pub(super) use member::member;
pub(super) use meta::{RequestMeta, are_capabilities, client_info};
pub(super) use version::ProtocolVersion;
pub(super) use write::{error_message, list_response, notification, request, response};
