use serde_json::{Value, json};

use super::*;
use crate::call::{Content, ToolCall, ToolResult};
use crate::definition::ToolDefinition;
use crate::model::{
    Delta, Echo, Finish, History, Part, Replied, Reply, ToolChoice, Unanswered, Usage,
};
use crate::wire::ResponseStream;

const WHOLE: &str = include_str!("payloads/reply.json");
const EVENTS: &str = include_str!("payloads/reply.jsonl");
const MODEL: &str = "gemini-3.8-flash";

fn streamed(events: &str) -> Result<(ModelResponse, Vec<Delta>), WireError> {
    let mut stream = GeminiInteractionsStream::default();
    let mut deltas = Vec::new();
    for event in events.lines() {
        stream.event(event, &mut |delta| deltas.push(delta))?;
    }
    Ok((stream.finish()?, deltas))
}

/// The events of an interaction that ends as the body of one says.
fn as_events(body: &str) -> String {
    let whole: Value = serde_json::from_str(body).unwrap();
    let steps = whole["steps"].as_array().cloned().unwrap_or_default();
    let starts = steps.iter().enumerate().flat_map(|(index, step)| {
        [
            json!({"event_type": "step.start", "index": index, "step": step}),
            json!({"event_type": "step.stop", "index": index}),
        ]
    });
    let mut last = whole.clone();
    last.as_object_mut().unwrap().shift_remove("steps");
    let end = json!({"event_type": "interaction.completed", "interaction": last});
    let events: Vec<String> = starts.chain([end]).map(|event| event.to_string()).collect();
    events.join("\n")
}

fn sent(request: &ModelRequest) -> Value {
    serde_json::from_str(&GeminiInteractions::body(request, MODEL, false)).unwrap()
}

fn read(body: &Value) -> ModelResponse {
    GeminiInteractions::response(&body.to_string()).unwrap()
}

fn open(history: History, reply: Reply) -> Unanswered {
    match history.reply(reply) {
        Replied::Calls(open) => open,
        other => panic!("{other:?}"),
    }
}

fn answered(history: History, reply: Reply) -> History {
    match history.reply(reply) {
        Replied::Answer(history) => history,
        other => panic!("{other:?}"),
    }
}

fn tools() -> Vec<ToolDefinition> {
    vec![ToolDefinition::new("docs.search", "Searches", json!({"type": "object"}))]
}

fn user(text: &str) -> Value {
    json!({"type": "user_input", "content": [{"type": "text", "text": text}]})
}

fn says(text: &str) -> Value {
    json!({"type": "model_output", "content": [{"type": "text", "text": text}]})
}

#[test]
fn a_reply_is_read_whole_and_streamed_alike() {
    let whole = GeminiInteractions::response(WHOLE).unwrap();
    let (streamed, deltas) = streamed(EVENTS).unwrap();
    assert_eq!(streamed, whole);
    assert_eq!(whole.reply.finish, Finish::Calls);
    assert_eq!(whole.reply.content(), "Looking. It is in Norway.");
    assert_eq!(whole.id.as_deref(), Some("v1_abc"));
    assert_eq!(whole.model.as_deref(), Some("gemini-3.8-flash"));
    let call = whole.reply.tool_calls().next().unwrap();
    assert_eq!(
        call,
        &ToolCall::new("un6k8t18", "get_weather", r#"{"city": "Oslo", "days": 1.50}"#)
    );
    let mut usage = Usage::new(40, 50);
    (usage.cache_read_input_tokens, usage.reasoning_tokens) = (10, 30);
    assert_eq!(whole.usage, usage);
    let arguments = |text: &str| Delta::Arguments { index: 5, text: text.into() };
    let expected = [
        Delta::Reasoning("Two cities, ".into()),
        Delta::Reasoning("two calls.".into()),
        Delta::Text("Look".into()),
        Delta::Text("ing. ".into()),
        Delta::Text("It is ".into()),
        Delta::Text("in Norway.".into()),
        Delta::Call { index: 5, id: "un6k8t18".into(), name: "get_weather".into() },
        arguments("{\"city\": \"Os"),
        arguments("lo\", \"days\": 1.50}"),
        Delta::Call { index: 7, id: "un6k8t19".into(), name: "now".into() },
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn what_the_service_gave_goes_back_as_it_came() {
    let reply = GeminiInteractions::response(WHOLE).unwrap().reply;
    let history = open(History::from("weather?"), reply).answer([
        ToolResult::structured(r#"{"degrees": 4.0}"#.into()),
        ToolResult::error("no such clock"),
    ]);
    let body = sent(&ModelRequest::new(history.clone()));
    let came: Value = serde_json::from_str(WHOLE).unwrap();
    let came = came["steps"].as_array().unwrap();
    let input = body["input"].as_array().unwrap();
    assert_eq!(input[0], user("weather?"));
    assert_eq!(input[1..=came.len()], came[..]);
    assert_eq!(
        input[came.len() + 1..],
        [
            json!({"type": "function_result", "call_id": "un6k8t18", "name": "get_weather", "result": {"degrees": 4.0}}),
            json!({"type": "function_result", "call_id": "un6k8t19", "name": "now", "result": "no such clock", "is_error": true}),
        ]
    );
    let text = GeminiInteractions::body(&ModelRequest::new(history), MODEL, true);
    assert!(text.contains(r#""arguments":{"city": "Oslo", "days": 1.50}"#), "{text}");
    assert!(text.contains(r#""store":false,"stream":true"#), "{text}");
    let read = GeminiInteractions::history(&body["input"].to_string()).unwrap();
    assert!(read.repairs.is_empty(), "{:?}", read.repairs);
    let result = &read.history.steps().next().unwrap().results()[0];
    assert_eq!(result.structured_content(), Some(json!({"degrees": 4.0})));
    assert_eq!(sent(&ModelRequest::new(read.history)), body);
}

#[test]
fn a_text_that_was_edited_loses_what_was_said_about_it() {
    let cited = json!({"steps": [{"type": "model_output", "content":
        [{"type": "text", "text": "In Norway.", "annotations": [{"type": "url_citation"}]}]}]});
    let mut history = answered(History::from("where?"), read(&cited).reply);
    let came = cited["steps"][0].clone();
    assert_eq!(sent(&ModelRequest::new(history.clone()))["input"], json!([user("where?"), came]));
    history.replace_text(1, "In Sweden.");
    assert_eq!(
        sent(&ModelRequest::new(history))["input"],
        json!([user("where?"), says("In Sweden.")])
    );
}

#[test]
fn a_stream_that_breaks_off_is_no_reply() {
    let lines: Vec<&str> = EVENTS.lines().collect();
    for end in 0..lines.len() {
        assert_eq!(streamed(&lines[..end].join("\n")), Err(WireError::CutOff), "{end}");
    }
    let failed = r#"{"error":{"message":"Deadline expired.","code":"gateway_timeout"},"event_type":"error"}"#;
    let expected =
        WireError::Service { kind: "gateway_timeout".into(), message: "Deadline expired.".into() };
    assert_eq!(streamed(failed), Err(expected.clone()));
    assert_eq!(GeminiInteractions::response(failed), Err(expected));
}

#[test]
fn the_arguments_of_a_call_may_come_with_its_start() {
    let events = r#"{"index":3,"step":{"type":"function_call","id":"c","name":"x","arguments":{"a":1}},"event_type":"step.start"}
{"index":3,"event_type":"step.stop"}
{"interaction":{},"event_type":"interaction.completed"}
[DONE]"#;
    let (response, deltas) = streamed(events).unwrap();
    assert_eq!(response.reply, Reply::calls([ToolCall::new("c", "x", r#"{"a":1}"#)]));
    assert_eq!(deltas[1], Delta::Arguments { index: 0, text: r#"{"a":1}"#.into() });
}

#[test]
fn the_status_says_why_the_model_stopped() {
    let steps = json!([{"type": "function_call", "id": "c", "name": "x", "arguments": {}}]);
    let cases = [
        ("completed", json!([]), Some(Finish::Stop)),
        ("completed", steps.clone(), Some(Finish::Calls)),
        ("requires_action", steps.clone(), Some(Finish::Calls)),
        ("requires_action", json!([]), Some(Finish::Other("requires_action".into()))),
        ("incomplete", steps.clone(), Some(Finish::Length)),
        ("budget_exceeded", json!([]), Some(Finish::Length)),
        ("requires_continuation", steps.clone(), Some(Finish::Pause)),
        ("odd", json!([]), Some(Finish::Other("odd".into()))),
        ("in_progress", json!([]), None),
        ("queued", json!([]), None),
    ];
    for (status, steps, finish) in cases {
        let body = json!({"status": status, "steps": steps}).to_string();
        let whole = GeminiInteractions::response(&body);
        assert_eq!(whole.as_ref().ok().map(|whole| &whole.reply.finish), finish.as_ref(), "{body}");
        assert_eq!(streamed(&as_events(&body)).map(|(response, _)| response), whole, "{body}");
    }
    let error = json!({"code": 7, "message": "blocked"});
    let failed = [
        (
            json!({"status": "failed", "errors": [{"code": "blocked", "message": "no"}]}),
            "blocked",
            "no",
        ),
        (
            json!({"status": "failed", "steps": [{"type": "model_output", "error": error}]}),
            "7",
            "blocked",
        ),
        (
            json!({"status": "cancelled"}),
            "cancelled",
            "the interaction is cancelled, without a reason",
        ),
    ];
    for (body, kind, message) in failed {
        let expected = WireError::Service { kind: kind.into(), message: message.into() };
        assert_eq!(GeminiInteractions::response(&body.to_string()), Err(expected.clone()));
        assert_eq!(streamed(&as_events(&body.to_string())), Err(expected));
    }
}

#[test]
fn a_reply_at_the_limit_of_a_request_goes_on_where_it_stopped() {
    let hop = |id: &str, token: Value, status: &str, steps: Value| {
        read(&json!({"id": id, "status": status, "continuation_token": token, "steps": steps}))
    };
    let call = json!({"type": "function_call", "id": "c", "name": "x", "arguments": {"a": 1}});
    let thought = json!({"type": "thought", "signature": "QQ=="});
    let first =
        hop("v1_a", json!("t1"), "requires_continuation", json!([thought, says("One, "), call]));
    // No tool may be run, though there is a call.
    assert_eq!((first.reply.tool_calls().count(), &first.reply.finish), (0, &Finish::Pause));
    let asked = ModelRequest::new(History::from("go")).with_option("store", false);
    let second = super::state::continuation(&asked, &asked, &first.reply).unwrap();
    let body = sent(&second);
    assert_eq!((&body["continuation_token"], &body["input"]), (&json!("t1"), &json!([user("go")])));
    // What an agent sends after such a reply is the same.
    let history = answered(asked.history.clone(), first.reply.clone());
    assert_eq!(sent(&ModelRequest::new(history.clone())), body);
    let mut stored = second.with_option("store", true);
    let body = sent(&stored);
    assert_eq!((&body["previous_interaction_id"], &body["input"]), (&json!("v1_a"), &Value::Null));
    // A user who speaks instead gets an answer to that.
    stored.history.push_user("stop");
    let body = sent(&stored);
    assert_eq!(body["continuation_token"], Value::Null);
    assert_eq!(body["input"], json!([user("go"), thought, says("One, "), user("stop")]));

    // The token of the first reply does not count for the second.
    let again = hop("v1_b", json!("t1"), "requires_continuation", json!([]));
    let resumed = ModelRequest::new(history);
    assert!(super::state::continuation(&resumed, &resumed, &again.reply).is_none());
    let last = hop("v1_c", json!(null), "completed", json!([says("two."), says("Three.")]));
    let joined = super::state::joined(first.reply.clone(), last.reply);
    assert_eq!(joined.finish, Finish::Calls);
    let whole = open(asked.history, joined).answer([ToolResult::new("ok")]);
    let steps = sent(&ModelRequest::new(whole))["input"].clone();
    let result = json!({"type": "function_result", "call_id": "c", "name": "x", "result": "ok"});
    let call = json!({"type": "function_call", "id": "c", "name": "x", "arguments": {"a": 1}});
    assert_eq!(
        steps,
        json!([user("go"), thought, says("One, "), call, says("two."), says("Three."), result])
    );
    let texts = |text: &str| Reply::text(text);
    let paused = texts("One, ").with_finish(Finish::Pause);
    assert_eq!(super::state::joined(paused, texts("two.")), texts("One, two."));
}

#[test]
fn a_stored_interaction_is_named_and_not_sent_again() {
    let reply =
        |id: &str, steps: Value| read(&json!({"id": id, "status": "completed", "steps": steps}));
    let call = json!({"type": "function_call", "id": "c", "name": "x", "arguments": {"a": 1}});
    let request = |history: History| {
        let request = ModelRequest::new(history).with_system("Be brief.").with_tools(tools());
        request.with_option("store", true)
    };
    let asked = request(History::from("go"));
    let response = GeminiInteractions::remembered(&asked, reply("v1_a", json!([call])));
    let history = open(asked.history, response.reply).answer([ToolResult::new("ok")]);
    let result = json!({"type": "function_result", "call_id": "c", "name": "x", "result": "ok"});
    let body = sent(&request(history.clone()));
    assert_eq!((&body["previous_interaction_id"], &body["store"]), (&json!("v1_a"), &json!(true)));
    assert_eq!(body["input"], json!([result]));
    // What belongs to one interaction is said again.
    assert_eq!(body["system_instruction"], "Be brief.");
    assert_eq!(body["tools"][0]["type"], "function");
    let asked = request(history);
    let response = GeminiInteractions::remembered(&asked, reply("v1_b", json!([says("Done.")])));
    let history = answered(asked.history, response.reply);
    let more = |change: fn(&mut History)| {
        let mut history = history.clone();
        change(&mut history);
        let body = sent(&request(history));
        (body["previous_interaction_id"].clone(), body["input"].clone())
    };
    let all = json!([user("go"), call, result, says("Done."), user("and?")]);
    assert_eq!(more(|history| history.push_user("and?")), (json!("v1_b"), json!([user("and?")])));
    assert_eq!(more(|_| ()), (json!("v1_b"), json!([user("(no message)")])));
    // The service has another transcript than an edited one.
    let edits: [fn(&mut History); 3] = [
        |history| _ = history.replace_text(0, "stop"),
        |history| _ = history.replace_result("c", "not ok"),
        |history| _ = history.replace_text(2, "Not done."),
    ];
    for edit in edits {
        let mut edited = history.clone();
        edit(&mut edited);
        edited.push_user("and?");
        let body = sent(&request(edited));
        assert_eq!(body["previous_interaction_id"], Value::Null);
        assert_eq!(body["input"].as_array().unwrap().len(), 5);
    }
    let mut unstored = ModelRequest::new(history);
    unstored.history.push_user("and?");
    assert_eq!(sent(&unstored)["input"], all);
    let kept = serde_json::to_string(&unstored.history).unwrap();
    let read: History = serde_json::from_str(&kept).unwrap();
    assert_eq!(sent(&request(read))["previous_interaction_id"], "v1_b");
}

#[test]
fn hostile_replies_are_refused_or_read_but_never_fatal() {
    let deep = "[".repeat(200_000);
    let refused = [
        "",
        "null",
        "[]",
        "{}",
        "1",
        "\"x\"",
        "<html>",
        deep.as_str(),
        r#"{"steps":1}"#,
        r#"{"steps":[1]}"#,
        r#"{"steps":[{}]}"#,
        r#"{"error":"down"}"#,
    ];
    for body in refused {
        assert!(GeminiInteractions::response(body).is_err(), "{body:.80}");
        assert!(streamed(body).is_err(), "{body:.80}");
        assert!(body == "[]" || GeminiInteractions::history(body).is_err(), "{body:.80}");
    }
    for event in [
        r#"{"event_type":"step.start"}"#,
        r#"{"event_type":"step.delta","index":0}"#,
        r#"{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"x"}}"#,
        r#"{"event_type":"interaction.completed"}"#,
    ] {
        assert!(matches!(streamed(event), Err(WireError::Invalid(_))), "{event}");
    }
    let nulls = r#"{"steps":[null,{"type":"model_output","content":null,"error":null},
        {"type":"model_output","content":[null,{"type":"text","text":null}]},
        {"type":"function_call","id":null,"name":null,"arguments":null}],
        "id":null,"status":null,"usage":null,"errors":null,"error":null,"continuation_token":null}"#;
    let reply = GeminiInteractions::response(nulls).unwrap().reply;
    assert_eq!(reply.tool_calls().collect::<Vec<_>>(), [&ToolCall::new("", "", "{}")]);
    let args = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    let deep = format!(r#"{{"steps":[{{"type":"function_call","name":"x","arguments":{args}}}]}}"#);
    assert!(GeminiInteractions::response(&deep).is_err());
}

#[test]
fn media_and_texts_go_where_the_service_takes_them() {
    let parts = || {
        vec![
            Content::text("see"),
            Content::text(" "),
            Content::image(b"x", "image/png"),
            Content::audio(b"x", "audio/wav"),
            Content::resource_bytes("a.pdf", "application/pdf", b"x"),
            Content::resource_bytes("a.zip", "application/zip", b"x"),
        ]
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let media = |kind: &str, mime: &str| json!({"type": kind, "mime_type": mime, "data": "eA=="});
    let told = "[a.zip] [document of type application/zip, 1 bytes: it cannot be shown here]";
    let expected = json!([
        text("see"),
        media("image", "image/png"),
        media("audio", "audio/wav"),
        media("document", "application/pdf"),
        text(told),
    ]);
    let results = [
        (ToolResult::from(parts()), expected.clone()),
        (ToolResult::new("ok"), json!("ok")),
        (ToolResult::structured(r#"{"a":1}"#.into()), json!({"a": 1})),
        // A list would be read as contents.
        (ToolResult::structured("[1]".into()), json!("[1]")),
        (ToolResult::from(Content::resource_bytes("a.zip", "application/zip", b"x")), json!(told)),
    ];
    let calls: Vec<ToolCall> =
        (0..results.len()).map(|at| ToolCall::new(format!("c{at}"), "x", "{}")).collect();
    let (results, outputs): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    let history = open(History::from(parts()), Reply::calls(calls)).answer(results);
    let body = sent(&ModelRequest::new(history));
    let steps = body["input"].as_array().unwrap();
    assert_eq!(steps[0], json!({"type": "user_input", "content": expected}));
    let came: Vec<Value> = steps[6..].iter().map(|step| step["result"].clone()).collect();
    assert_eq!(came, outputs);
    let deep = format!("{}{}", "{\"a\":".repeat(100) + "1", "}".repeat(100));
    let history = open(History::from("go"), Reply::calls([ToolCall::new("a", "x", "{}")]))
        .answer([ToolResult::structured(deep.clone())]);
    assert_eq!(sent(&ModelRequest::new(history))["input"][2]["result"], deep);
    let nothing = sent(&ModelRequest::new(History::new()));
    assert_eq!(nothing["input"], json!([user("(no message)")]));
}

#[test]
fn parts_of_other_services_stay_behind() {
    let foreign = |dialect, value| Part::Other(Echo::new(dialect, value));
    let search = json!({"type": "google_search_call", "id": "g", "arguments": {}});
    let parts = vec![
        foreign(Dialect::Gemini, json!({"executableCode": {}})),
        foreign(Dialect::GeminiInteractions, json!({"type": "function_result", "call_id": "z"})),
        foreign(Dialect::GeminiInteractions, search.clone()),
        Part::Reasoning { text: "hm".into(), echo: None },
        Part::Call {
            call: ToolCall::new("a", "x", "{}"),
            echo: Some(Echo::new(Dialect::GeminiInteractions, json!({"id": "b", "caller": "c"}))),
        },
    ];
    let body = |finish: Finish| {
        let history = History::from("go").reply(Reply::new(parts.clone()).with_finish(finish));
        let history = match history {
            Replied::Calls(open) => open.answer([ToolResult::new("ok")]),
            Replied::CutOff(history) => history,
            other => panic!("{other:?}"),
        };
        sent(&ModelRequest::new(history))["input"].as_array().unwrap()[1..].to_vec()
    };
    let call =
        json!({"type": "function_call", "id": "a", "name": "x", "arguments": {}, "caller": "c"});
    assert_eq!(body(Finish::Calls)[..2], [search, call.clone()]);
    // A call by the service that was cut off before its result.
    assert_eq!(body(Finish::Length)[0], call);
}

#[test]
fn options_and_choices() {
    let request =
        |choice| ModelRequest::new(History::from("x")).with_tools(tools()).with_tool_choice(choice);
    let choice = |choice| sent(&request(choice))["generation_config"]["tool_choice"].clone();
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::None), json!("none"));
    assert_eq!(choice(ToolChoice::Required), json!("any"));
    let body = sent(&request(ToolChoice::Tool("docs.search".into())));
    let name = &body["tools"][0]["name"];
    assert_eq!(
        body["generation_config"]["tool_choice"],
        json!({"allowed_tools": {"mode": "any", "tools": [name]}})
    );
    let mut request = ModelRequest::new(History::from("x")).with_tool_choice(ToolChoice::Required);
    for (name, value) in [
        ("max_tokens", json!(5)),
        ("stop", json!("END")),
        ("top_p", json!(0.5)),
        ("input", json!(1)),
        ("system_instruction", json!("other")),
        ("tools", json!(1)),
        ("stream", json!(true)),
        ("seed", json!(7)),
        ("temperature", json!(null)),
        ("store", json!(null)),
        ("generation_config", json!({"max_output_tokens": 1, "tool_choice": "any"})),
        ("service_tier", json!("flex")),
    ] {
        request = request.with_option(name, value);
    }
    let body = GeminiInteractions::body(&request, "models/gemini-2.5-flash", false);
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        json!({
            "model": "gemini-2.5-flash",
            "generation_config": {"max_output_tokens": 5, "stop_sequences": ["END"], "top_p": 0.5, "seed": 7},
            "service_tier": "flex",
            "input": [user("x")],
        })
    );
}

#[test]
fn a_transcript_in_the_services_form_is_read_and_mended() {
    let steps = json!([
        {"type": "text", "text": "go"},
        {"type": "thought", "signature": "QQ=="},
        {"type": "function_call", "id": "a", "name": "x", "arguments": {"n": 1}},
        {"type": "function_call", "id": "b", "name": "y", "arguments": {}},
        {"type": "function_result", "call_id": "b", "result": [{"type": "text", "text": "of y"}, {"type": "image", "uri": "gs://a"}]},
        {"type": "function_result", "call_id": "a", "result": {"temp": 4}, "is_error": true},
        {"type": "function_result", "call_id": "z", "result": 1},
        {"type": "user_input", "content": "and now?"},
        {"type": "user_input", "content": [{"type": "video", "mime_type": "video/mp4", "data": "eA=="}]},
    ]);
    let read = GeminiInteractions::history(&steps.to_string()).unwrap();
    assert_eq!(read.repairs.len(), 1, "{:?}", read.repairs);
    let step = read.history.steps().next().unwrap();
    let told: Vec<_> = step.results().iter().map(|result| result.text().into_owned()).collect();
    assert_eq!(told, [r#"{"temp":4}"#, "of y\n[image at gs://a]"]);
    assert!(step.results()[0].is_error());
    assert_eq!(step.reply().parts.len(), 3);
    let last = &sent(&ModelRequest::new(read.history))["input"][6]["content"];
    assert_eq!(last[1], json!({"type": "video", "mime_type": "video/mp4", "data": "eA=="}));
}

#[test]
fn the_alias_that_a_model_calls_by_is_sent_as_it_is() {
    let alias = crate::dialect::outbound_name("docs.search", Dialect::GeminiInteractions);
    let call = ToolCall::new("a", &*alias, "{}");
    let history = open(History::from("go"), Reply::calls([call])).answer([]);
    let body = sent(&ModelRequest::new(history).with_tools(tools()));
    assert_eq!(body["input"][1]["name"], *alias);
    assert_eq!(body["input"][2]["name"], *alias);
}
