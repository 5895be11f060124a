//! Messages of the server, written in one pass.

use serde::Serialize;
use serde_json::Value;

use super::{ProtocolError, RequestId};

/// Returns the answer to a request.
pub(in crate::mcp::server) fn response(id: &RequestId, result: &impl Serialize) -> Vec<u8> {
    let mut message = Vec::with_capacity(256);
    message.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write(&mut message, id);
    message.extend_from_slice(br#","result":"#);
    write(&mut message, result);
    message.push(b'}');
    message
}

/// Returns the answer to a request for a list: its items as they are, the cursor of the next page,
/// and `more` members.
pub(in crate::mcp::server) fn list_response(
    id: &RequestId,
    key: &str,
    items: &[String],
    next_cursor: Option<&str>,
    more: &str,
) -> Vec<u8> {
    let length: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut message = Vec::with_capacity(length + more.len() + 256);
    message.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write(&mut message, id);
    message.extend_from_slice(br#","result":{""#);
    message.extend_from_slice(key.as_bytes());
    message.extend_from_slice(br#"":["#);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            message.push(b',');
        }
        message.extend_from_slice(item.as_bytes());
    }
    message.push(b']');
    if let Some(cursor) = next_cursor {
        message.extend_from_slice(br#","nextCursor":"#);
        write(&mut message, cursor);
    }
    message.extend_from_slice(more.as_bytes());
    message.extend_from_slice(b"}}");
    message
}

/// Returns the answer to a request that failed, or to bytes that are no message.
pub(in crate::mcp::server) fn error_message(
    id: Option<&RequestId>,
    error: &ProtocolError,
) -> Vec<u8> {
    let mut message = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    write(&mut message, &id);
    message.extend_from_slice(br#","error":"#);
    write(&mut message, error);
    message.push(b'}');
    message
}

/// Returns a request to the client.
pub(in crate::mcp::server) fn request(id: i64, method: &str, params: &Value) -> Vec<u8> {
    members(&[("id", &id.into()), ("method", &method.into()), ("params", params)])
}

/// Returns a notification; null stands for no parameters.
pub(in crate::mcp::server) fn notification(method: &str, params: &Value) -> Vec<u8> {
    let method = &method.into();
    match params {
        Value::Null => members(&[("method", method)]),
        params => members(&[("method", method), ("params", params)]),
    }
}

/// Returns a message of these members.
fn members(all: &[(&str, &Value)]) -> Vec<u8> {
    let mut message = br#"{"jsonrpc":"2.0""#.to_vec();
    for (name, value) in all {
        message.extend_from_slice(format!(",\"{name}\":").as_bytes());
        write(&mut message, *value);
    }
    message.push(b'}');
    message
}

/// Appends a value as JSON. Writing to memory fails for no value of this crate.
fn write(message: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let _ = serde_json::to_writer(message, value);
}
