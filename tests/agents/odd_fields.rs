//! Replies with one thing that is not as the service's documents say: a field beside the text and
//! the calls that is of another kind, or half of a character. It costs itself alone.

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::dialect::Dialect;
use toolbox::model::{HistoryRepair, ModelRequest, ModelResponse};
use toolbox::wire::{
    Anthropic, Format, Gemini, GeminiInteractions, OpenAiChat, OpenAiResponses, ResponseStream,
    WireError,
};
use toolbox::{ToolBox, ToolCall, tool};

#[tool]
/// Returns a text.
async fn g(text: String) -> String {
    text
}

/// Members without which there is no text and no call, no end, or no way to tell calls apart. Odd
/// ones may fail the reply.
const CARRYING: &str = "type text name arguments args input partial_json delta content parts \
    choices message function tool_calls candidates output steps step item response content_block \
    functionCall interaction event_type status thinking role thought summary error refusal \
    call_id finishReason finish_reason";

fn odd() -> Vec<Value> {
    vec![
        json!(null),
        json!(0),
        json!(1.5),
        json!(-1),
        json!("x"),
        json!("7"),
        json!(""),
        json!(true),
        json!([]),
        json!([1]),
        json!({}),
        json!({"a": 1}),
        json!(1e30),
    ]
}

/// Puts each odd value in each place that carries neither text nor calls.
fn variants(whole: &Value) -> Vec<(String, Value)> {
    fn walk(value: &Value, path: &str, carrying: bool, found: &mut Vec<String>) {
        if !carrying {
            found.push(path.to_owned());
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if matches!(name.as_str(), "arguments" | "args" | "input") {
                        continue;
                    }
                    let carrying = CARRYING.split(' ').any(|known| known == name);
                    walk(member, &format!("{path}/{name}"), carrying, found);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    walk(item, &format!("{path}/{at}"), true, found);
                }
            }
            _ => {}
        }
    }
    let mut paths = Vec::new();
    walk(whole, "", true, &mut paths);
    let mut variants = Vec::new();
    for path in paths {
        let place = whole.pointer(&path).unwrap();
        let odd = match place.as_u64().filter(|_| path.ends_with("index")) {
            Some(index) => {
                vec![json!(index.to_string()), json!(f64::from(u32::try_from(index).unwrap()))]
            }
            None => odd(),
        };
        for odd in odd {
            let mut changed = whole.clone();
            *changed.pointer_mut(&path).unwrap() = odd.clone();
            variants.push((format!("{path} = {odd}"), changed));
        }
    }
    variants
}

/// What a program does with a reply.
fn used(response: &ModelResponse) -> (String, Vec<(String, String)>) {
    let reply = &response.reply;
    let calls = reply.tool_calls().map(|call| (call.name.clone(), call.arguments.to_string()));
    (reply.content().into_owned(), calls.collect())
}

/// A reply of one format: some reasoning, `Looking.`, and the calls `f` and `g`.
struct Sample {
    dialect: Dialect,
    whole: Value,
    events: Vec<Value>,
    response: fn(&str) -> Result<ModelResponse, WireError>,
    streamed: fn(&[String]) -> Result<ModelResponse, WireError>,
}

fn sample<F: Format>(whole: &Value, events: &[Value]) -> Sample {
    Sample {
        dialect: F::DIALECT,
        whole: whole.clone(),
        events: events.to_vec(),
        response: F::response,
        streamed: |events| {
            let mut stream = F::Stream::default();
            for event in events {
                stream.event(event, &mut |_| {})?;
            }
            stream.finish()
        },
    }
}

impl Sample {
    fn texts(&self) -> Vec<String> {
        self.events.iter().map(Value::to_string).collect()
    }

    /// Returns what is lost when one place of the reply is changed.
    fn lost(&self) -> Vec<String> {
        let mut lost = Vec::new();
        let right = used(&(self.response)(&self.whole.to_string()).unwrap());
        assert_eq!((right.0.as_str(), right.1.len()), ("Looking.", 2));
        let streamed = (self.streamed)(&self.texts()).unwrap();
        assert_eq!(used(&streamed), right, "{:?}", self.dialect);
        let mut check = |place: &str, found: Result<ModelResponse, WireError>| {
            let found = found.map(|response| used(&response));
            if found.as_ref() != Ok(&right) {
                lost.push(format!("{:?} {place}: {found:?}", self.dialect));
            }
        };
        for (what, changed) in variants(&self.whole) {
            check(&what, (self.response)(&changed.to_string()));
        }
        for at in 0..self.events.len() {
            for (what, changed) in variants(&self.events[at]) {
                let mut events = self.texts();
                events[at] = changed.to_string();
                check(&format!("event {at}: {what}"), (self.streamed)(&events));
            }
        }
        lost
    }
}

fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    samples.push(sample::<OpenAiChat>(
        &json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "Looking.", "refusal": null,
                "reasoning_content": "Hm.", "annotations": [], "tool_calls": [call("a", "f"), call("b", "g")]}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 1}}, "service_tier": "default", "system_fingerprint": "x"}),
        &[
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": null,
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": "", "reasoning_content": "Hm."}, "logprobs": null, "finish_reason": null}]}),
            json!({"choices": [{"index": 0, "delta": {"content": "Looking."}, "finish_reason": null}]}),
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}),
        ],
    ));
    let item = |id: &str, name: &str| json!({"id": id, "type": "function_call", "call_id": id, "name": name, "arguments": "{}", "status": "completed"});
    let text = json!({"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Looking.", "annotations": [], "logprobs": []}]});
    let reasoning = json!({"id": "r", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "e"});
    let response = json!({"id": "resp", "object": "response", "created_at": 1, "status": "completed", "model": "m",
        "error": null, "incomplete_details": null, "output": [reasoning, text, item("a", "f"), item("b", "g")],
        "usage": {"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 1}}, "metadata": {}});
    let mut events = vec![
        json!({"type": "response.created", "sequence_number": 0, "response": {"id": "resp", "status": "in_progress", "output": [], "error": null}}),
    ];
    for (at, item) in response["output"].as_array().unwrap().iter().enumerate() {
        events.push(json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": at, "item": item}));
        events.push(json!({"type": "response.output_item.done", "sequence_number": 2, "output_index": at, "item": item}));
    }
    events.push(json!({"type": "response.completed", "sequence_number": 9, "response": response}));
    samples.push(sample::<OpenAiResponses>(&response, &events));
    samples.push(sample::<Anthropic>(
        &json!({"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Looking.", "citations": null},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": {"type": "direct"}},
            {"type": "tool_use", "id": "b", "name": "g", "input": {}}],
            "stop_reason": "tool_use", "stop_sequence": null, "container": null,
            "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 0, "output_tokens_details": {"thinking_tokens": 1}}}),
        &[
            json!({"type": "message_start", "message": {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Looking."}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "b", "name": "g", "input": {}}}),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null, "container": null}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ],
    ));
    let gemini = json!({"candidates": [{"index": 0, "finishReason": "STOP", "avgLogprobs": 0.1, "safetyRatings": [], "content": {"role": "model", "parts": [
        {"text": "Hm.", "thought": true}, {"text": "Looking."},
        {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c"},
        {"functionCall": {"name": "g", "args": {}}}]}}],
        "promptFeedback": {"safetyRatings": []},
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}, "modelVersion": "m", "responseId": "r"});
    samples.push(sample::<Gemini>(&gemini, std::slice::from_ref(&gemini)));
    let steps = json!([
        {"type": "thought", "signature": "s", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Looking.", "annotations": []}]},
        {"type": "function_call", "id": "a", "name": "f", "arguments": {}, "signature": "s"},
        {"type": "function_call", "id": "b", "name": "g", "arguments": {}}]);
    let interaction = json!({"id": "i", "object": "interaction", "model": "m", "created": "x", "status": "requires_action", "steps": steps,
        "usage": {"total_input_tokens": 1, "total_output_tokens": 2}});
    let mut events = vec![
        json!({"event_type": "interaction.created", "event_id": "e", "interaction": {"id": "i", "status": "in_progress"}}),
    ];
    for (at, step) in steps.as_array().unwrap().iter().enumerate() {
        events
            .push(json!({"event_type": "step.start", "event_id": "e", "index": at, "step": step}));
        events.push(json!({"event_type": "step.stop", "event_id": "e", "index": at}));
    }
    events.push(json!({"event_type": "interaction.completed", "interaction": interaction}));
    samples.push(sample::<GeminiInteractions>(&interaction, &events));
    samples
}

#[test]
fn a_field_that_is_not_needed_costs_itself_alone() {
    let lost: Vec<String> = samples().iter().flat_map(Sample::lost).collect();
    assert!(lost.is_empty(), "{} lost:\n{}", lost.len(), lost.join("\n"));
}

#[test]
fn half_of_a_character_in_a_reply_costs_itself_alone() {
    for sample in samples() {
        let cut =
            |text: &str| text.replace("Looking.", r"Looking\ud83d.").replace("Hm.", r"\uDE00");
        let whole = (sample.response)(&cut(&sample.whole.to_string())).unwrap();
        let events: Vec<String> = sample.texts().iter().map(|text| cut(text)).collect();
        let streamed = (sample.streamed)(&events).unwrap();
        for response in [whole, streamed] {
            let (text, calls) = used(&response);
            assert_eq!(text, "Looking\u{fffd}.", "{:?}", sample.dialect);
            assert_eq!(calls.len(), 2);
        }
    }
}

/// A call with half a character in its arguments does not run with another character in its place,
/// whether the arguments come as an object or as a text.
#[tokio::test]
async fn half_of_a_character_in_arguments_is_refused() {
    let tools = ToolBox::from(g::tool());
    for sample in samples() {
        let mut whole = sample.whole.to_string();
        // The last call is `g`.
        let at = whole.rfind(r#""{}""#).or_else(|| whole.rfind("{}")).unwrap();
        let (long, value) = if whole[at..].starts_with('"') {
            (4, r#""{\"text\":\"a\ud83d\"}""#)
        } else {
            (2, r#"{"text":"a\ud83d"}"#)
        };
        whole.replace_range(at..at + long, value);
        let whole = whole.replace("Looking.", r"Looking\ud83d.");
        let response = (sample.response)(&whole);
        let response = response.unwrap_or_else(|error| panic!("{:?}: {error}", sample.dialect));
        assert_eq!(response.reply.content(), "Looking\u{fffd}.", "{:?}", sample.dialect);
        let call = response.reply.tool_calls().find(|call| call.arguments.as_str() != "{}");
        let result = tools.call(ToolCall::new("1", "g", call.unwrap().arguments.as_str())).await;
        let text = result.text();
        assert!(result.is_error() && text.contains("surrogate"), "{:?}: {text}", sample.dialect);
    }
}

/// Halves that stand in two pieces of arguments are one character.
#[test]
fn halves_in_two_pieces_of_arguments_are_one_character() {
    let chat = |piece: &str| {
        let function = format!(r#"{{"name":"g","arguments":"{piece}"}}"#);
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{function}}}]}}}}]}}"#
        )
    };
    let end = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned();
    let events = [chat(r#"{\"text\":\"\ud83d"#), chat(r#"\ude00\"}"#), end];
    let mut stream = <OpenAiChat as Format>::Stream::default();
    for event in &events {
        stream.event(event, &mut |_| {}).unwrap();
    }
    let response = stream.finish().unwrap();
    let call = response.reply.tool_calls().next().unwrap();
    let arguments: Value = serde_json::from_str(call.arguments.as_str()).unwrap();
    assert_eq!(arguments, json!({"text": "\u{1f600}"}));
}

#[test]
fn half_of_a_character_in_a_transcript_is_repaired() {
    fn check<F: Format>(messages: &str) {
        let transcript = F::history(messages).unwrap();
        assert_eq!(transcript.repairs, [HistoryRepair::HalfCharacters { count: 1 }]);
        let body = F::body(&ModelRequest::new(transcript.history), "m", false);
        assert!(body.contains("cut \u{fffd}"), "{body}");
    }
    let messages = r#"[{"role":"user","content":"cut \ud83d"}]"#;
    check::<OpenAiChat>(messages);
    check::<OpenAiResponses>(messages);
    check::<Anthropic>(messages);
    check::<Gemini>(r#"[{"role":"user","parts":[{"text":"cut \ud83d"}]}]"#);
    check::<GeminiInteractions>(
        r#"[{"type":"user_input","content":[{"type":"text","text":"cut \ud83d"}]}]"#,
    );
}
