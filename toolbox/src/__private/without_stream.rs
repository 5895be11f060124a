//! What an expansion of a tool that streams names in a build without the feature `stream`: its errors
//! name the feature.

use serde_json::Value;

use crate::arguments::call::HandlerCall;
use crate::call::ToolResult;

/// What is collected.
#[derive(Debug)]
#[allow(missing_docs, reason = "the variants of `toolbox::stream::Collect`")]
pub enum Collect {
    All,
    Lines,
    Last,
}

/// A stream; no type is one without the feature.
#[diagnostic::on_unimplemented(
    message = "tools that stream need the feature `stream` of `toolbox`",
    label = "this function returns a stream",
    note = "turn it on: `cargo add toolbox --features stream`"
)]
pub trait Stream {
    /// The type of an item.
    type Item;
}

/// Collects nothing.
#[allow(clippy::unused_async, reason = "the expansion awaits it")]
pub async fn collect<S: Stream>(
    _call: &HandlerCall<'_>,
    _collect: Collect,
    _stream: S,
    _finish: impl Fn(S::Item) -> ToolResult,
) -> ToolResult {
    unreachable!("no type is a `Stream`")
}

/// Returns no schema.
#[must_use]
pub fn schema_of(_collect: Collect, _item: Option<Value>) -> Option<Value> {
    None
}
