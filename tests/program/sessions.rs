//! `serve --http`: each session by itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{Folder, toolbox_program};

/// The program behind an address.
struct Listening {
    child: Child,
    address: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Listening {
    fn start(config: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(toolbox_program())
            .args(["serve", "--http", "127.0.0.1:0"])
            .args(words)
            .env("OPENCODE_TOOLBOX_CONFIG", config)
            .env_remove("TOOLBOX_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its errors")).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("listening at http://")?.strip_suffix("/mcp")?;
            Some(address.to_owned())
        });
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, address: address.expect("it listens") }
    }

    /// Posts a message; returns the head of the answer and the message in it.
    fn post(&self, headers: &str, message: &Value) -> (String, Value) {
        let mut stream = std::net::TcpStream::connect(&self.address).expect("it listens");
        let body = message.to_string();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        // JSON, or the last event of a stream, in chunks or not.
        let lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let message = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        (head.to_owned(), message.rev().find(Value::is_object).unwrap_or_default())
    }

    fn begin(&self, version: &str) -> (Session<'_>, String) {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}}});
        let (head, answer) = self.post("", &hello);
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let headers = format!("Mcp-Session-Id: {}\r\n", id.expect("a session"));
        let told = answer["result"]["instructions"].as_str().unwrap_or_default().to_owned();
        (Session { server: self, headers }, told)
    }
}

/// One host.
struct Session<'a> {
    server: &'a Listening,
    headers: String,
}

impl Session<'_> {
    fn call(&self, name: &str, arguments: Value) -> String {
        let params = json!({"name": name, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        let (_, answer) = self.server.post(&self.headers, &call);
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Searches for a tool, and returns the instructions in the reply.
    fn told(&self, text: &str) -> Value {
        let found = self.call("toolbox_search_bm25", json!({"text": text}));
        let found: Value = serde_json::from_str(&found).expect("JSON");
        assert_ne!(found["tools"], json!([]), "{found}");
        found["instructions"].clone()
    }
}

/// A server that is started by the first search says its instructions after both hosts were
/// greeted, and before the third comes.
#[test]
fn each_session_is_told_the_instructions_of_servers_once() {
    let folder = Folder::new();
    let foreign = crate::program("misbehaving");
    let config = json!({"mcp": {"s": {"command": [foreign, "list", "few", "only", "echo"]}}});
    let config = folder.write("toolbox.jsonc", &config.to_string());
    let server = Listening::start(&config, &["--lazy"]);
    let (first, at_once) = server.begin("2025-11-25");
    assert!(!at_once.contains("Be careful"), "{at_once}");
    let (second, at_once) = server.begin("2025-06-18");
    assert!(!at_once.contains("Be careful"), "{at_once}");
    let expected = json!({"s": "Be careful."});
    for session in [&first, &second] {
        assert_eq!(session.told("echo"), expected);
        assert_eq!(session.told("echo"), Value::Null);
    }
    let (third, at_once) = server.begin("2025-11-25");
    assert!(at_once.contains("The server `s` says of its tools:\nBe careful."), "{at_once}");
    assert_eq!(third.told("echo"), Value::Null);
    assert_eq!(first.told("echo"), Value::Null);
}

/// Hosts of several versions use the same servers, so each is spoken to in a version of its own.
#[test]
fn servers_behind_http_are_spoken_to_in_their_own_version() {
    let folder = Folder::new();
    let foreign = crate::program("misbehaving");
    let entry = |flag: &str| json!({"command": [foreign, flag, "list", "few", "only", "meta"]});
    let mut pinned = entry("modern");
    pinned["protocol"] = json!("2025-11-25");
    let config = json!({"mcp": {"both": entry("modern"), "old": entry("plain"), "pinned": pinned}});
    let config = folder.write("toolbox.jsonc", &config.to_string());
    let server = Listening::start(&config, &["--no-gateway"]);
    for version in ["2024-11-05", "2025-11-25"] {
        let (session, _) = server.begin(version);
        for (name, is_newer) in [("both", true), ("old", false), ("pinned", false)] {
            let meta = session.call(&format!("{name}_meta"), json!({}));
            let told = meta.contains("io.modelcontextprotocol/protocolVersion");
            assert_eq!(told, is_newer, "{version} {name}: {meta}");
        }
    }
}
