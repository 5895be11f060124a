use serde_json::{Value, json};

use super::OpenAiChat;
use crate::call::{ToolCall, ToolResult};
use crate::dialect::Dialect;
use crate::model::{Delta, Echo, Finish, History, ModelRequest, Part, Reply, Usage};
use crate::wire::openai::samples::{
    after, as_sent, call, events, histories, hostile, play, random, requests, tools,
};
use crate::wire::{Format, WireError};

const CALLS: &str = include_str!("recorded/calls.json");
const CALLS_STREAM: &str = include_str!("recorded/calls.sse");

fn body(request: &ModelRequest) -> Value {
    serde_json::from_str(&OpenAiChat::body(request, "gpt-4.1", false)).unwrap()
}

fn messages(history: History) -> Value {
    body(&ModelRequest::new(history))["messages"].take()
}

fn sample(name: &str) -> History {
    histories().into_iter().find(|(own, _)| *own == name).unwrap().1
}

/// A whole response with this choice.
fn whole(message: &Value, finish: &Value) -> Result<Reply, WireError> {
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]});
    OpenAiChat::response(&body.to_string()).map(|response| response.reply)
}

/// A stream of these deltas.
fn streamed(deltas: &[Value], finish: &str) -> (Vec<Delta>, Result<Reply, WireError>) {
    let mut chunks: Vec<String> = deltas
        .iter()
        .map(|delta| json!({"choices": [{"index": 0, "delta": delta}]}).to_string())
        .collect();
    chunks.push(json!({"choices": [{"delta": {}, "finish_reason": finish}]}).to_string());
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let (deltas, response) = play::<OpenAiChat>(&chunks);
    (deltas, response.map(|response| response.reply))
}

fn calls(reply: &Reply) -> Vec<(&str, &str, &str)> {
    let calls = reply.tool_calls();
    calls.map(|call| (&*call.id, &*call.name, call.arguments.as_str())).collect()
}

#[test]
fn a_request_is_written_as_the_service_takes_it() {
    let request = ModelRequest::new(sample("two calls"))
        .with_system("Be brief.")
        .with_tools(tools())
        .with_option("temperature", 0)
        .with_option("model", "other")
        .with_option("max_tokens", 9);
    let mut body = body(&request);
    assert_eq!(body["tools"].take(), tools().lowered(Dialect::OpenAiChat).to_value());
    assert_eq!(
        body,
        json!({
            "model": "gpt-4.1",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "Looking.", "tool_calls": [
                    {"id": "call_1", "type": "function",
                     "function": {"name": "search", "arguments": "{\"query\":\"a \\\"b\\\"\"}"}},
                    {"id": "call_2", "type": "function",
                     "function": {"name": "github_issues_eac4fc6c34b3", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "1"},
                {"role": "tool", "tool_call_id": "call_2", "content": "2"},
                {"role": "assistant", "content": "Done."}
            ],
            "tools": null,
            "temperature": 0,
            "max_tokens": 9
        })
    );
}

#[test]
fn options_replace_defaults_and_never_what_was_said() {
    let request = ModelRequest::new(History::from("x")).with_tools(tools());
    let cases = [
        (
            request
                .clone()
                .with_parallel_tool_calls(false)
                .with_option("parallel_tool_calls", Value::Null),
            "parallel_tool_calls",
            Value::Null,
        ),
        (request.clone().with_option("tool_choice", "required"), "tool_choice", json!("required")),
        (
            request.clone().with_option("messages", "x"),
            "messages",
            json!([{"role": "user", "content": "x"}]),
        ),
        (request.clone().with_option("stream", true), "stream", Value::Null),
        (
            request.clone().with_tools(vec![]).with_option("tool_choice", "auto"),
            "tool_choice",
            Value::Null,
        ),
        (request.clone().with_parallel_tool_calls(false), "parallel_tool_calls", json!(false)),
        (
            request.clone().with_option("parallel_tool_calls", true),
            "parallel_tool_calls",
            json!(true),
        ),
        (
            request.with_tools(vec![]).with_parallel_tool_calls(false),
            "parallel_tool_calls",
            Value::Null,
        ),
    ];
    for (request, key, expected) in cases {
        assert_eq!(body(&request)[key], expected, "{key}: {:?}", request.options);
    }
    let streaming = OpenAiChat::body(&ModelRequest::new(History::from("x")), "m", true);
    assert!(streaming.ends_with(r#""stream":true,"stream_options":{"include_usage":true}}"#));
}

#[test]
fn images_of_results_follow_after_all_results() {
    let messages = messages(sample("media in results"));
    let roles: Vec<&str> =
        messages.as_array().unwrap().iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user", "assistant"]);
    assert_eq!(
        messages[2]["content"],
        "shot\n[image of type image/png, which follows after the results]\n\
         [audio of type audio/mp3, which follows after the results]"
    );
    assert!(messages[3]["content"].as_str().unwrap().contains("[document file:///n.txt]\nnote"));
    let kinds: Vec<&str> = messages[4]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p["type"].as_str())
        .collect();
    assert_eq!(kinds, ["text", "image_url", "input_audio", "text", "image_url", "file"]);
    assert_eq!(messages[4]["content"][1]["image_url"]["url"], "data:image/png;base64,iVBORw==");
}

#[test]
fn what_is_blank_is_not_sent() {
    let messages = messages(sample("blank"));
    assert_eq!(
        messages,
        json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}])
    );
}

#[test]
fn reasoning_goes_back_beside_calls_where_it_came_from() {
    let message = json!({"role": "assistant", "content": null, "reasoning_content": "hm",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "sig"}}}]});
    let reply = whole(&message, &json!("tool_calls")).unwrap();
    let sent = messages(after(History::from("x"), reply, [ToolResult::new("12")]));
    assert_eq!(sent[1], message);

    let thought = |dialect| Part::Reasoning {
        text: "hm".into(),
        echo: Some(Echo::new(dialect, json!({"reasoning_content": "hm"}))),
    };
    let cases = [
        // An answer goes back without it, and so does what another service thought.
        Reply::new(vec![thought(Dialect::OpenAiChat), Part::text("done")]),
        Reply::new(vec![thought(Dialect::Anthropic), Part::call(call("a", "now", "{}"))]),
    ];
    for reply in cases {
        let sent = messages(after(History::from("x"), reply, []));
        assert_eq!(sent[1].get("reasoning_content"), None);
    }
    // Blocks of it are shown, and their form is nobody's to send.
    let blocks = json!([{"type": "text", "text": "hm"}]);
    let display = whole(&json!({"content": "x", "reasoning": blocks}), &Value::Null).unwrap();
    assert_eq!(display.parts[0], Part::Reasoning { text: "hm".into(), echo: None });
}

#[test]
fn calls_of_custom_tools_are_read_and_go_back_as_they_came() {
    for input in ["SELECT 1", "", "say \"hi\"\n\u{1F600}", "{\"input\": 1}"] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "custom", "custom": {"name": "query", "input": input}},
            {"id": "b", "type": "function", "function": {"name": "now", "arguments": "{}"}}]});
        let reply = whole(&message, &json!("tool_calls")).unwrap();
        let arguments = json!({ "input": input }).to_string();
        assert_eq!(calls(&reply), [("a", "query", arguments.as_str()), ("b", "now", "{}")]);
        let results = [ToolResult::new("1"), ToolResult::new("12")];
        let sent = messages(after(History::from("x"), reply.clone(), results));
        assert_eq!((&sent[1], &sent[2]["tool_call_id"]), (&message, &json!("a")));

        // A stream has the text in pieces, and the deltas are the JSON that the call is read as.
        let half = input.char_indices().nth(input.chars().count() / 2).map_or(0, |(at, _)| at);
        let piece = |piece: Value| json!({"tool_calls": [piece]});
        let (deltas, streamed) = streamed(
            &[
                piece(
                    json!({"index": 0, "id": "a", "type": "custom", "custom": {"name": "query", "input": ""}}),
                ),
                piece(json!({"index": 0, "custom": {"input": input[..half]}})),
                piece(json!({"index": 0, "custom": {"input": input[half..]}})),
                piece(
                    json!({"index": 1, "id": "b", "type": "function", "function": {"name": "now", "arguments": "{}"}}),
                ),
            ],
            "tool_calls",
        );
        assert_eq!(streamed.unwrap(), reply, "{input}");
        let written: String = deltas
            .into_iter()
            .filter_map(|delta| match delta {
                Delta::Arguments { index: 0, text } => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(written, arguments);
    }
}

#[test]
fn a_recorded_reply_is_the_same_whole_and_streamed() {
    let response = OpenAiChat::response(CALLS).unwrap();
    assert_eq!(response.reply.content(), "Let me look.");
    assert_eq!(
        calls(&response.reply),
        [("call_a", "search", r#"{"query":"macros"}"#), ("call_b", "now", "")]
    );
    assert_eq!(response.reply.finish, Finish::Calls);
    let usage = Usage { cache_read_input_tokens: 64, reasoning_tokens: 5, ..Usage::new(82, 37) };
    assert_eq!(response.usage, usage);

    let events = events(CALLS_STREAM);
    let (deltas, streamed) = play::<OpenAiChat>(&events);
    assert_eq!(streamed.unwrap(), response);
    let arguments = |text: &str| Delta::Arguments { index: 1, text: text.into() };
    assert_eq!(
        deltas,
        [
            Delta::Text("Let me ".into()),
            Delta::Text("look.".into()),
            Delta::Call { index: 1, id: "call_a".into(), name: "search".into() },
            arguments("{\"query\":"),
            arguments("\"macros\"}"),
            Delta::Call { index: 2, id: "call_b".into(), name: "now".into() },
        ]
    );
    // Cut anywhere before the reason, it is no reply, though its calls look complete.
    for cut in 0..events.len() - 3 {
        assert_eq!(play::<OpenAiChat>(&events[..cut]).1, Err(WireError::CutOff), "{cut}");
    }
    assert!(play::<OpenAiChat>(&events[..events.len() - 2]).1.is_ok());
}

/// A message, the reason the service gives, and the reply: how it ended, its text, its calls.
type Case = (Value, Value, Finish, &'static str, Vec<(&'static str, &'static str, &'static str)>);

#[test]
fn replies_of_many_services_are_read() {
    let function = |arguments: Value| json!({"function": {"name": "now", "arguments": arguments}});
    let cases: Vec<Case> = vec![
        (json!({"content": "hi"}), json!("stop"), Finish::Stop, "hi", vec![]),
        (json!({"content": "hi"}), Value::Null, Finish::Stop, "hi", vec![]),
        (json!({"content": "hi"}), json!("length"), Finish::Length, "hi", vec![]),
        (json!({"content": ""}), json!("content_filter"), Finish::Refusal, "", vec![]),
        (json!({"content": null, "refusal": "no"}), json!("stop"), Finish::Refusal, "no", vec![]),
        (json!({"content": "hi"}), json!("novel"), Finish::Other("novel".into()), "hi", vec![]),
        (json!({"content": "hi"}), json!("tool_calls"), Finish::Stop, "hi", vec![]),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            json!("stop"),
            Finish::Stop,
            "ab",
            vec![],
        ),
        (
            json!({"content": [{"type": "refusal", "refusal": "no"}]}),
            json!("stop"),
            Finish::Refusal,
            "no",
            vec![],
        ),
        (
            json!({"tool_calls": [function(json!({"a": 1.0})), function(json!("{")), function(Value::Null)]}),
            json!("stop"),
            Finish::Calls,
            "",
            vec![("", "now", r#"{"a":1.0}"#), ("", "now", "{"), ("", "now", "")],
        ),
        (
            json!({"function_call": {"name": "now", "arguments": "{}"}}),
            json!("function_call"),
            Finish::Calls,
            "",
            vec![("", "now", "{}")],
        ),
        (
            json!({"role": null, "content": null, "tool_calls": null, "refusal": null, "reasoning_content": null,
                "reasoning": null, "function_call": null}),
            Value::Null,
            Finish::Stop,
            "",
            vec![],
        ),
    ];
    for (message, finish, expected, text, expected_calls) in cases {
        let reply = whole(&message, &finish).unwrap();
        assert_eq!(reply.finish, expected, "{message}");
        assert_eq!(reply.content(), text, "{message}");
        assert_eq!(calls(&reply), expected_calls, "{message}");
    }
}

#[test]
fn streams_of_many_services_come_to_the_same_reply() {
    let piece = |call: Value| json!({"tool_calls": [call]});
    let first = json!({"index": 0, "id": "a", "type": "function", "function": {"name": "now", "arguments": "{\"x\""}});
    let second = json!({"index": 1, "id": "b", "function": {"name": "search", "arguments": "{}"}});
    let without_index = |mut call: Value| {
        call.as_object_mut().unwrap().remove("index");
        call
    };
    let all_zero = |mut call: Value| {
        call["index"] = json!(0);
        call
    };
    let huge = |mut call: Value| {
        call["index"] = json!(call["index"].as_u64().unwrap() + (1_u64 << 40));
        call
    };
    let rest = json!({"index": 0, "function": {"arguments": ":1}"}});
    let repeated = json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": ":1}"}});
    let null = json!({"index": 0, "id": null, "function": {"name": null, "arguments": ":1}"}});
    let dialects: Vec<Vec<Value>> = vec![
        vec![first.clone(), rest.clone(), second.clone()],
        vec![first.clone(), second.clone(), rest.clone()],
        vec![first.clone(), repeated.clone(), second.clone()],
        vec![first.clone(), null, second.clone()],
        vec![huge(first.clone()), huge(rest.clone()), huge(second.clone())],
        vec![
            without_index(first.clone()),
            without_index(rest.clone()),
            without_index(second.clone()),
        ],
        vec![without_index(first.clone()), without_index(second.clone()), without_index(repeated)],
        vec![all_zero(first.clone()), all_zero(rest.clone()), all_zero(second.clone())],
        vec![
            json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": {"x": 1}}}),
            second.clone(),
        ],
        vec![json!({"index": 0}), first, rest, second],
    ];
    for pieces in dialects {
        let pieces: Vec<Value> = pieces.into_iter().map(piece).collect();
        let (deltas, reply) = streamed(&pieces, "tool_calls");
        assert_eq!(
            calls(&reply.unwrap()),
            [("a", "now", r#"{"x":1}"#), ("b", "search", "{}")],
            "{pieces:?}"
        );
        let begun = deltas.iter().filter(|delta| matches!(delta, Delta::Call { .. })).count();
        assert_eq!(begun, 2, "{pieces:?}");
    }
}

#[test]
fn a_streamed_reply_equals_the_whole_one() {
    let cases = [
        json!({"content": "hi ☃"}),
        json!({"content": "hi", "reasoning_content": "hm hm"}),
        json!({"content": "hi", "reasoning": "hm hm"}),
        json!({"content": "a", "reasoning": "r", "reasoning_content": "r"}),
        json!({"refusal": "I can not"}),
        json!({"content": "x", "tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{\"a\":\"bc\"}"}, "extra_content": {"g": 1}},
            {"index": 1, "id": "b", "function": {"name": "now", "arguments": ""}}]}),
        json!({"function_call": {"name": "now", "arguments": "{}"}}),
    ];
    for message in cases {
        let mut deltas = Vec::new();
        for (key, value) in message.as_object().unwrap() {
            match value {
                Value::String(text) => deltas
                    .extend(text.chars().map(|letter| json!({ key.as_str(): letter.to_string() }))),
                other => deltas.push(json!({ key.as_str(): other })),
            }
        }
        let reply = whole(&message, &json!("stop")).unwrap();
        assert_eq!(streamed(&deltas, "stop").1.unwrap(), reply, "{message}");
    }
}

#[test]
fn failures_in_a_body_or_a_stream_are_told() {
    let cases = [
        (
            r#"{"error":{"message":"m","type":"t","code":"context_length_exceeded"}}"#,
            "context_length_exceeded",
            "m",
        ),
        (r#"{"error":{"message":"m","type":"server_error","code":null}}"#, "server_error", "m"),
        (r#"{"error":{"message":"m","code":502}}"#, "502", "m"),
        (r#"{"error":"m"}"#, "error", "m"),
        (r#"{"object":"error","message":"m","code":40003}"#, "error", "m"),
        (r#"{"choices":[{"error":{"message":"m","code":"x"},"finish_reason":"error"}]}"#, "x", "m"),
        (
            r#"{"choices":[{"message":{},"delta":{},"finish_reason":"error"}]}"#,
            "error",
            "the reply ended with an error that is not described",
        ),
    ];
    for (body, kind, message) in cases {
        let expected = WireError::Service { kind: kind.into(), message: message.into() };
        assert_eq!(OpenAiChat::response(body), Err(expected.clone()), "{body}");
        assert_eq!(play::<OpenAiChat>(&[body]).1, Err(expected), "{body}");
    }
}

#[test]
fn hostile_documents_are_errors() {
    for document in hostile() {
        assert!(OpenAiChat::response(&document).is_err(), "{document:.80}");
        assert!(play::<OpenAiChat>(&[&document]).1.is_err(), "{document:.80}");
    }
    let cases = [r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"x"}}]}}]}"#];
    for case in cases {
        assert!(matches!(play::<OpenAiChat>(&[case]).1, Err(WireError::Invalid(_))), "{case}");
    }
    let deep = "[".repeat(100_000);
    for document in
        ["", "{}", "null", "[1]", r#"[{"role":"x"}]"#, r#"[{"role":"user","content":1}]"#, &deep]
    {
        assert!(OpenAiChat::history(document).is_err(), "{document:.40}");
    }
}

#[test]
fn ten_thousand_calls_are_read_and_written() {
    let many: Vec<ToolCall> = (0..10_000).map(|n| call(&format!("c{n}"), "now", "{}")).collect();
    let pieces: Vec<Value> = (0..10_000)
        .map(|n| {
            json!({"tool_calls": [{"index": n, "id": format!("c{n}"),
            "function": {"name": "now", "arguments": "{}"}}]})
        })
        .collect();
    let reply = streamed(&pieces, "tool_calls").1.unwrap();
    assert_eq!(reply, Reply::calls(many));
    let sent = messages(after(History::from("x"), reply, []));
    assert_eq!(sent.as_array().unwrap().len(), 10_002);
}

#[test]
fn transcripts_read_back_as_they_were_said() {
    for seed in 0..300 {
        let history = random(seed);
        let request = ModelRequest::new(history.clone()).with_tools(tools()).with_system("s");
        let read = OpenAiChat::history(&body(&request)["messages"].to_string()).unwrap();
        assert_eq!(read.system.as_deref(), Some("s"));
        assert_eq!(read.repairs, []);
        assert_eq!(read.history, as_sent::<OpenAiChat>(&history), "{seed}");
    }
}

#[test]
fn what_was_read_is_written_the_same_again() {
    for (name, request, _) in requests() {
        let request = request.with_tools(tools());
        let first = body(&request)["messages"].to_string();
        let read = OpenAiChat::history(&first).unwrap();
        let mut again = ModelRequest::new(read.history).with_tools(tools());
        again.system = read.system;
        assert_eq!(body(&again)["messages"].to_string(), first, "{name}");
    }
}

#[test]
fn transcripts_from_elsewhere_are_read() {
    let messages = json!([
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            {"type": "video_url", "video_url": {}}]},
        {"role": "assistant", "content": null, "function_call": {"name": "now", "arguments": "{}"}},
        {"role": "function", "name": "now", "content": "12"},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "now"}}]},
        {"role": "assistant", "content": null},
        {"role": "tool", "tool_call_id": "z", "content": "stray"}
    ]);
    let read = OpenAiChat::history(&messages.to_string()).unwrap();
    assert_eq!(read.system.as_deref(), Some("Be brief."));
    let steps: Vec<_> = read.history.steps().collect();
    assert_eq!(steps[0].results()[0].text(), "12");
    assert!(steps[1].results()[0].is_error());
    assert_eq!(steps.len(), 2);
    assert_eq!(
        read.history.last_user_text().unwrap(),
        "[image at https://x/y.png]\n[part of type video_url]"
    );
}
