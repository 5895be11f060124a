//! Streams of events that end at once: they are opened again, and not for ever at the server's pace.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::call::FailureKind;
use toolbox::mcp::ServerConfig;

use super::support::{Mounted, eventually};
use support::web::{Reply, Request, Seen, answer, legacy, modern, serve};

/// The time in which requests are counted.
const WINDOW: Duration = Duration::from_millis(3500);

/// An event stream of this text, which ends at once.
fn events(text: &str) -> Reply {
    Reply::Raw(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{text}"
    ))
}

fn count(seen: &Seen, is_one: impl Fn(&Request) -> bool) -> usize {
    seen.lock().expect("no panic").iter().filter(|request| is_one(request)).count()
}

#[tokio::test]
async fn a_stream_of_the_session_that_ends_at_once_is_opened_again_ever_later() {
    let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let with_message = format!("id: ID\nretry: 10\ndata: {message}\n\n");
    let cases = [
        // The stream; the most requests in the window: the pauses are 1, 2, 4, .. seconds, or 1
        // after anything was heard.
        ("", 3),
        (": a comment\n\n", 3),
        ("retry: 10\n\n", 5),
        ("id: ID\nretry: 10\ndata: \n\n", 5),
        (&with_message, 5),
    ];
    let runs = tokio::task::LocalSet::new();
    let all: Vec<_> = cases
        .into_iter()
        .map(|(text, most)| runs.spawn_local(reopened(text.to_owned(), most)))
        .collect();
    runs.await;
    for run in all {
        run.await.expect("no panic");
    }
}

/// Has the stream of a session answered with a text, and counts how often it is opened.
async fn reopened(text: String, most: usize) {
    let (number, body) = (AtomicU32::new(0), text.clone());
    let (url, seen) = serve(move |request| match &*request.method {
        "GET" => {
            let number = number.fetch_add(1, Ordering::Relaxed).to_string();
            events(&body.replace("ID", &number))
        }
        _ => legacy(request),
    })
    .await;
    let mounted = Mounted::of(ServerConfig::url(url)).await;
    let opened = || count(&seen, |request| request.method == "GET");
    eventually(async || opened() > 0).await;
    tokio::time::sleep(WINDOW).await;
    assert!(opened() <= most, "{} times: {text}", opened());
    eventually(async || opened() > 1).await;
    mounted.close().await;
}

#[tokio::test]
async fn a_call_whose_stream_is_resumed_without_end_ends_in_its_time() {
    let (url, seen) = serve(move |request| match &*request.method {
        "GET" if request.headers.contains_key("last-event-id") => events(""),
        "GET" => Reply::Json(405, Value::Null),
        _ if request.body["method"] == "tools/call" => events("id: 1\nretry: 10\ndata: \n\n"),
        _ => legacy(request),
    })
    .await;
    let config = ServerConfig::url(url).timeout(Duration::from_millis(2500));
    let mounted = Mounted::of(config).await;
    let result = mounted.call("json", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut), "{}", result.text());
    let resumed = || count(&seen, |request| request.headers.contains_key("last-event-id"));
    assert!((1..=3).contains(&resumed()), "{} times", resumed());
    tokio::time::sleep(WINDOW).await;
    assert!(resumed() <= 4, "{} times", resumed());
    mounted.close().await;
}

#[tokio::test]
async fn a_subscription_that_ends_at_once_is_opened_again_ever_later() {
    let (url, seen) = serve(move |request| match request.body["method"].as_str() {
        Some("server/discover") => Reply::Json(
            200,
            answer(
                request,
                &json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 0, "cacheScope": "private",
                }),
            ),
        ),
        Some("subscriptions/listen") => {
            let id = &request.body["id"];
            let begun = json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {
                    "_meta": {"io.modelcontextprotocol/subscriptionId": id},
                    "notifications": {"toolsListChanged": true},
                },
            });
            events(&format!("data: {begun}\n\ndata: {}\n\n", answer(request, &json!({"resultType": "complete"}))))
        }
        _ => modern(request),
    })
    .await;
    let mounted = Mounted::of(ServerConfig::url(url)).await;
    let asked = |method: &str| count(&seen, |request| request.body["method"] == method);
    eventually(async || asked("subscriptions/listen") > 0).await;
    tokio::time::sleep(WINDOW).await;
    let (listened, listed) = (asked("subscriptions/listen"), asked("tools/list"));
    assert!(listened <= 3 && listed <= 4, "{listened} subscriptions, {listed} lists");
    eventually(async || asked("subscriptions/listen") > 1).await;
    mounted.close().await;
}
