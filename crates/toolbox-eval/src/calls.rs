//! The calls of a transcript.

use serde_json::Value;
use toolbox::model::History;
use toolbox::search::{EXECUTE, SEARCH_PATTERN, SEARCH_WORDS};
use toolbox::{ToolCall, ToolResult};

use crate::report::MadeCall;

/// Returns the calls of a transcript in their order. A call through a gateway is that of the tool
/// which it names; its searches are none.
pub(crate) fn made(history: &History) -> Vec<MadeCall> {
    let calls = history.steps().flat_map(toolbox::model::Step::calls);
    let own = calls.filter(|(call, _)| ![SEARCH_WORDS, SEARCH_PATTERN].contains(&&*call.name));
    own.map(|(call, result)| made_call(call, result)).collect()
}

fn made_call(call: &ToolCall, result: &ToolResult) -> MadeCall {
    let sent = call.arguments.as_str();
    let (name, arguments) = match read(sent) {
        Ok(arguments) if call.name == EXECUTE => {
            carried(&arguments).unwrap_or_else(|| (call.name.clone(), arguments))
        }
        Ok(arguments) => (call.name.clone(), arguments),
        Err(text) => (call.name.clone(), text),
    };
    let repairs = result.repairs().iter().map(ToString::to_string).collect();
    MadeCall { name, arguments, code: result.code().map(str::to_owned), repairs }
}

/// Reads arguments; text that is no JSON is kept as a text.
fn read(text: &str) -> Result<Value, Value> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text).map_err(|_| Value::from(text))
}

/// Returns the call within a call of the gateway: its arguments are an object, or JSON text of one.
fn carried(envelope: &Value) -> Option<(String, Value)> {
    let name = envelope.get("name")?.as_str()?.to_owned();
    let arguments = match envelope.get("arguments") {
        Some(Value::String(text)) => read(text).unwrap_or_else(|text| text),
        Some(Value::Null) | None => Value::Object(serde_json::Map::new()),
        Some(other) => other.clone(),
    };
    Some((name, arguments))
}

impl MadeCall {
    /// Returns `true` if the call reached its tool, or would have after an approval: there is such
    /// a tool, and its arguments fit.
    #[must_use]
    pub fn fits(&self) -> bool {
        !self.code.as_deref().is_some_and(|code| {
            code.starts_with("args.") || ["tool.not_found", "tool.blacklisted"].contains(&code)
        })
    }
}
