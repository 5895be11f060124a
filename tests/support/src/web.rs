//! A server on a loopback port that answers as it is told, whatever HTTP says.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// One request, as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// The path and the query.
    pub target: String,
    pub headers: HashMap<String, String>,
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

/// The response of the server.
pub enum Reply {
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
pub type Queue = Arc<Mutex<VecDeque<Value>>>;
pub type Seen = Arc<Mutex<Vec<Request>>>;

/// Starts a server on a loopback port; returns its URL and what it was asked.
pub async fn serve(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> (String, Seen) {
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

pub fn answer(request: &Request, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result})
}

/// A server of the newer protocol, with a tool for each way to answer.
pub fn modern(request: &Request) -> Reply {
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
pub fn legacy(request: &Request) -> Reply {
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
