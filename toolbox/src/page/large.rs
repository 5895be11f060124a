//! Large results, which are kept for pages.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::call::ToolResult;
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::sync::Mutex;
use crate::text::{cut, floor_boundary};

/// The bytes of a result beyond which it is not sent at once.
const LARGE: usize = 256 << 10;

/// The bytes of one part.
const PART: usize = 64 << 10;

/// The bytes of a structure beyond which it is not sent: less is drawn as a tree and a table.
const STRUCTURE: usize = 4 << 20;

/// The bytes of all results that are kept for pages; the oldest go first.
const MAX_BYTES: usize = 64 << 20;

/// The large results of calls that pages made.
#[derive(Default)]
pub(super) struct LargeResults(Mutex<VecDeque<LargeText>>);

struct LargeText {
    call: String,
    /// The session that made the call.
    session: u64,
    text: Arc<str>,
}

impl LargeResults {
    fn keep(&self, call: &str, session: u64, text: String) {
        let mut all = self.0.lock();
        all.retain(|own| own.call != call || own.session != session);
        let own = LargeText { call: call.to_owned(), session, text: text.into() };
        all.push_back(own);
        let mut bytes: usize = all.iter().map(|own| own.text.len()).sum();
        // The last one is there, however large it is.
        while bytes > MAX_BYTES && all.len() > 1 {
            bytes -= all.pop_front().map_or(0, |own| own.text.len());
        }
    }

    pub(super) fn find(&self, call: &str, session: u64) -> Option<Arc<str>> {
        let all = self.0.lock();
        let own = all.iter().find(|own| own.call == call && own.session == session)?;
        Some(Arc::clone(&own.text))
    }

    /// Keeps the whole of a result if it is large, and leaves its beginning in `shown`.
    pub(super) async fn take(
        &self,
        (call, session): (&str, u64),
        (toolbox, context): (&ToolBox, &ToolContext),
        result: &ToolResult,
        shown: &mut Value,
    ) {
        let whole = match (result.handle(), toolbox.keeper()) {
            (Some(handle), Some(keeper)) => keeper.whole(context, handle).await,
            _ => large_text(result),
        };
        let Some(whole) = whole else { return };
        let bytes = whole.len();
        shorten(shown);
        // A structure is drawn as a tree and a table, though its text is cut.
        if shown["structured"].is_null() && is_structure(&whole) {
            shown["structured"] = whole.as_str().into();
        }
        shown["large"] =
            json!({"id": call, "bytes": bytes, "parts": bytes.div_ceil(PART), "part_bytes": PART});
        self.keep(call, session, whole);
    }
}

/// Returns the text of a result with what its structure says beyond that, if it is large.
fn large_text(result: &ToolResult) -> Option<String> {
    let text = result.text();
    let structure = result.structured_content();
    let structured = structure.as_ref().map(ToString::to_string).unwrap_or_default();
    if text.len().max(structured.len()) <= LARGE {
        return None;
    }
    let is_repeated =
        serde_json::from_str::<Value>(&text).is_ok_and(|value| Some(value) == structure);
    Some(match (text.is_empty(), structured.is_empty() || is_repeated) {
        (true, _) => structured,
        (false, true) => text.into_owned(),
        (false, false) => format!("{text}\n{structured}"),
    })
}

/// Returns `true` for JSON of a list or an object that is not too large to be drawn.
fn is_structure(text: &str) -> bool {
    text.len() <= STRUCTURE
        && text.starts_with(['[', '{'])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Cuts the texts of a result that is shown.
fn shorten(shown: &mut Value) {
    let mut left = PART;
    for part in shown["content"].as_array_mut().into_iter().flatten() {
        if let Some(text) = part["text"].as_str() {
            let kept = cut(text, left);
            left -= kept.len();
            if kept.len() < text.len() {
                part["text"] = kept.into();
            }
        }
    }
    if shown["structured"].as_str().is_some_and(|text| text.len() > STRUCTURE) {
        shown["structured"] = Value::Null;
    }
}

/// Returns one part of a large result, from 0.
pub(super) fn part_of(text: &str, part: usize) -> &str {
    let bound = |part: usize| floor_boundary(text, part.saturating_mul(PART));
    &text[bound(part)..bound(part.saturating_add(1))]
}
