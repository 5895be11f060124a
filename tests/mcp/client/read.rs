//! Responses of servers behind a URL, read as those of a child process are: in one body, and as
//! events.

use crate::bounded::tokio;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolbox::call::FailureKind;
use toolbox::mcp::{ServerConfig, ServerState, Servers, WithheldReason};
use toolbox::{ToolBox, ToolResult};

use super::support::{Mounted, call, eventually};
use support::web::{Queue, Reply, Request, Seen, answer, legacy, modern, serve};

/// The time limit for a momentary operation, on a slow machine.
const MOMENT: Duration = Duration::from_secs(10);

/// A body of JSON, or a stream of events with it.
#[derive(Debug, Clone, Copy)]
enum As {
    Json,
    Events,
}

const BOTH: [As; 2] = [As::Json, As::Events];

impl As {
    fn reply(self, body: &str) -> Reply {
        let (kind, body) = match self {
            Self::Json => ("application/json", body.to_owned()),
            Self::Events => ("text/event-stream", format!("data: {body}\n\n")),
        };
        raw(kind, &body)
    }
}

fn raw(kind: &str, body: &str) -> Reply {
    let len = body.len();
    Reply::Raw(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}; charset=utf-8\r\ncontent-length: {len}\r\nconnection: close\r\n\r\n{body}"
    ))
}

fn asks(request: &Request, method: &str) -> bool {
    request.body["method"] == method
}

fn text_of(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

/// Mounts a server that lists one tool, `t`, and answers its calls in its own way; returns the
/// result of one call.
async fn one_call(
    reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (ToolResult, Mounted) {
    let (mounted, _) = mounted_with(reply).await;
    let result = tokio::time::timeout(MOMENT, mounted.call("t", "{}")).await.expect("it ends");
    (result, mounted)
}

async fn mounted_with(
    reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Mounted, Seen) {
    let (url, seen) = serve(move |request| {
        if asks(request, "tools/call") || request.method == "GET" {
            return reply(request);
        }
        if asks(request, "tools/list") {
            let tools = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
            return Reply::Json(200, answer(request, &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools})));
        }
        modern(request)
    })
    .await;
    (Mounted::of(ServerConfig::url(url).timeout(Duration::from_secs(60))).await, seen)
}

#[tokio::test]
async fn a_malformed_tool_over_http_is_dropped_alone() {
    for how in BOTH {
        for server in [modern, legacy] {
            let (url, _) = serve(move |request| {
                if !asks(request, "tools/list") {
                    return server(request);
                }
                let tools = json!([
                    {"name": "good", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
                    {"name": "schemaless"},
                    {"name": 7, "inputSchema": {"type": "object"}},
                    {"name": "odd", "inputSchema": "none"},
                    "no tool at all",
                    {"name": "headed", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}},
                ]);
                how.reply(&answer(request, &json!({"tools": tools})).to_string())
            })
            .await;
            let mounted = Mounted::of(ServerConfig::url(url)).await;
            let status = mounted.status();
            assert_eq!(status.tools, ["s_good", "s_headed"], "{how:?} {status:?}");
            let withheld: Vec<&str> =
                status.withheld.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(withheld, ["schemaless", "", "odd", ""]);
            assert!(status.withheld.iter().all(|tool| tool.reason == WithheldReason::Invalid));
            mounted.close().await;
        }
    }
}

#[tokio::test]
async fn tools_whose_headers_cannot_be_are_withheld_and_the_others_send_theirs() {
    let with = |name: &str, property: Value| json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": property}}});
    let mut deep = json!({"type": "string"});
    for _ in 0..118 {
        deep = json!({"type": "array", "items": deep});
    }
    let tools = json!([
        with("good", json!({"type": "string", "x-mcp-header": "Region"})),
        with("blank", json!({"type": "string", "x-mcp-header": "a b"})),
        with("empty", json!({"type": "string", "x-mcp-header": ""})),
        with("object", json!({"type": "object", "x-mcp-header": "A"})),
        with("deep", json!({"x-mcp-header": "A", "type": "string", "not": deep})),
        {"name": "twice", "inputSchema": {"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"},
        }}},
    ]);
    for how in BOTH {
        let tools = tools.clone();
        let (url, seen) = serve(move |request| match request.body["method"].as_str() {
            Some("tools/list") => how.reply(&answer(request, &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools})).to_string()),
            _ => modern(request),
        })
        .await;
        let mounted = Mounted::of(ServerConfig::url(url)).await;
        let status = mounted.status();
        assert!(status.tools.contains(&"s_good".to_owned()), "{how:?} {status:?}");
        for name in ["blank", "empty", "object", "deep", "twice"] {
            let tool = status.withheld.iter().find(|tool| tool.name == name);
            let tool = tool.unwrap_or_else(|| panic!("{name} is withheld: {status:?}"));
            assert_eq!(tool.reason, WithheldReason::Invalid);
            assert!(tool.detail.contains("x-mcp-header"), "{}", tool.detail);
        }
        mounted.call("good", r#"{"a": " Malmö"}"#).await;
        // A list that is out of date at once may be asked for again meanwhile.
        let seen = seen.lock().expect("no panic").clone();
        let call = seen.iter().find(|request| request.body["method"] == "tools/call");
        let sent = call.expect("the call arrived").headers.get("mcp-param-region");
        assert_eq!(sent.map(|sent| &**sent), Some("=?base64?IE1hbG3Dtg==?="), "{how:?} {seen:#?}");
        mounted.close().await;
    }
}

#[tokio::test]
async fn a_result_over_http_that_nests_too_deep_fails_at_once() {
    for how in BOTH {
        let (result, mounted) = one_call(move |request| {
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            how.reply(&format!(
                r#"{{"jsonrpc": "2.0", "id": {}, "result": {{"content": [], "structuredContent": {deep}}}}}"#,
                request.body["id"]
            ))
        })
        .await;
        assert_eq!(result.failure_kind(), Some(FailureKind::InvalidOutput), "{how:?}");
        let text = result.text();
        assert!(text.contains("cannot be read") && text.contains("recursion"), "{text}");
        mounted.close().await;
    }
}

#[tokio::test]
async fn an_answer_among_garbage_events_is_found() {
    let (result, mounted) = one_call(|request| {
        let mut body = String::with_capacity(8 << 20);
        for at in 0..200_000 {
            let _ = write!(body, "event: message\ndata: {{noise {at}\n\n");
        }
        body.push_str(
            "event: ping\ndata: no message\n\n: a comment\n\ndata: \"text\"\n\ndata: 7\n\n",
        );
        let _ = write!(body, "data: {}\n\n", answer(request, &text_of("after the noise")));
        raw("text/event-stream", &body)
    })
    .await;
    assert_eq!(result.text(), "after the noise");
    let notices = mounted.status().notices.join("\n");
    assert!(notices.contains("200002 lines between its messages were no messages"), "{notices}");
    mounted.close().await;
}

#[tokio::test]
async fn a_call_over_http_has_one_result_however_often_it_is_answered() {
    let (mounted, _) = mounted_with(|request| {
        let id = &request.body["id"];
        let told = |id: Value, text: &str| json!({"jsonrpc": "2.0", "id": id, "result": text_of(text)}).to_string();
        let messages = match request.body["params"]["arguments"]["how"].as_str().unwrap_or_default() {
            "twice" => vec![told(id.clone(), "first"), told(id.clone(), "second")],
            "foreign" => vec![told(json!(99_999), "stray"), told(Value::Null, "stray"), told(id.clone(), "own")],
            "string" => vec![told(json!(id.to_string()), "under a string")],
            "both" => vec![json!({"jsonrpc": "2.0", "id": id, "result": text_of("yes"), "error": {"code": -1, "message": "no"}}).to_string()],
            "neither" => vec![json!({"jsonrpc": "2.0", "id": id}).to_string()],
            _ => vec![told(json!(99_999), "only a stray one")],
        };
        let body = messages.iter().fold(String::new(), |body, message| body + "data: " + message + "\n\n");
        if request.body["params"]["arguments"]["as"] == "json" {
            return As::Json.reply(&messages[0]);
        }
        raw("text/event-stream", &body)
    })
    .await;
    let cases = [
        (r#"{"how": "twice"}"#, "first"),
        (r#"{"how": "foreign"}"#, "own"),
        (r#"{"how": "string"}"#, "under a string"),
        (r#"{"how": "string", "as": "json"}"#, "under a string"),
        (r#"{"how": "both"}"#, "(error -1): no"),
        (r#"{"how": "neither"}"#, "neither a result nor an error"),
        (r#"{"how": "other"}"#, "tool `s_t` has no answer"),
        (r#"{"how": "other", "as": "json"}"#, "tool `s_t` has no answer"),
    ];
    for (arguments, expected) in cases {
        let result = tokio::time::timeout(MOMENT, mounted.call("t", arguments)).await;
        let result = result.expect("it ends");
        assert!(result.text().contains(expected), "{arguments}: {}", result.text());
    }
    let notices = mounted.status().notices.join("\n");
    assert!(notices.contains("of its answers belonged to no request"), "{notices}");
    mounted.close().await;
}

#[tokio::test]
async fn the_limit_on_a_message_is_the_one_that_was_given() {
    for how in BOTH {
        let (url, _) =
            serve(move |request| match request.body["params"]["arguments"]["size"].as_u64() {
                Some(size) => {
                    let text = "x".repeat(usize::try_from(size).expect("small"));
                    how.reply(&answer(request, &text_of(&text)).to_string())
                }
                None => modern(request),
            })
            .await;
        let toolbox = ToolBox::new();
        let servers = Servers::builder()
            .server("s", ServerConfig::url(url))
            .max_message_bytes(100_000)
            .mount(&toolbox)
            .await
            .expect("the name is valid");
        for (size, fits) in [(90_000, true), (100_001, false), (90_000, true)] {
            let result = call(&toolbox, "s_json", &json!({"size": size}).to_string()).await;
            assert_eq!(!result.is_error(), fits, "{how:?} {size}: {:.200}", result.text());
            if !fits {
                assert_eq!(result.failure_kind(), Some(FailureKind::InvalidOutput));
                assert!(result.text().contains("longer than the limit"), "{}", result.text());
            }
        }
        let notices = servers.status()[0].notices.join("\n");
        assert!(notices.contains("1 of its messages were longer than the limit"), "{notices}");
        servers.close().await;
    }
}

#[tokio::test]
async fn an_answer_that_will_not_come_ends_its_call_at_once() {
    let replies: [fn() -> Reply; 5] = [
        || Reply::Json(202, Value::Null),
        || raw("text/event-stream", ": nothing\n\n"),
        || raw("text/html", "<html>"),
        || raw("application/json", ""),
        || Reply::Json(500, Value::Null),
    ];
    for reply in replies {
        let (result, mounted) = one_call(move |_| reply()).await;
        assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure), "{}", result.text());
        mounted.close().await;
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed_where_it_ended_and_not_too_soon() {
    let asked = Arc::new(Mutex::new(Value::Null));
    let (mounted, seen) = mounted_with(move |request| {
        if request.method == "GET" {
            let answer = json!({"jsonrpc": "2.0", "id": *asked.lock().expect("no panic"), "result": text_of("resumed")});
            return raw("text/event-stream", &format!("id: second\ndata: {answer}\n\n"));
        }
        *asked.lock().expect("no panic") = request.body["id"].clone();
        raw("text/event-stream", "id: first\nretry: 300\ndata:\n\n")
    })
    .await;
    let started = Instant::now();
    assert_eq!(mounted.text("t").await, "resumed");
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
    let resumed =
        seen.lock().expect("no panic").iter().find(|request| request.method == "GET").cloned();
    assert_eq!(resumed.expect("it was resumed").headers["last-event-id"], "first");
    mounted.close().await;
}

#[tokio::test]
async fn results_that_do_not_fit_their_output_schema_are_kept_and_told_of() {
    let (url, _) = serve(|request| match request.body["method"].as_str() {
        Some("tools/list") => {
            let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
            let tools = json!([{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}]);
            Reply::Json(200, answer(request, &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools})))
        }
        Some("tools/call") => {
            let mut result = request.body["params"]["arguments"].clone();
            result["resultType"] = json!("complete");
            Reply::Json(200, answer(request, &result))
        }
        _ => modern(request),
    })
    .await;
    let mounted = Mounted::of(ServerConfig::url(url)).await;
    let fits = json!({"content": [], "structuredContent": {"n": 1}});
    assert_eq!(mounted.call("t", &fits.to_string()).await.text(), r#"{"n":1}"#);
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    assert!(mounted.call("t", &failed.to_string()).await.is_error());
    assert_eq!(mounted.status().notices, [""; 0]);
    let cases = [
        (
            json!({"content": [], "structuredContent": {"n": "one"}}),
            r#"{"n":"one"}"#,
            "1 of its results did not fit its output schema: `n` must be an integer",
        ),
        (
            json!({"content": [{"type": "text", "text": "just text"}]}),
            "just text",
            "2 of its results did not fit its output schema: there is no structured result",
        ),
    ];
    for (arguments, text, notice) in cases {
        let result = mounted.call("t", &arguments.to_string()).await;
        assert!(!result.is_error());
        assert_eq!(result.text(), text);
        let notices = mounted.status().notices.join("\n");
        assert!(notices.contains(notice), "{notices}");
    }
    mounted.close().await;
}

#[tokio::test]
async fn tools_come_and_go_when_a_server_behind_a_url_says_so() {
    let queue = Queue::default();
    let tools = Arc::new(Mutex::new(vec!["a"]));
    let (events, listed) = (Arc::clone(&queue), Arc::clone(&tools));
    let (url, _) = serve(move |request| match request.body["method"].as_str() {
        Some("server/discover") => Reply::Json(200, answer(request, &json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}},
            "ttlMs": 0, "cacheScope": "private",
        }))),
        Some("tools/list") => {
            let tools = listed.lock().expect("no panic");
            let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
            Reply::Json(200, answer(request, &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools})))
        }
        Some("subscriptions/listen") => {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": request.body["id"]});
            let notifications = &request.body["params"]["notifications"];
            assert_eq!(notifications["toolsListChanged"], true);
            events.lock().expect("no panic").push_back(json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": notifications, "_meta": meta},
            }));
            Reply::Live(Arc::clone(&events))
        }
        _ => modern(request),
    })
    .await;
    let mounted = Mounted::of(ServerConfig::url(url)).await;
    assert_eq!(mounted.status().tools, ["s_a"]);
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    for now in [vec!["a", "b"], vec!["b"], vec!["b", "c"]] {
        let expected: Vec<String> = now.iter().map(|name| format!("s_{name}")).collect();
        *tools.lock().expect("no panic") = now;
        queue.lock().expect("no panic").push_back(changed.clone());
        eventually(async || mounted.status().tools == expected).await;
        assert!(expected.iter().all(|name| mounted.toolbox.has(name)));
    }
    assert!(!mounted.toolbox.has("s_a"));
    assert_eq!(mounted.status().state, ServerState::Ready);
    mounted.close().await;
}

#[tokio::test]
async fn an_older_server_that_says_yes_to_every_question_is_taken_for_what_it_is() {
    for how in BOTH {
        let (url, seen) = serve(move |request| {
            if asks(request, "server/discover") {
                return how.reply(&answer(request, &json!({})).to_string());
            }
            legacy(request)
        })
        .await;
        let mounted = Mounted::of(ServerConfig::url(url)).await;
        let status = mounted.status();
        assert_eq!(status.protocol_version.as_deref(), Some("2025-06-18"), "{how:?} {status:?}");
        assert_eq!(mounted.text("json").await, "by json");
        assert!(seen.lock().expect("no panic").iter().any(|request| asks(request, "initialize")));
        mounted.close().await;
    }
}
