//! The messages of servers as they were on the wire, and what breaks the protocol in them.

use std::time::Duration;

use serde_json::{Value, json};
use toolbox::ToolBox;
use toolbox::mcp::{
    Frame, FrameDirection, FrameKind, FrameLog, RecordedFrame, ServerConfig, Servers,
};

use super::support::{call, misbehaving};
use crate::bounded::tokio;
use support::web::{Reply, answer, legacy, modern, serve};

/// The time limit for a momentary operation, on a slow machine.
const MOMENT: Duration = Duration::from_secs(20);

/// One direction and one message.
type Line<'a> = (FrameDirection, &'a str);

const OUT: FrameDirection = FrameDirection::Sent;
const IN: FrameDirection = FrameDirection::Received;

/// The handshake of a server of 2025-11-25 with nothing but tools.
const LEGACY: &[Line<'_>] = &[
    (
        OUT,
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    ),
    (
        IN,
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    ),
    (OUT, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
    (OUT, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#),
    (
        IN,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"sum","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}}]}}"#,
    ),
];

/// The discovery of a server of 2026-07-28 with everything.
const MODERN: &[Line<'_>] = &[
    (OUT, r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{}}"#),
    (
        IN,
        r#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"completions":{}}}}"#,
    ),
];

/// A call of the tool `sum` under the id 7.
const CALL: Line<'_> = (
    OUT,
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sum","arguments":{},"_meta":{"progressToken":3}}}"#,
);

fn recorded(lines: &[Line<'_>]) -> Vec<std::sync::Arc<RecordedFrame>> {
    let log = FrameLog::new();
    for (direction, text) in lines {
        log.record(&Frame::new("s", 1, *direction, text.as_bytes()));
    }
    log.since(1, usize::MAX).frames
}

fn rules(frame: &RecordedFrame) -> Vec<&'static str> {
    frame.faults.iter().map(|fault| fault.rule).collect()
}

/// Checks that the messages before the last are faultless, and the rules that the last breaks.
#[track_caller]
fn check(begin: &[Line<'_>], more: &[Line<'_>], expected: &[&str]) {
    let lines: Vec<_> = begin.iter().chain(more).copied().collect();
    let frames = recorded(&lines);
    let (last, before) = frames.split_last().unwrap();
    for frame in before {
        assert!(frame.faults.is_empty(), "{frame:?}");
    }
    assert_eq!(rules(last), expected, "{last:?}");
    assert!(last.faults.iter().all(|fault| !fault.message.is_empty()));
}

#[test]
fn messages_that_break_the_protocol_are_named() {
    let cases: &[(&str, &[&str])] = &[
        ("Server ready!", &["no-message"]),
        ("[]", &["batch"]),
        ("7", &["no-message"]),
        (r#"{"id":7,"result":{"content":[],"structuredContent":{"sum":1}}}"#, &["jsonrpc"]),
        (r#"{"jsonrpc":"2.0","id":7}"#, &["answer"]),
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"x"}}"#, &["answer"]),
        (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#, &["error", "error"]),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}"#, &[]),
        (r#"{"jsonrpc":"2.0","id":7,"result":"done"}"#, &["result"]),
        (r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, &["unknown-id"]),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, &["answered-twice"]),
        (r#"{"jsonrpc":"2.0","result":{}}"#, &["unknown-id"]),
        (r#"{"jsonrpc":"2.0","id":"7","result":{"content":[],"isError":true}}"#, &["id-type"]),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"isError":true}}"#, &[]),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#, &["output-schema"]),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"sum":"5"}}}"#,
            &["output-schema"],
        ),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"sum":5}}}"#, &[]),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"hologram"},{"type":"text"}],"isError":1,"structuredContent":{"sum":5}}}"#,
            &["content", "content", "result"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"task","taskId":"t","status":"working"}}"#,
            &["undeclared-task"],
        ),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"half"}}"#, &["result-type"]),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required"}}"#, &["result-type"]),
        (r#"{"jsonrpc":"2.0","method":7}"#, &["method"]),
        (r#"{"jsonrpc":"2.0","method":"notifications/weather"}"#, &["unknown-method"]),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &["unknown-method"]),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            &["undeclared-notification"],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
            &["undeclared-notification"],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#,
            &["undeclared-notification", "no-subscription"],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#,
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":1}}"#,
            &["progress"],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3}}"#,
            &["params"],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
            &["unknown-id"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}"#,
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"mode":"url"}}"#,
            &["undeclared-capability"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}"#,
            &["undeclared-capability"],
        ),
        (r#"{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{}}"#, &["unknown-method"]),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, &["id"]),
        (r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#, &[]),
    ];
    for (text, expected) in cases {
        let more = [CALL, (IN, *text)];
        check(LEGACY, &more, expected);
    }
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}{}}}"#, "[".repeat(9000), "]".repeat(9000));
    check(LEGACY, &[CALL, (IN, &deep)], &["depth"]);
}

#[test]
fn lists_and_answers_are_checked_by_the_method_that_they_answer() {
    let ok = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    let cases: &[(&str, &str, &[&str])] = &[
        ("tools/list", r#"{"tools":{}}"#, &["result"]),
        (
            "tools/list",
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}"#,
            &["duplicate"],
        ),
        ("tools/list", r#"{"tools":[{"name":"a"},{"name":7}]}"#, &["input-schema", "result"]),
        (
            "tools/list",
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":true}]}"#,
            &["output-schema"],
        ),
        ("tools/list", r#"{"tools":[],"nextCursor":7}"#, &["cursor"]),
        ("prompts/list", r#"{"prompts":[{"name":"p"}]}"#, &[]),
        (
            "prompts/get",
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}"#,
            &[],
        ),
        ("prompts/get", r#"{"messages":[{"role":"system","content":[]}]}"#, &["result", "content"]),
        ("resources/list", r#"{"resources":[{"uri":"a://b"}]}"#, &["result"]),
        (
            "resources/templates/list",
            r#"{"resourceTemplates":[{"uriTemplate":"a://{b}","name":"n"}]}"#,
            &[],
        ),
        ("resources/read", r#"{"contents":[]}"#, &["result"]),
        (
            "resources/read",
            r#"{"contents":[{"uri":"a://b","text":"x","blob":"eA=="}]}"#,
            &["result"],
        ),
        ("resources/read", r#"{"contents":[{"uri":"a://b","text":"x"}]}"#, &[]),
        ("completion/complete", r#"{"completion":{"values":["a",1]}}"#, &["result"]),
        ("completion/complete", r#"{"completion":{}}"#, &["result"]),
        ("logging/setLevel", "{}", &["undeclared-capability"]),
    ];
    for (method, result, expected) in cases {
        let request = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{}}}}"#);
        let comma = if *result == "{}" { "" } else { "," };
        let result = format!(r"{{{ok}{comma}{}", &result[1..]);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
        check(MODERN, &[(OUT, &request), (IN, &answer)], expected);
    }
}

#[test]
fn versions_without_a_handshake_have_rules_of_their_own() {
    let listen = r#"{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}}}"#;
    let cases: &[(&str, &[&str])] = &[
        (r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#, &["result-type"]),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[]}}"#, &[]),
        (
            r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#,
            &["request-of-server"],
        ),
        (r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#, &["no-subscription"]),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}"#,
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b/c","_meta":{"io.modelcontextprotocol/subscriptionId":"9"}}}"#,
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://x","_meta":{"io.modelcontextprotocol/subscriptionId":9}}}"#,
            &["no-subscription"],
        ),
    ];
    for (text, expected) in cases {
        check(MODERN, &[(OUT, listen), CALL, (IN, text)], expected);
    }
    let list = (OUT, r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{}}"#);
    let page = r#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","tools":[]}}"#;
    check(MODERN, &[list, (IN, page)], &["cache", "cache"]);
    let discovery = (OUT, r#"{"jsonrpc":"2.0","id":0,"method":"server/discover"}"#);
    let old = r#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2025-11-25"],"capabilities":[]}}"#;
    check(&[discovery], &[(IN, old)], &["version", "result"]);
}

#[test]
fn handshakes_with_unknown_versions_and_cursors_that_repeat_are_named() {
    let begin = &LEGACY[..1];
    let answer = |version: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":{version},"capabilities":{{}},"serverInfo":{{"name":"s"}}}}}}"#
        )
    };
    check(begin, &[(IN, &answer("\"1999-01-01\""))], &["version", "server-info"]);
    check(begin, &[(IN, &answer("7"))], &["version", "server-info"]);
    let page = |id: u32, cursor: &str| {
        let params = if cursor.is_empty() { json!({}) } else { json!({"cursor": cursor}) };
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
        let result = json!({"tools": [], "nextCursor": "again"});
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        [(OUT, request.to_string()), (IN, answer.to_string())]
    };
    let pages = [page(4, ""), page(5, "again")].concat();
    let pages: Vec<Line<'_>> = pages.iter().map(|(way, text)| (*way, text.as_str())).collect();
    check(LEGACY, &pages, &["cursor"]);
    // A list that is read again from its start may give the same cursor.
    let pages = [page(4, ""), page(5, "")].concat();
    let pages: Vec<Line<'_>> = pages.iter().map(|(way, text)| (*way, text.as_str())).collect();
    check(LEGACY, &pages, &[]);
}

#[test]
fn what_comes_after_a_cancellation_breaks_nothing() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;
    check(LEGACY, &[CALL, (OUT, cancel), (IN, progress)], &[]);
    check(LEGACY, &[CALL, (OUT, cancel), (IN, answer)], &[]);
    let result = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"isError":true}}"#;
    check(LEGACY, &[CALL, (IN, result), (IN, progress)], &["progress"]);

    // So many open requests that the oldest are given up.
    let requests: Vec<String> =
        (100..4400).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).collect();
    let answer = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    for id in [100, 4399] {
        let last = answer(id);
        let mut lines: Vec<Line<'_>> = requests.iter().map(|text| (OUT, text.as_str())).collect();
        lines.push((IN, &last));
        check(LEGACY, &lines, &[]);
    }
}

#[test]
fn an_empty_list_needs_no_capability() {
    let begin = &LEGACY[..3];
    for (method, result, expected) in [
        ("prompts/list", r#"{"prompts":[]}"#, &[][..]),
        ("prompts/list", r#"{"prompts":[{"name":"p"}]}"#, &["undeclared-capability"]),
        ("resources/list", r#"{"resources":[]}"#, &[]),
        ("resources/templates/list", r#"{"resourceTemplates":[]}"#, &[]),
    ] {
        let request = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
        check(begin, &[(OUT, &request), (IN, &answer)], expected);
    }
}

#[test]
fn answers_have_the_method_and_the_time_of_their_request_within_their_connection() {
    let log = FrameLog::new();
    let record = |connection, (direction, text): Line<'_>| {
        log.record(&Frame::new("s", connection, direction, text.as_bytes()));
    };
    record(1, CALL);
    record(2, (IN, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#));
    record(1, (IN, r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#));
    record(1, (IN, r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#));
    record(1, (OUT, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#));
    let frames = log.since(1, usize::MAX).frames;
    assert_eq!(rules(&frames[1]), ["unknown-id"]);
    let of = |at: usize| (frames[at].request, frames[at].method.as_deref(), frames[at].kind);
    assert_eq!(of(2), (Some(1), Some("tools/call"), FrameKind::Result));
    assert_eq!(of(4), (Some(4), Some("ping"), FrameKind::Result));
    assert!(frames[2].duration_ms.is_some_and(|time| (0.0..5000.0).contains(&time)));
    assert!(frames[1].duration_ms.is_none());
}

#[test]
fn a_log_is_bounded_and_says_what_it_forgot() {
    let log = FrameLog::new();
    let add = |text: &str| log.record(&Frame::new("s", 1, IN, text.as_bytes()));
    for _ in 0..10_500 {
        add(r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}"#);
    }
    let batch = log.since(1, usize::MAX);
    assert_eq!((batch.frames.len(), batch.lost, batch.next), (10_000, 500, 10_501));
    assert_eq!(batch.frames[0].number, 501);
    let batch = log.since(10_400, 300);
    assert_eq!(batch.lost, 0);
    assert_eq!(batch.frames[0].number, 10_400);
    assert!(batch.frames.len() < 10, "{}", batch.frames.len());
    assert_eq!(batch.next, batch.frames.last().unwrap().number + 1);
    let batch = log.since(10_501, 300);
    assert_eq!((batch.frames.len(), batch.next, batch.lost), (0, 10_501, 0));

    let large = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "é".repeat(100_000));
    add(&large);
    let frame = &log.since(10_501, 1).frames[0];
    assert!(frame.is_cut && frame.text.len() <= 64 << 10 && frame.bytes == large.len());
    assert!(frame.method.as_ref().is_some_and(|method| method.len() <= 200));
    for _ in 0..700 {
        add(&large);
    }
    let kept: usize = log.since(1, usize::MAX).frames.iter().map(|frame| frame.text.len()).sum();
    assert!((16 << 20..=32 << 20).contains(&kept), "{kept}");
}

/// Mounts a server with a log of its frames.
async fn mounted(config: ServerConfig) -> (ToolBox, Servers, FrameLog) {
    let (toolbox, log) = (ToolBox::new(), FrameLog::new());
    let servers = Servers::builder()
        .server("s", config)
        .max_message_bytes(1 << 20)
        .on_frame(log.recorder())
        .mount(&toolbox)
        .await
        .unwrap();
    (toolbox, servers, log)
}

fn methods(log: &FrameLog, direction: FrameDirection, kind: FrameKind) -> Vec<String> {
    let frames = log.since(1, usize::MAX).frames;
    let own = frames.iter().filter(|frame| frame.direction == direction && frame.kind == kind);
    own.map(|frame| frame.method.clone().unwrap_or_default()).collect()
}

#[tokio::test]
async fn frames_of_a_child_are_seen_both_ways_with_its_breaches() {
    for (mode, first) in [("modern", "server/discover"), ("legacy", "server/discover")] {
        let (toolbox, servers, log) = mounted(misbehaving(&[mode])).await;
        for tool in ["echo", "foreign_id", "string_id", "both", "progress", "twice"] {
            tokio::time::timeout(MOMENT, call(&toolbox, &format!("s_{tool}"), "{}")).await.unwrap();
        }
        let result = tokio::time::timeout(MOMENT, call(&toolbox, "s_big", r#"{"mib": 3}"#)).await;
        assert!(result.unwrap().is_error());
        // What follows the first answer of `twice` was read by now.
        let sent = methods(&log, OUT, FrameKind::Request);
        assert_eq!(sent[0], first);
        assert_eq!(sent.iter().filter(|method| *method == "tools/call").count(), 7, "{sent:?}");
        let frames = log.since(1, usize::MAX).frames;
        let named = |rule: &str| frames.iter().filter(|own| rules(own).contains(&rule)).count();
        assert_eq!(named("unknown-id"), 3, "{mode}");
        assert_eq!(named("id-type"), 1, "{mode}");
        assert_eq!(named("answered-twice"), 1, "{mode}");
        assert_eq!(named("answer"), 1, "{mode}");
        assert_eq!(named("too-long"), 1, "{mode}");
        let echo = frames
            .iter()
            .find(|own| own.text.contains("s_echo") || own.text.contains(r#""name":"echo","#));
        assert!(echo.is_some());
        assert!(frames.iter().all(|frame| frame.server == "s" && !frame.text.contains('\n')));
        servers.close().await;
    }
}

#[tokio::test]
async fn frames_over_http_are_seen_both_ways_and_no_credentials() {
    for server in [modern, legacy] {
        let (url, _) = serve(move |request| match request.body["method"].as_str() {
            Some("tools/call") if request.body["params"]["name"] == "refuse" => {
                let error = json!({"code": -32602, "message": "no such tool"});
                let id = &request.body["id"];
                Reply::Json(400, json!({"jsonrpc": "2.0", "id": id, "error": error}))
            }
            Some("tools/list") => {
                let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
                let tools = [tool("echo"), tool("refuse")];
                let list = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools});
                Reply::Json(200, answer(request, &list))
            }
            Some("tools/call") => {
                let text = json!({"resultType": "complete", "content": [{"type": "text", "text": "hi"}]});
                let noise = json!({"jsonrpc": "2.0", "method": "notifications/weather"});
                Reply::Events(vec![noise, answer(request, &text)], false)
            }
            _ => server(request),
        })
        .await;
        let config = ServerConfig::url(url).header("Authorization", "Bearer hidden-credential");
        let (toolbox, servers, log) = mounted(config).await;
        assert_eq!(call(&toolbox, "s_echo", "{}").await.text(), "hi");
        assert!(call(&toolbox, "s_refuse", "{}").await.is_error());
        let frames = log.since(1, usize::MAX).frames;
        assert!(frames.iter().all(|frame| !frame.text.contains("hidden-credential")));
        let calls: Vec<_> =
            frames.iter().filter(|own| own.method.as_deref() == Some("tools/call")).collect();
        let kinds: Vec<_> = calls.iter().map(|own| (own.direction, own.kind)).collect();
        let expected = [
            (OUT, FrameKind::Request),
            (IN, FrameKind::Result),
            (OUT, FrameKind::Request),
            (IN, FrameKind::Error),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(calls[1].request, Some(calls[0].number));
        let weather = frames.iter().find(|own| own.text.contains("weather")).unwrap();
        assert_eq!(rules(weather), ["unknown-method"]);
        let lists: Vec<Value> = frames
            .iter()
            .filter(|own| own.method.as_deref() == Some("tools/list"))
            .map(|own| serde_json::from_str(&own.text).unwrap())
            .collect();
        assert_eq!(lists.len(), 2, "{lists:?}");
        servers.close().await;
    }
}

#[tokio::test]
async fn an_observer_that_panics_ends_no_connection() {
    let toolbox = ToolBox::new();
    let servers = Servers::builder()
        .server("s", misbehaving(&["modern"]))
        .on_frame(|_| panic!("of the program"))
        .mount(&toolbox)
        .await
        .unwrap();
    for _ in 0..2 {
        let called = call(&toolbox, "s_echo", "{}");
        assert!(!tokio::time::timeout(MOMENT, called).await.unwrap().is_error());
    }
    servers.close().await;
}
