use serde_json::{Value, json};

use super::OpenAiResponses;
use crate::call::{Content, ToolCall, ToolResult};
use crate::definition::{Namespace, ToolDefinition};
use crate::dialect::Dialect;
use crate::model::{
    Delta, Echo, Finish, History, ModelRequest, Part, Reply, ToolChoice, ToolSearch, Usage,
};
use crate::wire::openai::samples::{
    after, as_sent, call, events, histories, hostile, play, random, requests, tools,
};
use crate::wire::{Anthropic, Format, Gemini, GeminiInteractions, OpenAiChat, WireError};

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
        (request.clone().with_tools(tools()), "parallel_tool_calls", Value::Null),
        (
            request.clone().with_tools(tools()).with_parallel_tool_calls(false),
            "parallel_tool_calls",
            json!(false),
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

/// A request with a search tool, and tools that it can find.
fn searching(history: History) -> ModelRequest {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}, "limit": {"type": "number"}},
        "required": ["text"], "additionalProperties": false});
    let own = vec![
        ToolDefinition::new("toolbox_search_bm25", "Finds tools", schema),
        ToolDefinition::new("clock", "Tells the time", json!({"type": "object"})),
    ];
    let request = ModelRequest::new(history).with_tools(own);
    request.with_search(ToolSearch::new("toolbox_search_bm25", tools()))
}

const SEARCH: &str = r#"{"output": [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
    {"type": "tool_search_call", "id": "tsc_1", "call_id": "call_s", "execution": "client", "status": "completed",
     "arguments": {"text": "issues", "limit": 2}, "created_by": null}]}"#;

fn referring(names: &[&str]) -> ToolResult {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    ToolResult::new("what was found").with_references(names)
}

fn after_search(result: ToolResult) -> History {
    after(History::from("x"), OpenAiResponses::response(SEARCH).unwrap().reply, [result])
}

#[test]
fn a_search_is_an_item_of_its_own_both_ways() {
    let reply = OpenAiResponses::response(SEARCH).unwrap().reply;
    assert_eq!(reply.finish, Finish::Calls);
    let search = call("call_s", "toolbox_search_bm25", r#"{"text":"issues","limit":2}"#);
    assert_eq!(reply.tool_calls().collect::<Vec<_>>(), [&search]);

    let request = searching(after_search(referring(&["github.issues", "now", "now"])));
    let sent = body(&request);
    let definitions = tools().lowered(Dialect::OpenAiResponses).to_value();
    assert_eq!(
        sent["tools"],
        json!([
            {"type": "tool_search", "execution": "client", "description": "Finds tools",
             "parameters": {"type": "object", "properties": {"text": {"type": "string"}, "limit": {"type": "number"}},
                "required": ["text"], "additionalProperties": false}},
            request.tools.lowered(Dialect::OpenAiResponses).to_value()[1],
        ])
    );
    assert_eq!(
        sent["input"],
        json!([
            {"role": "user", "content": "x"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
            {"type": "tool_search_call", "id": "tsc_1", "call_id": "call_s", "execution": "client", "status": "completed",
             "arguments": {"text": "issues", "limit": 2}},
            {"type": "tool_search_output", "call_id": "call_s", "execution": "client", "status": "completed",
             "tools": [definitions[2], definitions[1]]},
        ])
    );
    assert!(definitions[2]["strict"].is_boolean());

    let read = OpenAiResponses::history(&sent["input"].to_string()).unwrap();
    assert_eq!(read.repairs, []);
    let result = &read.history.steps().next().unwrap().results()[0];
    assert_eq!(result.references(), ["github_issues_eac4fc6c34b3", "now"]);
    assert!(result.text().starts_with(r#"{"tools":[{"#), "{}", result.text());
    assert_eq!(body(&searching(read.history)), sent);
}

#[test]
fn what_was_not_found_is_said_behind_the_outputs() {
    let cases = [
        (referring(&[]), Some("The search found no tools: what was found")),
        (
            ToolResult::error("`text` is missing"),
            Some("The search found no tools: `text` is missing"),
        ),
        (ToolResult::new(" "), None),
        // What may not be called any more is not told of, in no form.
        (referring(&["forbidden"]), None),
        (referring(&["toolbox_search_bm25"]), None),
    ];
    for (result, said) in cases {
        let sent = input_of(&searching(after_search(result)));
        assert_eq!(sent[3]["tools"], json!([]));
        let said = said.map_or(Value::Null, |said| json!({"role": "user", "content": said}));
        assert_eq!(sent[4], said);
        let read = OpenAiResponses::history(&sent.to_string()).unwrap();
        assert_eq!(read.repairs, []);
        assert_eq!(input_of(&searching(read.history)), sent);
    }
    let some = input_of(&searching(after_search(referring(&["forbidden", "now"]))));
    assert_eq!(some[3]["tools"].as_array().unwrap().len(), 1);
}

fn input_of(request: &ModelRequest) -> Value {
    body(request)["input"].take()
}

#[test]
fn ids_go_back_only_on_items_of_their_own_kind() {
    // A search by the service's own item, in a request that knows none: a call like any other.
    let mut request = searching(after_search(referring(&["now"])));
    request.search = None;
    let sent = input_of(&request);
    assert_eq!(
        sent[2],
        json!({"type": "function_call", "call_id": "call_s", "name": "toolbox_search_bm25",
            "arguments": "{\"text\":\"issues\",\"limit\":2}"})
    );
    assert_eq!(sent[3]["output"], "what was found");
    // And the other way round.
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "toolbox_search_bm25", "arguments": "{}"});
    let reply = whole(&json!({"output": [item]})).unwrap();
    let sent = input_of(&searching(after(History::from("x"), reply, [referring(&["now"])])));
    assert_eq!(
        sent[1],
        json!({"type": "tool_search_call", "call_id": "c", "execution": "client", "status": "completed", "arguments": {}})
    );
    assert_eq!(sent[2]["type"], "tool_search_output");
}

#[test]
fn a_transcript_with_a_search_moves_between_services() {
    let history = after_search(referring(&["github.issues"]));
    let request = searching(history.clone());
    let there: Value = serde_json::from_str(&Anthropic::body(&request, "m", false)).unwrap();
    assert_eq!(
        there["messages"][1]["content"],
        json!([{"type": "tool_use", "id": "call_s", "name": "toolbox_search_bm25",
            "input": {"text": "issues", "limit": 2}}])
    );
    let references = json!([{"type": "tool_reference", "tool_name": "github_issues_eac4fc6c34b3"}]);
    assert_eq!(there["messages"][2]["content"][0]["content"], references);
    let read = Anthropic::history(&there["messages"].to_string()).unwrap().history;
    let back = input_of(&searching(read));
    assert_eq!(back[1]["type"], "tool_search_call");
    assert_eq!(back[2]["tools"], input_of(&request)[3]["tools"]);
    // Others know no search, and take it for a call.
    for form in [OpenAiChat::body, Gemini::body, GeminiInteractions::body] {
        let text = form(&request, "m", false);
        assert!(text.contains("what was found") && !text.contains("defer_loading"), "{text}");
        let mut plain = request.clone();
        plain.search = None;
        assert_eq!(form(&plain, "m", false), text);
    }
}

#[test]
fn found_tools_are_called_by_name_and_namespace() {
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "c", "namespace": "crm", "name": "list_orders",
        "arguments": "{}", "status": "completed"});
    let reply = whole(&json!({"output": [item]})).unwrap();
    assert_eq!(reply.tool_calls().next().unwrap().name, "list_orders");
    let sent = input_of(&searching(after(History::from("x"), reply, [])));
    assert_eq!((&sent[1]["namespace"], &sent[1]["id"]), (&json!("crm"), &json!("fc_1")));
}

#[test]
fn tools_stand_in_their_namespaces_in_requests_and_in_what_was_found() {
    let crm = |mut tool: ToolDefinition| {
        tool.namespace = Some(Namespace::new("crm", "Customers.").unwrap());
        tool
    };
    let mut request = searching(after_search(referring(&["now", "github.issues"])));
    let plain = body(&request);
    let search = request.search.as_mut().unwrap();
    search.deferred = search.deferred.to_vec().into_iter().map(crm).collect();
    request.tools = request.tools.to_vec().into_iter().map(crm).collect();
    let grouped = |tools: &[Value]| json!({"type": "namespace", "name": "crm", "description": "Customers.", "tools": tools});
    let sent = body(&request);
    // The search is the service's own tool, which stands in none.
    assert_eq!(sent["tools"], json!([plain["tools"][0], grouped(&[plain["tools"][1].clone()])]));
    let found = plain["input"][3]["tools"].as_array().unwrap();
    assert_eq!(sent["input"][3]["tools"], json!([grouped(found)]));
    // A transcript with them is read, and written as it was.
    request.history = OpenAiResponses::history(&sent["input"].to_string()).unwrap().history;
    assert_eq!(body(&request), sent);
}

#[test]
fn a_search_is_the_same_whole_and_streamed() {
    let whole: Value = serde_json::from_str(SEARCH).unwrap();
    let mut begun = whole["output"][1].clone();
    (begun["arguments"], begun["status"]) = (json!({}), json!("in_progress"));
    for with_id in [true, false] {
        if !with_id {
            begun["call_id"] = Value::Null;
        }
        let events = [
            json!({"type": "response.output_item.done", "output_index": 0, "item": whole["output"][0]}),
            json!({"type": "response.output_item.added", "output_index": 1, "item": begun}),
            json!({"type": "response.output_item.done", "output_index": 1, "item": whole["output"][1]}),
            json!({"type": "response.completed", "response": {"output": []}}),
        ];
        let events = events.map(|event| event.to_string());
        let (deltas, reply) = play::<OpenAiResponses>(&events.each_ref().map(String::as_str));
        assert_eq!(reply.unwrap(), OpenAiResponses::response(SEARCH).unwrap());
        let (id, name) = ("call_s".to_owned(), "toolbox_search_bm25".to_owned());
        let text = r#"{"text":"issues","limit":2}"#.to_owned();
        assert_eq!(
            deltas,
            [Delta::Call { index: 1, id, name }, Delta::Arguments { index: 1, text }]
        );
    }
}

#[test]
fn a_search_that_the_service_ran_is_its_own_affair() {
    let call = json!({"type": "tool_search_call", "id": "tsc_1", "execution": "server", "status": "completed",
        "arguments": {"paths": ["crm"]}});
    let output = json!({"type": "tool_search_output", "id": "tso_1", "execution": "server", "status": "completed",
        "tools": []});
    let reply = whole(&json!({"output": [call, output, text_item("a")]})).unwrap();
    assert_eq!((reply.finish.clone(), reply.tool_calls().count()), (Finish::Stop, 0));
    let sent = input(after(History::from("x"), reply, []));
    assert_eq!((&sent[1], &sent[2]), (&call, &output));
    // Without what it found it waits for something that nobody can give.
    let reply = whole(&json!({"output": [call, text_item("a")]})).unwrap();
    assert_eq!(input(after(History::from("x"), reply, []))[1]["role"], "assistant");
}

#[test]
fn a_choice_of_the_search_is_one_the_service_knows() {
    for (name, choice) in [
        ("clock", json!({"type": "function", "name": "clock"})),
        ("toolbox_search_bm25", json!("required")),
        ("now", json!("required")),
    ] {
        let request = searching(History::from("x")).with_tool_choice(ToolChoice::Tool(name.into()));
        assert_eq!(body(&request)["tool_choice"], choice, "{name}");
    }
}

#[test]
fn hostile_searches_are_read_and_written() {
    let items = [
        json!({"type": "tool_search_call"}),
        json!({"type": "tool_search_call", "execution": 7, "arguments": [1], "call_id": 7, "id": {}}),
        json!({"type": "tool_search_call", "call_id": "a b", "arguments": "{\"text\":"}),
        json!({"type": "tool_search_output", "tools": 7}),
        json!({"type": "tool_search_output", "call_id": "a b", "tools": [7, {"name": 7}, {"tools": [{"name": "now"}]}]}),
    ];
    let read = OpenAiResponses::history(&Value::from(items.to_vec()).to_string()).unwrap();
    let sent = input_of(&searching(read.history));
    let again = OpenAiResponses::history(&sent.to_string()).unwrap();
    assert_eq!(again.repairs, []);
    assert_eq!(input_of(&searching(again.history)), sent);
    let calls = sent.as_array().unwrap().iter().filter(|item| item["type"] == "tool_search_call");
    assert!(calls.clone().all(|call| call["arguments"].is_object()));
    let found = sent.as_array().unwrap().iter().filter(|item| item["type"] == "tool_search_output");
    assert_eq!((calls.count(), found.count()), (3, 3));

    // Ten thousand names of nothing, among as many tools.
    let many: Vec<ToolDefinition> = (0..10_000)
        .map(|at| ToolDefinition::new(format!("tool_{at}"), "d", json!({"type": "object"})))
        .collect();
    let mut names: Vec<String> = (0..10_000).map(|at| format!("none_{at}")).collect();
    names.push("tool_9999".to_owned());
    let history = after_search(ToolResult::new("x").with_references(names));
    let request = searching(history).with_search(ToolSearch::new("toolbox_search_bm25", many));
    let sent = body(&request);
    assert_eq!(sent["tools"].as_array().unwrap().len(), 2);
    assert_eq!(sent["input"][3]["tools"].as_array().unwrap().len(), 1);
}
