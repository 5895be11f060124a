//! A client for the official conformance suite: it mounts the suite's server into a box, and calls its tools through the box.
//!
//! The suite starts it with the server's URL, and says in variables which scenario it is.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use serde_json::{Value, json};
use toolbox::mcp::{ServerConfig, ServerState, Servers};
use toolbox::{ToolBox, ToolCall};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: conformance_client URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str(&context)?,
        Err(_) => Value::Null,
    };

    let toolbox = ToolBox::new();
    let servers = Servers::builder().server("s", ServerConfig::url(url)).mount(&toolbox).await?;
    let status = servers.status().remove(0);
    println!("{scenario}: {status:?}");
    if status.state != ServerState::Ready {
        return Err(status.error.unwrap_or_default().into());
    }

    for (name, arguments) in calls(&scenario, &context, &toolbox) {
        let tools = toolbox.tools();
        let Some(tool) = tools.iter().find(|tool| tool.name_at_source() == Some(&*name)) else {
            println!("{name} is not among the tools");
            continue;
        };
        let call = ToolCall::new("call", tool.name(), arguments.to_string());
        println!("{name}: {}", toolbox.call(call).await.text());
    }
    servers.close().await;
    Ok(())
}

/// Returns what a scenario wants called, by the server's own names.
fn calls(scenario: &str, context: &Value, toolbox: &ToolBox) -> Vec<(String, Value)> {
    if let Some(calls) = context["toolCalls"].as_array() {
        let call =
            |call: &Value| Some((call["name"].as_str()?.to_owned(), call["arguments"].clone()));
        return calls.iter().filter_map(call).collect();
    }
    match scenario {
        "initialize" | "json-schema-ref-no-deref" => Vec::new(),
        "json-schema-2020-12-preservation" => {
            let told = toolbox.tools();
            let told = told.iter().find(|tool| tool.name_at_source() != Some(ECHO));
            let schema = told.map(|tool| tool.definition().input_schema.clone());
            vec![(ECHO.to_owned(), json!({"schema": schema}))]
        }
        _ => {
            let tools = toolbox.tools();
            let named =
                tools.iter().filter_map(|tool| Some((tool.name_at_source()?.to_owned(), tool)));
            named.map(|(name, tool)| (name, sample(&tool.definition().input_schema))).collect()
        }
    }
}

/// The tool that takes the schema of the other one.
const ECHO: &str = "json_schema_echo";

/// Returns arguments that a schema of simple ones accepts.
fn sample(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let values = properties.map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("number" | "integer") => json!(3),
            Some("boolean") => json!(true),
            _ => json!("text"),
        };
        (name.clone(), value)
    });
    Value::Object(values.collect())
}
