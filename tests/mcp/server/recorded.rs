//! Sessions with MCP servers that are recorded, and served again from the recording.

use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use rmcp::model::{CallToolRequestParams, ProgressNotificationParam};
use rmcp::service::NotificationContext;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use support::Scratch;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, split};
use tokio::time::timeout;
use toolbox::testing::{RecordedServer, Recording};

use super::peer::{ERAS, Era, PATIENCE, Peer};
use super::tools::service;

/// A client before a server of the test's tools, whose session is recorded.
fn recorded_peer(recording: &Recording) -> Peer {
    let (here, of_client) = tokio::io::duplex(64 << 10);
    let (of_server, there) = tokio::io::duplex(64 << 10);
    let (input, output) = split(there);
    tokio::spawn(async move { service().serve(input, output).await });
    let session = recording.session("tools");
    let served = tokio::spawn(async move {
        session.relay(split(of_client), split(of_server)).await.unwrap();
    });
    Peer::on(here, served)
}

fn played_peer(server: RecordedServer) -> Peer {
    let (here, there) = tokio::io::duplex(64 << 10);
    let (input, output) = split(there);
    let task = tokio::spawn(async move { server.serve(input, output).await.unwrap() });
    Peer::on(here, task)
}

async fn talk(peer: &mut Peer, era: Era) -> Vec<Value> {
    peer.begin(era, json!({})).await;
    let mut answers = Vec::new();
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "add", "arguments": {"a": 2, "b": 3}})),
        ("tools/call", json!({"name": "echo", "arguments": {"word": "héllo"}})),
        ("tools/call", json!({"name": "none", "arguments": {}})),
        ("prompts/list", json!({})),
    ] {
        let mut answer = peer.request(method, params).await;
        answer.as_object_mut().unwrap().remove("id");
        answers.push(answer);
    }
    answers
}

#[tokio::test]
async fn a_session_plays_as_it_was_recorded() {
    for era in ERAS {
        let recording = Recording::new();
        let mut peer = recorded_peer(&recording);
        let expected = talk(&mut peer, era).await;
        let scratch = Scratch::new();
        let path = scratch.path().join("session.jsonl");
        recording.save(&path).unwrap();
        let loaded = Recording::load(&path).unwrap();
        assert_eq!(loaded.server_names(), ["tools"]);
        let server = loaded.server("tools").unwrap();
        // Each session plays the whole, and ids are those of the client.
        for first_id in [0, 100] {
            let mut peer = played_peer(server.clone());
            for _ in 0..first_id {
                peer.request("ping", json!({})).await;
            }
            assert_eq!(talk(&mut peer, era).await, expected, "{era:?}");
        }
    }
}

/// Returns the line of a frame.
fn frame(direction: &str, frame: &Value) -> String {
    json!({"type": "frame", "server": "s", "connection": 1, "direction": direction, "frame": frame})
        .to_string()
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn call(id: i64, name: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

fn result(id: i64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"text": text}})
}

fn login_schema() -> Value {
    json!({"type": "object", "properties": {
        "user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}}})
}

/// A session with frames at every place.
fn frames() -> Vec<String> {
    let notification =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let tools = json!({"tools": [{"name": "login", "inputSchema": login_schema()},
        {"name": "city", "inputSchema": {"type": "object", "properties": {"name": {}}}}]});
    let slow = json!({"name": "slow", "arguments": {}, "_meta": {"progressToken": "t"}});
    let list = |direction: &str, all: &[Value]| -> Vec<String> {
        all.iter().map(|one| frame(direction, one)).collect()
    };
    [
        list("sent", &[request(0, "initialize", json!({"protocolVersion": "2025-11-25"}))]),
        list("received", &[result(0, "hello")]),
        list("sent", &[notification("notifications/initialized", json!({}))]),
        list("received", &[request("s1", "roots/list", json!({}))]),
        list("sent", &[json!({"jsonrpc": "2.0", "id": "s1", "result": {"roots": []}})]),
        list("received", &[notification("notifications/message", json!({"data": "rooted"}))]),
        list("sent", &[request(1, "tools/list", json!({}))]),
        list("received", &[json!({"jsonrpc": "2.0", "id": 1, "result": tools})]),
        // Two at once, answered the other way round.
        list("sent", &[request(2, "tools/call", slow)]),
        list("sent", &[call(3, "city", json!({"name": "Paris"}))]),
        list(
            "received",
            &[notification("notifications/progress", json!({"progressToken": "t", "progress": 1}))],
        ),
        list("received", &[result(3, "of Paris"), result(2, "slow")]),
        list("sent", &[call(4, "city", json!({"name": "Rome"}))]),
        list("received", &[result(4, "of Rome")]),
        list("sent", &[call(5, "login", json!({"user": "ada", "pin": "***"}))]),
        list("received", &[result(5, "in")]),
        // The server died before it answered.
        list("sent", &[call(6, "city", json!({"name": "Nowhere"}))]),
    ]
    .concat()
}

fn server() -> RecordedServer {
    server_of(&frames())
}

fn server_of(frames: &[String]) -> RecordedServer {
    let scratch = Scratch::new();
    let path = scratch.path().join("r.jsonl");
    let text = format!("{{\"toolbox_recording\":1}}\n{}\n", frames.join("\n"));
    std::fs::write(&path, text).unwrap();
    Recording::load(&path).unwrap().server("s").unwrap()
}

/// Returns what the server writes to a client that writes all lines.
async fn dialogue(server: &RecordedServer, lines: &[Value]) -> Vec<Value> {
    let mut input = String::new();
    for line in lines {
        input.push_str(&line.to_string());
        input.push('\n');
    }
    let mut output = Vec::new();
    server.serve(input.as_bytes(), &mut output).await.unwrap();
    let output = String::from_utf8(output).unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_request_that_was_not_recorded_names_the_nearest_and_the_difference() {
    let cases: [(&str, Vec<Value>, &str, &str); 12] = [
        ("a call that was recorded", vec![paris(7)], "of Paris", "of Paris"),
        (
            "in another order",
            vec![call(8, "city", json!({"name": "Rome"})), paris(7)],
            "of Paris",
            "of Paris",
        ),
        ("once more", vec![paris(7), paris(7)], "recorded 1 times and comes once more", "of Paris"),
        (
            "a list once more",
            vec![request(1, "tools/list", json!({})); 2],
            "inputSchema",
            "inputSchema",
        ),
        (
            "with metadata",
            vec![request(
                9,
                "tools/call",
                json!({"name": "city",
            "arguments": {"name": "Paris"}, "_meta": {"x": 1}}),
            )],
            "of Paris",
            "of Paris",
        ),
        (
            "another argument",
            vec![call(9, "city", json!({"name": "Rom"}))],
            r#"the nearest is its request 5: at arguments.name: recorded "Rome", now "Rom""#,
            "of Rome",
        ),
        (
            "one more argument",
            vec![call(9, "city", json!({"name": "Rome", "days": 2}))],
            "at arguments.days: recorded nothing, now 2",
            "of Rome",
        ),
        (
            "another secret",
            vec![call(9, "login", json!({"user": "ada", "pin": "2"}))],
            r#""in""#,
            r#""in""#,
        ),
        (
            "another user, with a secret",
            vec![call(9, "login", json!({"user": "bob", "pin": "hunter2"}))],
            r#"at arguments.user: recorded "ada", now "bob""#,
            r#""in""#,
        ),
        (
            "another tool",
            vec![call(9, "town", json!({"name": "Paris"}))],
            "at name: recorded ",
            r#", now "town""#,
        ),
        (
            "another method",
            vec![request(9, "prompts/list", json!({}))],
            "no request `prompts/list`",
            "-32601",
        ),
        (
            "without an answer",
            vec![call(9, "city", json!({"name": "Nowhere"}))],
            "the recorded request 7 has no answer",
            "has no answer",
        ),
    ];
    let strict = server();
    let loose = strict.clone().loose();
    for (what, lines, when_strict, when_loose) in cases {
        for (server, expected) in [(&strict, when_strict), (&loose, when_loose)] {
            let answers = dialogue(server, &lines).await;
            let last = answers.last().unwrap();
            assert_eq!(last["id"], lines.last().unwrap()["id"], "{what}: {last}");
            // As text, without the escapes of JSON.
            let text = last.to_string().replace("\\\"", "\"");
            assert!(text.contains(expected), "{what}: {text}");
            assert!(!text.contains("hunter2"), "{what}: {text}");
        }
    }
}

#[tokio::test]
async fn what_the_server_sent_comes_at_its_place() {
    let server = server();
    let hello = |capabilities: Value| {
        request("i", "initialize", json!({"protocolVersion": "x", "capabilities": capabilities}))
    };
    let initialized = || json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let roots = || json!({"jsonrpc": "2.0", "id": "recorded-1", "result": {"roots": [{"uri": "file:///x"}]}});
    let slow = |token: Value| {
        request(9, "tools/call", json!({"name": "slow", "arguments": {}, "_meta": token}))
    };
    let cases: [(&str, Vec<Value>, &[&str]); 5] = [
        (
            "a client with roots",
            vec![hello(json!({"roots": {}})), initialized(), roots()],
            &["hello", "roots/list", "rooted"],
        ),
        (
            "that does not answer",
            vec![hello(json!({"roots": {}})), initialized()],
            &["hello", "roots/list"],
        ),
        ("a client without", vec![hello(json!({})), initialized(), roots()], &["hello", "rooted"]),
        (
            "its own token",
            vec![slow(json!({"progressToken": 77}))],
            &["\"progressToken\":77", "slow"],
        ),
        ("no token", vec![slow(json!({}))], &["slow"]),
    ];
    for (what, lines, expected) in cases {
        let answers = dialogue(&server, &lines).await;
        assert_eq!(answers.len(), expected.len(), "{what}: {answers:?}");
        for (answer, part) in answers.iter().zip(expected) {
            assert!(answer.to_string().contains(part), "{what}: {part}: {answer}");
        }
    }
}

fn sent(one: &Value) -> String {
    frame("sent", one)
}

fn received(one: &Value) -> String {
    frame("received", one)
}

fn city(id: i64, arguments: Value) -> Value {
    call(id, "city", arguments)
}

fn paris(id: i64) -> Value {
    city(id, json!({"name": "Paris"}))
}

/// A recording before its list of tools, what a client writes, and parts of what it reads.
struct OddSession {
    what: &'static str,
    recorded: Vec<String>,
    lines: Vec<Value>,
    answers: &'static [&'static str],
}

impl OddSession {
    async fn check(self) {
        let Self { what, mut recorded, lines, answers } = self;
        let open = json!({"type": "object"});
        let tools = json!({"tools": [{"name": "login", "inputSchema": login_schema()},
            {"name": "city", "inputSchema": open}, {"name": "town", "inputSchema": open}]});
        recorded.push(sent(&request("t", "tools/list", json!({}))));
        recorded.push(received(&json!({"jsonrpc": "2.0", "id": "t", "result": tools})));
        let read = dialogue(&server_of(&recorded), &lines).await;
        assert_eq!(read.len(), answers.len(), "{what}: {read:?}");
        for (answer, part) in read.iter().zip(answers) {
            let text = answer.to_string();
            assert!(text.contains(part) && !text.contains("hunter2"), "{what}: {part}: {text}");
        }
    }
}

#[tokio::test]
async fn a_call_plays_the_next_that_is_alike_and_tells_no_secret() {
    let login = || call(9, "login", json!({"user": "ada", "pin": "hunter2"}));
    let many = || json!({"name": "Paris", "days": 1, "units": "metric", "language": "fr"});
    let cases = [
        OddSession {
            what: "recorded before the tools were listed",
            recorded: vec![sent(&call(1, "login", json!("***"))), received(&result(1, "in"))],
            lines: vec![login()],
            answers: &["\"in\""],
        },
        OddSession {
            what: "a secret that was not recorded",
            recorded: vec![
                sent(&call(1, "login", json!({"user": "ada"}))),
                received(&result(1, "in")),
            ],
            lines: vec![login()],
            answers: &["at arguments.pin: recorded nothing, now \\\"***\\\""],
        },
        OddSession {
            what: "one call twice",
            recorded: vec![
                sent(&paris(1)),
                received(&result(1, "first")),
                sent(&paris(2)),
                received(&result(2, "second")),
            ],
            lines: vec![paris(8), paris(9)],
            answers: &["first", "second"],
        },
        OddSession {
            what: "arguments that are nearer to those of another tool",
            recorded: vec![
                sent(&paris(1)),
                received(&result(1, "x")),
                sent(&call(2, "town", many())),
                received(&result(2, "y")),
            ],
            lines: vec![city(9, many())],
            answers: &["request 1: at arguments."],
        },
    ];
    for case in cases {
        case.check().await;
    }
}

#[tokio::test]
async fn what_a_server_tells_and_asks_within_a_call_fits_the_client() {
    let told = |method: &str, params: Value| {
        received(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    };
    let able = |capabilities: Value| {
        let meta = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
        let params = json!({"name": "city", "arguments": {"name": "Paris"}, "_meta": meta});
        request(9, "tools/call", params)
    };
    let roots = |id: &str| json!({"jsonrpc": "2.0", "id": id, "result": {"roots": []}});
    let asking = || {
        vec![
            sent(&paris(1)),
            received(&request("s1", "roots/list", json!({}))),
            sent(&roots("s1")),
            received(&result(1, "with roots")),
        ]
    };
    let listen = |id: i64| request(id, "subscriptions/listen", json!({"notifications": {}}));
    let subscribed = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": 1}});
    let cases = [
        OddSession {
            what: "a request that the server took back",
            recorded: vec![
                sent(&paris(1)),
                told("notifications/cancelled", json!({"requestId": "s1"})),
                received(&result(1, "of Paris")),
            ],
            lines: vec![paris(9)],
            answers: &["of Paris"],
        },
        OddSession {
            what: "a subscription",
            recorded: vec![
                sent(&listen(1)),
                sent(&paris(2)),
                told("notifications/tools/list_changed", subscribed),
                received(&result(2, "of Paris")),
            ],
            lines: vec![listen(77)],
            answers: &["subscriptionId\":77"],
        },
        OddSession {
            what: "a request to a client that can answer it",
            recorded: asking(),
            lines: vec![able(json!({"roots": {}})), roots("recorded-1")],
            answers: &["\"id\":\"recorded-1\"", "with roots"],
        },
        OddSession {
            what: "and to one that cannot",
            recorded: asking(),
            lines: vec![able(json!({}))],
            answers: &["with roots"],
        },
    ];
    for case in cases {
        case.check().await;
    }
}

#[tokio::test]
async fn lines_that_are_no_requests_are_answered_and_survived() {
    let server = server();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let batch = format!("[{ping},{ping}]");
    let cases: [(&[u8], usize); 11] = [
        (b"{", 1),
        (b"", 0),
        (b"\xff\xfe", 1),
        (b"null", 1),
        (b"{}", 1),
        (b"[]", 0),
        (batch.as_bytes(), 2),
        (br#"{"jsonrpc":"2.0","id":"recorded-9","result":{}}"#, 0),
        (br#"{"jsonrpc":"2.0","method":"notifications/none"}"#, 0),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 0),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}"#, 1),
    ];
    for (line, expected) in cases {
        let mut input = line.to_vec();
        input.extend(b"\n");
        input.extend(ping.as_bytes());
        let mut output = Vec::new();
        server.serve(&input[..], &mut output).await.unwrap();
        let answers = String::from_utf8(output).unwrap();
        let shown = String::from_utf8_lossy(line);
        assert_eq!(answers.lines().count(), expected + 1, "{shown}: {answers}");
        assert!(answers.ends_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"), "{shown}");
    }
}

#[tokio::test]
async fn secrets_of_calls_are_not_recorded() {
    let recording = Recording::new();
    let session = recording.session("s");
    let frames: Vec<Value> = frames()
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["frame"]["result"]["tools"].is_array())
        .map(|entry| entry["frame"].clone())
        .collect();
    let (client, of_client) = tokio::io::duplex(64 << 10);
    let (of_server, server) = tokio::io::duplex(64 << 10);
    let relay = async { session.relay(split(of_client), split(of_server)).await.unwrap() };
    let talk = async {
        let (mut client, mut server) = (BufReader::new(client), BufReader::new(server));
        let unknown = call(1, "login", json!({"user": "unknown", "pin": "a"}));
        pass(&mut client, &mut server, &unknown.to_string()).await;
        pass(&mut server, &mut client, &frames[0].to_string()).await;
        pass(&mut server, &mut client, "not json").await;
        let known = call(2, "login", json!({"user": "ada", "pin": "hunter2"}));
        pass(&mut client, &mut server, &known.to_string()).await;
    };
    tokio::join!(relay, talk);
    let scratch = Scratch::new();
    let path = scratch.path().join("r.jsonl");
    recording.save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("unknown"), "{text}");
    assert!(text.contains(r#""arguments":"***""#), "{text}");
    assert!(text.contains(r#""arguments":{"user":"ada","pin":"***"}"#), "{text}");
    assert!(text.contains(r#""text":"not json""#), "{text}");
}

/// Writes a line at one end, and reads it at the other.
async fn pass(from: &mut BufReader<DuplexStream>, to: &mut BufReader<DuplexStream>, line: &str) {
    from.get_mut().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    let mut read = String::new();
    timeout(PATIENCE, to.read_line(&mut read)).await.expect("nothing came").unwrap();
    assert_eq!(read.trim_end(), line);
}

/// The progress that a client of rmcp was told.
#[derive(Clone, Default)]
struct Steps(Arc<Mutex<Vec<f64>>>);

impl rmcp::ClientHandler for Steps {
    fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.0.lock().unwrap().push(params.progress);
        std::future::ready(())
    }
}

/// `@modelcontextprotocol/server-everything` 2026.8.31, recorded with the TypeScript SDK.
#[tokio::test]
async fn a_client_of_rmcp_talks_to_a_recorded_foreign_server() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/server/everything.jsonl");
    let server = Recording::load(path).unwrap().server("node").unwrap();
    let (here, there) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move {
        let (input, output) = split(there);
        server.serve(input, output).await.unwrap();
    });
    let steps = Steps::default();
    let client = steps.clone().serve(split(here)).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.len() == 13 && tools.iter().any(|tool| tool.name == "get-sum"), "{tools:?}");
    let cases = [
        ("echo", json!({"message": "héllo"}), Ok("Echo: héllo")),
        ("get-sum", json!({"a": 2, "b": 3}), Ok("The sum of 2 and 3 is 5.")),
        ("get-sum", json!({"a": 2, "b": 4}), Err("at arguments.b: recorded 3, now 4")),
        (
            "trigger-long-running-operation",
            json!({"duration": 1, "steps": 2}),
            Ok("Long running operation completed."),
        ),
    ];
    for (name, arguments, expected) in cases {
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        match (client.call_tool(params).await, expected) {
            (Ok(result), Ok(text)) => {
                let result = serde_json::to_value(&result).unwrap();
                let said = result["content"][0]["text"].as_str().unwrap_or_default();
                assert!(said.starts_with(text), "{name}: {result}");
            }
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            (answer, _) => panic!("{name}: {answer:?}"),
        }
    }
    let prompts = client.list_all_prompts().await.unwrap();
    assert_eq!(prompts.len(), 4);
    assert_eq!(*steps.0.lock().unwrap(), [1.0, 2.0]);
    client.cancel().await.unwrap();
}
