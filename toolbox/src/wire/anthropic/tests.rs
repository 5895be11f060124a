use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::response::opaque;
use super::*;
use serde::Deserialize;

use crate::call::{Content, ToolCall, ToolResult};
use crate::definition::ToolDefinition;
use crate::model::{
    Delta, Echo, Finish, History, ModelRequest, Part, Replied, Reply, ToolChoice, ToolSearch,
    Unanswered, Usage,
};
use crate::wire::ResponseStream;

const WHOLE: &str = include_str!("payloads/reply.json");
const EVENTS: &str = include_str!("payloads/reply.jsonl");

fn streamed(events: &str) -> Result<(ModelResponse, Vec<Delta>), WireError> {
    let mut stream = AnthropicStream::default();
    let mut deltas = Vec::new();
    for event in events.lines() {
        stream.event(event, &mut |delta| deltas.push(delta))?;
    }
    Ok((stream.finish()?, deltas))
}

fn sent(request: &ModelRequest) -> Value {
    serde_json::from_str(&Anthropic::body(request, "m", false)).unwrap()
}

fn open(history: History, reply: Reply) -> Unanswered {
    match history.reply(reply) {
        Replied::Calls(open) => open,
        other => panic!("{other:?}"),
    }
}

fn call_to(name: &str) -> ToolCall {
    ToolCall::new("c1", name, r#"{"a": 1.0e2}"#)
}

fn tools() -> Vec<ToolDefinition> {
    vec![ToolDefinition::new("docs.search", "Searches", json!({"type": "object"}))]
}

#[test]
fn a_reply_is_read_whole_and_streamed_alike() {
    let whole = Anthropic::response(WHOLE).unwrap();
    let (streamed, deltas) = streamed(EVENTS).unwrap();
    assert_eq!(streamed, whole);
    assert_eq!(whole.reply.finish, Finish::Calls);
    assert_eq!(whole.reply.content(), "Looking.");
    let arguments: Vec<&str> =
        whole.reply.tool_calls().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"city": "Oslo", "days": 1.50}"#, "{}"]);
    let mut usage = Usage::new(1035, 70);
    (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) = (1000, 5);
    usage.reasoning_tokens = 20;
    assert_eq!(whole.usage, usage);
    assert_eq!(deltas[0], Delta::Reasoning("Two cities, ".into()));
    let call = Delta::Call { index: 5, id: "toolu_1".into(), name: "get_weather".into() };
    assert!(deltas.contains(&call), "{deltas:?}");
    let text: String = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Arguments { index: 5, text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, arguments[0]);
}

#[test]
fn what_the_service_gave_goes_back_as_it_came() {
    let reply = Anthropic::response(WHOLE).unwrap().reply;
    let history = open(History::from("weather?"), reply)
        .answer([ToolResult::new("4 degrees"), ToolResult::error("no such clock")]);
    let body = sent(&ModelRequest::new(history.clone()));
    let came: Value = serde_json::from_str(WHOLE).unwrap();
    assert_eq!(body["messages"][1]["content"], came["content"]);
    assert_eq!(
        body["messages"][2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4 degrees"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such clock", "is_error": true},
        ])
    );
    // Not as a value but byte for byte: the arguments keep their blanks and their zeros.
    let text = Anthropic::body(&ModelRequest::new(history.clone()), "m", false);
    assert!(text.contains(r#""input":{"city": "Oslo", "days": 1.50}"#), "{text}");
    let read = Anthropic::history(&body["messages"].to_string()).unwrap();
    assert!(read.repairs.is_empty(), "{:?}", read.repairs);
    let again = sent(&ModelRequest::new(read.history));
    assert_eq!(again, body);
}

#[test]
fn a_stream_that_breaks_off_is_no_reply() {
    let lines: Vec<&str> = EVENTS.lines().collect();
    for end in 0..lines.len() {
        assert_eq!(streamed(&lines[..end].join("\n")), Err(WireError::CutOff), "{end}");
    }
    let failed = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let expected =
        WireError::Service { kind: "overloaded_error".into(), message: "Overloaded".into() };
    assert_eq!(streamed(&format!("{}\n{failed}", lines[0])), Err(expected.clone()));
    assert_eq!(Anthropic::response(failed), Err(expected));
}

#[test]
fn stop_reasons() {
    let cases = [
        ("tool_use", Finish::Calls),
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("pause_turn", Finish::Pause),
        ("refusal", Finish::Refusal),
        ("novel", Finish::Other("novel".into())),
    ];
    for (reason, finish) in cases {
        let body = json!({"content": [{"type": "text", "text": "x"}], "stop_reason": reason});
        assert_eq!(Anthropic::response(&body.to_string()).unwrap().reply.finish, finish);
    }
}

#[test]
fn hostile_replies_are_refused_or_read_but_never_fatal() {
    let deep = "[".repeat(200_000);
    let deep_input = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    let deep_call = format!(
        r#"{{"content":[{{"type":"tool_use","id":"a","name":"b","input":{deep_input}}}]}}"#
    );
    let refused = [
        "",
        "null",
        "[]",
        "{}",
        "1",
        "\"x\"",
        "<html>",
        deep.as_str(),
        r#"{"content":1}"#,
        r#"{"content":[1]}"#,
        r#"{"content":[{"type":"text","text":1}]}"#,
        r#"{"content":[{}]}"#,
        r#"{"content":null,"stop_reason":null}"#,
        r#"{"content":[{"type":"tool_use","name":{},"input":{}}]}"#,
        r#"{"error":null}"#,
        r#"{"error":"down"}"#,
    ];
    for body in refused {
        assert!(Anthropic::response(body).is_err(), "{body:.80}");
        let mut stream = AnthropicStream::default();
        let _ = stream.event(body, &mut |_| {});
        assert_eq!(stream.finish(), Err(WireError::CutOff));
        assert!(body == "[]" || Anthropic::history(body).is_err(), "{body:.80}");
    }
    let nulls = r#"{"id":null,"model":null,"stop_reason":null,"usage":{"input_tokens":null,"output_tokens_details":null},"error":null,
        "content":[null,{"type":"text","text":null},{"type":"tool_use","id":null,"name":null,"input":null,"caller":null},{"type":"thinking","thinking":null,"signature":null}]}"#;
    let reply = Anthropic::response(nulls).unwrap().reply;
    assert_eq!(reply.tool_calls().next().unwrap(), &ToolCall::new("", "", "{}"));
    let Replied::Calls(open) = History::new().reply(Anthropic::response(&deep_call).unwrap().reply)
    else {
        panic!()
    };
    let history = open.answer([]);
    let kept = history.last_reply().unwrap().tool_calls().next().unwrap();
    assert!(kept.arguments.as_str().contains("malformed_arguments"));
    let many: Vec<Value> = (0..10_000)
        .map(|n| json!({"type": "tool_use", "id": format!("t{n}"), "name": "x", "input": {}}))
        .collect();
    let reply = Anthropic::response(&json!({ "content": many }).to_string()).unwrap().reply;
    assert_eq!(reply.parts.len(), 10_000);
}

#[test]
fn a_stream_may_number_its_blocks_as_it_likes() {
    let events = format!(
        "{}\n{}\n{}\n{}",
        r#"{"type":"message_start","message":{}}"#,
        r#"{"type":"content_block_start","index":18446744073709551615,"content_block":{"type":"text","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":18446744073709551615,"delta":{"type":"text_delta","text":"b"}}"#,
        r#"{"type":"message_stop"}"#,
    );
    assert_eq!(streamed(&events).unwrap().0.reply, Reply::text("ab"));
    let stray =
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"b"}}"#;
    assert!(matches!(streamed(stray), Err(WireError::Invalid(_))));
}

#[test]
fn results_stand_first_and_what_the_user_says_behind_them() {
    let mut reply = Reply::calls([call_to("docs.search"), call_to("what is\nthis?")]);
    reply.parts.insert(0, Part::text(" "));
    let mut history = open(History::new(), reply).answer([
        ToolResult::from(vec![
            Content::text("see"),
            Content::text(""),
            Content::image(b"x", "image/png"),
            Content::image(b"x", "image/tiff"),
            Content::audio(b"x", "audio/wav"),
            Content::resource_bytes("file:///a.pdf", "application/pdf", b"x"),
            Content::resource_text("file:///a.md", "text/markdown", "# A"),
        ]),
        ToolResult::new(""),
    ]);
    history.push_user("and?");
    history.push_user(" ");
    let body = sent(&ModelRequest::new(history).with_tools(tools()));
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(messages[0]["content"], json!([{"type": "text", "text": "(no message)"}]));
    assert_eq!(messages[1]["content"][0]["name"], body["tools"][0]["name"]);
    assert_eq!(
        messages[2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "c1", "content": [
                {"type": "text", "text": "see"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}},
                {"type": "text", "text": "[image of type image/tiff, 1 bytes: it cannot be shown here]"},
                {"type": "text", "text": "[audio of type audio/wav, 1 bytes: it cannot be shown here]"},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "eA=="}, "title": "file:///a.pdf"},
                {"type": "text", "text": "[file:///a.md]\n# A"},
            ]},
            {"type": "tool_result", "tool_use_id": "c10000001"},
            {"type": "text", "text": "and?"},
        ])
    );
}

#[test]
fn options_and_choices() {
    let request =
        |choice| ModelRequest::new(History::from("x")).with_tools(tools()).with_tool_choice(choice);
    let cases = [
        (request(ToolChoice::Auto), Value::Null),
        (request(ToolChoice::None), json!({"type": "none"})),
        (request(ToolChoice::Required), json!({"type": "any"})),
        (request(ToolChoice::Tool("a".into())), json!({"type": "tool", "name": "a"})),
        (
            request(ToolChoice::Required).with_parallel_tool_calls(false),
            json!({"type": "any", "disable_parallel_tool_use": true}),
        ),
        (
            request(ToolChoice::Auto).with_parallel_tool_calls(false),
            json!({"type": "auto", "disable_parallel_tool_use": true}),
        ),
        (
            request(ToolChoice::Required)
                .with_option("thinking", json!({"type": "enabled", "budget_tokens": 9000})),
            Value::Null,
        ),
        (ModelRequest::new(History::new()).with_tool_choice(ToolChoice::Required), Value::Null),
    ];
    for (request, expected) in cases {
        assert_eq!(sent(&request)["tool_choice"], expected);
    }
    let mut request = ModelRequest::new(History::from("x")).with_system(" ");
    for (name, value) in [
        ("stop", json!("END")),
        ("top_p", json!(0.5)),
        ("messages", json!(1)),
        ("model", json!(1)),
        ("system", json!(1)),
        ("stream", json!(true)),
        ("tools", json!(1)),
        ("seed", json!(null)),
        ("thinking", json!({"type": "enabled", "budget_tokens": 9000})),
    ] {
        request = request.with_option(name, value);
    }
    assert_eq!(
        sent(&request),
        json!({
            "model": "m", "max_tokens": 17192, "stop_sequences": ["END"], "top_p": 0.5,
            "thinking": {"type": "enabled", "budget_tokens": 9000},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
        })
    );
}

#[test]
fn a_transcript_from_elsewhere_goes_on_without_thinking() {
    let thinking = json!({"type": "enabled", "budget_tokens": 2000});
    let foreign = Part::Reasoning {
        text: "hm".into(),
        echo: Some(Echo::new(Dialect::OpenAiResponses, json!({"type": "reasoning"}))),
    };
    let mut reply = Reply::calls([call_to("x")]);
    reply.parts.insert(0, foreign);
    let mut history = open(History::from("go"), reply).answer([]);
    let body = sent(&ModelRequest::new(history.clone()).with_option("thinking", thinking.clone()));
    assert_eq!(body.get("thinking"), None);
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 1);
    let Replied::Answer(answered) = history.reply(Reply::text("done")) else { panic!() };
    history = answered;
    history.push_user("more");
    let body = sent(&ModelRequest::new(history).with_option("thinking", thinking.clone()));
    assert_eq!(body["thinking"], thinking);
}

#[test]
fn a_reply_that_was_cut_off_is_sent_without_its_loose_ends() {
    let server = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let parts = vec![
        Part::text("So "),
        Part::Other(Echo::new(Dialect::Anthropic, server.clone())),
        Part::Other(Echo::new(Dialect::Anthropic, json!({"x": 1}))),
        opaque(thought),
    ];
    let sent_of = |finish| {
        let reply = Reply::new(parts.clone()).with_finish(finish);
        let Replied::Answer(history) = History::from("go").reply(reply) else { panic!() };
        sent(&ModelRequest::new(history))["messages"][1]["content"].clone()
    };
    assert_eq!(sent_of(Finish::Length), json!([{"type": "text", "text": "So"}]));
    assert_eq!(sent_of(Finish::Pause), json!([{"type": "text", "text": "So "}, server]));
}

#[test]
fn a_transcript_in_the_services_form_is_read_and_mended() {
    let messages = json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {"b": 1}},
            {"type": "tool_use", "id": "b", "name": "x", "input": "{\"c\": 2}"}]},
        {"role": "user", "content": [{"type": "text", "text": "hm"},
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}, {"type": "tool_reference", "tool_name": "y"}], "is_error": true}]},
        {"role": "assistant", "content": null},
    ]);
    let read = Anthropic::history(&messages.to_string()).unwrap();
    assert_eq!(read.system.as_deref(), Some("Be kind."));
    assert_eq!(read.repairs.len(), 2, "{:?}", read.repairs);
    let step = read.history.steps().next().unwrap();
    assert_eq!(step.reply().tool_calls().nth(1).unwrap().arguments.as_str(), r#"{"c": 2}"#);
    assert!(step.results()[1].is_error());
    assert_eq!(step.results()[1].content()[0], Content::image(b"x", "image/png"));
    assert_eq!(read.history.last_user_text().unwrap(), "hm");
    for wrong in
        ["{}", r#"[{"role":"tool","content":"x"}]"#, r#"[{"role":"user","content":[{"type":1}]}]"#]
    {
        assert!(Anthropic::history(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_large_result_reads_back_as_it_was() {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        messages: &'a RawValue,
    }
    let large = "\"\n".repeat(1 << 19);
    let history = open(History::from("go"), Reply::calls([call_to("x")]))
        .answer([ToolResult::new(large.as_str())]);
    let body = Anthropic::body(&ModelRequest::new(history), "m", false);
    let body: Body<'_> = serde_json::from_str(&body).unwrap();
    let read = Anthropic::history(body.messages.get()).unwrap().history;
    let step = read.steps().next().unwrap();
    assert!(step.results()[0].text() == large);
    assert_eq!(step.reply().tool_calls().next(), Some(&call_to("x")));
}

#[test]
fn the_alias_that_a_model_calls_by_is_sent_as_it_is() {
    let alias = crate::dialect::outbound_name("docs.search", Dialect::Anthropic);
    let history = open(History::from("go"), Reply::calls([call_to(&alias)])).answer([]);
    let body = sent(&ModelRequest::new(history).with_tools(tools()));
    assert_eq!(body["messages"][1]["content"][0]["name"], *alias);
    assert_eq!(body["tools"][0]["name"], *alias);
}

/// A request with a search tool, and two tools that it can find.
fn searching(history: History) -> ModelRequest {
    let object = || json!({"type": "object"});
    let tools = vec![
        ToolDefinition::new("find", "Finds tools", object()),
        ToolDefinition::new("now", "Tells the time", object()),
    ];
    let mut orders = ToolDefinition::new("list_orders", "Orders of a customer", object());
    let search = ToolDefinition::new("docs.search", "Searches", object());
    orders.examples = vec![json!({"customer": "c42"})];
    let request = ModelRequest::new(history).with_tools(tools);
    request.with_search(ToolSearch::new("find", vec![orders, search]))
}

/// A transcript in which `find` was called, with this result.
fn after_search(result: ToolResult) -> History {
    open(History::from("x"), Reply::calls([call_to("find")])).answer([result])
}

fn referring(names: &[&str]) -> ToolResult {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    ToolResult::new("what was found").with_references(names)
}

#[test]
fn tools_that_can_be_found_are_deferred_and_referred_to() {
    let request =
        searching(after_search(referring(&["docs.search", "list_orders", "docs.search"])));
    let body = sent(&request);
    let schema = json!({"type": "object", "properties": {}});
    let alias = crate::dialect::outbound_name("docs.search", Dialect::Anthropic).into_owned();
    assert_eq!(
        body["tools"],
        json!([
            {"name": "find", "description": "Finds tools", "input_schema": schema},
            {"name": "now", "description": "Tells the time", "input_schema": schema},
            {"name": "list_orders", "description": "Orders of a customer", "input_schema": schema, "defer_loading": true},
            {"name": alias, "description": "Searches", "input_schema": schema, "defer_loading": true},
        ])
    );
    assert_eq!(
        body["messages"][2]["content"],
        json!([{"type": "tool_result", "tool_use_id": "c1", "content": [
            {"type": "tool_reference", "tool_name": alias},
            {"type": "tool_reference", "tool_name": "list_orders"},
        ]}])
    );
    // It reads back as it was sent, under the names that were sent.
    let read = Anthropic::history(&body["messages"].to_string()).unwrap();
    assert_eq!(read.repairs, []);
    assert_eq!(
        read.history.steps().next().unwrap().results()[0].references(),
        [alias.as_str(), "list_orders"]
    );
    assert_eq!(sent(&searching(read.history)), body);
}

#[test]
fn a_result_that_cannot_be_references_is_its_text() {
    let cases = [
        // One that nobody knows, such as one that was forbidden since.
        referring(&["list_orders", "forbidden"]),
        // The search itself, and a tool the model was told of.
        referring(&["find"]),
        referring(&["now"]),
        referring(&[]),
        ToolResult::error("what was found").with_references(vec!["list_orders".into()]),
    ];
    for result in cases {
        let is_error = result.is_error();
        let body = sent(&searching(after_search(result)));
        let block = &body["messages"][2]["content"][0];
        assert_eq!(block["content"], "what was found");
        assert_eq!(block["is_error"], if is_error { json!(true) } else { Value::Null });
    }
    // A tool that is no search may refer to whatever it likes.
    let history = open(History::from("x"), Reply::calls([call_to("now")]));
    let history = history.answer([referring(&["list_orders"])]);
    assert_eq!(sent(&searching(history))["messages"][2]["content"][0]["content"], "what was found");
}

#[test]
fn nothing_is_deferred_without_a_tool_that_searches() {
    let history = after_search(referring(&["list_orders"]));
    let mut request = searching(history).with_tools(tools());
    let body = sent(&request);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["messages"][2]["content"][0]["content"], "what was found");
    request.search = None;
    assert_eq!(sent(&request), body);
}

#[test]
fn no_tool_stands_in_the_list_twice_and_the_search_is_not_deferred() {
    let mut request = searching(History::from("x"));
    let all: Vec<ToolDefinition> = request
        .tools
        .iter()
        .chain(request.search.as_ref().unwrap().deferred.iter())
        .cloned()
        .collect();
    // A promotion may have added what can be found, and a careless list may hold the search.
    request =
        request.with_tools(all.clone()).with_search(ToolSearch::new("find", all[..3].to_vec()));
    let body = sent(&request);
    let tools: Vec<(&str, bool)> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), tool["defer_loading"] == true))
        .collect();
    assert_eq!(tools[0], ("find", false));
    assert!(tools[1].0.starts_with("docs_search_") && !tools[1].1, "{tools:?}");
    assert_eq!(tools[2..], [("now", true), ("list_orders", true)]);
}

#[test]
fn ten_thousand_tools_can_be_found() {
    let many = |count: usize| -> Vec<ToolDefinition> {
        let tool = |at| ToolDefinition::new(format!("tool_{at}"), "d", json!({"type": "object"}));
        (0..count).map(tool).collect()
    };
    let history = after_search(referring(&["tool_7", "tool_9997"]));
    for (count, listed) in [(9_998, 10_000), (9_999, 4), (20_000, 4)] {
        let search = ToolSearch::new("find", many(count));
        let body = sent(&searching(history.clone()).with_search(search));
        let tools = body["tools"].as_array().unwrap();
        assert_eq!(tools.len(), listed);
        let deferred = |name: &str| tools.iter().filter(|tool| tool["name"] == name).count();
        assert_eq!((deferred("tool_7"), deferred("tool_9997")), (1, 1));
        assert_eq!(body["messages"][2]["content"][0]["content"][0]["type"], "tool_reference");
    }
}
