//! `record` and `replay`, between a client that writes lines and a program that is a server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::{Ended, Folder, own_program, run, toolbox_program};

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn sum(id: i64, numbers: Value) -> Value {
    request(id, "tools/call", json!({"name": "sum", "arguments": {"numbers": numbers}}))
}

fn hello() -> [Value; 3] {
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    [
        request(0, "initialize", hello),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(1, "tools/list", json!({})),
    ]
}

/// A program that is a server, and its client.
struct Talking {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Talking {
    fn new(words: &[&str]) -> Self {
        let mut child = Command::new(toolbox_program())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("its output"));
        Self { child, input, output: BufReader::new(output) }
    }

    /// Sends a message, and returns the answer of a request.
    fn ask(&mut self, message: &Value) -> Value {
        let input = self.input.as_mut().expect("its input");
        writeln!(input, "{message}").expect("it reads");
        if message["id"].is_null() {
            return Value::Null;
        }
        let mut line = String::new();
        while !line.contains(&format!("\"id\":{}", message["id"])) {
            line.clear();
            assert!(self.output.read_line(&mut line).expect("text") > 0, "no answer to {message}");
        }
        serde_json::from_str(&line).expect("JSON")
    }

    fn all(&mut self, messages: &[Value]) -> Vec<Value> {
        messages.iter().map(|message| self.ask(message)).collect()
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a recording")
}

#[test]
fn a_server_is_recorded_line_by_line_and_played_again() {
    let folder = Folder::new();
    let file = folder.path("sums.jsonl");
    let name = file.to_str().expect("text");
    let messages = [&hello()[..], &[sum(2, json!([1, 2])), sum(3, json!([3, 4]))]].concat();
    let recorded = {
        let mut client = Talking::new(&["record", name, "--", own_program(), "serve"]);
        let recorded = client.all(&messages);
        // What the client has seen is in the file, whatever becomes of the program next.
        assert_eq!(text(&file).lines().count(), 1 + 5 + 4, "{}", text(&file));
        recorded
    };
    assert_eq!(recorded[3]["result"]["content"][0]["text"], "3", "{recorded:?}");

    let mut client = Talking::new(&["replay", name]);
    assert_eq!(client.all(&messages), recorded);
    let cases = [
        (sum(9, json!([1, 2])), "was recorded 1 times and comes once more"),
        (sum(9, json!([3, 5])), "its request 4: at arguments.numbers[1]: recorded 4, now 5"),
        (request(9, "prompts/list", json!({})), "no request `prompts/list`"),
    ];
    for (message, expected) in &cases {
        let answer = client.ask(message);
        let error = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(error.contains(expected), "{answer}");
    }
    let mut loose = Talking::new(&["replay", "--loose", name]);
    let answer = loose.ask(&sum(9, json!([3, 5])));
    assert_eq!(answer["result"]["content"][0]["text"], "7", "{answer}");
}

#[test]
fn record_ends_as_its_server_does() {
    let folder = Folder::new();
    let (config, file) = (Path::new("/nowhere"), folder.path("r.jsonl"));
    let name = file.to_str().expect("text");
    let record = |command: &[&str], input: &str| -> Ended {
        run(toolbox_program(), config, &[&["record", name, "--"], command].concat(), input)
    };
    let input = format!("{}\n", hello()[0]);
    // The input of the client ends, so that of the server does.
    let ended = record(&[own_program(), "serve"], &input);
    ended.check(0, "\"id\":0", "2 frames");
    record(&["no-such-program-here"], "").check(4, "", "`no-such-program-here` cannot be started");
    record(&[], "").check(2, "", "COMMAND");
    if cfg!(unix) {
        let crash = ["sh", "-c", "read line; printf '{\"half\":'; kill -9 $$"];
        record(&crash, &input).check(1, "", "the server ended: signal: 9");
        let lines: Vec<Value> =
            text(&file).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[1]["frame"]["method"], "initialize");
        assert_eq!(lines[2]["text"], "{\"half\":");
    }
    let nowhere = folder.path("none/r.jsonl");
    let words = ["record", nowhere.to_str().expect("text"), "--", own_program(), "serve"];
    run(toolbox_program(), config, &words, "").check(3, "", "cannot be written");
}

#[test]
fn a_file_that_cannot_be_played_is_named() {
    let folder = Folder::new();
    let header = "{\"toolbox_recording\":1}\n";
    let frame = |server: &str| {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let entry = json!({"type": "frame", "server": server, "connection": 1,
            "direction": "sent", "frame": frame});
        format!("{entry}\n")
    };
    let two = format!("{header}{}{}", frame("a"), frame("b"));
    let cases: [(&str, &[&str], i32, &str); 6] = [
        ("nothing", &[], 3, "is not that of a recording"),
        (header, &[], 3, "has no frames of an MCP server: `toolbox record "),
        (&two, &[], 3, "several servers: add --server and one of a, b"),
        (&two, &["--server", "c"], 3, "has no server `c`, but a, b"),
        (&two, &["--server", "b"], 0, ""),
        ("{\"toolbox_recording\":1}\n{\n", &[], 3, "line 2 of the recording"),
    ];
    for (text, words, code, expected) in cases {
        let file = folder.write("r.jsonl", text);
        let words = [&["replay", file.to_str().expect("text")], words].concat();
        run(toolbox_program(), Path::new("/nowhere"), &words, "").check(code, "", expected);
    }
    let words = ["replay", "/nowhere/r.jsonl"];
    run(toolbox_program(), Path::new("/nowhere"), &words, "").check(3, "", "cannot be read");
}
