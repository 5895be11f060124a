//! The server that the official conformance suite wants to find, as ordinary tools.
//!
//! `conformance` serves over standard streams, `conformance 127.0.0.1:8000` over HTTP at `/mcp`.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

#[path = "conformance/asking.rs"]
mod asking;
#[path = "conformance/offered.rs"]
mod offered;
#[path = "conformance/tasks.rs"]
mod tasks;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolbox::call::Arguments;
use toolbox::mcp::{Caller, LogLevel, MissingCapability, ServeError, Service};
use toolbox::{Content, Tool, ToolBox, ToolContext, tool, tools};

/// A red pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

/// Silence: one sample of 8 bits.
const SILENCE: &[u8] =
    b"RIFF%\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0data\x01\0\0\0\x80";

/// Returns a text.
#[tool(read_only)]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool(read_only)]
fn test_image_content() -> Content {
    Content::image(PIXEL, "image/png")
}

/// Returns a sound.
#[tool(read_only)]
fn test_audio_content() -> Content {
    Content::audio(SILENCE, "audio/wav")
}

/// Returns a document.
#[tool(read_only)]
fn test_embedded_resource() -> Content {
    let text = "This is an embedded resource content.";
    Content::resource_text("test://embedded-resource", "text/plain", text)
}

/// Returns a text, an image and a document.
#[tool(read_only)]
fn test_multiple_content_types() -> Vec<Content> {
    let document = r#"{"test":"data","value":123}"#;
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PIXEL, "image/png"),
        Content::resource_text("test://mixed-content-resource", "application/json", document),
    ]
}

/// Fails.
#[tool(read_only)]
fn test_error_handling() -> Result<String, String> {
    Err("This tool intentionally returns an error for testing".to_owned())
}

/// Reports its progress.
#[tool(read_only)]
async fn test_tool_with_progress(context: &ToolContext) -> &'static str {
    for done in [0.0, 50.0, 100.0] {
        context.report_progress(done, Some(100.0), format!("{done} of 100"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    "done"
}

/// Needs a client that lets tools ask its model.
#[tool(read_only)]
fn test_missing_capability(caller: Caller) -> Result<&'static str, MissingCapability> {
    caller.require("sampling")?;
    Ok("the client can do what is needed")
}

/// Reports its progress on the stream of its call, and asks nothing there: that is how the protocol
/// wants it since 2026-07-28.
#[tool(read_only)]
fn test_streaming_elicitation(
    caller: Caller,
    context: &ToolContext,
) -> Result<&'static str, MissingCapability> {
    caller.require("elicitation")?;
    context.report_progress(1.0, Some(1.0), "all that can be done without an answer");
    Ok("nothing was asked")
}

/// Logs to a client that wants it.
#[tool(read_only)]
async fn test_logging_tool(caller: Caller) -> &'static str {
    caller.log(LogLevel::Info, "something worth logging").await;
    "logged"
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    /// Region of the data; a proxy can route by it without reading the body.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    /// The query.
    query: String,
}

/// Asks a database of one region.
#[tool(read_only)]
fn test_header_parameters(#[arg(flatten)] query: Query) -> String {
    format!("{} in {}", query.query, query.region)
}

/// Prints, as careless tools do, and answers all the same.
#[tool(read_only)]
#[allow(clippy::print_stdout, reason = "shows that it does no harm")]
fn test_printing() -> &'static str {
    println!("this is no message of the protocol");
    "printed"
}

/// The most that a schema of draft 2020-12 holds; a tool with a schema of its own passes it on as
/// it is.
fn json_schema_2020_12_tool() -> Tool {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    });
    let about = "Tool with JSON Schema 2020-12 features";
    Tool::raw("json_schema_2020_12_tool", about, schema, Arguments::into_string)
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let toolbox = ToolBox::from(tools![
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_progress,
        test_missing_capability,
        test_streaming_elicitation,
        test_logging_tool,
        test_header_parameters,
        test_printing,
    ]);
    toolbox.register(json_schema_2020_12_tool());
    toolbox.register(asking::asking_tools());
    toolbox.register(tasks::task_tools());
    toolbox.prompts().register(offered::all_prompts());
    toolbox.resources().register(offered::all_resources());
    let own = toolbox.clone();
    let triggers = tools![offered::test_trigger_tool_change, offered::test_trigger_prompt_change];
    toolbox.register(
        triggers.into_iter().map(|trigger| trigger.with_state(own.clone())).collect::<Vec<_>>(),
    );
    let service = Service::new(toolbox).name("conformance").instructions("Tools for tests.");
    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    match std::env::args().nth(1) {
        Some(address) => service.serve_http(address, interrupted).await,
        None => service.serve_stdio_until(interrupted).await,
    }
}
