//! Replies that are no answer: nothing, half of one, and calls that come again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::{Value, json};
use toolbox::agent::StopReason;
use toolbox::call::Arguments;
use toolbox::model::{Finish, ModelResponse, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::wire::{
    Anthropic, Format, Gemini, GeminiInteractions, OpenAiChat, OpenAiResponses, ResponseStream,
    WireError,
};
use toolbox::{Agent, Tool, ToolCall};

use crate::bounded::tokio;
use support::{agent, counted, says};

/// Reads a reply that came whole.
type Whole = fn(&Value) -> Result<ModelResponse, WireError>;

fn whole<F: Format>(body: &Value) -> Result<ModelResponse, WireError> {
    F::response(&body.to_string())
}

fn streamed<F: Format>(events: &[Value]) -> Result<ModelResponse, WireError> {
    let mut stream = F::Stream::default();
    for event in events {
        stream.event(&event.to_string(), &mut |_| {})?;
    }
    stream.finish()
}

fn chat(message: Value, finish: &str) -> Value {
    json!({"choices": [{"message": message, "finish_reason": finish}]})
}

fn gemini(parts: Value, finish: &str) -> Value {
    json!({"candidates": [{"content": {"parts": parts}, "finishReason": finish}]})
}

fn claude(content: Value, stop: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": content, "stop_reason": stop})
}

/// The last request of a model in the form of each service.
fn bodies(model: &ScriptedModel) -> [Value; 5] {
    let requests = model.requests();
    let last = requests.last().unwrap();
    [
        OpenAiChat::body(last, "m", false),
        OpenAiResponses::body(last, "m", false),
        Anthropic::body(last, "m", false),
        Gemini::body(last, "m", false),
        GeminiInteractions::body(last, "m", false),
    ]
    .map(|body| serde_json::from_str(&body).unwrap())
}

/// Replies that say nothing, as services send them.
fn nothing() -> Vec<(&'static str, Result<ModelResponse, WireError>)> {
    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "s"});
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    let responses = |output: Value| json!({"status": "completed", "output": output});
    let stop = |content: Value| chat(json!({"content": content}), "stop");
    let of_chat: Whole = whole::<OpenAiChat>;
    vec![
        ("chat: empty", of_chat(&stop(json!("")))),
        ("chat: null", of_chat(&stop(Value::Null))),
        ("chat: spaces", of_chat(&stop(json!(" \n")))),
        ("chat: no parts", of_chat(&stop(json!([])))),
        (
            "chat: reasoning",
            of_chat(&chat(json!({"content": "", "reasoning_content": "Hm."}), "stop")),
        ),
        (
            "chat, streamed",
            streamed::<OpenAiChat>(&[
                json!({"choices": [{"delta": {"role": "assistant", "content": ""}}]}),
                json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
            ]),
        ),
        ("responses: none", whole::<OpenAiResponses>(&responses(json!([])))),
        ("responses: reasoning", whole::<OpenAiResponses>(&responses(json!([reasoning])))),
        (
            "responses, streamed",
            streamed::<OpenAiResponses>(&[
                json!({"type": "response.completed", "response": responses(json!([]))}),
            ]),
        ),
        ("claude: none", whole::<Anthropic>(&claude(json!([]), "end_turn"))),
        ("claude: thinking", whole::<Anthropic>(&claude(json!([thinking]), "end_turn"))),
        (
            "claude, streamed",
            streamed::<Anthropic>(&[
                json!({"type": "message_start", "message": claude(json!([]), "end_turn")}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                json!({"type": "message_stop"}),
            ]),
        ),
        ("gemini: none", whole::<Gemini>(&gemini(json!([]), "STOP"))),
        ("gemini: empty", whole::<Gemini>(&gemini(json!([{"text": ""}]), "STOP"))),
        (
            "gemini: thought",
            whole::<Gemini>(&gemini(json!([{"text": "Hm.", "thought": true}]), "STOP")),
        ),
        ("gemini, streamed", streamed::<Gemini>(&[gemini(json!([]), "STOP")])),
        ("interactions", whole::<GeminiInteractions>(&json!({"status": "completed", "steps": []}))),
    ]
}

fn of(response: &ModelResponse) -> ScriptedModel {
    ScriptedModel::new().reply(response.reply.clone())
}

#[tokio::test]
async fn nothing_is_no_answer_and_is_asked_for_once_more() {
    for (name, response) in nothing() {
        let response = response.unwrap_or_else(|error| panic!("{name}: {error}"));
        // The model is told, and what it says then is the answer.
        let model = of(&response).text("done");
        let outcome = agent(&model, vec![]).run("x").await.unwrap();
        let found = (outcome.reason, outcome.content.as_str(), outcome.iterations);
        assert_eq!(found, (StopReason::Answered, "done", 2), "{name}");
        let [chat, responses, claude, gemini, interactions] = bodies(&model);
        assert_eq!(chat["messages"].as_array().unwrap().len(), 2, "{name}: {chat}");
        assert_eq!(responses["input"].as_array().unwrap().len(), 2, "{name}: {responses}");
        // Nothing of it goes back: services take no empty message, and no reasoning on its own.
        for body in [&chat, &responses, &claude, &gemini, &interactions] {
            let text = body.to_string();
            assert!(!text.contains("\"assistant\"") && !text.contains("\"model\":{"), "{text}");
            assert!(!text.contains("Hm.") && !text.contains("rs_1"), "{name}: {text}");
            assert!(text.contains("Your last reply was empty"), "{name}: {text}");
        }
        // Nothing again is the end, and not a success.
        let model = of(&response).reply(response.reply.clone()).text("too late");
        let outcome = agent(&model, vec![]).run("x").await.unwrap();
        assert_eq!(
            (outcome.reason, outcome.content.trim(), outcome.iterations),
            (StopReason::NoAnswer, "", 2),
            "{name}"
        );
        assert_eq!((outcome.reason.code(), outcome.is_answered()), ("no_answer", false));
        // After calls that were made, too, and the transcript goes on.
        let model = ScriptedModel::new().calls("t", "{}").reply(response.reply.clone()).forever();
        let outcome = agent(&model, vec![says("t", "x")]).run("x").await.unwrap();
        assert_eq!((outcome.reason, outcome.iterations), (StopReason::NoAnswer, 3), "{name}");
        let goes_on = ScriptedModel::answering("here");
        let outcome =
            agent(&goes_on, vec![]).run("more").with_history(outcome.history).await.unwrap();
        assert_eq!(outcome.content, "here", "{name}");
    }
}

#[tokio::test]
async fn nothing_from_an_agent_below_is_a_failure() {
    let below = Agent::builder(ScriptedModel::new().text("").forever()).build().unwrap();
    let tool = below.as_tool("clerk", "Helps.");
    let model = ScriptedModel::new().calls("clerk", r#"{"task": "go"}"#).text("ok");
    let outcome = agent(&model, vec![tool]).run("x").await.unwrap();
    let step = outcome.history.steps().next().unwrap();
    assert!(step.results()[0].is_error(), "{:?}", step.results());
    assert!(step.results()[0].text().contains("gave no answer"), "{:?}", step.results());
}

/// Words for the end of a reply, and what they are.
const WORDS: [(&str, Finish); 15] = [
    ("length", Finish::Length),
    ("model_length", Finish::Length),
    ("max_tokens", Finish::Length),
    ("MAX_TOKENS", Finish::Length),
    ("model_context_window_exceeded", Finish::Length),
    ("content_filter", Finish::Refusal),
    ("sensitive", Finish::Refusal),
    ("SAFETY", Finish::Refusal),
    ("PROHIBITED_CONTENT", Finish::Refusal),
    ("RECITATION", Finish::Refusal),
    ("MALFORMED_FUNCTION_CALL", Finish::MalformedCall),
    ("UNEXPECTED_TOOL_CALL", Finish::MalformedCall),
    ("stop_sequence", Finish::Calls),
    ("eos", Finish::Calls),
    ("tool_use", Finish::Calls),
];

/// Words of services that did not bring a reply to its end.
const FAILURES: [&str; 15] = [
    "network_error",
    "insufficient_system_resource",
    "abort",
    "aborted",
    "cancelled",
    "engine_overloaded",
    "server-error",
    "timed_out",
    "MALFORMED_RESPONSE",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "FINISH_REASON_UNSPECIFIED",
    "LANGUAGE",
    "OTHER",
    "NO_IMAGE",
];

/// A reply with a text and a call that ends with a word, in each form that has one.
fn ending(word: &str) -> Vec<(&'static str, Result<ModelResponse, WireError>)> {
    let call = json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}});
    let message = json!({"content": "Half", "tool_calls": [call]});
    let blocks = json!([
        {"type": "text", "text": "Half"},
        {"type": "tool_use", "id": "c", "name": "t", "input": {}},
    ]);
    let parts = json!([{"text": "Half"}, {"functionCall": {"name": "t", "args": {}}}]);
    let start = |index: usize, block: &Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: usize| json!({"type": "content_block_stop", "index": index});
    vec![
        ("chat", whole::<OpenAiChat>(&chat(message.clone(), word))),
        (
            "chat, streamed",
            streamed::<OpenAiChat>(&[
                json!({"choices": [{"delta": {"content": "Half"}}]}),
                json!({"choices": [{"delta": {"tool_calls": message["tool_calls"]}}]}),
                json!({"choices": [{"delta": {}, "finish_reason": word}]}),
            ]),
        ),
        ("claude", whole::<Anthropic>(&claude(blocks.clone(), word))),
        (
            "claude, streamed",
            streamed::<Anthropic>(&[
                json!({"type": "message_start", "message": claude(json!([]), "")}),
                start(0, &blocks[0]),
                stop(0),
                start(1, &blocks[1]),
                stop(1),
                json!({"type": "message_delta", "delta": {"stop_reason": word}}),
                json!({"type": "message_stop"}),
            ]),
        ),
        ("gemini", whole::<Gemini>(&gemini(parts.clone(), word))),
        ("gemini, streamed", streamed::<Gemini>(&[gemini(parts, word)])),
    ]
}

#[tokio::test]
async fn a_word_for_a_failure_runs_no_call_and_ends_in_no_answer() {
    for (word, expected) in WORDS {
        for (name, response) in ending(word) {
            assert_eq!(response.unwrap().reply.finish, expected, "{name}: {word}");
        }
    }
    for word in FAILURES {
        for (name, response) in ending(word) {
            let reply = response.unwrap().reply;
            assert_eq!(reply.finish, Finish::Failed(word.to_owned()), "{name}");
            let count = Arc::new(AtomicUsize::new(0));
            let model = ScriptedModel::new().reply(reply.clone()).text("whole");
            let outcome = agent(&model, vec![counted("t", &count)]).run("x").await.unwrap();
            let found = (outcome.reason, outcome.content.as_str(), count.load(SeqCst));
            assert_eq!(found, (StopReason::Answered, "whole", 0), "{name}: {word}");
            // Without the call it is half an answer, and that is none.
            let text = Reply::text("Half").with_finish(reply.finish);
            let model = ScriptedModel::new().reply(text).forever();
            let outcome = agent(&model, vec![]).run("x").await.unwrap();
            let found = (outcome.reason, outcome.content.as_str(), outcome.iterations);
            assert_eq!(found, (StopReason::NoAnswer, "Half", 2), "{name}: {word}");
            let sent = bodies(&model)[0].to_string();
            assert!(sent.contains("ended early") && sent.contains(word), "{sent}");
        }
    }
}

#[tokio::test]
async fn replies_that_are_cut_off_again_and_again_come_to_an_end() {
    let call = || Reply::calls([ToolCall::new("c", "t", r#"{"text":"aaa"}"#)]);
    let cases = [
        (call().with_finish(Finish::Length), 4, StopReason::Length, "write less"),
        (call().with_finish(Finish::MalformedCall), 4, StopReason::NoAnswer, "make the call again"),
        (Reply::text("").with_finish(Finish::MalformedCall), 4, StopReason::NoAnswer, "write less"),
        (call().with_finish(Finish::Failed("x".into())), 2, StopReason::NoAnswer, "cut off (x)"),
    ];
    for (reply, requests, reason, advice) in cases {
        let model = ScriptedModel::new().reply(reply.clone()).forever();
        let outcome = agent(&model, vec![says("t", "x")]).run("x").await.unwrap();
        assert_eq!((outcome.reason, outcome.iterations), (reason, requests), "{reply:?}");
        assert!(bodies(&model)[0].to_string().contains(advice), "{reply:?}");
        // A reply that is whole has the count begin anew.
        let model = ScriptedModel::new().reply(reply.clone()).calls("t", "{}").reply(reply.clone());
        let outcome = agent(&model.text("done"), vec![says("t", "x")]).run("x").await.unwrap();
        assert_eq!(outcome.reason, StopReason::Answered, "{reply:?}");
    }
}

/// A tool, and the arguments of its call.
type Played = (&'static str, &'static str);

/// Plays the calls of a round over and over.
fn plays(calls: &[Played], rounds: usize) -> ScriptedModel {
    let all = calls.iter().cycle().take(calls.len() * rounds);
    all.fold(ScriptedModel::new(), |model, (tool, arguments)| model.calls(*tool, *arguments))
        .text("done")
}

#[tokio::test]
async fn calls_in_turns_and_in_other_words_are_repetitions() {
    let (a, b) = (r#"{"x":1,"y":[2]}"#, r#"{"y":[2.0], "x" : 1}"#);
    // (the case, the calls of a round, whether they are repetitions)
    let cases: [(&str, &[Played], bool); 13] = [
        ("two in turns", &[("a", "{}"), ("b", "{}")], true),
        ("three in turns", &[("a", "{}"), ("b", "{}"), ("a", r#"{"x":1}"#)], true),
        ("another order of keys", &[("a", a), ("a", b)], true),
        ("escapes", &[("a", r#"{"x":"\u0061"}"#), ("a", r#"{"x":"a"}"#)], true),
        ("numbers", &[("a", r#"{"x":100}"#), ("a", r#"{"x":1e2}"#)], true),
        ("what is no JSON", &[("a", "{"), ("b", "{}")], true),
        ("beside one that is polled", &[("polls", "{}"), ("b", "{}")], true),
        ("a poll in other words", &[("polls", "{}"), ("polls", " { } ")], false),
        ("behind a gateway", &[("toolbox_execute", r#"{"name":"a","arguments":{}}"#)], true),
        ("that fail", &[("fails", "{}"), ("b", "{}")], true),
        ("of a tool that is polled", &[("polls", "{}")], false),
        ("in turns with a change", &[("a", "{}"), ("counts", "{}")], false),
        ("of one tool that changes", &[("counts", "{}")], false),
    ];
    for (name, calls, repeats) in cases {
        let count = Arc::new(AtomicUsize::new(0));
        let fails = Tool::new("fails", "Fails.")
            .call(|_| Err::<String, _>(toolbox::ToolError::reported("no")));
        let tools = vec![
            Tool::raw("a", "Says.", json!({"type": "object"}), |_: Arguments| "same"),
            says("b", "same"),
            says("toolbox_execute", "same"),
            says("polls", "not yet").polling(),
            counted("counts", &count),
            fails,
        ];
        let outcome = agent(&plays(calls, 6), tools).run("x").await.unwrap();
        let expected = if repeats { StopReason::Repeated } else { StopReason::Answered };
        assert_eq!(outcome.reason, expected, "{name}: {}", outcome.iterations);
    }
}

#[test]
fn replies_in_other_places_are_read() {
    let piece = |key: &str, piece: Value| json!({"choices": [{key: piece}]});
    let end = json!({"choices": [{"finish_reason": "stop"}]});
    let call = json!({"id": "c", "function": {"name": "t", "arguments": "{\"a\":1}"}});
    let completed = |output: Value| json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let delta = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
    let function = json!({"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"});
    let text_item =
        json!({"type": "message", "content": [{"type": "output_text", "text": "Hello"}]});
    let cases = [
        (
            "`message` in place of `delta`",
            streamed::<OpenAiChat>(&[
                piece("message", json!({"content": "He"})),
                piece("message", json!({"content": "llo"})),
                end.clone(),
            ]),
            0,
        ),
        (
            "a call in a `message`",
            streamed::<OpenAiChat>(&[
                piece("message", json!({"content": "Hello", "tool_calls": [call]})),
                end.clone(),
            ]),
            1,
        ),
        (
            "the whole `message` after the deltas",
            streamed::<OpenAiChat>(&[
                piece("delta", json!({"content": "He"})),
                piece("delta", json!({"content": "llo"})),
                piece("message", json!({"content": "Hello"})),
                end,
            ]),
            0,
        ),
        (
            "deltas without items",
            streamed::<OpenAiResponses>(&[delta("He"), delta("llo"), completed(json!([]))]),
            0,
        ),
        (
            "deltas beside a call",
            streamed::<OpenAiResponses>(&[delta("Hello"), completed(json!([function]))]),
            1,
        ),
        (
            "deltas and their item",
            streamed::<OpenAiResponses>(&[delta("Hello"), completed(json!([text_item]))]),
            0,
        ),
    ];
    for (name, response, calls) in cases {
        let reply = response.unwrap_or_else(|error| panic!("{name}: {error}")).reply;
        assert_eq!((&*reply.content(), reply.tool_calls().count()), ("Hello", calls), "{name}");
    }
}
