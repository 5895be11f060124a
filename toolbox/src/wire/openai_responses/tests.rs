use serde_json::{Value, json};

use super::OpenAiResponses;
use crate::content::Content;
use crate::model::{Delta, Echo, Finish, History, ModelRequest, Part, Reply, Usage};
use crate::schema::Dialect;
use crate::wire::openai::samples::{
    after, as_sent, call, events, histories, hostile, play, random, requests, tools,
    write_documents,
};
use crate::wire::{Format, WireError};
use crate::{ToolCall, ToolResult};

const CALLS: &str = include_str!("recorded/calls.json");
const CALLS_STREAM: &str = include_str!("recorded/calls.sse");

fn body(request: &ModelRequest) -> Value {
    serde_json::from_str(&OpenAiResponses::body(request, "gpt-5", false)).unwrap()
}

fn input(history: History) -> Value {
    body(&ModelRequest::new(history))["input"].take()
}

fn sample(name: &str) -> History {
    histories().into_iter().find(|(own, _)| *own == name).unwrap().1
}

fn whole(fields: &Value) -> Result<Reply, WireError> {
    OpenAiResponses::response(&fields.to_string()).map(|response| response.reply)
}

fn text_item(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

#[test]
fn a_request_is_written_as_the_service_takes_it() {
    let request = ModelRequest::new(sample("two calls"))
        .with_system("Be brief.")
        .with_tools(tools())
        .with_option("max_tokens", 9)
        .with_option("reasoning_effort", "low");
    let mut body = body(&request);
    assert_eq!(body["tools"].take(), tools().lowered(Dialect::OpenAiResponses).to_value());
    assert_eq!(
        body,
        json!({
            "model": "gpt-5",
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "Looking."},
                {"type": "function_call", "call_id": "call_1", "name": "search",
                 "arguments": "{\"query\":\"a \\\"b\\\"\"}"},
                {"type": "function_call", "call_id": "call_2", "name": "github_issues_eac4fc6c34b3",
                 "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "1"},
                {"type": "function_call_output", "call_id": "call_2", "output": "2"},
                {"role": "assistant", "content": "Done."}
            ],
            "tools": null,
            "parallel_tool_calls": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 9,
            "reasoning": {"effort": "low"}
        })
    );
}

#[test]
fn options_replace_defaults_and_never_what_was_said() {
    let request = ModelRequest::new(History::from("x")).with_system("s");
    let cases = [
        (request.clone().with_option("store", true), "store", json!(true)),
        (request.clone().with_option("include", json!([])), "include", json!([])),
        (request.clone().with_option("include", Value::Null), "include", Value::Null),
        (
            request.clone().with_option("max_tokens", 1).with_option("max_output_tokens", 2),
            "max_output_tokens",
            json!(2),
        ),
        (request.clone().with_option("max_tokens", 1), "max_tokens", Value::Null),
        (request.clone().with_option("instructions", "t"), "instructions", json!("s")),
        (
            request.clone().with_option("input", "t"),
            "input",
            json!([{"role": "user", "content": "x"}]),
        ),
        (request.with_option("tool_choice", "auto"), "tool_choice", Value::Null),
    ];
    for (request, key, expected) in cases {
        assert_eq!(body(&request)[key], expected, "{key}: {:?}", request.options);
    }
    let request = ModelRequest::new(History::from("x"));
    for (model, asked) in [
        ("gpt-5", true),
        ("o3", true),
        ("gpt-oss-120b", true),
        ("gpt-4.1", false),
        ("ft:gpt-4o:me", false),
        ("openai/gpt-4o", false),
        ("gpt-5-chat-latest", false),
    ] {
        let body = OpenAiResponses::body(&request, model, true);
        assert_eq!(body.contains("encrypted_content"), asked, "{model}");
        assert!(body.contains(r#""stream":true"#));
    }
}

#[test]
fn images_are_part_of_results() {
    let input = input(sample("media in results"));
    assert_eq!(
        input[4]["output"],
        json!([
            {"type": "input_text", "text": "shot"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="},
            {"type": "input_text", "text": "[audio of type audio/mp3, which cannot be shown here]"}
        ])
    );
    let kinds: Vec<&str> =
        input[5]["output"].as_array().unwrap().iter().filter_map(|p| p["type"].as_str()).collect();
    assert_eq!(kinds, ["input_image", "input_text", "input_file", "input_text"]);
}

/// A transcript with items that have to go back.
fn recorded() -> History {
    let reply = OpenAiResponses::response(CALLS).unwrap().reply;
    after(History::from("x"), reply, [ToolResult::new("1"), ToolResult::new("2")])
}

#[test]
fn items_go_back_as_they_came() {
    let sent = input(recorded());
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": "x"},
            {"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAAAB", "summary": [
                {"type": "summary_text", "text": "Two things."}, {"type": "summary_text", "text": "Search first."}]},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [
                {"type": "output_text", "text": "Let me look.", "annotations": []}], "phase": "commentary"},
            {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "search",
                "arguments": "{\"query\":\"macros\"}"},
            {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_a", "output": "1"},
            {"type": "function_call_output", "call_id": "call_b", "output": "2"}
        ])
    );
}

#[test]
fn a_call_that_was_renamed_stays_paired() {
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "same", "name": "now", "arguments": "{}"});
    let reply = whole(&json!({"output": [item, item]})).unwrap();
    let sent =
        input(after(History::from("x"), reply, [ToolResult::new("1"), ToolResult::new("2")]));
    assert_eq!(sent[1]["call_id"], sent[3]["call_id"]);
    assert_eq!(sent[2]["call_id"], sent[4]["call_id"]);
    assert_ne!(sent[1]["call_id"], sent[2]["call_id"]);
}

#[test]
fn reasoning_is_sent_only_where_it_is_understood() {
    let reasoning = |item: Value| Part::Reasoning {
        text: String::new(),
        echo: Some(Echo::new(Dialect::OpenAiResponses, item)),
    };
    let known = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    let open = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}]});
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let computer = json!({"type": "computer_call", "id": "cu_1", "call_id": "c", "action": {}});
    let other = |item: &Value| Part::Other(Echo::new(Dialect::OpenAiResponses, item.clone()));
    let cases = [
        (vec![reasoning(known.clone()), Part::text("a")], vec!["reasoning", "message"]),
        (vec![reasoning(open), Part::text("a")], vec!["reasoning", "message"]),
        (vec![reasoning(bare.clone()), Part::text("a")], vec!["message"]),
        // Nothing followed it.
        (vec![Part::text("a"), reasoning(known.clone())], vec!["message"]),
        (vec![reasoning(known.clone())], vec![]),
        (
            vec![reasoning(known.clone()), other(&search), Part::text("a")],
            vec!["reasoning", "web_search_call", "message"],
        ),
        (vec![reasoning(known), other(&computer)], vec![]),
    ];
    let kinds = |sent: &Value| -> Vec<String> {
        let items = sent.as_array().unwrap().iter().skip(1);
        items.map(|item| item["type"].as_str().unwrap_or("message").to_owned()).collect()
    };
    for (parts, expected) in cases {
        let sent = input(after(History::from("x"), Reply::new(parts.clone()), []));
        assert_eq!(kinds(&sent), expected, "{parts:?}");
    }
    let history = after(History::from("x"), Reply::new(vec![reasoning(bare), Part::text("a")]), []);
    let stored = body(&ModelRequest::new(history).with_option("store", true));
    assert_eq!(kinds(&stored["input"]), ["reasoning", "message"]);
}

#[test]
fn a_recorded_reply_is_the_same_whole_and_streamed() {
    let response = OpenAiResponses::response(CALLS).unwrap();
    assert_eq!(response.reply.content(), "Let me look.");
    assert_eq!(response.reply.finish, Finish::Calls);
    let calls: Vec<&ToolCall> = response.reply.tool_calls().collect();
    assert_eq!(
        calls,
        [&call("call_a", "search", r#"{"query":"macros"}"#), &call("call_b", "now", "{}")]
    );
    let usage = Usage {
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 3,
        reasoning_tokens: 64,
        ..Usage::new(81, 135)
    };
    assert_eq!(response.usage, usage);

    let events = events(CALLS_STREAM);
    let (deltas, streamed) = play::<OpenAiResponses>(&events);
    assert_eq!(streamed.unwrap(), response);
    let mut thoughts = String::new();
    let mut arguments = [String::new(), String::new(), String::new(), String::new()];
    for delta in &deltas {
        match delta {
            Delta::Reasoning(text) => thoughts.push_str(text),
            Delta::Arguments { index, text } => arguments[*index].push_str(text),
            _ => {}
        }
    }
    let Part::Reasoning { text, .. } = &response.reply.parts[0] else { panic!() };
    assert_eq!(thoughts, *text);
    for (index, part) in response.reply.parts.iter().enumerate() {
        if let Part::Call { call, .. } = part {
            assert_eq!(arguments[index], call.arguments.as_str());
            let begun = Delta::Call { index, id: call.id.clone(), name: call.name.clone() };
            assert_eq!(deltas.iter().filter(|delta| **delta == begun).count(), 1);
        }
    }
    for cut in 0..events.len() {
        assert_eq!(play::<OpenAiResponses>(&events[..cut]).1, Err(WireError::CutOff), "{cut}");
    }

    // The last event may leave out what was sent before.
    let mut last: Value = serde_json::from_str(events[events.len() - 1]).unwrap();
    last["response"]["output"] = json!([]);
    let last = last.to_string();
    let lean: Vec<&str> =
        events[..events.len() - 1].iter().copied().chain([last.as_str()]).collect();
    assert_eq!(play::<OpenAiResponses>(&lean).1.unwrap(), response);
}

#[test]
fn replies_end_for_many_reasons() {
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]});
    let cut = |reason: Value| json!({"status": "incomplete", "incomplete_details": reason, "output": [text_item("a")]});
    let cases = [
        (json!({"output": [text_item("a"), text_item("b")]}), Finish::Stop, "ab"),
        (json!({"status": "completed", "output": []}), Finish::Stop, ""),
        (json!({"output": [refusal]}), Finish::Refusal, "no"),
        (cut(json!({"reason": "max_output_tokens"})), Finish::Length, "a"),
        (cut(json!({"reason": "content_filter"})), Finish::Refusal, "a"),
        (cut(Value::Null), Finish::Length, "a"),
        (json!({"output": [{"type": "message", "content": "a"}]}), Finish::Stop, "a"),
        (json!({"output": [{"type": "function_call", "arguments": {"a": 1}}]}), Finish::Calls, ""),
        (
            json!({"output": [{"type": "function_call", "call_id": null, "name": null, "arguments": null}]}),
            Finish::Calls,
            "",
        ),
        (json!({"output": [{"type": "brand_new", "x": 1}]}), Finish::Stop, ""),
    ];
    for (response, finish, text) in cases {
        let reply = whole(&response).unwrap();
        assert_eq!((reply.finish.clone(), reply.content().as_ref()), (finish, text), "{response}");
    }
}

#[test]
fn failures_in_a_body_or_a_stream_are_told() {
    let failed = json!({"status": "failed", "error": {"code": "server_error", "message": "m"}, "output": []});
    let expected = WireError::Service { kind: "server_error".into(), message: "m".into() };
    assert_eq!(OpenAiResponses::response(&failed.to_string()), Err(expected.clone()));
    for event in [
        json!({"type": "response.failed", "response": failed}),
        json!({"type": "error", "code": "server_error", "message": "m", "param": null}),
        json!({"type": "error", "error": {"type": "server_error", "message": "m"}}),
        json!({"error": {"type": "server_error", "message": "m"}}),
    ] {
        assert_eq!(
            play::<OpenAiResponses>(&[&event.to_string()]).1,
            Err(expected.clone()),
            "{event}"
        );
    }
    let silent =
        json!({"type": "response.failed", "response": {"status": "completed", "output": []}});
    let told = play::<OpenAiResponses>(&[&silent.to_string()]).1;
    assert!(matches!(told, Err(WireError::Service { .. })));
}

#[test]
fn hostile_documents_are_errors() {
    for document in hostile() {
        assert!(OpenAiResponses::response(&document).is_err(), "{document:.80}");
        assert!(play::<OpenAiResponses>(&[&document]).1.is_err(), "{document:.80}");
    }
    let cases = [
        r#"{"type":"response.output_item.done"}"#,
        r#"{"type":"response.output_item.done","output_index":-1,"item":{}}"#,
        r#"{"type":"response.output_text.delta","delta":7}"#,
        r#"{"type":"response.completed"}"#,
        r#"{"type":"response.completed","response":null}"#,
        r#"{"type":"response.completed","response":7}"#,
        r#"{"type":7}"#,
        "{}",
    ];
    for case in cases {
        assert!(matches!(play::<OpenAiResponses>(&[case]).1, Err(WireError::Invalid(_))), "{case}");
    }
    let far = r#"{"type":"response.output_item.done","output_index":18446744073709551615,"item":{"type":"message","content":"a"}}"#;
    let end = r#"{"type":"response.completed","response":{"output":[]}}"#;
    assert_eq!(play::<OpenAiResponses>(&[far, end]).1.unwrap().reply.content(), "a");
    let deep = "[".repeat(100_000);
    for document in
        ["", "{}", "null", "[1]", r#"[{"role":"x"}]"#, r#"[{"role":"user","content":1}]"#, &deep]
    {
        assert!(OpenAiResponses::history(document).is_err(), "{document:.40}");
    }
}

#[test]
fn ten_thousand_calls_are_read_and_written() {
    let items: Vec<Value> = (0..10_000)
        .map(|n| json!({"type": "function_call", "call_id": format!("c{n}"), "name": "now", "arguments": "{}"}))
        .collect();
    let reply = whole(&json!({"output": items})).unwrap();
    let sent = input(after(History::from("x"), reply, []));
    assert_eq!(sent.as_array().unwrap().len(), 20_001);
}

#[test]
fn transcripts_read_back_as_they_were_said() {
    for seed in 0..300 {
        let history = random(seed);
        let request = ModelRequest::new(history.clone()).with_tools(tools());
        let read = OpenAiResponses::history(&body(&request)["input"].to_string()).unwrap();
        assert_eq!(read.repairs, []);
        assert_eq!(read.history, as_sent::<OpenAiResponses>(&history), "{seed}");
    }
}

#[test]
fn what_was_read_is_written_the_same_again() {
    let recorded = ModelRequest::new(recorded());
    let all = requests().into_iter().map(|(_, request, _)| request).chain([recorded]);
    for request in all {
        let request = request.with_tools(tools());
        let first = body(&request)["input"].to_string();
        let read = OpenAiResponses::history(&first).unwrap();
        let again = ModelRequest::new(read.history).with_tools(tools());
        assert_eq!(body(&again)["input"].to_string(), first);
    }
}

#[test]
fn transcripts_from_elsewhere_are_read() {
    let items = json!([
        {"role": "system", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
            {"type": "input_image", "file_id": "file_1"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "now", "arguments": "{}"},
        {"type": "item_reference", "id": "x"},
        {"type": "function_call_output", "call_id": "a", "output": "12"},
        {"type": "function_call", "call_id": "b", "name": "now", "arguments": "{}"}
    ]);
    let read = OpenAiResponses::history(&items.to_string()).unwrap();
    assert_eq!(read.system.as_deref(), Some("Be brief."));
    let user = &read.history.messages()[0];
    let crate::model::Message::User(content) = user else { panic!("{user:?}") };
    assert_eq!(content[1], Content::image(b"\x89PNG", "image/png"));
    let steps: Vec<_> = read.history.steps().collect();
    assert_eq!(steps[0].results()[0].text(), "12");
    assert!(steps[1].results()[0].is_error());
    assert_eq!(read.repairs.len(), 1);
}

/// Writes documents for a checker that is no part of this crate; see `WIRE_DOCUMENTS` there.
#[test]
#[ignore = "writes a file for another program"]
fn documents_for_the_checker() {
    write_documents::<OpenAiResponses>("openai-responses", "gpt-5", &[recorded()]);
}
