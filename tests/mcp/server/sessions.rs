//! Sessions over HTTP: streams that are lost and opened again, and who gets which message.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use toolbox::ToolBox;
use toolbox::mcp::Service;

use super::peer::PATIENCE;
use super::tools::{add, echo, service, watched};
use super::web::{Request, Served};

/// A response with events, as far as it was read.
struct Stream {
    connection: TcpStream,
    text: String,
}

impl Stream {
    async fn open(served: &Served, request: &Request) -> Self {
        let mut connection = served.connect().await;
        connection.write_all(&request.bytes()).await.unwrap();
        Self { connection, text: String::new() }
    }

    /// Reads until the text is there; everything before it is returned.
    async fn until(&mut self, text: &str) -> &str {
        let read = async {
            while !self.text.contains(text) {
                let mut bytes = [0; 4096];
                let read = self.connection.read(&mut bytes).await.unwrap();
                assert!(read > 0, "it ends without {text:?}: {}", self.text);
                self.text += std::str::from_utf8(&bytes[..read]).unwrap();
            }
        };
        assert!(timeout(PATIENCE, read).await.is_ok(), "nothing has {text:?}");
        &self.text
    }

    /// Reads to the end.
    async fn end(mut self) -> String {
        let mut rest = Vec::new();
        let read = self.connection.read_to_end(&mut rest);
        timeout(PATIENCE, read).await.expect("it does not end").unwrap();
        self.text + std::str::from_utf8(&rest).unwrap()
    }
}

fn in_session(session: &str, id: i64, tool: &str, arguments: Value) -> Request {
    let params = json!({"name": tool, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    Request::old(&call).header("mcp-session-id", session)
}

fn get(session: &str) -> Request {
    Request::new("GET", "").header("mcp-session-id", session)
}

#[tokio::test]
async fn who_lost_the_connection_reconnects_for_the_answer() {
    let (toolbox, watch, mut events) = watched();
    let served = Served::start(Service::new(toolbox)).await;
    let session = served.open(&[]).await;
    // Others do not get in the way: neither another call, nor the same number in another session.
    let other = served.open(&[]).await;
    let _beside = Stream::open(&served, &in_session(&session, 1, "hang", json!({}))).await;
    let _there = Stream::open(&served, &in_session(&other, 2, "hang", json!({}))).await;
    for _ in 0..2 {
        assert_eq!(events.recv().await, Some("begins"));
    }
    let call = in_session(&session, 2, "sleep", json!({"ms": 700}));
    let mut first = Stream::open(&served, &call).await;
    let begun = first.until("retry: 3000\n\n").await;
    let id = begun.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned();
    assert_eq!(events.recv().await, Some("begins"));
    drop(first);
    let again = get(&session).header("last-event-id", &id);
    let answer = Stream::open(&served, &again).await.end().await;
    assert!(answer.contains(r#""id":2,"#) && answer.contains("slept 700"), "{answer}");
    assert_eq!(answer.matches("data: ").count(), 1, "{answer}");
    assert_eq!(watch.at_work(), 2);
    // Once it was given, it is not given again; nor is that of a stream that never was.
    for id in [id.as_str(), "0/99", "0/x", "x", "-1/0", "99999999999999999999999/0"] {
        let again = get(&session).header("last-event-id", id);
        let answer = Stream::open(&served, &again).await.end().await;
        assert!(answer.contains("200 OK") && !answer.contains("data: "), "{id}: {answer}");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_stream_of_a_session_gets_what_changed_and_only_one_of_several_does() {
    let toolbox = ToolBox::from(echo::tool());
    let served = Served::start(Service::new(toolbox.clone())).await;
    let session = served.open(&[]).await;
    // Said again, it changes nothing.
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = Request::old(&ready).header("mcp-session-id", &session);
    assert_eq!(served.send(&ready).await.status, 202);
    let note = "notifications/tools/list_changed";
    // Nobody listens yet, and it waits.
    toolbox.register(add::tool());
    let mut older = Stream::open(&served, &get(&session)).await;
    assert_eq!(older.until(note).await.matches(note).count(), 1);
    let mut newer = Stream::open(&served, &get(&session)).await;
    newer.until("retry: 3000\n\n").await;
    toolbox.blacklist("add");
    let text = newer.until(note).await.to_owned();
    let last = text.lines().rev().find_map(|line| line.strip_prefix("id: ")).expect("an id");
    // Who reconnects gets what came since.
    let resumed = get(&session).header("last-event-id", "1");
    let mut resumed = Stream::open(&served, &resumed).await;
    let again = resumed.until(note).await;
    assert!(again.contains(&format!("id: {last}\n")) && !again.contains("retry"), "{again}");
    let end = Request::new("DELETE", "").header("mcp-session-id", &session);
    assert_eq!(served.send(&end).await.status, 204);
    assert_eq!(older.end().await.matches(note).count(), 1);
    assert_eq!(newer.end().await.matches(note).count(), 1);
    assert_eq!(resumed.end().await.matches(note).count(), 1);
    assert_eq!(served.send(&end).await.status, 404);
    served.stop().await;
}

#[tokio::test]
async fn a_session_that_ends_takes_its_calls_along_and_no_others() {
    let (toolbox, watch, mut events) = watched();
    let served = Served::start(Service::new(toolbox)).await;
    let (here, there) = (served.open(&[]).await, served.open(&[]).await);
    let own = Stream::open(&served, &in_session(&here, 1, "hang", json!({}))).await;
    let other = in_session(&there, 1, "sleep", json!({"ms": 500}));
    let other = Stream::open(&served, &other).await;
    for _ in 0..2 {
        assert_eq!(events.recv().await, Some("begins"));
    }
    let end = Request::new("DELETE", "").header("mcp-session-id", &here);
    assert_eq!(served.send(&end).await.status, 204);
    own.end().await;
    assert_eq!(timeout(PATIENCE, events.recv()).await.expect("it goes on"), Some("ends"));
    assert_eq!(watch.at_work(), 1);
    assert!(other.end().await.contains("slept 500"));
    served.stop().await;
}

#[tokio::test]
async fn a_session_is_not_idle_while_a_call_runs() {
    let idle = Duration::from_millis(100);
    let (toolbox, watch, mut events) = watched();
    let served = Served::start(Service::new(toolbox).session_idle(idle)).await;
    // The session of a slow machine is over before its first call.
    let begun = async {
        loop {
            let session = served.open(&[]).await;
            let call = in_session(&session, 1, "sleep", json!({"ms": 1000}));
            let mut call = Stream::open(&served, &call).await;
            if call.until("\r\n").await.contains("200 OK") {
                return (session, call);
            }
        }
    };
    let (session, call) = timeout(PATIENCE, begun).await.expect("a call that begins");
    assert_eq!(events.recv().await, Some("begins"));
    // Several times as long as it may be idle, and not over yet.
    tokio::time::sleep(4 * idle).await;
    let next = in_session(&session, 2, "hang", json!({}));
    let mut next = Stream::open(&served, &next).await;
    next.until("200 OK").await;
    assert_eq!(timeout(PATIENCE, events.recv()).await.expect("it begins"), Some("begins"));
    let answer = call.end().await;
    assert!(answer.contains("slept 1000"), "{answer}");
    assert_eq!(watch.at_work(), 1);
    drop(next);
    served.stop().await;
}

#[tokio::test]
async fn ids_of_sessions_are_long_and_of_no_order() {
    let served = Served::start(service()).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(served.open(&[]).await);
    }
    for (at, id) in ids.iter().enumerate() {
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        // Two that share much would be a counter, or a clock.
        for other in &ids[..at] {
            let same = id.bytes().zip(other.bytes()).filter(|(a, b)| a == b).count();
            assert!(same < 16, "{id} {other}");
        }
    }
    served.stop().await;
}
