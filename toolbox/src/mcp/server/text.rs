//! The raw text of a call's arguments, passed around the SDK.
//!
//! The SDK would parse arguments into a map, which keeps the last of two equal keys, rounds large
//! numbers, and rejects the whole message for an unsupported value. So they are removed from the
//! message before the SDK sees it, and the gate parses them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::head;

/// The arguments of one request: set when its message is read, and taken by the call.
#[derive(Clone, Default)]
pub(super) struct ArgumentsText(Arc<Mutex<Option<String>>>);

impl ArgumentsText {
    pub(super) fn set(&self, arguments: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(arguments);
    }

    /// Takes the arguments of a request, attached by the stdio transport or to the head of an HTTP
    /// request.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<String> {
        head::get::<Self>(context)?.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Deserialize)]
struct RawCall<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: CallParams<'a>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Returns the arguments of a `tools/call` message, and the message for the SDK: without them,
/// unless it `has_to_see` those of this tool.
///
/// The arguments are not parsed, whatever their depth. A message with a duplicate key is not a
/// call: the intended arguments are unknown.
pub(super) fn split(
    message: &[u8],
    has_to_see: impl FnOnce(&str) -> bool,
) -> Option<(String, Cow<'_, [u8]>)> {
    let RawCall { method, params } = serde_json::from_slice(message).ok()?;
    if method != "tools/call" {
        return None;
    }
    let Some(arguments) = params.arguments.map(RawValue::get) else {
        return Some(("{}".to_owned(), Cow::Borrowed(message)));
    };
    if !arguments.starts_with('{') {
        // The SDK reports the error.
        return None;
    }
    if has_to_see(&params.name) {
        return Some((arguments.to_owned(), Cow::Borrowed(message)));
    }
    let Range { start, end } = range_of(message, arguments.as_bytes());
    let rest = [&message[..start], b"{}", &message[end..]].concat();
    Some((arguments.to_owned(), Cow::Owned(rest)))
}

/// Returns the range of a part within the whole.
fn range_of(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}
