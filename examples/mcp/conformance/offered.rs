//! The prompts and the resources that the suite wants to find.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::context::AskError;
use toolbox::prompt::{Prompt, PromptMessage};
use toolbox::resource::Resource;
use toolbox::tool::CompletionRequest;
use toolbox::{Content, ToolBox, ToolContext, prompt, prompts, resource, resources};
use toolbox::{State, tool};

use crate::PIXEL;

pub(crate) fn all_prompts() -> Vec<Prompt> {
    prompts![
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
        test_input_required_result_prompt,
    ]
}

pub(crate) fn all_resources() -> Vec<Resource> {
    resources![static_text, static_binary, template, watched]
}

/// A simple prompt.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

fn first_arguments(request: &CompletionRequest) -> Vec<String> {
    request.matching(["paris", "park", "party"])
}

/// A prompt with two arguments.
#[prompt]
fn test_prompt_with_arguments(
    /// The first.
    #[arg(complete = first_arguments)]
    arg1: &str,
    /// The second.
    arg2: &str,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A prompt with a document.
#[prompt]
fn test_prompt_with_embedded_resource(
    /// The URI of the document.
    #[arg(rename = "resourceUri")]
    resource_uri: &str,
) -> [PromptMessage; 2] {
    let text = "Embedded resource content for testing.";
    let document = Content::resource_text(resource_uri, "text/plain", text);
    [
        PromptMessage::user(document),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

/// A prompt with a picture.
#[prompt]
fn test_prompt_with_image() -> [PromptMessage; 2] {
    [
        PromptMessage::user(Content::image(PIXEL, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct UserContext {
    /// The context of the user.
    context: String,
}

/// A prompt that asks the user for something.
#[prompt]
async fn test_input_required_result_prompt(context: &ToolContext) -> Result<String, AskError> {
    let question = context.ask("What context should the prompt use?").key("user_context");
    let UserContext { context } = question.await?;
    Ok(format!("Context: {context}"))
}

/// A text.
#[resource("test://static-text", mime_type = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// A picture.
#[resource("test://static-binary", mime_type = "image/png")]
fn static_binary() -> &'static [u8] {
    PIXEL
}

/// Data by an id.
#[resource("test://template/{id}/data", mime_type = "application/json")]
fn template(id: &str) -> Value {
    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})
}

/// A resource that changes.
#[resource("test://watched-resource", mime_type = "text/plain")]
fn watched() -> &'static str {
    "Watched resource content"
}

/// Changes the list of tools.
#[tool]
pub(crate) fn test_trigger_tool_change(toolbox: State<ToolBox>) -> &'static str {
    if toolbox.unregister("test_added_tool").is_none() {
        toolbox.register(test_added_tool::tool());
    }
    "changed"
}

/// A tool that comes and goes.
#[tool]
fn test_added_tool() -> &'static str {
    "added"
}

/// Changes the list of prompts.
#[tool]
pub(crate) fn test_trigger_prompt_change(toolbox: State<ToolBox>) -> &'static str {
    let prompts = toolbox.prompts();
    if prompts.unregister("test_added_prompt").is_none() {
        prompts.register(test_added_prompt::prompt());
    }
    "changed"
}

/// A prompt that comes and goes.
#[prompt]
fn test_added_prompt() -> &'static str {
    "added"
}
