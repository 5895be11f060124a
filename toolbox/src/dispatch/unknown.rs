//! The answer to a call of a tool that is not there: what was probably meant. Nothing is run.

use std::sync::Arc;

use serde_json::Value;

use super::admitted::CallerContext;
use crate::call::{FailureKind, ToolResult};
use crate::collection::{BoxInner, Snapshot, ToolEntry, Visibility};
use crate::context::{StateMap, Taint, ToolContext, UNUSED_CONTEXT};
use crate::text::{QUOTED, nearest_n, quote, without_marks};

/// The most names that an answer holds.
const MOST: usize = 3;

/// The most names of an answer that lists the tools which servers have under the name of the call.
const MOST_NAMESAKES: usize = 20;

/// The most calls that are read of a call that holds others.
const MOST_WRAPPED: usize = 16;

/// Returns the result of a call of `name`, which no tool has.
pub(super) fn unknown_tool(
    of_box: &BoxInner,
    snapshot: &Snapshot,
    name: &str,
    arguments: &str,
    caller: CallerContext<'_>,
) -> ToolResult {
    let settings = &of_box.settings;
    let shown = quote(name, QUOTED);
    tracing::warn!(tool = shown, "the tool that was called is not in the box");
    let mut text = format!("tool not found: {shown}");
    if settings.suggest_tools && arguments.len() <= settings.argument_bytes {
        let callable = Callable { snapshot, state: of_box.state.as_ref(), caller };
        if let Some(advice) = callable.advice(name, arguments) {
            text = format!("{text}; {advice}");
        }
    }
    ToolResult::refusal(FailureKind::NotFound, text)
}

/// The tools that may be named to the maker of a call: those that are listed to it, or for a
/// gateway, those behind it.
struct Callable<'s> {
    snapshot: &'s Snapshot,
    /// The states of the box.
    state: Option<&'s Arc<StateMap>>,
    caller: CallerContext<'s>,
}

impl<'s> Callable<'s> {
    fn has(&self, entry: &ToolEntry) -> bool {
        let CallerContext { context, pass, .. } = self.caller;
        let is_shown = match entry.audience() {
            Visibility::Listed => true,
            Visibility::Deferred => pass.hidden,
            Visibility::Apps | Visibility::Conditional => false,
        };
        is_shown && entry.may_be_called(context.unwrap_or(&UNUSED_CONTEXT), self.state)
    }

    fn get(&self, name: &str) -> Option<&'s ToolEntry> {
        self.snapshot.get(name).filter(|entry| self.has(entry))
    }

    fn advice(&self, name: &str, arguments: &str) -> Option<String> {
        if is_wrapper(name) {
            return Some(self.apart(arguments));
        }
        let meant = without_marks(name);
        if let Some(entry) = self.get(meant).filter(|_| meant != name) {
            self.show([entry]);
            return Some(format!("the name of the tool is `{meant}`"));
        }
        if let Some(namesakes) = self.namesakes(meant) {
            return Some(namesakes);
        }
        // Names that look alike in other scripts are not compared.
        if !meant.is_ascii() {
            return None;
        }
        let entries = self.snapshot.entries().filter(|entry| self.has(entry));
        let names = entries.flat_map(|entry| {
            let old = entry.tool.definition().replaces.iter().map(String::as_str);
            std::iter::once(entry.tool.name()).chain(old)
        });
        let mut near: Vec<&str> = Vec::new();
        for name in nearest_n(meant, names, MOST) {
            let name = self.snapshot.by_any_name(name).map_or(name, |entry| entry.tool.name());
            if !near.contains(&name) {
                near.push(name);
            }
        }
        self.show(near.iter().filter_map(|name| self.get(name)));
        (!near.is_empty()).then(|| format!("the nearest names are {}", near.join(", ")))
    }

    /// Names the tools that servers have under this name.
    fn namesakes(&self, name: &str) -> Option<String> {
        let entries = self.snapshot.entries().filter(|entry| self.has(entry));
        let mut entries: Vec<&ToolEntry> =
            entries.filter(|entry| entry.tool.name_at_source() == Some(name)).collect();
        let more = entries.len().saturating_sub(MOST_NAMESAKES);
        entries.truncate(MOST_NAMESAKES);
        self.show(entries.iter().copied());
        let names: Vec<&str> = entries.iter().map(|entry| entry.tool.name()).collect();
        match (&*names, more) {
            ([], _) => None,
            ([one], _) => Some(format!("its server's tool of this name is called {one}")),
            (_, 0) => {
                Some(format!("several servers have a tool of this name: {}", names.join(", ")))
            }
            _ => {
                let names = names.join(", ");
                Some(format!("several servers have a tool of this name: {names} and {more} more"))
            }
        }
    }

    /// Says how the calls within a call are made.
    fn apart(&self, arguments: &str) -> String {
        let wrapped: Option<Value> = serde_json::from_str(arguments).ok();
        let calls = wrapped.as_ref().and_then(|wrapped| wrapped.get("tool_uses")?.as_array());
        let names = calls.into_iter().flatten().take(MOST_WRAPPED);
        let names = names.filter_map(|call| call.get("recipient_name")?.as_str());
        let mut found: Vec<&str> = Vec::new();
        for entry in names.filter_map(|name| self.get(without_marks(name))) {
            if !found.contains(&entry.tool.name()) {
                self.show([entry]);
                found.push(entry.tool.name());
            }
        }
        let found = crate::text::names(found.into_iter());
        let what = if found.is_empty() { "each tool" } else { &found };
        format!("call {what} directly, as separate calls")
    }

    /// Notes names that are shown: a name is text that the author of the definition chose.
    fn show<'e>(&self, entries: impl IntoIterator<Item = &'e ToolEntry>) {
        if let Some(taint) = self.caller.context.and_then(ToolContext::get::<Taint>) {
            for entry in entries {
                taint.show_definitions([entry.tool.definition()]);
            }
        }
    }
}

/// Returns `true` for the name under which some models make several calls in one.
fn is_wrapper(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.collect::<String>().eq_ignore_ascii_case("multitooluseparallel")
}
