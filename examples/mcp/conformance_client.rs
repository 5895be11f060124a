//! A client for the official conformance suite: it mounts the suite's server into a box, and calls
//! its tools through the box.
//!
//! The suite starts it with the server's URL, and says in variables which scenario it is.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use toolbox::context::{Answer, Question, QuestionForm};
use toolbox::mcp::{CredentialFile, IdentityProvider, ServerConfig, ServerState, Servers, SignIn};
use toolbox::{ToolBox, ToolCall};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: conformance_client URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str(&context)?,
        Err(_) => Value::Null,
    };

    let mut server = ServerConfig::url(url);
    if let Some(id) = context["client_id"].as_str() {
        let secret = context["client_secret"].as_str().map(str::to_owned);
        let text = |key: &str| context[key].as_str().unwrap_or_default().to_owned();
        server = match (context["private_key_pem"].as_str(), secret) {
            _ if context["valid_jwt"].is_string() => {
                server.workload_identity(id, text("valid_jwt"))
            }
            (_, Some(secret)) if context["idp_id_token"].is_string() => {
                let idp = IdentityProvider::new(text("idp_issuer"), text("idp_token_endpoint"))
                    .client(text("idp_client_id"), None)
                    .id_token(text("idp_id_token"));
                server.enterprise_managed(id, secret, idp)
            }
            (Some(pem), _) => server.client_credentials_key(id, pem),
            (None, Some(secret)) if scenario.starts_with("auth/client-credentials") => {
                server.client_credentials(id, secret)
            }
            (None, secret) => server.oauth_client(id, secret),
        };
    }
    let folder = std::env::temp_dir().join(format!("toolbox-conformance-{}", std::process::id()));
    let credentials = CredentialFile::new(folder.join("credentials.json"));
    // Agrees to what is suggested: fields without a value get their defaults.
    let asker = |question: Question| async move {
        println!("{} asks: {}", question.origin(), question.message);
        if let QuestionForm::Url(page) = &question.form {
            open(page);
        }
        Answer::from(json!({}))
    };
    let toolbox = ToolBox::builder().asker(asker).build()?;
    let servers = Servers::builder()
        .server("s", server.clone())
        .credentials(credentials.clone())
        .ask_to_sign_in(true);
    let servers = servers.mount(&toolbox).await?;
    // A server may want more later, or move to somebody else who gives out its tokens. Who wants
    // more again and again is not asked a third time.
    for _ in 0..2 {
        if !servers.status()[0].wants_sign_in {
            break;
        }
        SignIn::new(&server, &credentials).run(open).await?;
        servers.reconnect("s").await;
    }
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
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

/// Plays somebody who opens a page, agrees, and is sent back.
fn open(page: &str) {
    let mut next = Some(page.to_owned());
    std::thread::spawn(move || {
        while let Some(page) = next.take() {
            let (host, path) = page.strip_prefix("http://")?.split_once('/')?;
            let mut stream = TcpStream::connect(host.replace("localhost", "127.0.0.1")).ok()?;
            let request =
                format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).ok()?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply).ok()?;
            let location = |line: &str| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("location").then(|| value.to_owned())
            };
            next = reply.lines().find_map(location);
        }
        Some(())
    });
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
