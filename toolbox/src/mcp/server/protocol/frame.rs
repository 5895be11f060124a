//! Messages of clients, read as far as their form goes.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{ErrorCode, ProtocolError, RequestId, RequestMeta};
use crate::text::{QUOTED, quote};

/// The error for a handshake that is no request.
const NO_ID: &str = "`initialize` is a request: it needs an `id` that is a number or a string";

/// A message of a client.
pub(in crate::mcp::server) enum Message<'a> {
    Request(RequestFrame<'a>),
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// An answer to a request of this server: the result, or the error.
    Response {
        id: RequestId,
        result: Result<&'a RawValue, &'a RawValue>,
    },
    /// A message in a form that is never answered.
    Ignored,
}

/// A request, whose parameters are not read yet.
pub(in crate::mcp::server) struct RequestFrame<'a> {
    pub(in crate::mcp::server) id: RequestId,
    pub(in crate::mcp::server) method: Cow<'a, str>,
    params: Option<&'a RawValue>,
}

/// The answer to bytes that are no message.
pub(in crate::mcp::server) struct MessageFault {
    pub(in crate::mcp::server) id: Option<RequestId>,
    pub(in crate::mcp::server) error: ProtocolError,
}

/// The members of a message. One that is in it twice is an error, in whatever spelling.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    pub(in crate::mcp::server) fn read(bytes: &'a [u8]) -> Result<Self, MessageFault> {
        let unreadable = |reason: &str| {
            let reason = quote(reason, 4 * QUOTED);
            let message = format!("the message is not JSON-RPC: {reason}");
            MessageFault { id: None, error: ProtocolError::new(ErrorCode::ParseError, message) }
        };
        let text = std::str::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8"))?;
        if !text.starts_with('{') {
            return Err(match serde_json::from_str::<IgnoredAny>(text) {
                Err(error) => unreadable(&error.to_string()),
                Ok(_) if text.starts_with('[') => {
                    let message =
                        "batches are part of 2025-03-26 alone: send each message by itself";
                    let error = ProtocolError::new(ErrorCode::InvalidRequest, message);
                    MessageFault { id: None, error }
                }
                Ok(_) => unreadable("it is not an object"),
            });
        }
        let members: Members<'a> =
            serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))?;
        members.into_message()
    }
}

impl<'a> Members<'a> {
    fn into_message(self) -> Result<Message<'a>, MessageFault> {
        let invalid = |id: Option<RequestId>, message: &str| {
            let error = ProtocolError::new(ErrorCode::InvalidRequest, message);
            Err(MessageFault { id, error })
        };
        let id = match self.id.map(RequestId::read) {
            Some(None) => return invalid(None, "an `id` is a string or an integer of 64 bits"),
            id => id.flatten(),
        };
        let method = self.method.map(|method| string(method.get()));
        let is_2_0 =
            self.jsonrpc.and_then(|version| string(version.get())).is_some_and(|own| own == "2.0");
        let answers = usize::from(self.result.is_some()) + usize::from(self.error.is_some());
        match (id, method, answers) {
            (None, Some(Some(method)), _) if method == "initialize" => invalid(None, NO_ID),
            // Notifications are never answered, in whatever form.
            (None, Some(_), _) if !is_2_0 || answers > 0 => Ok(Message::Ignored),
            (None, Some(None), _) => Ok(Message::Ignored),
            (id, _, _) if !is_2_0 => invalid(id, "`jsonrpc` has to be \"2.0\""),
            (Some(id), Some(Some(method)), 0) => {
                Ok(Message::Request(RequestFrame { id, method, params: self.params }))
            }
            (None, Some(Some(method)), 0) => {
                Ok(Message::Notification { method, params: self.params })
            }
            // An error may have no id: its request could not be read.
            (Some(id), None, 1) => match (self.result, self.error) {
                (Some(result), _) => Ok(Message::Response { id, result: Ok(result) }),
                (None, Some(error)) => Ok(Message::Response { id, result: Err(error) }),
                (None, None) => Ok(Message::Ignored),
            },
            (None, None, 1) if self.error.is_some() => Ok(Message::Ignored),
            (id, _, _) => invalid(id, "the message is no request, notification or answer"),
        }
    }
}

impl<'a> RequestFrame<'a> {
    /// Returns the text of the parameters.
    #[cfg(feature = "mcp-server-http")]
    pub(in crate::mcp::server) fn params_text(&self) -> &'a str {
        params_text(self.params)
    }

    /// Reads the `_meta` of the parameters.
    pub(in crate::mcp::server) fn meta(&self) -> Result<RequestMeta, ProtocolError> {
        #[derive(Deserialize)]
        struct OnlyMeta {
            #[serde(default, rename = "_meta")]
            meta: Option<RequestMeta>,
        }
        let invalid = |reason: &str| {
            let reason = quote(reason, 4 * QUOTED);
            let message = format!("the request cannot be read: {reason}");
            ProtocolError::new(ErrorCode::InvalidRequest, message)
        };
        let params = params_text(self.params);
        if !params.starts_with('{') {
            return Err(invalid("`params` is not an object"));
        }
        let OnlyMeta { meta } =
            serde_json::from_str(params).map_err(|error| invalid(&error.to_string()))?;
        Ok(meta.unwrap_or_default())
    }

    /// Reads the parameters as those of a method.
    pub(in crate::mcp::server) fn params<T: Deserialize<'a>>(&self) -> Result<T, ProtocolError> {
        serde_json::from_str(params_text(self.params))
            .map_err(|error| ProtocolError::unreadable_params(&self.method, &error))
    }
}

/// Returns the text of parameters, of which null and none are an empty object.
pub(in crate::mcp::server) fn params_text(params: Option<&RawValue>) -> &str {
    params.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}")
}

/// Reads a text, borrowed if it has no escapes.
pub(in crate::mcp::server) fn string(json: &str) -> Option<Cow<'_, str>> {
    match serde_json::from_str::<&str>(json) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
    }
}
