//! Requests, replies and frames without secrets.

use serde_json::Value;

use crate::call::{Arguments, ToolCall};
use crate::definition::ToolDefinition;
use crate::dialect::Dialect;
use crate::event::shown_arguments;
use crate::model::{ModelRequest, Part, Reply};
use crate::text::json_value;
use crate::validate::shown;

/// Returns a request as JSON, with `"***"` in place of arguments that are secret.
pub(super) fn shown_request(request: &ModelRequest) -> Value {
    let hide = |call: &ToolCall| shown(definition(request, &call.name), call.arguments.as_str());
    let mut shown = request.clone();
    shown.history = shown.history.with_shown_arguments(hide);
    // A request always serializes: its keys are text.
    json_value(&shown).unwrap_or_default()
}

/// Returns the reply to a request, with `"***"` in place of arguments that are secret.
pub(super) fn shown_reply(request: &ModelRequest, mut reply: Reply) -> Reply {
    for part in &mut reply.parts {
        if let Part::Call { call, echo } = part
            && let Some(text) = shown(definition(request, &call.name), call.arguments.as_str())
        {
            call.arguments = Arguments::from(text);
            *echo = None;
        }
    }
    reply
}

/// Returns the definition of a tool of a request, by its name or one that it is sent under.
fn definition<'a>(request: &'a ModelRequest, name: &str) -> Option<&'a ToolDefinition> {
    let deferred = request.search.as_ref().map(|search| &search.deferred);
    let mut lists = [Some(&request.tools), deferred].into_iter().flatten();
    lists.find_map(|list| {
        let own = list.iter().find(|tool| tool.name == name);
        own.or_else(|| {
            let mut sent = Dialect::ALL.into_iter().map(|dialect| list.lowered(dialect));
            sent.find_map(|sent| sent.position(name)).and_then(|position| list.get(position))
        })
    })
}

/// Returns the arguments of an MCP call without what the schema of its tool marks as secret;
/// without a schema, nothing of them.
pub(super) fn shown_call(schema: Option<&Value>, arguments: &Value) -> Value {
    let tool = schema.map(|schema| ToolDefinition::new("", "", schema.clone()));
    let shown = shown_arguments(tool.as_ref(), &arguments.to_string());
    serde_json::from_str(shown.as_str()).unwrap_or_default()
}
