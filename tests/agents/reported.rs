//! Replies and results that made other libraries fail, as their users reported it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::{Value, json};
use toolbox::agent::StopReason;
use toolbox::model::{FoundMessage, History, ModelRequest, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::wire::{
    Anthropic, Format, Gemini, GeminiInteractions, OpenAiChat, OpenAiResponses, ResponseStream,
};
use toolbox::{Content, ToolCall, ToolResult};

use crate::bounded::tokio;
use support::{agent, counted};

/// Reads a stream; returns its calls, or `None` if it is refused.
fn calls<F: Format>(events: &[Value]) -> Option<Vec<(String, String)>> {
    let mut stream = F::Stream::default();
    for event in events {
        stream.event(&event.to_string(), &mut |_| {}).ok()?;
    }
    let reply = stream.finish().ok()?.reply;
    let calls = reply.tool_calls();
    Some(calls.map(|call| (call.name.clone(), call.arguments.to_string())).collect())
}

/// What it shows, the pieces of each chunk, and the calls, if they are not refused.
type ImitatedCase<'a> = (&'a str, Vec<Vec<Value>>, Option<&'a [(&'a str, &'a str)]>);

#[test]
fn calls_of_imitating_services_come_out_apart_or_not_at_all() {
    const A: &str = r#"{"city":"A"}"#;
    const B: &str = r#"{"city":"B"}"#;
    let chunk = |pieces: &[Value]| json!({"choices": [{"delta": {"tool_calls": pieces}}]});
    let f = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let gemini = |name: &str, text: &str| json!({"index": 0, "id": "", "function": f(name, text)});
    let of = |id: &str, function: Value| json!({"id": id, "function": function});
    let text = |text: &str| json!({"arguments": text});
    let cases: [ImitatedCase<'_>; 8] = [
        (
            "one index, empty ids, one name",
            vec![vec![gemini("weather", A)], vec![gemini("weather", B)]],
            Some(&[("weather", A), ("weather", B)]),
        ),
        (
            "one index, empty ids, two names",
            vec![vec![gemini("weather", A)], vec![gemini("time", B)]],
            Some(&[("weather", A), ("time", B)]),
        ),
        (
            "one index, a second object without a name, which is refused",
            vec![
                vec![json!({"index": 0, "id": "c", "function": f("weather", A)})],
                vec![json!({"index": 0, "function": f("", B)})],
            ],
            None,
        ),
        (
            "one index, both in one chunk",
            vec![vec![gemini("weather", A), gemini("weather", B)]],
            Some(&[("weather", A), ("weather", B)]),
        ),
        (
            "no index, the id in each piece, arguments before the name",
            vec![vec![of("c1", text("{\"a\""))], vec![of("c1", f("f", ":1}"))]],
            Some(&[("f", r#"{"a":1}"#)]),
        ),
        (
            "no index, calls in turns",
            vec![
                vec![of("c1", f("f", "{\"a\""))],
                vec![of("c2", f("g", "{\"b\""))],
                vec![of("c1", text(":1}"))],
                vec![of("c2", text(":2}"))],
            ],
            Some(&[("f", r#"{"a":1}"#), ("g", r#"{"b":2}"#)]),
        ),
        (
            "neither index nor id, the name in each piece",
            vec![
                vec![json!({"function": f("f", "{\"a\":")})],
                vec![json!({"function": f("f", "1}")})],
            ],
            Some(&[("f", r#"{"a":1}"#)]),
        ),
        ("nothing", vec![], Some(&[])),
    ];
    for (what, chunks, expected) in cases {
        let mut events: Vec<Value> = chunks.iter().map(|pieces| chunk(pieces)).collect();
        events.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
        let expected = expected
            .map(|calls| calls.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect::<Vec<_>>());
        assert_eq!(calls::<OpenAiChat>(&events), expected, "{what}");
    }
}

/// The items at the end decide what is called, whatever the pieces before were said to belong to.
#[test]
fn the_items_of_a_reply_decide_what_is_called() {
    let item = |n: u32, name: &str, text: &str| json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": format!("c{n}"), "name": name, "arguments": text});
    let added = |n: u32, name: &str| json!({"type": "response.output_item.added", "output_index": n, "item": item(n, name, "")});
    let done = |n: u32, name: &str, text: &str| json!({"type": "response.output_item.done", "output_index": n, "item": item(n, name, text)});
    let delta = |id: &str, index: u32, text: &str| json!({"type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": text});
    let (a, b) = ("{\"a\":1}", "{\"b\":2}");
    let pieces = [
        ("other ids", vec![delta("x2", 2, b), delta("x1", 1, a)]),
        ("one place", vec![delta("fc_2", 1, b), delta("fc_1", 1, a)]),
        ("neither", vec![delta("x", 1, b), delta("x", 1, a)]),
    ];
    for (what, pieces) in pieces {
        let mut events = vec![added(1, "read"), added(2, "wipe")];
        events.extend(pieces);
        events.extend([done(1, "read", a), done(2, "wipe", b)]);
        let whole =
            json!({"status": "completed", "output": [item(1, "read", a), item(2, "wipe", b)]});
        events.push(json!({"type": "response.completed", "response": whole}));
        let right = vec![("read".to_owned(), a.to_owned()), ("wipe".to_owned(), b.to_owned())];
        // Where the pieces contradict the items, no call at all is made.
        let came = calls::<OpenAiResponses>(&events);
        assert!(came.as_ref().is_none_or(|came| *came == right), "{what}: {came:?}");
        assert!(what == "neither" || came.is_some(), "{what}");
    }
}

fn bodies(request: &ModelRequest) -> [(&'static str, Value); 5] {
    [
        ("chat", OpenAiChat::body(request, "m", false)),
        ("responses", OpenAiResponses::body(request, "m", false)),
        ("anthropic", Anthropic::body(request, "m", false)),
        ("gemini", Gemini::body(request, "m", false)),
        ("interactions", GeminiInteractions::body(request, "m", false)),
    ]
    .map(|(name, body)| (name, serde_json::from_str(&body).unwrap()))
}

/// Returns the names of calls, results and tools in a body.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(all) => all.iter().flat_map(names).collect(),
        Value::Object(all) => {
            let own = all.get("name").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(all.values().flat_map(names)).collect()
        }
        _ => Vec::new(),
    }
}

/// Names that models garble go back as names that services take, and a loop of them ends, although
/// each is another one.
#[tokio::test]
async fn names_that_are_garbled_go_back_as_names_and_do_not_loop() {
    let garbled = [
        "search<|channel|>commentary",
        "functions.search",
        "search<|constrain|>json",
        "assistant<|channel|>analysis to=functions.search",
        "multi_tool_use.parallel",
    ];
    let count = Arc::new(AtomicUsize::new(0));
    let model = garbled.iter().fold(ScriptedModel::new(), |model, name| model.calls(*name, "{}"));
    let outcome = agent(&model.text("done"), vec![counted("search", &count)]).run("x").await;
    assert_eq!(count.load(SeqCst), 0);
    let request = ModelRequest::new(outcome.unwrap().history);
    for (format, body) in bodies(&request) {
        for name in names(&body) {
            let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            assert!(name.len() <= 64 && name.bytes().all(is_fit), "{format}: {name}");
        }
    }
    let again = (0..50).fold(ScriptedModel::new(), |model, at| {
        model.calls(format!("search<|channel|>{at}"), "{}")
    });
    let outcome = agent(&again, vec![counted("search", &count)]).run("x").await.unwrap();
    assert_eq!((outcome.reason, count.load(SeqCst)), (StopReason::Repeated, 0));
}

/// A part that a service does not take is told as a text; one that it takes is there as it is.
#[test]
fn a_part_that_cannot_be_sent_is_told() {
    let large = vec![0; 7 << 20];
    let parts = [
        ("a vector picture", Content::image(b"<svg/>", "image/svg+xml")),
        ("an empty picture", Content::image(b"", "image/png")),
        ("a picture of an unknown type", Content::image(b"x", "image/x-unknown")),
        ("a picture that is too large", Content::image(&large, "image/png")),
        ("an archive", Content::resource_bytes("a.bin", "application/x-thing", b"x")),
        ("an empty document", Content::resource_bytes("a.pdf", "application/pdf", b"")),
    ];
    for (what, part) in parts {
        let reply = Reply::calls([ToolCall::new("a", "t", "{}"), ToolCall::new("b", "t", "{}")]);
        let result = |id: &str, result| FoundMessage::Result { call_id: id.to_owned(), result };
        let messages = [
            FoundMessage::User(vec![Content::text("x")]),
            FoundMessage::Reply(reply),
            result("a", ToolResult::from(vec![part])),
            result("b", ToolResult::new("plain")),
        ];
        let request = ModelRequest::new(History::repaired(messages).0);
        for (format, body) in bodies(&request) {
            let text = body.to_string();
            assert!(text.contains("plain"), "{format}, {what}");
            let is_told = text.contains("cannot be shown here");
            assert!(
                is_told || what == "a picture that is too large" && format != "anthropic",
                "{format}, {what}: {text:.2000}"
            );
        }
    }
}
