//! Servers behind a URL.

use crate::bounded::tokio;
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use toolbox::call::FailureKind;
use toolbox::mcp::{ServerConfig, ServerState};
use toolbox::{ToolCall, ToolContext};

use super::support::{Mounted, eventually};

/// One request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) text: String,
}

/// The response of the server.
pub(crate) enum Reply {
    Json(u16, Value),
    /// Events, and whether the stream stays open after them.
    Events(Vec<Value>, bool),
    Raw(String),
    /// Events that are sent when they are put into the queue.
    Live(Queue),
    /// Something that never ends.
    Endless(&'static str, &'static str),
    /// Sent once the test notifies it.
    Later(Arc<Notify>, Box<Reply>),
}

/// Events that are still to be sent.
pub(crate) type Queue = Arc<Mutex<VecDeque<Value>>>;
pub(crate) type Seen = Arc<Mutex<Vec<Request>>>;

/// Starts a server on a loopback port; returns its URL and what it was asked.
pub(crate) async fn serve(
    reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let (reply, seen) = (Arc::new(reply), Seen::default());
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (reply, noted) = (Arc::clone(&reply), Arc::clone(&noted));
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let mut lines = head.lines();
                let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
                let (method, target) =
                    (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                let headers: HashMap<String, String> = lines
                    .filter_map(|line| line.split_once(':'))
                    .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                    .collect();
                let len =
                    headers.get("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
                let mut body = vec![0; len];
                if stream.read_exact(&mut body).await.is_err() {
                    return;
                }
                let text = String::from_utf8_lossy(&body).into_owned();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let request = Request { method, target, headers, body, text };
                let answer = reply(&request);
                noted.lock().expect("no panic").push(request);
                write(stream.get_mut(), answer).await;
            });
        }
    });
    (url, seen)
}

async fn write(stream: &mut tokio::net::TcpStream, reply: Reply) {
    let reply = match reply {
        Reply::Live(queue) => return write_live(stream, &queue).await,
        Reply::Later(now, reply) => {
            now.notified().await;
            *reply
        }
        reply => reply,
    };
    let (text, then) = match reply {
        Reply::Json(status, body) => {
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nmcp-session-id: one\r\n"
            );
            (
                format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()),
                None,
            )
        }
        Reply::Events(events, open) => {
            let mut text =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
                    .to_owned();
            for event in events {
                let _ = write!(text, "event: message\ndata: {event}\n\n");
            }
            (text, open.then_some(": still here\n\n"))
        }
        Reply::Raw(text) => (text, None),
        Reply::Live(_) | Reply::Later(..) => return,
        Reply::Endless(kind, piece) => {
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
            (head, Some(piece))
        }
    };
    if stream.write_all(text.as_bytes()).await.is_err() {
        return;
    }
    while let Some(piece) = then {
        if stream.write_all(piece.as_bytes()).await.is_err() {
            return;
        }
        if piece.len() < 1000 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn write_live(stream: &mut tokio::net::TcpStream, queue: &Queue) {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            .to_owned();
    while stream.write_all(text.as_bytes()).await.is_ok() {
        let next = queue.lock().expect("no panic").pop_front();
        text = next.map_or_else(|| ":\n\n".to_owned(), |event| format!("data: {event}\n\n"));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn answer(request: &Request, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result})
}

/// A server of the newer protocol, with a tool for each way to answer.
pub(super) fn modern(request: &Request) -> Reply {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    match request.body["method"].as_str() {
        Some("server/discover") => Reply::Json(
            200,
            answer(
                request,
                &json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                    "ttlMs": 0, "cacheScope": "private",
                }),
            ),
        ),
        Some("tools/list") => Reply::Json(
            200,
            answer(
                request,
                &json!({
                    "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                    "tools": [tool("json"), tool("events"), tool("broken"), tool("endless_json"), tool("endless_events"), tool("open"), tool("refuse"), tool("moved"), {
                        "name": "by_header",
                        "inputSchema": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
                    }],
                }),
            ),
        ),
        Some("tools/call") => call(request),
        _ => Reply::Json(202, Value::Null),
    }
}

fn call(request: &Request) -> Reply {
    let told = |text: &str| {
        answer(
            request,
            &json!({"resultType": "complete", "content": [{"type": "text", "text": text}]}),
        )
    };
    let token = &request.body["params"]["_meta"]["progressToken"];
    match request.body["params"]["name"].as_str() {
        Some("events") => Reply::Events(
            vec![
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}),
                told("by events"),
            ],
            false,
        ),
        Some("open") => Reply::Events(vec![], true),
        Some("broken") => Reply::Raw(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{\"js"
                .to_owned(),
        ),
        Some("endless_json") => {
            const PIECE: &str = match std::str::from_utf8(&[b' '; 65536]) {
                Ok(piece) => piece,
                Err(_) => "",
            };
            Reply::Endless("application/json", PIECE)
        }
        Some("endless_events") => {
            const PIECE: &str = match std::str::from_utf8(&[b'x'; 65536]) {
                Ok(piece) => piece,
                Err(_) => "",
            };
            Reply::Endless("text/event-stream", PIECE)
        }
        Some("refuse") => Reply::Json(
            400,
            json!({"jsonrpc": "2.0", "id": request.body["id"], "error": {"code": -32602, "message": "not like this"}}),
        ),
        _ => Reply::Json(200, told("by json")),
    }
}

/// A server of the older protocol, which knows no other.
pub(super) fn legacy(request: &Request) -> Reply {
    match (request.method.as_str(), request.body["method"].as_str()) {
        ("GET", _) => Reply::Json(405, Value::Null),
        ("DELETE", _) => Reply::Json(200, Value::Null),
        (_, Some("server/discover")) => Reply::Json(
            400,
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "no session"}}),
        ),
        (_, Some("initialize")) => Reply::Json(
            200,
            answer(
                request,
                &json!({
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "1"},
                }),
            ),
        ),
        (_, Some("tools/list")) => Reply::Json(
            200,
            answer(
                request,
                &json!({"tools": [{"name": "json", "inputSchema": {"type": "object"}}]}),
            ),
        ),
        (_, Some("tools/call")) => call(request),
        _ => Reply::Json(202, Value::Null),
    }
}

#[tokio::test]
async fn both_eras_are_spoken_over_http() {
    for (era, version) in [("modern", "2026-07-28"), ("legacy", "2025-06-18")] {
        let (url, seen) = serve(if era == "modern" { modern } else { legacy }).await;
        let mounted =
            Mounted::of(ServerConfig::url(url).header("Authorization", "Bearer secret")).await;
        let status = mounted.status();
        assert_eq!(status.state, ServerState::Ready, "{status:?}");
        assert_eq!(status.protocol_version.as_deref(), Some(version));
        assert_eq!(mounted.text("json").await, "by json");
        let seen = seen.lock().expect("no panic").clone();
        let posts = seen.iter().filter(|request| request.method == "POST");
        assert!(posts.clone().all(|request| request.headers["authorization"] == "Bearer secret"));
        let call =
            posts.clone().find(|request| request.body["method"] == "tools/call").expect("a call");
        assert_eq!(call.headers["mcp-protocol-version"], version);
        match era {
            "modern" => {
                assert_eq!(
                    (call.headers["mcp-method"].as_str(), call.headers["mcp-name"].as_str()),
                    ("tools/call", "json")
                );
                assert!(
                    call.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
                        .is_string()
                );
            }
            _ => assert_eq!(call.headers["mcp-session-id"], "one"),
        }
        assert!(!format!("{status:?}{:?}", mounted.servers).contains("secret"));
        mounted.close().await;
    }
}

/// A server whose stream opens when it is told to, and which asks on it.
#[tokio::test]
async fn a_call_waits_for_the_stream_on_which_the_server_may_ask() {
    for is_answered in [true, false] {
        let open = Arc::new(Notify::new());
        let opens = Arc::clone(&open);
        let (url, seen) = serve(move |request| match &*request.method {
            "GET" => Reply::Later(Arc::clone(&opens), Box::new(Reply::Events(vec![], true))),
            _ => legacy(request),
        })
        .await;
        let mounted = Mounted::of(ServerConfig::url(url)).await;
        let requested = |method: &str| {
            let seen = seen.lock().expect("no panic");
            seen.iter().any(|request| request.body["method"] == method || request.method == method)
        };
        let order = async {
            eventually(async || requested("GET")).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(!requested("tools/call"), "before the stream");
            if is_answered {
                open.notify_one();
            }
        };
        let (text, ()) = tokio::join!(mounted.text("json"), order);
        assert_eq!(text, "by json", "a server that is called although its stream never opens");
        assert_eq!(mounted.text("json").await, "by json");
        mounted.close().await;
    }
}

#[tokio::test]
async fn events_arguments_in_headers_and_refusals_are_understood() {
    let (url, seen) = serve(modern).await;
    let mounted = Mounted::of(ServerConfig::url(url)).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let context = ToolContext::new()
        .with_progress(move |progress| sink.lock().expect("no panic").push(progress.done));
    let result = mounted.toolbox.call_in(&context, ToolCall::new("c", "s_events", "{}")).await;
    assert_eq!(result.text(), "by events");
    assert_eq!(*heard.lock().expect("no panic"), [1.0]);
    mounted.call("by_header", r#"{"region": "eu"}"#).await;
    let headers = seen
        .lock()
        .expect("no panic")
        .last()
        .map(|request| request.headers.clone())
        .unwrap_or_default();
    assert_eq!(headers["mcp-param-region"], "eu");
    let text = mounted.call("refuse", "{}").await.text().into_owned();
    assert!(text.contains("-32602") && text.contains("not like this"), "{text}");
    mounted.close().await;
}

#[tokio::test]
async fn bodies_that_never_end_are_capped_and_streams_end_in_time() {
    let (url, _) = serve(modern).await;
    let mounted = Mounted::of(ServerConfig::url(url).timeout(Duration::from_secs(20))).await;
    let cases = [
        ("endless_json", FailureKind::InvalidOutput, "longer than the limit"),
        ("endless_events", FailureKind::InvalidOutput, "longer than the limit"),
        ("broken", FailureKind::Infrastructure, ""),
    ];
    for (tool, kind, expected) in cases {
        let result = mounted.call(tool, "{}").await;
        assert_eq!(result.failure_kind(), Some(kind), "{tool}: {}", result.text());
        assert!(result.text().contains(expected), "{tool}: {}", result.text());
        assert_eq!(mounted.text("json").await, "by json", "after {tool}");
    }
    mounted.close().await;
    let (url, _) = serve(modern).await;
    let mounted = Mounted::of(ServerConfig::url(url).timeout(Duration::from_millis(300))).await;
    let result = mounted.call("open", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut));
    mounted.close().await;
}

#[tokio::test]
async fn no_redirect_takes_a_header_to_another_origin() {
    let (other, stolen) = serve(modern).await;
    for status in [301, 302, 307, 308] {
        let to = other.clone();
        let (url, _) = serve(move |_| Reply::Raw(format!("HTTP/1.1 {status} X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))).await;
        let config = ServerConfig::url(url)
            .header("Authorization", "Bearer secret")
            .header("X-Key", "secret")
            .retries(0);
        let mounted = Mounted::of(config).await;
        assert_eq!(mounted.status().state, ServerState::Failed, "{status}");
        mounted.close().await;
    }
    assert!(stolen.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn a_url_or_a_header_that_cannot_be_one_is_told() {
    let cases = [
        (ServerConfig::url("file:///etc/passwd"), "not with http or https"),
        (ServerConfig::url("nowhere"), "its URL is none"),
        (ServerConfig::url("http://127.0.0.1:1/mcp"), "no connection to it could be made"),
        (ServerConfig::url("http://127.0.0.1:1").header("a b", "c"), "is no header"),
        (
            ServerConfig::url("http://127.0.0.1:1").header("a", "se\ncret"),
            "the value of header `a`",
        ),
    ];
    for (config, expected) in cases {
        let mounted = Mounted::of(config.retries(0)).await;
        let error = mounted.status().error.unwrap_or_default();
        assert!(error.contains(expected) && !error.contains("se\ncret"), "{error}");
        mounted.close().await;
    }
}

#[tokio::test]
async fn a_session_that_ended_is_begun_again() {
    let sessions = Arc::new(Mutex::new(0));
    let count = Arc::clone(&sessions);
    let (url, _) = serve(move |request| {
        let mut sessions = count.lock().expect("no panic");
        match request.body["method"].as_str() {
            Some("initialize") => *sessions += 1,
            // The server forgot the first session as soon as it was listed.
            Some("tools/call") if *sessions == 1 => return Reply::Json(404, Value::Null),
            _ => {}
        }
        legacy(request)
    })
    .await;
    let mounted = Mounted::of(ServerConfig::url(url)).await;
    eventually(async || mounted.text("json").await == "by json").await;
    assert_eq!(*sessions.lock().expect("no panic"), 2);
    mounted.close().await;
}

#[tokio::test]
async fn what_a_url_holds_that_may_be_secret_is_told_to_nobody() {
    let (url, _) = serve(|request| match request.body["method"].as_str() {
        Some("tools/call") => Reply::Raw(String::new()),
        _ => modern(request),
    })
    .await;
    let address =
        url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).expect("its form");
    let url = format!("http://me:p4ssword@{address}/s/k3y/mcp?token=t0ken#fr4gment");
    let config = ServerConfig::url(&url).retries(0);
    let secrets = ["p4ssword", "t0ken", "fr4gment"];
    let shown = format!("{config:?}");
    assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
    let mounted = Mounted::of(config.clone()).await;
    let tool =
        mounted.toolbox.names().into_iter().find(|name| name.starts_with("s_")).expect("a tool");
    let result = mounted.toolbox.call(ToolCall::new("1", tool, "{}")).await;
    let told = format!("{} {:?}", result.text(), mounted.status());
    assert!(result.is_error(), "{told}");
    assert!(!secrets.iter().any(|secret| told.contains(secret)), "{told}");
    assert!(!result.text().contains("k3y"), "{told}");
    mounted.close().await;
    // Where nobody listens, the reason is told, and no type of a library.
    let url = "http://127.0.0.1:9/s/k3y/mcp?token=t0ken";
    let mounted = Mounted::of(ServerConfig::url(url).retries(0)).await;
    let error = mounted.status().error.expect("nobody is there");
    assert!(error.contains("onnection refused") && !error.contains("::"), "{error}");
    assert!(!error.contains("t0ken") && !error.contains("k3y"), "{error}");
    mounted.close().await;
}
