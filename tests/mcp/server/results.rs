//! `tools/call`: what comes back, whatever happened, and what a tool is told of its caller.

use crate::bounded::tokio;
use futures_util::stream::{self, Stream};
use serde_json::{Value, json};
use toolbox::mcp::Service;
use toolbox::results::MemoryResults;
use toolbox::{Content, Tool, ToolBox, ToolContext, ToolResult, tool};

use super::peer::{ERAS, Era, Peer, text_of};
use super::tools::{all, find_many, quietly, service};
use super::web::{Request, Served};

#[tokio::test]
async fn a_panic_is_a_failed_result_and_the_connection_lives() {
    quietly();
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        let (text, failed) = text_of(&peer.call("panics", json!({})).await);
        assert!(failed && !text.contains("on purpose"), "{text}");
        assert_eq!(text_of(&peer.call("echo", json!({"word": "on"})).await).0, "on");
    }
}

#[tokio::test]
async fn a_failure_is_a_result_and_only_an_unknown_tool_is_an_error() {
    let cases = [
        ("add", json!({"a": 1}), "missing required argument `b`"),
        ("add", json!({"a": 1, "b": "x"}), "`b` must be an integer"),
        ("add", json!({"a": 1, "b": 2, "c": 3}), "`c`"),
        ("slow", json!({}), "did not finish"),
        ("find_none", json!({}), "nothing is there"),
    ];
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        for (tool, arguments, expected) in &cases {
            let answer = peer.call(tool, arguments.clone()).await;
            let (text, failed) = text_of(&answer);
            assert!(failed && text.contains(expected), "{tool}: {text}");
            assert_eq!(answer["result"].get("structuredContent"), None);
        }
        let answer = peer.call("serch", json!({})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["message"], "tool not found: serch");
    }
}

#[tokio::test]
async fn arguments_may_be_left_out() {
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        let answer = peer.request("tools/call", json!({"name": "hushed"})).await;
        assert_eq!(text_of(&answer).0, "for the model alone");
    }
}

#[tokio::test]
async fn arguments_beyond_the_limit_of_the_box_are_a_failed_result() {
    let mut peer = Peer::connect(service(), Era::Modern).await;
    let (text, failed) = text_of(&peer.call("echo", json!({"word": "x".repeat(2 << 20)})).await);
    assert!(failed && text.contains("at most 1048576 bytes"), "{text}");
}

#[tokio::test]
async fn every_kind_of_content_arrives_as_the_protocol_writes_it() {
    let parts = || {
        ToolResult::from(vec![
            Content::text("t"),
            Content::image(b"png", "image/png"),
            Content::audio(b"wav", "audio/wav"),
            Content::resource_text("a://b", "text/plain", "r"),
            Content::resource_bytes("a://c", "x/y", b"z"),
        ])
    };
    let toolbox = ToolBox::from(Tool::new("parts", "Has parts.").call(move |_| parts()));
    let mut peer = Peer::connect(Service::new(toolbox), Era::Modern).await;
    let answer = peer.call("parts", json!({})).await;
    assert_eq!(
        answer["result"],
        json!({"resultType": "complete", "isError": false, "content": [
            {"type": "text", "text": "t"},
            {"type": "image", "data": "cG5n", "mimeType": "image/png"},
            {"type": "audio", "data": "d2F2", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a://b", "mimeType": "text/plain", "text": "r"}},
            {"type": "resource", "resource": {"uri": "a://c", "mimeType": "x/y", "blob": "eg=="}},
        ]})
    );
}

#[tokio::test]
async fn a_structured_result_is_mirrored_as_text_and_fits_the_era() {
    let titles = json!({"titles": ["a"]});
    let cases: [(Era, &str, Value, Option<Value>); 5] = [
        (Era::Modern, "find_one", json!({"title": "a"}), Some(json!({"title": "a"}))),
        (Era::Modern, "find_many", titles.clone(), Some(json!([{"title": "a"}]))),
        (Era::Modern, "add", json!({"a": 1, "b": 1}), Some(json!(2))),
        (Era::Old, "find_one", json!({"title": "a"}), Some(json!({"title": "a"}))),
        (Era::Old, "find_many", titles, None),
    ];
    for (era, tool, arguments, expected) in cases {
        let mut peer = Peer::connect(service(), era).await;
        let answer = peer.call(tool, arguments).await;
        assert_eq!(answer["result"].get("structuredContent"), expected.as_ref(), "{answer}");
        if let Some(expected) = expected {
            assert_eq!(text_of(&answer), (expected.to_string(), false));
        }
    }
}

#[tokio::test]
async fn a_structured_result_that_is_too_large_is_a_failure() {
    let toolbox =
        ToolBox::builder().tools(find_many::tool()).max_result_bytes(200).build().unwrap();
    let mut peer = Peer::connect(Service::new(toolbox), Era::Modern).await;
    let answer = peer.call("find_many", json!({"titles": vec!["abc"; 100]})).await;
    let (text, failed) = text_of(&answer);
    assert!(
        failed && text.contains("the limit is 200; ") && text.contains("max_result_bytes"),
        "{text}"
    );
    assert_eq!(answer["result"].get("structuredContent"), None);
}

#[tokio::test]
async fn texts_say_whom_they_are_for() {
    let mut peer = Peer::connect(service(), Era::Modern).await;
    let answer = peer.call("for_two", json!({})).await;
    assert_eq!(
        answer["result"]["content"],
        json!([{"type": "text", "text": "for the model"},
            {"type": "text", "text": "for the user", "annotations": {"audience": ["user"]}}])
    );
    let answer = peer.call("hushed", json!({})).await;
    assert_eq!(answer["result"]["content"][0]["annotations"], json!({"audience": ["assistant"]}));
}

/// Reports more than what waits.
#[tool]
fn hurries(reports: u16, context: &ToolContext) -> &'static str {
    for done in 1..=reports {
        context.report_progress(f64::from(done), Some(f64::from(reports)), "");
    }
    "done"
}

/// Of many reports at once some may be left out, the last never, and all come before the answer.
#[tokio::test]
async fn the_last_report_of_progress_arrives() {
    for era in ERAS {
        let mut peer = Peer::connect(Service::new(ToolBox::from(hurries::tool())), era).await;
        for reports in [1_u16, 64, 65, 100, 1000] {
            let arguments = json!({"reports": reports});
            let params =
                json!({"name": "hurries", "arguments": arguments, "_meta": {"progressToken": 0}});
            assert_eq!(text_of(&peer.request("tools/call", params).await).0, "done");
            let notes = peer.notes.drain(..);
            let done: Vec<f64> =
                notes.map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
            assert_eq!(done.last(), Some(&f64::from(reports)), "{reports}: {done:?}");
            assert!(done.is_sorted() && done.len() <= usize::from(reports), "{done:?}");
        }
    }
}

/// Counts as fast as it is read.
#[tool]
fn counts(to: u32) -> impl Stream<Item = u32> {
    stream::iter(0..to)
}

/// None of the items of a tool that streams is left out, and all come before the answer.
#[tokio::test]
async fn items_of_a_stream_are_progress_with_their_text() {
    for era in ERAS {
        let mut peer = Peer::connect(Service::new(ToolBox::from(counts::tool())), era).await;
        for (to, token) in [(0_u32, true), (3, true), (500, true), (3, false)] {
            let mut params = json!({"name": "counts", "arguments": {"to": to}});
            if token {
                params["_meta"] = json!({"progressToken": 0});
            }
            let answer = peer.request("tools/call", params).await;
            let expected = (0..to).collect::<Vec<_>>();
            assert_eq!(text_of(&answer).0, json!(expected).to_string(), "{era:?}");
            let notes: Vec<Value> =
                peer.notes.drain(..).map(|note| note["params"].clone()).collect();
            let report = |at: &u32| json!({"progressToken": 0, "progress": f64::from(at + 1), "message": at.to_string()});
            let told: Vec<Value> = expected.iter().filter(|_| token).map(report).collect();
            assert_eq!(notes, told, "{era:?} {to}");
        }
    }
}

#[tokio::test]
async fn progress_goes_to_those_who_asked_and_only_forward() {
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        let params = json!({"name": "progress", "arguments": {}, "_meta": {"progressToken": "p1"}});
        assert_eq!(text_of(&peer.request("tools/call", params).await).0, "done");
        let notes: Vec<Value> = peer.notes.drain(..).map(|note| note["params"].clone()).collect();
        let report = |done: f64| json!({"progressToken": "p1", "progress": done, "total": 2.0});
        assert_eq!(notes, [report(1.0), report(2.0)], "{era:?}");

        assert_eq!(text_of(&peer.call("progress", json!({})).await).0, "done");
        assert!(peer.notes.is_empty());
    }
}

/// Each report has the token as it was sent, and comes before the answer; without a token that is
/// one, nothing is reported. A second request with the token of a first has its reports too.
#[tokio::test]
async fn a_token_of_progress_comes_back_as_it_was_sent() {
    let cases = [
        (json!(0), true),
        (json!(-7), true),
        (json!(""), true),
        (json!("text"), true),
        (json!(9_007_199_254_740_993_u64), true),
        (json!("\u{1f600} \"quoted\"\n"), true),
        (Value::Null, false),
        (json!(true), false),
        (json!([1]), false),
        (json!({"a": 1}), false),
    ];
    let service = || Service::new(ToolBox::from(hurries::tool()));
    let params = |token: &Value| json!({"name": "hurries", "arguments": {"reports": 3}, "_meta": {"progressToken": token}});
    let check = |what: &str, token: &Value, counts: bool, messages: &[Value]| {
        let (last, notes) = messages.split_last().expect("an answer");
        assert_eq!(text_of(last).0, "done", "{what}");
        let expected = if counts { vec![token; notes.len()] } else { vec![] };
        let tokens: Vec<&Value> =
            notes.iter().map(|note| &note["params"]["progressToken"]).collect();
        assert_eq!(tokens, expected, "{what}");
        assert_eq!(notes.is_empty(), !counts, "{what}");
    };
    let served = Served::start(service()).await;
    let session = served.open(&[]).await;
    for (token, counts) in &cases {
        for era in ERAS {
            let mut peer = Peer::connect(service(), era).await;
            for _ in 0..2 {
                let answer = peer.request("tools/call", params(token)).await;
                let messages: Vec<Value> = peer.notes.drain(..).chain([answer]).collect();
                check(&format!("{era:?} {token}"), token, *counts, &messages);
            }
            // Nothing is reported after the answer.
            peer.call("hurries", json!({"reports": 0})).await;
            assert!(peer.notes.is_empty(), "{era:?} {token}: {:?}", peer.notes);
        }
        let old =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params(token)});
        for request in [
            Request::modern("tools/call", params(token)),
            Request::old(&old).header("mcp-session-id", &session),
        ] {
            let answer = served.send(&request).await;
            let lines = answer.body.lines();
            let lines = lines.map(|line| line.strip_prefix("data: ").unwrap_or(line));
            let messages: Vec<Value> =
                lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
            let messages: Vec<Value> = messages.into_iter().filter(Value::is_object).collect();
            check(&format!("http {token}"), token, *counts, &messages);
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn a_tool_knows_who_calls_it() {
    let sampling = json!({"sampling": {}});
    let cases = [
        (Era::Old, json!({}), "peer 2025-11-25 false depth 0 trace none at nowhere"),
        (Era::Old, sampling.clone(), "peer 2025-11-25 true depth 0 trace none at nowhere"),
        (Era::Modern, json!({}), "peer 2026-07-28 false depth 0 trace none at nowhere"),
        (Era::Modern, sampling, "peer 2026-07-28 true depth 0 trace none at nowhere"),
    ];
    for (era, capabilities, expected) in cases {
        let mut peer = Peer::connect_with(service(), era, capabilities).await;
        assert_eq!(text_of(&peer.call("whoami", json!({})).await).0, expected);
    }
}

#[tokio::test]
async fn what_a_client_says_of_traces_and_depth_is_a_claim() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let cases = [
        (json!({"traceparent": trace}), format!("depth 0 trace {trace}")),
        (json!({"traceparent": trace.to_uppercase()}), "depth 0 trace none".into()),
        (json!({"traceparent": format!("{trace}\nx-evil: 1")}), "depth 0 trace none".into()),
        (json!({"traceparent": "00-0-0-0"}), "depth 0 trace none".into()),
        (json!({"traceparent": 7, "tracestate": "a=b"}), "depth 0 trace none".into()),
        (json!({"toolbox/depth": 3}), "depth 3 trace none".into()),
        (json!({"toolbox/depth": -3}), "depth 0 trace none".into()),
        (json!({"toolbox/depth": 1e30}), "depth 0 trace none".into()),
        (json!({"toolbox/depth": u64::MAX}), "depth 4294967295 trace none".into()),
    ];
    for (meta, expected) in cases {
        let mut peer = Peer::connect(service(), Era::Modern).await;
        let params = json!({"name": "whoami", "arguments": {}, "_meta": meta});
        let (text, failed) = text_of(&peer.request("tools/call", params).await);
        assert!(!failed && text.contains(&expected), "{meta}: {text}");
    }
}

#[tokio::test]
async fn what_a_client_lacks_is_said_as_its_era_says_it() {
    let mut peer = Peer::connect(service(), Era::Modern).await;
    let answer = peer.call("demanding", json!({})).await;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    let required = json!({"requiredCapabilities": {"elicitation": {"url": {}}}});
    assert_eq!(answer["error"]["data"], required);

    let mut peer = Peer::connect(service(), Era::Old).await;
    let (text, failed) = text_of(&peer.call("demanding", json!({})).await);
    assert!(failed && text.contains("`elicitation.url`"), "{text}");

    for era in ERAS {
        let able = json!({"elicitation": {"url": {}}});
        let mut peer = Peer::connect_with(service(), era, able).await;
        assert_eq!(text_of(&peer.call("demanding", json!({})).await).0, "asked");
    }
}

#[tokio::test]
async fn a_tool_for_clients_of_mcp_says_so_elsewhere() {
    let result = all().call(toolbox::ToolCall::new("1", "whoami", "{}")).await;
    assert_eq!(result.text(), "this tool can be called over MCP only");
}

#[tokio::test]
async fn a_kept_result_is_linked_and_read_whole() {
    let log = (1..=30_000).fold(String::new(), |log, number| log + &format!("{number} compiled\n"));
    let (text, picture) = (log.clone(), Content::image(b"PNG", "image/png"));
    let tools = vec![
        Tool::new("build", "Returns the log.").call(move |_| text.clone()),
        Tool::new("few", "Returns a word.").call(|_| "few"),
        Tool::new("mixed", "Returns a log and a picture.").call({
            let log = log.clone();
            move |_| ToolResult::from(vec![Content::text(log.clone()), picture.clone()])
        }),
    ];
    for era in ERAS {
        let toolbox =
            ToolBox::builder().tools(tools.clone()).keep_results(MemoryResults::new()).build();
        let toolbox = toolbox.unwrap();
        toolbox
            .register(Tool::new("own", "Has its own.").call(|_| "own").with_max_result_tokens(100));
        toolbox.register(
            Tool::new("told", "Was told.")
                .call(|_| "")
                .with_meta("anthropic/maxResultSizeChars", 7),
        );
        let mut peer = Peer::connect(Service::new(toolbox.clone()), era).await;
        let list = peer.request("tools/list", json!({})).await;
        for (name, characters) in [("build", 16_000), ("own", 400), ("told", 7)] {
            let tools = list["result"]["tools"].as_array().unwrap();
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"], characters, "{name}");
        }
        let answer = peer.call("build", json!({})).await;
        let content = answer["result"]["content"].as_array().unwrap();
        assert!(content[0]["text"].as_str().unwrap().starts_with("[r1: text of 30000 lines"));
        let link = json!({"type": "resource_link", "uri": "result://r1", "name": "r1",
            "description": "The whole result"});
        assert_eq!(content[1..], [link]);
        let read = peer.request("resources/read", json!({"uri": "result://r1"})).await;
        assert_eq!(read["result"]["contents"], json!([{"uri": "result://r1", "text": log}]));
        // A small result has no handle, and parts that are no text are read as well.
        let few = peer.call("few", json!({})).await;
        assert_eq!(few["result"]["content"].as_array().unwrap().len(), 1);
        peer.call("mixed", json!({})).await;
        let read = peer.request("resources/read", json!({"uri": "result://r2"})).await;
        assert_eq!(read["result"]["contents"][1]["mimeType"], "image/png");
        let code = if era == Era::Old { -32002 } else { -32602 };
        for uri in ["result://r3", "result://r0", "result://x", "result://", "result://r1/../r2"] {
            let answer = peer.request("resources/read", json!({"uri": uri})).await;
            assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
        }
        // Where reading is forbidden there is no link.
        toolbox.resources().blacklist("result://{handle}");
        let answer = peer.call("build", json!({})).await;
        assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1);
        let read = peer.request("resources/read", json!({"uri": "result://r1"})).await;
        assert_eq!(read["error"]["code"], code);
    }
}
