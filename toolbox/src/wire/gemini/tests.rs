use serde_json::{Value, json};

use super::response::SKIPPED_SIGNATURE;
use super::*;
use crate::call::{Content, ToolCall, ToolResult};
use crate::definition::ToolDefinition;
use crate::model::{
    Delta, Echo, Finish, History, Part, Replied, Reply, ToolChoice, Unanswered, Usage,
};
use crate::wire::ResponseStream;

const WHOLE: &str = include_str!("payloads/reply.json");
const EVENTS: &str = include_str!("payloads/reply.jsonl");

fn streamed(events: &str) -> Result<(ModelResponse, Vec<Delta>), WireError> {
    let mut stream = GeminiStream::default();
    let mut deltas = Vec::new();
    for event in events.lines() {
        stream.event(event, &mut |delta| deltas.push(delta))?;
    }
    Ok((stream.finish()?, deltas))
}

fn sent_to(request: &ModelRequest, model: &str) -> Value {
    serde_json::from_str(&Gemini::body(request, model, false)).unwrap()
}

fn sent(request: &ModelRequest) -> Value {
    sent_to(request, "gemini-3-pro-preview")
}

fn open(history: History, reply: Reply) -> Unanswered {
    match history.reply(reply) {
        Replied::Calls(open) => open,
        other => panic!("{other:?}"),
    }
}

fn tools() -> Vec<ToolDefinition> {
    vec![ToolDefinition::new("docs.search", "Searches", json!({"type": "object"}))]
}

#[test]
fn a_reply_is_read_whole_and_streamed_alike() {
    let whole = Gemini::response(WHOLE).unwrap();
    let (streamed, deltas) = streamed(EVENTS).unwrap();
    assert_eq!(streamed, whole);
    assert_eq!(whole.reply.finish, Finish::Calls);
    assert_eq!(whole.reply.content(), "Looking. ");
    assert_eq!(whole.reply.parts.len(), 6);
    let call = whole.reply.tool_calls().next().unwrap();
    assert_eq!(call, &ToolCall::new("a1", "get_weather", r#"{"city": "Oslo", "days": 1.50}"#));
    let mut usage = Usage::new(40, 50);
    (usage.cache_read_input_tokens, usage.reasoning_tokens) = (10, 30);
    assert_eq!(whole.usage, usage);
    assert_eq!(deltas[0], Delta::Reasoning("Two cities, ".into()));
    assert!(deltas.contains(&Delta::Call {
        index: 3,
        id: "a1".into(),
        name: "get_weather".into()
    }));
}

#[test]
fn what_the_service_gave_goes_back_as_it_came() {
    let reply = Gemini::response(WHOLE).unwrap().reply;
    let history = open(History::from("weather?"), reply).answer([
        ToolResult::structured(r#"{"degrees": 4.0}"#.into()),
        ToolResult::error("no such clock"),
    ]);
    let body = sent(&ModelRequest::new(history.clone()));
    let came: Value = serde_json::from_str(WHOLE).unwrap();
    let came = came["candidates"][0]["content"]["parts"].as_array().unwrap();
    // All but the thoughts, which nothing signs.
    assert_eq!(body["contents"][1]["parts"].as_array().unwrap()[..], came[1..]);
    assert_eq!(
        body["contents"][2],
        json!({"role": "user", "parts": [
            {"functionResponse": {"id": "a1", "name": "get_weather", "response": {"output": {"degrees": 4.0}}}},
            {"functionResponse": {"id": "a2", "name": "now", "response": {"error": "no such clock"}}},
        ]})
    );
    let text = Gemini::body(&ModelRequest::new(history.clone()), "gemini-3-pro", false);
    assert!(text.contains(r#""args":{"city": "Oslo", "days": 1.50}"#), "{text}");
    let read = Gemini::history(&body["contents"].to_string()).unwrap();
    assert!(read.repairs.is_empty(), "{:?}", read.repairs);
    assert_eq!(
        read.history.steps().next().unwrap().results()[0].structured_content(),
        Some(json!({"degrees": 4.0}))
    );
    assert_eq!(sent(&ModelRequest::new(read.history)), body);
}

#[test]
fn a_stream_that_breaks_off_is_no_reply() {
    let lines: Vec<&str> = EVENTS.lines().collect();
    for end in 0..lines.len() {
        assert_eq!(streamed(&lines[..end].join("\n")), Err(WireError::CutOff), "{end}");
    }
    let failed = r#"{"error":{"code":429,"message":"Slow down","status":"RESOURCE_EXHAUSTED"}}"#;
    let expected =
        WireError::Service { kind: "RESOURCE_EXHAUSTED".into(), message: "Slow down".into() };
    assert_eq!(streamed(failed), Err(expected.clone()));
    assert_eq!(Gemini::response(failed), Err(expected));
}

#[test]
fn finish_reasons() {
    let cases = [
        ("STOP", Finish::Stop),
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::Refusal),
        ("RECITATION", Finish::Refusal),
        ("BLOCKLIST", Finish::Refusal),
        ("PROHIBITED_CONTENT", Finish::Refusal),
        ("SPII", Finish::Refusal),
        ("MALFORMED_FUNCTION_CALL", Finish::MalformedCall),
        ("OTHER", Finish::Failed("OTHER".into())),
        ("NEW_WORD", Finish::Other("NEW_WORD".into())),
    ];
    for (reason, finish) in cases {
        let body = json!({"candidates": [{"finishReason": reason}]}).to_string();
        assert_eq!(Gemini::response(&body).unwrap().reply.finish, finish);
        assert_eq!(streamed(&body).unwrap().0.reply.finish, finish);
    }
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
    assert_eq!(
        Gemini::response(blocked).unwrap().reply,
        Reply::new(vec![]).with_finish(Finish::Refusal)
    );
    assert_eq!(streamed(blocked).unwrap().0.reply.finish, Finish::Refusal);
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
        r#"{"candidates":1}"#,
        r#"{"candidates":[1]}"#,
        r#"{"candidates":[null]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":1}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":1}]}}]}"#,
        r#"{"candidates":[],"usageMetadata":{"promptTokenCount":"many"}}"#,
        r#"{"error":"down"}"#,
    ];
    for body in refused {
        assert!(Gemini::response(body).is_err(), "{body:.80}");
        assert!(streamed(body).is_err(), "{body:.80}");
        assert!(body == "[]" || Gemini::history(body).is_err(), "{body:.80}");
    }
    let nulls = r#"{"candidates":[null,{"content":{"parts":[null,{"text":null,"thought":null,"thoughtSignature":null},{"functionCall":{"id":null,"name":"x","args":null}},{"functionCall":null}]},"finishReason":null,"index":null}],
        "promptFeedback":null,"usageMetadata":{"promptTokenCount":null},"modelVersion":null,"responseId":null,"error":null}"#;
    let reply = Gemini::response(nulls).unwrap().reply;
    assert_eq!(reply.parts, [Part::call(ToolCall::new("", "x", "{}"))]);
    assert!(Gemini::response(&nulls.replace("\"x\"", "null")).is_err());
    let args = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    let deep = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"x","args":{args}}}}}]}}}}]}}"#
    );
    let open = open(History::new(), Gemini::response(&deep).unwrap().reply);
    let history = open.answer([]);
    let kept = history.last_reply().unwrap().tool_calls().next().unwrap();
    assert!(kept.arguments.as_str().contains("malformed_arguments"));
    let many: Vec<Value> = (0..10_000).map(|_| json!({"functionCall": {"name": "x"}})).collect();
    let body = json!({"candidates": [{"content": {"parts": many}}]}).to_string();
    assert_eq!(Gemini::response(&body).unwrap().reply.parts.len(), 10_000);
}

#[test]
fn ids_go_back_only_when_the_model_gave_them() {
    let of = |parts: Value| {
        let body = json!({"candidates": [{"content": {"parts": parts}}]}).to_string();
        let history = open(History::from("go"), Gemini::response(&body).unwrap().reply).answer([]);
        let body = sent(&ModelRequest::new(history));
        let side = |place: usize, key: &str| {
            let parts = body["contents"][place]["parts"].as_array().unwrap().iter();
            parts.map(|part| part[key]["id"].clone()).collect::<Vec<_>>()
        };
        let (calls, results) = (side(1, "functionCall"), side(2, "functionResponse"));
        assert_eq!(calls, results);
        calls
    };
    let call = |id: Value| json!({"functionCall": {"id": id, "name": "x", "args": {}}});
    assert_eq!(of(json!([call(json!("a")), call(json!("b"))])), ["a", "b"]);
    assert_eq!(of(json!([call(json!("a")), call(json!("a"))])), ["a", "a00000001"]);
    assert_eq!(of(json!([call(json!("a")), call(Value::Null)])), [Value::Null, Value::Null]);
}

#[test]
fn calls_of_another_service_are_marked_as_such() {
    let foreign = |id: &str| Part::Call {
        call: ToolCall::new(id, "x", "{}"),
        echo: Some(Echo::new(Dialect::Anthropic, json!({"id": id, "caller": {}}))),
    };
    let history =
        open(History::from("go"), Reply::new(vec![foreign("a"), foreign("b")])).answer([]);
    let request = ModelRequest::new(history.clone());
    let call = json!({"functionCall": {"name": "x", "args": {}}});
    let marked =
        json!({"functionCall": {"name": "x", "args": {}}, "thoughtSignature": SKIPPED_SIGNATURE});
    assert_eq!(sent_to(&request, "gemini-2.5-pro")["contents"][1]["parts"], json!([call, call]));
    for model in ["gemini-3-pro-preview", "models/gemini-3.1-flash", "gemini-flash-latest"] {
        assert_eq!(
            sent_to(&request, model)["contents"][1]["parts"],
            json!([marked, call]),
            "{model}"
        );
    }
    let read = Gemini::history(&sent(&request)["contents"].to_string()).unwrap();
    assert!(
        read.history.steps().all(|step| step
            .reply()
            .parts
            .iter()
            .all(|part| part.echo(Dialect::Gemini).is_none()))
    );
}

#[test]
fn images_of_results_go_where_the_model_takes_them() {
    let history =
        open(History::from("go"), Reply::calls([ToolCall::new("a", "x", "{}")])).answer([
            ToolResult::from(vec![
                Content::text("see"),
                Content::image(b"x", "image/png"),
                Content::image(b"x", "image/gif"),
                Content::audio(b"x", "audio/wav"),
            ]),
        ]);
    let data = json!({"inlineData": {"mimeType": "image/png", "data": "eA=="}});
    let told = "see\n[image of type image/gif, 1 bytes: it cannot be shown here]\n[audio of type audio/wav, 1 bytes: it cannot be shown here]";
    let request = ModelRequest::new(history);
    let contents = &sent(&request)["contents"];
    assert_eq!(
        contents[2]["parts"],
        json!([{"functionResponse": {"name": "x", "response": {"output": told}, "parts": [data]}}])
    );
    let contents = &sent_to(&request, "gemini-2.5-flash")["contents"];
    assert_eq!(contents[2]["parts"][0]["functionResponse"]["parts"], Value::Null);
    assert_eq!(contents[3], json!({"role": "user", "parts": [data]}));
    let user = History::from(vec![
        Content::audio(b"x", "audio/wav"),
        Content::resource_bytes("a.zip", "application/zip", b"x"),
    ]);
    assert_eq!(
        sent(&ModelRequest::new(user))["contents"][0]["parts"],
        json!([{"inlineData": {"mimeType": "audio/wav", "data": "eA=="}},
            {"text": "[a.zip] [document of type application/zip, 1 bytes: it cannot be shown here]"}])
    );
}

#[test]
fn turns_alternate_and_begin_with_the_user() {
    let Replied::Answer(history) =
        History::new().reply(Reply::text("Hm.").with_finish(Finish::Pause))
    else {
        panic!()
    };
    let mut history =
        open(history, Reply::calls([ToolCall::new("a", "what is\nthis?", "{}")])).answer([]);
    history.push_user(" ");
    history.push_user("and?");
    let body = sent_to(&ModelRequest::new(history).with_system("Be kind."), "gemini-2.0-flash");
    let shape: Vec<(&str, usize)> = body["contents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|content| {
            (content["role"].as_str().unwrap(), content["parts"].as_array().unwrap().len())
        })
        .collect();
    assert_eq!(shape, [("user", 1), ("model", 2), ("user", 1), ("user", 1)]);
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "Be kind."}]}));
    assert_eq!(
        sent(&ModelRequest::new(History::new()))["contents"],
        json!([{"role": "user", "parts": [{"text": "(no message)"}]}])
    );
}

#[test]
fn options_and_choices() {
    let request =
        |choice| ModelRequest::new(History::from("x")).with_tools(tools()).with_tool_choice(choice);
    let calling = |choice| sent(&request(choice))["toolConfig"]["functionCallingConfig"].clone();
    assert_eq!(calling(ToolChoice::Auto), Value::Null);
    assert_eq!(calling(ToolChoice::None), json!({"mode": "NONE"}));
    assert_eq!(calling(ToolChoice::Required), json!({"mode": "ANY"}));
    let body = sent(&request(ToolChoice::Tool("docs.search".into())));
    let name = &body["tools"][0]["functionDeclarations"][0]["name"];
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"],
        json!({"mode": "ANY", "allowedFunctionNames": [name]})
    );
    let mut request = ModelRequest::new(History::from("x")).with_tool_choice(ToolChoice::Required);
    for (name, value) in [
        ("max_tokens", json!(5)),
        ("stop", json!("END")),
        ("top_p", json!(0.5)),
        ("contents", json!(1)),
        ("tools", json!(1)),
        ("stream", json!(true)),
        ("seed", json!(7)),
        ("temperature", json!(null)),
        ("generationConfig", json!({"maxOutputTokens": 1, "candidateCount": 1})),
        ("safetySettings", json!([])),
    ] {
        request = request.with_option(name, value);
    }
    assert_eq!(
        sent(&request),
        json!({
            "generationConfig": {"maxOutputTokens": 5, "candidateCount": 1, "stopSequences": ["END"], "topP": 0.5, "seed": 7},
            "safetySettings": [],
            "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        })
    );
}

#[test]
fn a_transcript_in_the_services_form_is_read_and_mended() {
    let contents = json!([
        {"parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "x", "args": {"n": 1}}}, {"function_call": {"name": "y", "args": {}}}]},
        {"role": "function", "parts": [
            {"functionResponse": {"name": "y", "response": {"output": "of y"}}},
            {"functionResponse": {"name": "x", "response": {"temp": 4}}},
            {"functionResponse": {"name": "z", "response": {}}}]},
        {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "eA=="}}, {"fileData": {"fileUri": "gs://a"}}]},
        {"role": "model", "parts": []},
    ]);
    let read = Gemini::history(&contents.to_string()).unwrap();
    assert_eq!(read.repairs.len(), 2, "{:?}", read.repairs);
    let step = read.history.steps().next().unwrap();
    let told: Vec<_> = step.results().iter().map(|result| result.text().into_owned()).collect();
    assert_eq!(told, [r#"{"temp":4}"#, "of y"]);
    assert_eq!(read.history.last_user_text().unwrap(), "[file at gs://a]");
}

#[test]
fn a_structure_too_deep_for_the_service_is_told_as_text() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let history = open(History::from("go"), Reply::calls([ToolCall::new("a", "x", "{}")]))
        .answer([ToolResult::structured(deep.clone())]);
    let body = sent(&ModelRequest::new(history));
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["response"]["output"], deep);
}

#[test]
fn the_alias_that_a_model_calls_by_is_sent_as_it_is() {
    let alias = crate::dialect::outbound_name("docs.search", Dialect::Gemini);
    let call = ToolCall::new("a", &*alias, "{}");
    let history = open(History::from("go"), Reply::calls([call])).answer([]);
    let body = sent(&ModelRequest::new(history).with_tools(tools()));
    assert_eq!(body["contents"][1]["parts"][0]["functionCall"]["name"], *alias);
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["name"], *alias);
}
