//! Servers behind a URL.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use support::web::{Reply, legacy, modern, serve};
use tokio::sync::Notify;
use toolbox::call::FailureKind;
use toolbox::mcp::{ServerConfig, ServerState};
use toolbox::{ToolCall, ToolContext};

use super::support::{Mounted, eventually};

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

/// A server that is overloaded every third time: that call fails with what it says, the others are
/// answered in the same session, and no tool is lost.
#[tokio::test]
async fn a_refusal_for_a_while_costs_its_call_alone() {
    let reply = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        Reply::Raw(format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ))
    };
    let json = "content-type: application/json\r\n";
    let cases = [
        ("429 Too Many Requests", "retry-after: 2\r\n", "", "asked again after: 2"),
        ("502 Bad Gateway", "", "", "HTTP 502"),
        ("503 Service Unavailable", json, r#"{"error":"full"}"#, "HTTP 503"),
        ("500 Internal Server Error", "", "oops", "HTTP 500"),
    ];
    for server in [modern as fn(&_) -> Reply, legacy] {
        for (status, headers, body, told) in cases {
            let count = Mutex::new(0);
            let (url, seen) = serve(move |request| {
                if request.body["method"] == "tools/call" {
                    let mut count = count.lock().expect("no panic");
                    *count += 1;
                    if *count % 3 == 0 {
                        return reply(status, headers, body);
                    }
                }
                server(request)
            })
            .await;
            let mounted = Mounted::of(ServerConfig::url(url)).await;
            let mut failed = 0;
            for at in 0..12 {
                let result = mounted.call("json", "{}").await;
                if result.is_error() {
                    failed += 1;
                    assert!(result.text().contains(told), "{status}: {}", result.text());
                } else {
                    assert_eq!(result.text(), "by json", "{status} {at}");
                }
            }
            assert_eq!((failed, mounted.status().state), (4, ServerState::Ready), "{status}");
            let asked = |method: &str| {
                let seen = seen.lock().expect("no panic");
                seen.iter().filter(|request| request.body["method"] == method).count()
            };
            assert_eq!((asked("tools/call"), asked("tools/list")), (12, 1), "{status}");
            mounted.close().await;
        }
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
