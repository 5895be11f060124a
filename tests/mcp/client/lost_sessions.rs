//! A server that forgets its session: it is opened again whatever says so, and no call that may
//! have run is made twice.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::call::FailureKind;
use toolbox::mcp::{ServerConfig, ServerState};

use super::support::Mounted;
use support::web::{Reply, Request, answer, legacy, serve};

/// The time limit for a momentary operation, on a slow machine.
const MOMENT: Duration = Duration::from_secs(10);

/// How a server says that it does not know a session.
#[derive(Clone, Copy)]
struct Refusal {
    status: u16,
    kind: &'static str,
    body: &'static str,
    /// `true` if the call runs before.
    runs: bool,
}

const fn unrun(status: u16, body: &'static str) -> Refusal {
    Refusal { status, kind: "application/json", body, runs: false }
}

/// What the server saw.
#[derive(Default)]
struct Seen {
    sessions: u32,
    runs: u32,
}

/// Returns the number of calls that ran, and of sessions.
fn counts(seen: &Mutex<Seen>) -> (u32, u32) {
    let seen = seen.lock().unwrap();
    (seen.runs, seen.sessions)
}

/// Returns an answer of a status, with the session that it begins.
fn said(status: u16, session: Option<u32>, body: &str) -> Reply {
    let session = session.map(|id| format!("mcp-session-id: s{id}\r\n")).unwrap_or_default();
    Reply::Raw(format!(
        "HTTP/1.1 {status} Said\r\n{session}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))
}

/// Returns the answer to a handshake that begins a session.
fn begun(request: &Request, session: u32) -> Reply {
    let result = json!({
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "1"},
    });
    said(200, Some(session), &answer(request, &result).to_string())
}

fn text(request: &Request) -> Reply {
    Reply::Json(200, answer(request, &json!({"content": [{"type": "text", "text": "ran"}]})))
}

/// Mounts a server whose first session is unknown to it after the list was read.
async fn of(refusal: Refusal) -> (Mounted, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let noted = Arc::clone(&seen);
    let (url, _) = serve(move |request| {
        let mut seen = noted.lock().unwrap();
        match request.body["method"].as_str() {
            Some("initialize") => {
                seen.sessions += 1;
                return begun(request, seen.sessions);
            }
            Some("tools/list") => {
                let tool = |name: &str, hints: Value| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": hints});
                let tools = json!([tool("pay", json!({})), tool("put", json!({"idempotentHint": true}))]);
                return Reply::Json(200, answer(request, &json!({"tools": tools})));
            }
            Some("tools/call") if request.headers.get("mcp-session-id").is_some_and(|id| id == "s1") => {
                seen.runs += u32::from(refusal.runs);
                let Refusal { status, kind, body, .. } = refusal;
                let body = body.replace("ID", &request.body["id"].to_string());
                return Reply::Raw(format!(
                    "HTTP/1.1 {status} Lost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                ));
            }
            Some("tools/call") => {
                seen.runs += 1;
                return text(request);
            }
            _ => {}
        }
        legacy(request)
    })
    .await;
    (Mounted::of(ServerConfig::url(url).timeout(Duration::from_secs(60))).await, seen)
}

#[tokio::test]
async fn a_lost_session_is_opened_again_whatever_says_so() {
    let event = "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32001,\"message\":\"Session expired\"}}\n\n";
    let cases = [
        unrun(
            404,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        unrun(404, "session not found"),
        unrun(410, "The session has expired"),
        unrun(
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
        ),
        unrun(400, r#"{"error":"unknown session"}"#),
        unrun(401, ""),
        unrun(401, "Invalid session"),
        unrun(
            200,
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        unrun(
            200,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session terminated"}}"#,
        ),
        Refusal { kind: "text/event-stream", ..unrun(200, event) },
    ];
    for refusal in cases {
        let what = format!("{} {}", refusal.status, refusal.body);
        let (mounted, seen) = of(refusal).await;
        for _ in 0..2 {
            let result =
                tokio::time::timeout(MOMENT, mounted.call("pay", "{}")).await.expect(&what);
            assert_eq!(result.text(), "ran", "{what}");
        }
        assert_eq!(counts(&seen), (2, 2), "{what}");
        assert_eq!(mounted.status().state, ServerState::Ready, "{what}");
        mounted.close().await;
    }
}

#[tokio::test]
async fn a_call_that_may_have_run_is_repeated_only_if_that_changes_nothing() {
    for status in [404, 410] {
        for runs in [false, true] {
            for body in ["", "Not Found", "<html>nginx</html>"] {
                let refusal = Refusal { runs, ..unrun(status, body) };
                let (mounted, seen) = of(refusal).await;
                let result = mounted.call("pay", "{}").await;
                assert_eq!(result.failure_kind(), Some(FailureKind::OutcomeUnknown), "{status}");
                let text = result.text();
                assert!(
                    text.contains("lost the session") && text.contains("not repeated"),
                    "{text}"
                );
                assert_eq!(seen.lock().unwrap().runs, u32::from(runs));
                // The next one is made in another session.
                assert_eq!(mounted.call("pay", "{}").await.text(), "ran");
                assert_eq!(seen.lock().unwrap().sessions, 2);
                mounted.close().await;

                let (mounted, seen) = of(refusal).await;
                assert_eq!(mounted.call("put", "{}").await.text(), "ran");
                assert_eq!(counts(&seen), (1 + u32::from(runs), 2));
                mounted.close().await;
            }
        }
    }
}

/// What is no word about a session fails the call, and opens none.
#[tokio::test]
async fn an_error_of_a_tool_opens_no_session() {
    let cases = [
        unrun(400, "bad arguments"),
        unrun(
            200,
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"Session 7 of the debugger not found"}}"#,
        ),
        unrun(
            200,
            r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"session not found"}],"isError":true}}"#,
        ),
    ];
    for refusal in cases {
        let (mounted, seen) = of(refusal).await;
        let result = mounted.call("pay", "{}").await;
        assert!(result.is_error(), "{}", result.text());
        assert_eq!(counts(&seen), (0, 1), "{}", refusal.body);
        mounted.close().await;
    }
}

/// A status alone is no reason to sign in; a challenge is.
#[tokio::test]
async fn a_sign_in_is_advised_only_where_a_challenge_asks_for_it() {
    for (challenge, advised) in [("www-authenticate: Bearer\r\n", true), ("", false)] {
        let (url, _) = serve(move |_| {
            Reply::Raw(format!(
                "HTTP/1.1 401 Unauthorized\r\n{challenge}content-length: 0\r\nconnection: close\r\n\r\n"
            ))
        })
        .await;
        let mounted = Mounted::of(ServerConfig::url(url).retries(0)).await;
        let status = mounted.status();
        let error = status.error.unwrap_or_default();
        assert_eq!(error.contains("sign in"), advised, "{error}");
        assert!(error.contains("header `Authorization`"), "{error}");
        assert_eq!(status.wants_sign_in, advised, "{error}");
        mounted.close().await;
    }
}

/// A server that lists its tools to anybody and refuses calls, or forgets each session, is no lost
/// session: another is tried once for each call, and the result says what is wrong.
#[tokio::test]
async fn what_another_session_does_not_mend_is_told() {
    let unknown =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
    for (status, body, told) in [
        (401, "", "it answered with status 401, and not what it wants"),
        (404, unknown, "it does not know its session, nor the one that was opened in its place"),
    ] {
        let (url, seen) = serve(move |request| match request.body["method"].as_str() {
            Some("tools/call") => said(status, None, body),
            Some("initialize") => begun(request, 1),
            _ => legacy(request),
        })
        .await;
        let mounted = Mounted::of(ServerConfig::url(url).timeout(Duration::from_secs(60))).await;
        for calls in 1..3 {
            let result = tokio::time::timeout(MOMENT, mounted.call("json", "{}")).await.unwrap();
            assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure));
            assert!(result.text().contains(told), "{}", result.text());
            let seen = seen.lock().unwrap();
            let asked = seen.iter().filter(|asked| asked.body["method"] == "tools/call").count();
            assert!(asked <= 2 * calls, "{asked}");
        }
        mounted.close().await;
    }
}
