//! Servers that others wrote, mounted all together.
//!
//! Run by hand or by a job that has them: `MCP_SERVERS` names a file in the form `{"mcpServers":
//! {name: {"command", "args"}}}`, and `MCP_INTEROP` a folder with `servers.json` (what to call, and
//! what to expect) and `toolslists/` (what others read of them).

#![allow(clippy::print_stdout, reason = "whoever runs it by hand reads what was found")]

use crate::bounded::tokio;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::mcp::{ServerConfig, ServerState, Servers};
use toolbox::search::Gateway;
use toolbox::{ToolBox, ToolCall};

fn read(path: &Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("the file is JSON")
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(|word| Some(word.as_str()?.to_owned()))
        .collect()
}

/// Serves one text to whoever asks, and returns the port.
fn serve_text(text: &'static str) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                text.len()
            );
            let _ =
                stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
        }
    });
    port
}

/// Reads the list of a server over its pipes, with nothing of what is tested.
fn probe(command: &str, arguments: &[String]) -> Vec<Value> {
    let mut child = Command::new(command)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let info = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
    ];
    let mut answer = |id: i64| loop {
        let line = lines.next().expect("an answer").expect("a line");
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["id"] == id {
            return message;
        }
    };
    writeln!(stdin, "{}", messages[0]).expect("it reads");
    answer(1);
    writeln!(stdin, "{}\n{}", messages[1], messages[2]).expect("it reads");
    let tools = answer(2)["result"]["tools"].as_array().cloned().unwrap_or_default();
    let _ = child.kill();
    let _ = child.wait();
    tools
}

fn by_name(tools: &[Value]) -> BTreeMap<&str, &Value> {
    tools.iter().filter_map(|tool| Some((tool["name"].as_str()?, tool))).collect()
}

#[tokio::test]
#[ignore = "needs the servers of others: set MCP_SERVERS and MCP_INTEROP"]
async fn servers_of_others_are_mounted_together_and_answer() {
    let config = read(Path::new(&std::env::var_os("MCP_SERVERS").expect("MCP_SERVERS is set")));
    let interop = PathBuf::from(std::env::var_os("MCP_INTEROP").expect("MCP_INTEROP is set"));
    let expected = read(&interop.join("servers.json"));
    let configured = config["mcpServers"].as_object().expect("servers");
    // The folder with the files is told by the server that serves it.
    let files = strings(&configured["server-filesystem"]["args"]).pop().expect("a folder");
    let scratch = files.trim_end_matches("/fs").to_owned();
    let port = serve_text("hello");

    let toolbox = ToolBox::new();
    let mut builder = Servers::builder();
    for (name, server) in configured {
        let command = ServerConfig::command(server["command"].as_str().expect("a command"))
            .args(strings(&server["args"]))
            .connect_timeout(Duration::from_secs(60));
        builder = builder.server(name, command);
    }
    let servers = builder.mount(&toolbox).await.expect("the names are valid");
    let gateway = ToolBox::from(Gateway::over(&toolbox));

    let mut total = 0;
    for status in servers.status() {
        let name = &status.name;
        assert_eq!(status.state, ServerState::Ready, "{status:?}");
        assert!(status.withheld.is_empty(), "{status:?}");
        let spec = &expected[name];
        let (command, arguments) =
            (&configured[name]["command"], strings(&configured[name]["args"]));
        let raw = probe(command.as_str().expect("a command"), &arguments);
        let mounted: Vec<_> =
            toolbox.tools().into_iter().filter(|tool| tool.source() == Some(name)).collect();
        println!(
            "{name}: {:?}, {} tools, {:?}",
            status.protocol_version,
            mounted.len(),
            status.notices
        );
        // One server lists more to clients that declare more of themselves.
        if spec["inspector_tools"].is_null() {
            assert_eq!(Some(mounted.len() as u64), spec["tools"].as_u64(), "{name}");
        }
        assert_eq!(status.tools.len(), raw.len(), "{name}");
        total += mounted.len();

        let list = interop.join("toolslists").join(format!("{name}.json"));
        let list = if list.exists() { read(&list)["tools"].as_array().cloned() } else { None };
        let (raw, list) = (by_name(&raw), list.as_deref().map(by_name));
        for tool in &mounted {
            let own = tool.name_at_source().expect("a name");
            assert_eq!(tool.name(), format!("{name}_{own}"));
            let definition = tool.definition();
            let mut sources = vec![raw[own]];
            sources.extend(list.as_ref().map(|list| list[own]));
            for source in sources {
                assert_eq!(definition.input_schema, source["inputSchema"], "{name} {own}");
                assert_eq!(
                    definition.output_schema.as_deref().unwrap_or(&Value::Null),
                    &source["outputSchema"],
                    "{name} {own}"
                );
                assert_eq!(
                    definition.description,
                    source["description"].as_str().unwrap_or(""),
                    "{name} {own}"
                );
            }
            // The probe speaks the older protocol, and a server may order keys by the protocol.
            if status.protocol_version.as_deref() == Some("2025-11-25") {
                let (own, raw) = (&definition.input_schema, &raw[own]["inputSchema"]);
                assert_eq!(own.to_string(), raw.to_string(), "to the byte");
            }
        }

        let tool = format!("{name}_{}", spec["call"][0].as_str().expect("a tool"));
        let arguments = spec["call"][1].to_string();
        let arguments = arguments.replace("$W", &scratch).replace("$PORT", &port.to_string());
        for (way, toolbox) in [("direct", &toolbox), ("gateway", &gateway)] {
            // One server keeps what it is given, and answers with what is new to it.
            let fresh =
                |text: &str| text.replace("\"n\"", &format!("\"{way}-{}\"", std::process::id()));
            let arguments = fresh(&arguments);
            let call = match way {
                "direct" => ToolCall::new("1", &tool, arguments),
                _ => {
                    let request = json!({"name": tool, "arguments": arguments}).to_string();
                    ToolCall::new("2", "toolbox_execute", request)
                }
            };
            let result = toolbox.call(call).await;
            let text = fresh(spec["text"].as_str().expect("a text"));
            let told = result.text();
            assert!(!result.is_error() && told.contains(&text), "{name}, {way}: {told}");
        }
    }
    println!("{total} tools of {} servers", configured.len());
    servers.close().await;
}
