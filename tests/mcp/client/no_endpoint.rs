//! Addresses that are no endpoint of MCP: redirects, pages of HTML, gateways, the old transport.

use crate::bounded::tokio;

use serde_json::{Value, json};
use support::web::{Reply, Request, Seen, answer, legacy, modern, serve};
use toolbox::ToolBox;
use toolbox::mcp::{ServerConfig, ServerState, ServerStatus, Servers, SignIn};

use super::oauth::Kept;
use super::support::{Mounted, assert_plain};

fn raw(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Raw(format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ))
}

fn moved(status: u16, to: &str) -> Reply {
    raw(&format!("{status} X"), &format!("Location: {to}\r\n"), "")
}

fn html(status: &str) -> Reply {
    let page = "<!DOCTYPE html>\n<html><title>Sign in</title></html>";
    raw(status, "Content-Type: text/html; charset=utf-8\r\n", page)
}

/// A server of the old transport: its stream names the address for messages.
fn old(request: &Request, refusal: u16) -> Reply {
    match &*request.method {
        "GET" => Reply::Raw(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: hello\n\nevent: endpoint\ndata: /messages?sessionId=1\n\n"
                .to_owned(),
        ),
        _ => Reply::Json(refusal, Value::Null),
    }
}

async fn failed(config: ServerConfig) -> ServerStatus {
    let mounted = Mounted::of(config.retries(0)).await;
    let status = mounted.status();
    assert_eq!(status.state, ServerState::Failed, "{status:?}");
    mounted.close().await;
    status
}

const OLD: &str = "it is an old server of HTTP with SSE, which is not spoken: configure its address of streamable HTTP";
const PAGE: &str = "it answers with a page of HTML: its URL is not the address of an MCP endpoint";

#[tokio::test]
async fn what_is_no_endpoint_is_named_with_the_address_to_configure() {
    type Answer = fn(&Request) -> Reply;
    // The answer, and the part of the message; `@` is the address of the server.
    let cases: [(Answer, &str); 24] = [
        (
            |_| moved(301, "/mcp/"),
            "it redirects to `@/mcp/` (HTTP 301), which is not followed: configure `@/mcp/` as its URL",
        ),
        (|_| moved(302, "/login?next=%2Fmcp&k=s3cret"), "it redirects to `@/login` (HTTP 302)"),
        (|_| moved(303, "mcp/"), "configure `@/mcp/` as its URL"),
        (
            |_| moved(307, "https://other.example/mcp?k=s3cret"),
            "configure `https://other.example/mcp` as its URL",
        ),
        (|_| moved(308, "//other.example/mcp"), "configure `http://other.example/mcp` as its URL"),
        (|_| moved(307, "/mcp"), "it redirects to `@/mcp` (HTTP 307)"),
        (|_| raw("307 X", "", ""), "a redirect without an address (HTTP 307)"),
        (|_| moved(301, "http://[broken/"), "a redirect without an address (HTTP 301)"),
        (|_| html("200 OK"), PAGE),
        (|_| raw("200 OK", "Content-Type: application/xhtml+xml\r\n", "<html/>"), PAGE),
        (|_| raw("200 OK", "", "\n<!doctype HTML><html>"), PAGE),
        (|_| raw("200 OK", "Content-Type: application/json\r\n", "<html>"), PAGE),
        (
            |_| html("404 Not Found"),
            "it answered with HTTP 404 Not Found and a page of HTML: its URL is not the address",
        ),
        (|_| html("403 Forbidden"), "it answered with HTTP 403 Forbidden and a page of HTML"),
        (
            |_| html("502 Bad Gateway"),
            "it answered with HTTP 502 Bad Gateway and a page of HTML, as a gateway does",
        ),
        (
            |_| raw("503 X", "Retry-After: 7\r\n", ""),
            "HTTP 503 Service Unavailable; it can be asked again after: 7",
        ),
        (|_| raw("405 X", "", ""), "it answered with HTTP 405 Method Not Allowed"),
        (
            |_| raw("200 OK", "Content-Type: text/plain\r\n", "hello"),
            "the content type `text/plain`, where `application/json`",
        ),
        (
            |_| raw("200 OK", "Content-Type: application/json\r\n", "{}"),
            "its answer does not match the request",
        ),
        (|request| old(request, 405), OLD),
        (|request| old(request, 404), OLD),
        (|request| old(request, 400), OLD),
        (|request| old(&Request { method: "GET".into(), ..request.clone() }, 0), OLD),
        (|_| Reply::Json(401, Value::Null), "it answered with status 401, and not what it wants"),
    ];
    for (number, (reply, expected)) in cases.into_iter().enumerate() {
        let (url, _) = serve(reply).await;
        let status = failed(ServerConfig::url(&url)).await;
        let error = status.error.unwrap_or_default();
        let expected = expected.replace('@', url.trim_end_matches("/mcp"));
        assert!(error.contains(&expected), "{number}: {error}");
        assert!(!error.contains("s3cret"), "{number}: {error}");
        assert!(!status.wants_sign_in, "{number}: {error}");
        assert_plain(&error);
    }
}

#[tokio::test]
async fn a_sign_in_names_what_is_no_endpoint() {
    type Answer = fn(&Request) -> Reply;
    let cases: [(Answer, &str); 6] = [
        (|_| moved(301, "/mcp/"), "configure `@/mcp/` as its URL"),
        (
            |_| moved(302, "https://sso.example/login"),
            "it redirects to `https://sso.example/login`",
        ),
        (|_| html("200 OK"), PAGE),
        (|request| old(request, 405), OLD),
        (|request| old(request, 404), OLD),
        (
            |_| Reply::Json(503, Value::Null),
            "oauth-authorization-server (HTTP 503 Service Unavailable)",
        ),
    ];
    for (number, (reply, expected)) in cases.into_iter().enumerate() {
        let (url, _) = serve(reply).await;
        let (server, kept) = (ServerConfig::url(&url), Kept::new(&format!("no-endpoint-{number}")));
        let error = SignIn::new(&server, &kept.file()).run(|_| {}).await.unwrap_err().to_string();
        let expected = expected.replace('@', url.trim_end_matches("/mcp"));
        assert!(error.contains(&expected), "{number}: {error}");
        assert_plain(&error);
    }
}

/// The challenges of a refusal, and whether a sign-in is advised.
#[tokio::test]
async fn a_sign_in_is_advised_where_a_challenge_can_be_met_by_one() {
    for (challenges, is_advised) in [
        ("", false),
        ("WWW-Authenticate: Basic realm=\"x\"\r\n", false),
        ("WWW-Authenticate: Negotiate\r\n", false),
        ("WWW-Authenticate: Bearer\r\n", true),
        ("WWW-Authenticate: bearer realm=\"x\"\r\n", true),
        ("WWW-Authenticate: Basic realm=\"x\", Bearer\r\n", true),
        ("WWW-Authenticate: Basic realm=\"x\"\r\nWWW-Authenticate: DPoP algs=\"ES256\"\r\n", true),
    ] {
        for code in ["401 X", "406 X", "405 X"] {
            let (url, _) = serve(move |_| raw(code, challenges, "")).await;
            let status = failed(ServerConfig::url(url)).await;
            let is_advised = is_advised && code == "401 X";
            assert_eq!(status.wants_sign_in, is_advised, "{code} {challenges}: {status:?}");
            let error = status.error.unwrap_or_default();
            assert_eq!(error.contains("sign in"), is_advised, "{code} {challenges}: {error}");
        }
    }
}

/// Headers that may be secret in what a server received.
fn secrets(seen: &Seen) -> usize {
    let seen = seen.lock().unwrap();
    seen.iter().filter(|it| it.headers.contains_key("authorization")).count()
}

#[tokio::test]
async fn a_redirect_that_repeats_the_request_is_followed_within_its_origin() {
    for status in [307, 308] {
        let (url, seen) = serve(move |request| match &*request.target {
            "/mcp" => moved(status, "/mcp/"),
            _ => modern(request),
        })
        .await;
        let config = ServerConfig::url(url).header("Authorization", "Bearer own");
        let mounted = Mounted::of(config).await;
        assert_eq!(mounted.text("json").await, "by json", "{status}");
        assert!(secrets(&seen) > 0);
        mounted.close().await;
    }
    let (other, stolen) = serve(modern).await;
    for status in [301, 302, 303, 307, 308] {
        let to = other.clone();
        let (url, _) = serve(move |_| moved(status, &to)).await;
        let config = ServerConfig::url(url).header("Authorization", "Bearer own");
        let error = failed(config).await.error.unwrap_or_default();
        assert!(error.contains(&format!("configure `{other}` as its URL")), "{error}");
    }
    assert!(stolen.lock().unwrap().is_empty());
}

/// Answers without a content type, which are JSON all the same.
#[tokio::test]
async fn json_without_a_content_type_is_read() {
    let (url, _) = serve(|request| match legacy(request) {
        Reply::Json(status, body) if !body.is_null() => {
            raw(&format!("{status} X"), "mcp-session-id: one\r\n", &body.to_string())
        }
        other => other,
    })
    .await;
    let mounted = Mounted::of(ServerConfig::url(url)).await;
    assert_eq!(mounted.text("json").await, "by json");
    mounted.close().await;
}

/// A gateway that fails for a while: the call fails with the status, and the next one works.
#[tokio::test]
async fn a_page_of_a_gateway_in_the_middle_of_a_session_ends_one_call() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let (url, _) = serve(move |request| {
        if request.body["method"] == "tools/call" && count.fetch_add(1, Ordering::Relaxed) == 0 {
            return html("502 Bad Gateway");
        }
        legacy(request)
    })
    .await;
    let toolbox = ToolBox::new();
    let servers = Servers::builder().server("s", ServerConfig::url(url)).mount(&toolbox).await;
    let _servers = servers.expect("mounted");
    let first = super::support::call(&toolbox, "s_json", "{}").await;
    assert!(first.is_error() && first.text().contains("HTTP 502 Bad Gateway"), "{}", first.text());
    assert_plain(&first.text());
    assert_eq!(super::support::call(&toolbox, "s_json", "{}").await.text(), "by json");
}

/// Answers to the handshake that are none.
#[tokio::test]
async fn a_handshake_that_fails_is_told_without_the_output_of_a_library() {
    let results = [
        json!({"tools": []}),
        json!({"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}),
        json!({"supportedVersions": ["1999-01-01"], "capabilities": {}}),
        json!({}),
        json!(null),
        json!([1]),
        json!("ok"),
    ];
    for result in results {
        let told = result.clone();
        let (url, _) = serve(move |request| {
            if request.body["id"].is_null() {
                return Reply::Json(202, Value::Null);
            }
            Reply::Json(200, answer(request, &told))
        })
        .await;
        let mounted = Mounted::of(ServerConfig::url(url).retries(0)).await;
        assert_plain(mounted.status().error.as_deref().unwrap_or_default());
        mounted.close().await;
    }
    for events in [
        vec![],
        vec![json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})],
        vec![json!({"jsonrpc": "2.0", "id": 99, "result": {}})],
        vec![json!({"jsonrpc": "2.0", "id": 0})],
    ] {
        let shown = format!("{events:?}");
        let (url, _) = serve(move |request| match &*request.method {
            "POST" => Reply::Events(events.clone(), false),
            _ => Reply::Json(405, Value::Null),
        })
        .await;
        let config = ServerConfig::url(url).connect_timeout(std::time::Duration::from_secs(3));
        let status = failed(config).await;
        let error = status.error.unwrap_or_default();
        assert!(!error.is_empty(), "{shown}");
        assert_plain(&error);
    }
}
