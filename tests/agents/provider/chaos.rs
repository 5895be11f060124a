//! A service that fails in eighteen ways before each reply, in five formats, whole and streamed:
//! which runs of an agent end with the right answer, its tool called once.

use crate::bounded::tokio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolbox::Tool;
use toolbox::agent::Agent;
use toolbox::model::Model;
use toolbox::provider::{Anthropic, Gemini, OpenAi};

use super::server::{Answer, Server, answer, event_pieces};
use super::{HTML, KEY, MILLI};

/// The maximum silence of a stream of a service that is silent, which the test waits for.
const IDLE: Duration = Duration::from_secs(4);
/// The same for one that is not, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Format {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Interactions,
}

const FORMATS: [Format; 5] =
    [Format::Chat, Format::Responses, Format::Anthropic, Format::Gemini, Format::Interactions];

impl Format {
    fn model(self, url: &str, idle: Duration) -> Arc<dyn Model> {
        let long = Duration::from_secs(5);
        let openai = OpenAi::new(KEY, "m")
            .base_url(url)
            .backoff(MILLI, long)
            .idle_timeout(idle)
            .timeout(2 * idle);
        match self {
            Self::Chat => Arc::new(openai),
            Self::Responses => Arc::new(openai.responses()),
            Self::Anthropic => Arc::new(
                Anthropic::new(KEY, "m")
                    .base_url(url)
                    .backoff(MILLI, long)
                    .idle_timeout(idle)
                    .timeout(2 * idle),
            ),
            Self::Gemini | Self::Interactions => {
                let gemini = Gemini::new(KEY, "m")
                    .base_url(url)
                    .backoff(MILLI, long)
                    .idle_timeout(idle)
                    .timeout(2 * idle);
                Arc::new(if self == Self::Gemini { gemini.generate_content() } else { gemini })
            }
        }
    }

    /// A whole reply that calls the tool, or that answers.
    fn whole(self, calls: bool) -> Value {
        match (self, calls) {
            (Self::Chat, true) => {
                json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
                "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "count", "arguments": "{}"}}]}}]})
            }
            (Self::Chat, false) => {
                json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}]})
            }
            (Self::Responses, true) => {
                json!({"id": "r1", "object": "response", "status": "completed", "output": [
                {"type": "function_call", "id": "f1", "call_id": "c1", "name": "count", "arguments": "{}", "status": "completed"}]})
            }
            (Self::Responses, false) => {
                json!({"id": "r2", "object": "response", "status": "completed", "output": [
                {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "done", "annotations": []}]}]})
            }
            (Self::Anthropic, true) => {
                json!({"id": "m1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": "c1", "name": "count", "input": {}}]})
            }
            (Self::Anthropic, false) => {
                json!({"id": "m2", "type": "message", "role": "assistant", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "done"}]})
            }
            (Self::Gemini, true) => json!({"candidates": [{"content": {"role": "model", "parts": [
                {"functionCall": {"name": "count", "args": {}}}]}, "finishReason": "STOP"}]}),
            (Self::Gemini, false) => {
                json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}, "finishReason": "STOP"}]})
            }
            (Self::Interactions, true) => {
                json!({"id": "v1", "status": "requires_action", "steps": [
                {"type": "function_call", "id": "c1", "name": "count", "arguments": {}}]})
            }
            (Self::Interactions, false) => json!({"id": "v2", "status": "completed", "steps": [
                {"type": "model_output", "content": [{"type": "text", "text": "done"}]}]}),
        }
    }

    /// The same reply as events.
    fn events(self, calls: bool) -> Vec<Value> {
        let whole = self.whole(calls);
        match self {
            Self::Chat => {
                let mut delta = whole["choices"][0]["message"].clone();
                if calls {
                    delta["tool_calls"][0]["index"] = json!(0);
                }
                let end = &whole["choices"][0]["finish_reason"];
                vec![
                    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
                    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}),
                ]
            }
            Self::Responses => {
                let item = &whole["output"][0];
                let mut begun = item.clone();
                begun["status"] = json!("in_progress");
                vec![
                    json!({"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress", "output": []}}),
                    json!({"type": "response.output_item.added", "output_index": 0, "item": begun}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                    json!({"type": "response.completed", "response": whole}),
                ]
            }
            Self::Anthropic => {
                let (start, delta) = if calls {
                    (
                        json!({"type": "tool_use", "id": "c1", "name": "count", "input": {}}),
                        json!({"type": "input_json_delta", "partial_json": "{}"}),
                    )
                } else {
                    (
                        json!({"type": "text", "text": ""}),
                        json!({"type": "text_delta", "text": "done"}),
                    )
                };
                vec![
                    json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": start}),
                    json!({"type": "content_block_delta", "index": 0, "delta": delta}),
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}}),
                    json!({"type": "message_stop"}),
                ]
            }
            Self::Gemini => vec![whole],
            Self::Interactions => vec![
                json!({"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress"}}),
                json!({"event_type": "step.start", "index": 0, "step": whole["steps"][0]}),
                json!({"event_type": "step.stop", "index": 0}),
                json!({"event_type": "interaction.completed", "interaction": {"id": "v1", "status": whole["status"]}}),
            ],
        }
    }

    /// A reply whose parts are null.
    fn without_parts(self) -> &'static str {
        match self {
            Self::Chat => r#"{"choices":null}"#,
            Self::Responses => r#"{"object":"response","status":"completed","output":null}"#,
            Self::Anthropic => r#"{"type":"message","role":"assistant","content":null}"#,
            Self::Gemini => r#"{"candidates":null}"#,
            Self::Interactions => r#"{"steps":null}"#,
        }
    }
}

/// A request as the service is asked it: whole replies, or events.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Whole,
    Streamed,
}

/// Returns the body of a good reply, and its type.
fn good(format: Format, mode: Mode, calls: bool) -> (&'static str, String) {
    match mode {
        Mode::Whole => ("application/json", format.whole(calls).to_string()),
        Mode::Streamed => {
            let events = format.events(calls);
            let lines: String = events
                .iter()
                .map(|event| match event["type"].as_str() {
                    Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
                    None => format!("data: {event}\n\n"),
                })
                .collect();
            let end = if format == Format::Chat { "data: [DONE]\n\n" } else { "" };
            ("text/event-stream", format!("{lines}{end}"))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// The body ends in the middle, as a body that is whole.
    CutBody,
    /// The connection ends before the length that was announced.
    EarlyClose,
    EmptyBody,
    HtmlWith200,
    WrongShape,
    WrongTypeAndCut,
    JsonNull,
    PartsAreNull,
    NotUtf8,
    GarbageBefore,
    ErrorWith200,
    Status429,
    Status500,
    Status503,
    Status529,
    /// The connection ends before anything was said.
    Reset,
    /// The reply comes, a few bytes at a time.
    SlowBytes,
    /// The head of a reply comes, and nothing more.
    Silence,
}

const FAULTS: [Fault; 18] = [
    Fault::CutBody,
    Fault::EarlyClose,
    Fault::EmptyBody,
    Fault::HtmlWith200,
    Fault::WrongShape,
    Fault::WrongTypeAndCut,
    Fault::JsonNull,
    Fault::PartsAreNull,
    Fault::NotUtf8,
    Fault::GarbageBefore,
    Fault::ErrorWith200,
    Fault::Status429,
    Fault::Status500,
    Fault::Status503,
    Fault::Status529,
    Fault::Reset,
    Fault::SlowBytes,
    Fault::Silence,
];

impl Fault {
    fn answer(self, format: Format, mode: Mode, calls: bool) -> Answer {
        let (kind, body) = good(format, mode, calls);
        let half = &body.as_bytes()[..body.len() / 2];
        let error = r#"{"error":{"type":"server_error","code":500,"message":"m"}}"#;
        let event = |text: &str| match mode {
            Mode::Whole => text.to_owned(),
            Mode::Streamed => format!("data: {text}\n\n"),
        };
        let plain = |text: &str| answer(200, kind, "", event(text).as_bytes());
        let head = |length: usize| {
            format!("HTTP/1.1 200 X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n")
                .into_bytes()
        };
        match self {
            Self::CutBody => answer(200, kind, "", half),
            Self::EarlyClose => Answer::Pieces(vec![head(body.len()), half.to_vec()]),
            Self::EmptyBody => answer(200, kind, "", b""),
            Self::HtmlWith200 => answer(200, "text/html", "", HTML),
            Self::WrongShape => plain(r#"{"ok":true}"#),
            Self::WrongTypeAndCut => answer(200, "text/plain", "", half),
            Self::JsonNull => plain("null"),
            Self::PartsAreNull => plain(format.without_parts()),
            Self::NotUtf8 => answer(200, kind, "", b"data: \xff\xfe\n\n"),
            Self::GarbageBefore => match mode {
                Mode::Whole => answer(200, kind, "", format!("warning: x\n{body}").as_bytes()),
                Mode::Streamed => {
                    Answer::Pieces(event_pieces([
                        format!(": hello\nnonsense\nfoo: bar\n\n{body}").into_bytes()
                    ]))
                }
            },
            Self::ErrorWith200 => plain(error),
            Self::Status429 => {
                answer(429, "application/json", "retry-after: 0\r\n", error.as_bytes())
            }
            Self::Status500 => answer(500, "application/json", "", error.as_bytes()),
            Self::Status503 => answer(503, "text/html", "", HTML),
            Self::Status529 => answer(
                529,
                "application/json",
                "",
                b"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}",
            ),
            Self::Reset => Answer::Pieces(vec![]),
            Self::SlowBytes => {
                let pieces = body.as_bytes().chunks(7).map(<[u8]>::to_vec);
                Answer::Pieces(std::iter::once(head(body.len())).chain(pieces).collect())
            }
            Self::Silence => Answer::ThenSilent(vec![head(body.len())]),
        }
    }

    /// Returns whether the reply arrives all the same, so that the request is not repeated.
    fn is_read(self, mode: Mode) -> bool {
        self == Self::SlowBytes || self == Self::GarbageBefore && mode == Mode::Streamed
    }
}

/// Runs an agent before a service that fails before each of its two replies; returns its answer and
/// how often the tool ran.
async fn run(format: Format, mode: Mode, fault: Fault) -> (Result<String, String>, usize) {
    let mut answers = Vec::new();
    for calls in [true, false] {
        answers.push(fault.answer(format, mode, calls));
        if !fault.is_read(mode) {
            let (kind, body) = good(format, mode, calls);
            answers.push(answer(200, kind, "", body.as_bytes()));
        }
    }
    let server = Server::start(answers).await;
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let tool = Tool::new("count", "Counts.").call(move |_: &Value| {
        counted.fetch_add(1, Ordering::Relaxed);
        "counted"
    });
    let idle = if fault == Fault::Silence { IDLE } else { PATIENCE };
    let agent =
        Agent::builder(format.model(&server.url, idle)).tools(tool).build().expect("an agent");
    let run = match mode {
        Mode::Whole => agent.run("count once").await,
        Mode::Streamed => agent.run("count once").on_event(|_| {}).await,
    };
    let answer = run.map(|outcome| outcome.content).map_err(|error| error.to_string());
    (answer, count.load(Ordering::Relaxed))
}

/// The runs that are lost: a listener has heard a piece of the reply when the stream breaks, and
/// would hear it twice. Half a reply holds no whole event with a piece of it in the other three
/// formats.
const LOST: [(Mode, Fault, Format); 4] = [
    (Mode::Streamed, Fault::CutBody, Format::Responses),
    (Mode::Streamed, Fault::CutBody, Format::Anthropic),
    (Mode::Streamed, Fault::EarlyClose, Format::Responses),
    (Mode::Streamed, Fault::EarlyClose, Format::Anthropic),
];

#[tokio::test]
async fn runs_survive_a_service_that_fails_before_each_reply() {
    for mode in [Mode::Whole, Mode::Streamed] {
        for fault in FAULTS {
            let runs = FORMATS.map(|format| run(format, mode, fault));
            for (format, (answer, count)) in FORMATS.into_iter().zip(join_all(runs).await) {
                let about = format!("{mode:?} {fault:?} {format:?}");
                if LOST.contains(&(mode, fault, format)) {
                    // Nothing ran, and the error says what happened.
                    assert!(answer.is_err() && count == 0, "{about}: {answer:?}, {count}");
                } else {
                    assert_eq!((answer, count), (Ok("done".to_owned()), 1), "{about}");
                }
            }
        }
    }
}
