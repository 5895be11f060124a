//! The tools of the suite that ask the client or its user for something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbox::context::AskError;
use toolbox::mcp::{Caller, CallerError, LogLevel};
use toolbox::{Tool, ToolContext, ToolError, tool, tools};

pub(crate) fn asking_tools() -> Vec<Tool> {
    tools![
        test_tool_with_logging,
        test_sampling,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        test_input_required_result_elicitation,
        test_input_required_result_sampling,
        test_input_required_result_list_roots,
        test_input_required_result_request_state,
        test_input_required_result_multiple_inputs,
        test_input_required_result_multi_round,
        test_input_required_result_tampered_state,
        test_input_required_result_capabilities,
    ]
}

/// Logs as it works.
#[tool(read_only)]
async fn test_tool_with_logging(caller: Caller) -> &'static str {
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        caller.log(LogLevel::Info, step).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    "Tool execution completed"
}

fn message(text: &str, max_tokens: u32) -> Value {
    json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        "maxTokens": max_tokens,
    })
}

fn text_of(message: &Value) -> String {
    message["content"]["text"].as_str().unwrap_or_default().to_owned()
}

/// Asks the model of the client.
#[tool(read_only)]
async fn test_sampling(prompt: &str, caller: Caller) -> Result<String, CallerError> {
    let answer = caller.create_message(message(prompt, 100)).await?;
    Ok(format!("LLM response: {}", text_of(&answer)))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Account {
    /// User's name
    username: String,
    /// User's email address
    email: String,
}

/// Words an answer as the suite wants it.
fn worded<T: Serialize>(answer: Result<T, AskError>) -> Result<String, ToolError> {
    let (action, content) = match answer {
        Ok(content) => ("accept", serde_json::to_value(content).unwrap_or_default()),
        Err(AskError::Declined) => ("decline", json!({})),
        Err(AskError::Dismissed) => ("cancel", json!({})),
        Err(error) => return Err(ToolError::reported(error.to_string())),
    };
    Ok(format!("Elicitation completed: action={action}, content={content}"))
}

/// Asks the user for an account.
#[tool(read_only)]
async fn test_elicitation(message: String, context: &ToolContext) -> Result<String, ToolError> {
    worded(context.ask::<Account>(message).await)
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Defaults {
    #[schemars(extend("default" = "John Doe"))]
    name: String,
    #[schemars(extend("default" = 30))]
    age: i32,
    #[schemars(extend("default" = 95.5))]
    score: f64,
    #[schemars(extend("default" = "active"))]
    status: Status,
    #[schemars(extend("default" = true))]
    verified: bool,
}

/// Asks with an answer suggested for each kind of field.
#[tool(read_only)]
async fn test_elicitation_sep1034_defaults(context: &ToolContext) -> Result<String, ToolError> {
    worded(context.ask::<Defaults>("Please review these settings").await)
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Option1,
    Option2,
    Option3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Titled {
    /// First Option
    Value1,
    /// Second Option
    Value2,
    /// Third Option
    Value3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Choices {
    untitled_single: Plain,
    titled_single: Titled,
    #[schemars(extend(
        "enum" = ["opt1", "opt2", "opt3"],
        "enumNames" = ["Option One", "Option Two", "Option Three"],
    ))]
    legacy_enum: String,
    untitled_multi: Vec<Plain>,
    titled_multi: Vec<Titled>,
}

/// Asks for choices of each kind.
#[tool(read_only)]
async fn test_elicitation_sep1330_enums(context: &ToolContext) -> Result<String, ToolError> {
    worded(context.ask::<Choices>("Please choose").await)
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    ok: bool,
}

/// Greets a user whose name it asks for.
#[tool(read_only)]
async fn test_input_required_result_elicitation(context: &ToolContext) -> Result<String, AskError> {
    let Name { name } = context.ask("What is your name?").key("user_name").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the model of the client a question.
#[tool(read_only)]
async fn test_input_required_result_sampling(caller: Caller) -> Result<String, CallerError> {
    let answer = caller.create_message(message("What is the capital of France?", 100)).await?;
    Ok(text_of(&answer))
}

/// Asks for the folders of the client.
#[tool(read_only)]
async fn test_input_required_result_list_roots(caller: Caller) -> Result<String, CallerError> {
    let roots = caller.list_roots().await?;
    Ok(format!("{} roots: {}", roots.len(), Value::from(roots)))
}

/// Asks for a confirmation; its state is this server's.
#[tool(read_only)]
async fn test_input_required_result_request_state(
    context: &ToolContext,
) -> Result<String, AskError> {
    let Confirmation { ok } = context.ask("Please confirm").key("confirm").await?;
    Ok(format!("state-ok: {ok}"))
}

/// Asks the user, the model and the client at once.
#[tool(read_only)]
async fn test_input_required_result_multiple_inputs(
    context: &ToolContext,
    caller: Caller,
) -> Result<String, ToolError> {
    let (name, greeting, roots) = tokio::join!(
        context.ask::<Name>("What is your name?").key("user_name").into_future(),
        caller.create_message(message("Generate a greeting", 50)),
        caller.list_roots(),
    );
    let failed = |error: CallerError| ToolError::reported(error.to_string());
    let Name { name } = name.map_err(|error| ToolError::reported(error.to_string()))?;
    let (greeting, roots) = (greeting.map_err(failed)?, roots.map_err(failed)?);
    Ok(format!("{} {name}, {} roots", text_of(&greeting), roots.len()))
}

/// Asks one question after the other.
#[tool(read_only)]
async fn test_input_required_result_multi_round(context: &ToolContext) -> Result<String, AskError> {
    let Name { name } = context.ask("Step 1: What is your name?").key("step1").await?;
    let Color { color } = context.ask("Step 2: What is your favorite color?").key("step2").await?;
    Ok(format!("{name} likes {color}"))
}

/// Asks for a confirmation; a state that was changed goes on with nothing.
#[tool(read_only)]
async fn test_input_required_result_tampered_state(
    context: &ToolContext,
) -> Result<String, AskError> {
    let Confirmation { ok } = context.ask("Please confirm").key("confirm").await?;
    Ok(format!("confirmed: {ok}"))
}

/// Asks whom it can: the user, else the model.
#[tool(read_only)]
async fn test_input_required_result_capabilities(
    context: &ToolContext,
    caller: Caller,
) -> Result<String, ToolError> {
    if context.can_ask() {
        let answer = context.ask::<Name>("What is your name?").await;
        return Ok(answer.map_err(|error| ToolError::reported(error.to_string()))?.name);
    }
    let answer = caller.create_message(message("Invent a name", 20)).await;
    Ok(text_of(&answer.map_err(|error| ToolError::reported(error.to_string()))?))
}
