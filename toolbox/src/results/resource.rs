//! Kept results as resources, which the clients of a server read.

use std::sync::Arc;

use serde_json::json;

use super::keeper::Keeper;
use super::store::KeptResult;
use crate::call::{Arguments, Content, FailureKind, ToolResult};
use crate::context::ToolContext;
use crate::context::keeper::KEPT_RESULT_URI;
use crate::resource::Resource;
use crate::tool::Tool;

/// Returns the template under which the results of a keeper are read whole.
pub(super) fn kept_results(keeper: &Arc<Keeper>) -> Option<Resource> {
    let schema = json!({
        "type": "object",
        "properties": {"handle": {"type": "string", "description": "Handle of the result, such as r1"}},
        "required": ["handle"],
    });
    let keeper = Arc::clone(keeper);
    let read = move |context: ToolContext, arguments: Arguments| {
        let keeper = Arc::clone(&keeper);
        async move {
            let variables = serde_json::from_str::<serde_json::Value>(arguments.as_str());
            let variables = variables.unwrap_or_default();
            let handle = variables["handle"].as_str().unwrap_or_default();
            match keeper.find(handle, &context).await {
                Ok(result) => whole(&result),
                // Another's handle is no other than one that never was.
                Err(error) if error.kind() == FailureKind::Reported => {
                    ToolResult::failure(FailureKind::NotFound, error.to_string())
                }
                Err(error) => error.into(),
            }
        }
    };
    let about = "A result of a tool that was too large to be shown whole.";
    let tool = Tool::raw("kept_result", about, schema, read);
    let resource = Resource::from_tool(KEPT_RESULT_URI, tool).ok()?;
    Some(resource.with_name("Kept result"))
}

fn whole(result: &KeptResult) -> ToolResult {
    let structured = result.own_structure().map(|value| Content::text(value.to_string()));
    ToolResult::from(result.content.iter().cloned().chain(structured).collect::<Vec<_>>())
}
