//! The text of a call's arguments, as the client wrote it, on its way past the SDK.
//!
//! The SDK would read arguments into a map, where the last of two equal keys wins, large numbers
//! are rounded, and what it cannot hold costs the whole message. So they are taken out of the
//! message before the SDK sees it, and the gate reads them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::head;

/// The arguments of one request: there once its message was read, and taken by the call.
#[derive(Clone, Default)]
pub(super) struct Text(Arc<Mutex<Option<String>>>);

impl Text {
    pub(super) fn set(&self, arguments: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(arguments);
    }

    /// Takes the arguments of a request: given along by the transport of lines, or with the head of
    /// a request over HTTP.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<String> {
        let own = context.extensions.get::<Self>();
        let in_head = || head::get::<Self>(context);
        own.or_else(in_head)?.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl From<String> for Text {
    fn from(arguments: String) -> Self {
        Self(Arc::new(Mutex::new(Some(arguments))))
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Returns the arguments of a message that is a call, and the message as the SDK may see it:
/// without them, unless it `has_to_see` those of this tool.
///
/// Nothing of what is in the arguments is looked at, however deep they are. Where a key of the
/// message itself is there twice, it is no call: nobody could say which arguments were meant.
pub(super) fn split(
    message: &[u8],
    has_to_see: impl FnOnce(&str) -> bool,
) -> Option<(String, Cow<'_, [u8]>)> {
    let Message { method, params } = serde_json::from_slice(message).ok()?;
    if method != "tools/call" {
        return None;
    }
    let Some(arguments) = params.arguments.map(RawValue::get) else {
        return Some(("{}".to_owned(), Cow::Borrowed(message)));
    };
    if !arguments.starts_with('{') {
        // The SDK says what is wrong with it.
        return None;
    }
    if has_to_see(&params.name) {
        return Some((arguments.to_owned(), Cow::Borrowed(message)));
    }
    let Range { start, end } = place(message, arguments.as_bytes());
    let rest = [&message[..start], b"{}", &message[end..]].concat();
    Some((arguments.to_owned(), Cow::Owned(rest)))
}

/// Returns where a part of a whole is in it.
fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}
