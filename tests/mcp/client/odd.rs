//! Servers whose answers have one thing that is not as the protocol says: it costs itself alone, or
//! the call fails at once with the reason. None of it is a success without a result.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::ToolCall;
use toolbox::mcp::ServerConfig;

use super::support::Mounted;
use support::web::{Reply, Request, answer, modern, serve};

/// The time limit for a momentary operation, on a slow machine.
const MOMENT: Duration = Duration::from_secs(10);

fn raw(body: &[u8], as_events: bool) -> Reply {
    let body = String::from_utf8_lossy(body);
    let (kind, body) = if as_events {
        ("text/event-stream", format!("data: {body}\n\n"))
    } else {
        ("application/json", body.into_owned())
    };
    let length = body.len();
    Reply::Raw(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

fn asks(request: &Request, method: &str) -> bool {
    request.body["method"] == method
}

/// Mounts a server that lists `tools`, and answers calls with `member`, as JSON text.
async fn mounted(tools: String, member: &str, as_events: bool) -> Mounted {
    let member = member.to_owned();
    let (url, _) = serve(move |request| {
        let id = &request.body["id"];
        if asks(request, "tools/call") {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{member}}}"#);
            return raw(body.as_bytes(), as_events);
        }
        if asks(request, "tools/list") {
            let listed = answer(request, &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": "TOOLS"}));
            return raw(listed.to_string().replace(r#""TOOLS""#, &tools).as_bytes(), as_events);
        }
        modern(request)
    })
    .await;
    Mounted::of(ServerConfig::url(url).timeout(Duration::from_secs(60))).await
}

fn one_tool() -> String {
    r#"[{"name":"t","inputSchema":{"type":"object"}}]"#.to_owned()
}

#[tokio::test]
async fn what_can_be_read_of_a_result_is_read_and_the_rest_is_a_failure_with_its_field() {
    let cases = [
        // The member of the message; what the text has; whether the call failed.
        (r#""result":{"content":"plain"}"#, "plain", false),
        (r#""result":{"content":{"type":"text","text":"alone"}}"#, "alone", false),
        (r#""result":{"content":[{"text":"untyped"}]}"#, "untyped", false),
        (
            r#""result":{"content":[{"type":"text"},{"type":"text","text":"b"}]}"#,
            "cannot be read]\nb",
            false,
        ),
        (
            r#""result":{"content":[{"type":"chart","data":1},{"type":"text","text":"b"}]}"#,
            "of type `chart`",
            false,
        ),
        (r#""result":{"content":null,"structuredContent":{"a":1}}"#, r#"{"a":1}"#, false),
        (r#""result":{"structuredContent":{"a":1}}"#, r#"{"a":1}"#, false),
        (r#""result":{"toolResult":{"a":1}}"#, r#"{"a":1}"#, false),
        (r#""result":{"content":[{"type":"text","text":"bad"}],"isError":"true"}"#, "bad", true),
        (
            r#""result":{"content":[{"type":"text","text":"good"}],"isError":"false"}"#,
            "good",
            false,
        ),
        (
            r#""result":{"content":[{"type":"text","text":"x"}],"isError":"maybe"}"#,
            "`isError`",
            true,
        ),
        (r#""result":{"content":7}"#, "`content`", true),
        (
            r#""result":{"content":[{"type":"text","text":"null"}],"structuredContent":null}"#,
            "null",
            false,
        ),
        (
            r#""result":{"structuredContent":null}"#,
            "neither `content` nor `structuredContent`",
            true,
        ),
        (r#""result":{}"#, "neither `content` nor `structuredContent`", true),
        (r#""result":{"_meta":{}}"#, "neither `content` nor `structuredContent`", true),
        (r#""result":null"#, "neither a result nor an error", true),
        (r#""result":"ok""#, "cannot be read", true),
        (
            r#""result":{"content":[{"type":"resource_link","uri":"a://b","name":"n","size":"big","icons":7,"title":[]}]}"#,
            "a://b",
            false,
        ),
        (r#""result":{"content":[{"type":"text","text":"cut \ud83d"}]}"#, "cut \u{fffd}", false),
        (
            r#""result":{"content":[],"structuredContent":{"a":"\udc00","b":"\ud83d\ude00"}}"#,
            "{\"a\":\"\u{fffd}\",\"b\":\"\u{1f600}\"}",
            false,
        ),
        (r#""error":{"code":-32000,"message":"no \ud83d such"}"#, "no \u{fffd} such", true),
        (r#""error":{"code":"ENOENT","message":"no file"}"#, "ENOENT: no file", true),
        (r#""error":{"code":"-32001","message":"late"}"#, "(error -32001): late", true),
        (r#""error":{"code":1.5,"message":"half"}"#, "half", true),
        (r#""error":{"message":"codeless"}"#, "codeless", true),
        (r#""error":{"code":1}"#, "(error 1): no message", true),
        (r#""error":{"code":99999999999,"message":"far"}"#, "far", true),
        (r#""error":"in words""#, "in words", true),
        (
            r#""error":{"code":-32602,"message":"bad","data":{"path":"/a"}}"#,
            r#"bad; data: {"path":"/a"}"#,
            true,
        ),
        (r#""error":{"code":-32602,"message":"bad","data":"which"}"#, "bad; data: which", true),
        (r#""error":{"code":-32602,"message":"both"},"result":{"content":[]}"#, "both", true),
    ];
    for as_events in [false, true] {
        for (member, expected, fails) in cases {
            let mounted = mounted(one_tool(), member, as_events).await;
            let result = tokio::time::timeout(MOMENT, mounted.call("t", "{}")).await;
            let result = result.unwrap_or_else(|_| panic!("{member} does not end"));
            let text = result.text();
            assert!(text.contains(expected), "{member}: {text}");
            assert_eq!(result.is_error(), fails, "{member}: {text}");
            mounted.close().await;
        }
    }
}

#[tokio::test]
async fn the_data_of_an_error_is_bounded() {
    let member =
        format!(r#""error":{{"code":1,"message":"m","data":"{}"}}"#, "x".repeat(1_000_000));
    let mounted = mounted(one_tool(), &member, false).await;
    let text = mounted.call("t", "{}").await.text().into_owned();
    assert!(text.ends_with("xxx ..") && text.len() < 2200, "{} bytes", text.len());
    mounted.close().await;
}

#[tokio::test]
async fn members_that_are_no_part_of_the_protocol_are_named() {
    for (result, told) in [
        (r#"{"content":[{"type":"text","text":"x"}],"isError":false,"_meta":{"a":1}}"#, None),
        (r#"{"content":[{"type":"text","text":"x"}],"nextSteps":["y"]}"#, Some("`nextSteps`")),
        (
            r#"{"b":{"c":1},"content":[{"type":"text","text":"x","lang":"de","lang":1},{"type":"text","text":"y","lang":2}],"a":0}"#,
            Some("`a`, `b`, `content[].lang`"),
        ),
        (r#"{"content":"x","next\u202e":1}"#, Some("`next`")),
        (r#"{"content":{"type":"text","text":"x","n":0},"m":1}"#, Some("`content[].n`, `m`")),
        (r#"{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"content":[]}"#, Some("`1`, `2`, `3`, `4`, `5`")),
    ] {
        let mounted = mounted(one_tool(), &format!(r#""result":{result}"#), false).await;
        assert!(!mounted.call("t", "{}").await.is_error(), "{result}");
        let notices = mounted.status().notices;
        let expected = told.map(|names| {
            format!("its results have members that are no part of the protocol, left out: {names}")
        });
        assert_eq!(notices, expected.into_iter().collect::<Vec<_>>(), "{result}");
        mounted.close().await;
    }
}

#[tokio::test]
async fn an_empty_list_of_parts_is_an_empty_result() {
    let mounted = mounted(one_tool(), r#""result":{"content":[]}"#, false).await;
    let result = mounted.call("t", "{}").await;
    assert!(!result.is_error() && result.content().is_empty(), "{result:?}");
    mounted.close().await;
}

#[tokio::test]
async fn a_picture_of_another_form_is_mended_and_one_that_is_none_is_told() {
    let picture = |data: &str, mime: Value| json!({"content": [{"type": "image", "data": data, "mimeType": mime}]});
    // The same five bytes in each form.
    let right = json!({"type": "image", "data": "+/+/AQI=", "mimeType": "image/png"});
    let cases = [
        picture("+/+/AQI=", json!("image/png")),
        picture("+/+/AQI", json!("IMAGE/PNG")),
        picture("-_-_AQI=", json!("image/png; charset=binary")),
        picture("+/+/\r\nAQI=\n", json!("image/x-png")),
        picture("data:image/png;base64,+/+/AQI=", json!("image/png")),
        picture("data:image/png;base64,+/+/AQI=", json!(null)),
    ];
    for case in cases {
        let mounted = mounted(one_tool(), &format!(r#""result":{case}"#), false).await;
        let result = mounted.call("t", "{}").await;
        assert_eq!(json!(result.content()), json!([right]), "{case}");
        mounted.close().await;
    }
    for data in ["<svg/>", "A", "https://a.example/b.png"] {
        let case = picture(data, json!("image/png"));
        let mounted = mounted(one_tool(), &format!(r#""result":{case}"#), false).await;
        let result = mounted.call("t", "{}").await;
        let text = result.text();
        assert!(text.contains("which cannot be shown: the data is not base64"), "{data}: {text}");
        mounted.close().await;
    }
    // Documents too, whose bytes would be refused with each later request.
    for (blob, kind, expected) in [
        (
            "+/+/AQI",
            Some("application/pdf"),
            json!({"blob": "+/+/AQI=", "mimeType": "application/pdf"}),
        ),
        ("-_-_\r\nAQI=", None, json!({"blob": "+/+/AQI="})),
        (
            "<pdf>",
            Some("application/pdf"),
            json!({"text": "[a document of type application/pdf, which cannot be shown: the data is not base64: '<' at byte 0]", "mimeType": "application/pdf"}),
        ),
        (
            "A",
            None,
            json!({"text": "[a document, which cannot be shown: the data is not base64: its length, 1 bytes, is not a multiple of 4; padding may be missing]"}),
        ),
    ] {
        let mut document = json!({"uri": "test://a", "blob": blob});
        if let Some(kind) = kind {
            document["mimeType"] = kind.into();
        }
        let case = json!({"content": [{"type": "resource", "resource": document}]});
        let mounted = mounted(one_tool(), &format!(r#""result":{case}"#), false).await;
        let result = mounted.call("t", "{}").await;
        let mut expected = expected;
        expected["uri"] = "test://a".into();
        assert_eq!(json!(result.content()), json!([{"type": "resource", "resource": expected}]));
        mounted.close().await;
    }
}

#[tokio::test]
async fn an_odd_member_of_a_definition_is_left_out_and_told() {
    let schema = r#""inputSchema":{"type":"object"}"#;
    let odd = [
        (r#""description":7"#, "description (no text)"),
        (r#""title":["a"]"#, "title (no text)"),
        (r#""annotations":"none""#, "annotations (no object)"),
        (
            r#""annotations":{"readOnlyHint":"yes","title":3}"#,
            "annotations.readOnlyHint (no boolean), annotations.title (no text)",
        ),
        (r#""outputSchema":"none""#, "outputSchema (no object)"),
        (r#""_meta":[]"#, "_meta (no object)"),
    ];
    let tools: Vec<String> = odd
        .iter()
        .enumerate()
        .map(|(at, (member, _))| format!(r#"{{"name":"t{at}",{schema},{member}}}"#))
        .chain([format!(r#"{{"name":"half",{schema},"description":"cut \ud83d","icons":9}}"#)])
        .collect();
    let mounted =
        mounted(format!("[{}]", tools.join(",")), r#""result":{"content":[]}"#, false).await;
    let status = mounted.status();
    assert_eq!(status.tools.len(), odd.len() + 1, "{status:?}");
    assert!(status.withheld.is_empty(), "{status:?}");
    for (at, (_, told)) in odd.iter().enumerate() {
        let notice =
            format!("`t{at}`: its definition has members of a wrong form, left out: {told}");
        assert!(status.notices.contains(&notice), "{notice}: {:?}", status.notices);
    }
    assert!(
        status.notices.iter().any(|notice| notice.contains("now U+FFFD")),
        "{:?}",
        status.notices
    );
    let definitions = mounted.toolbox.definitions();
    let half = definitions.iter().find(|tool| tool.name == "s_half").unwrap();
    assert_eq!(half.description, "cut \u{fffd}");
    mounted.close().await;
}

#[tokio::test]
async fn a_version_and_an_end_are_read_from_the_meta_of_a_definition() {
    let cases = [
        (r#"{"fastmcp":{"tags":[],"version":"1.4.0"}}"#, Some("1.4.0"), None),
        (r#"{"fastmcp":{"version":2}}"#, Some("2"), None),
        (r#"{"fastmcp":{"version":""}}"#, None, None),
        (r#"{"fastmcp":{"version":["2"]}}"#, None, None),
        (r#"{"fastmcp":"2"}"#, None, None),
        (r#"{"version":"2","deprecated":true}"#, None, None),
        (r#"{"fastmcp":{"version":"2","deprecated":"use `u`"}}"#, Some("2"), Some("use `u`")),
        (r#"{"fastmcp":{"deprecated":true}}"#, None, Some("")),
        (r#"{"fastmcp":{"deprecated":false}}"#, None, None),
        (r#"{"fastmcp":{"deprecated":["u"]}}"#, None, None),
    ];
    let tools: Vec<String> = (cases.iter().enumerate())
        .map(|(at, (meta, ..))| {
            format!(r#"{{"name":"t{at}","inputSchema":{{"type":"object"}},"_meta":{meta}}}"#)
        })
        .collect();
    let mounted =
        mounted(format!("[{}]", tools.join(",")), r#""result":{"content":[]}"#, false).await;
    for (at, (meta, version, deprecated)) in cases.iter().enumerate() {
        let name = format!("s_t{at}");
        let tool = mounted.toolbox.get(&name).expect("the tool");
        assert_eq!(tool.definition().version().as_deref(), *version, "{meta}");
        assert_eq!(tool.definition().deprecated(), *deprecated, "{meta}");
        // The server says so in its results, if it does.
        let result = mounted.toolbox.call(ToolCall::new("1", &name, "{}")).await;
        assert!(!result.text().contains("deprecated"), "{meta}: {}", result.text());
    }
    mounted.close().await;
}
