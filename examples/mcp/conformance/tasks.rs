//! The tools of the suite that go on as tasks.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::call::ToolCall;
use toolbox::context::AskError;
use toolbox::mcp::Caller;
use toolbox::{State, Tool, ToolBox, ToolContext, ToolError, ToolResult, tool, tools};

pub(crate) fn task_tools() -> Vec<Tool> {
    let later = ToolBox::from(tools![greet_later]);
    let mut tools =
        tools![greet, slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input,];
    tools.push(test_tool_with_task::tool().with_state(later));
    tools
}

/// Greets at once.
#[tool(read_only)]
fn greet(name: &str) -> String {
    format!("Hello, {name}!")
}

/// Takes as many seconds as it is told.
#[tool(read_only, background, timeout = "5m")]
async fn slow_compute(seconds: u64, label: Option<String>) -> String {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    format!("{}: {seconds} s", label.unwrap_or_else(|| "computed".to_owned()))
}

/// Fails after a while, for clients that follow tasks alone.
#[tool(read_only, background)]
async fn failing_job(caller: Caller) -> Result<String, ToolError> {
    let tasks = "extensions.io.modelcontextprotocol/tasks";
    caller.require(tasks).map_err(ToolError::infrastructure)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(ToolError::reported("this job always fails"))
}

/// Ends without a result.
#[tool(read_only, background)]
fn protocol_error_job() -> String {
    panic!("as it is meant to")
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    confirm: bool,
}

/// Asks before it would delete a file.
#[tool(background)]
async fn confirm_delete(filename: String, context: &ToolContext) -> Result<String, AskError> {
    let question = format!("Delete {filename}?");
    let Confirmation { confirm } = context.ask(question).key("confirm").await?;
    Ok(if confirm { format!("deleted {filename}") } else { format!("kept {filename}") })
}

/// An answer as the suite gives it to any question.
#[derive(Deserialize, JsonSchema)]
struct Signed {
    name: String,
    confirm: Option<bool>,
}

/// Asks two things at once.
#[tool(read_only, background)]
async fn multi_input(context: &ToolContext) -> Result<String, AskError> {
    let (first, second) = tokio::join!(
        context.ask::<Signed>("The first name?").key("first").into_future(),
        context.ask::<Signed>("The second name?").key("second").into_future(),
    );
    let worded = |answer: Signed| match answer.confirm {
        Some(false) => format!("perhaps {}", answer.name),
        _ => answer.name,
    };
    Ok(format!("{} and {}", worded(first?), worded(second?)))
}

/// Greets in the background.
#[tool(read_only, background)]
fn greet_later(name: String) -> String {
    format!("Hello, {name}!")
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Asks for a name, and goes on in the background.
#[tool(read_only)]
async fn test_tool_with_task(
    context: &ToolContext,
    later: State<ToolBox>,
) -> Result<ToolResult, AskError> {
    let Name { name } = context.ask("What is your name?").key("user_name").await?;
    let arguments = serde_json::json!({ "name": name });
    let call = ToolCall::new(context.call_id(), "greet_later", arguments.to_string());
    Ok(later.call_in(context, call).await)
}
