//! AG-UI 1.0: requests and events.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolbox::Content;
use toolbox::agent::PendingCall;
use toolbox::call::{ToolCall, ToolResult};
use toolbox::context::{Answer, QuestionForm};
use toolbox::model::{FoundMessage, Part, Reply, Usage};

use crate::frames::Writer;
use crate::offered::Offer;
use crate::paused::question_id;
use crate::piece::{CallPiece, End, Piece, ResultStatus, TextKind, top_call};
use crate::request::{RequestError, Said, WebRequest, encoded, file, id, malformed, text};

/// Reads a `RunAgentInput`.
pub(crate) fn read(body: &[u8]) -> Result<WebRequest, RequestError> {
    let input: Value = serde_json::from_slice(body).map_err(malformed)?;
    let messages = input["messages"].as_array();
    let messages = messages.ok_or_else(|| malformed("`messages` is missing, or is no list"))?;
    let mut found = Vec::new();
    for message in messages {
        found.extend(read_message(message)?);
    }
    let tools = input["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let offer = |tool: &Value| Offer {
        name: tool["name"].clone(),
        description: tool["description"].clone(),
        schema: tool["parameters"].clone(),
    };
    let offers = tools.iter().map(offer).collect();
    let (thread, run) = (id(&input, "threadId")?, id(&input, "runId")?);
    Ok(WebRequest { thread, run, messages: found, said: read_resume(&input["resume"])?, offers })
}

fn read_message(message: &Value) -> Result<Option<FoundMessage>, RequestError> {
    Ok(Some(match text(message, "role")? {
        "user" => FoundMessage::User(read_content(&message["content"])?),
        "assistant" => FoundMessage::Reply(Reply::new(read_reply(message)?)),
        "tool" => {
            let content = ToolResult::from(read_content(&message["content"])?);
            let result = match message["error"].as_str() {
                Some(error) if content.text().is_empty() => ToolResult::error(error),
                Some(_) => ToolResult::error(content.text()),
                None => content,
            };
            FoundMessage::Result { call_id: text(message, "toolCallId")?.to_owned(), result }
        }
        // Instructions are the program's; reasoning goes back to no service without its signature.
        _ => return Ok(None),
    }))
}

fn read_reply(message: &Value) -> Result<Vec<Part>, RequestError> {
    let said = message["content"].as_str().unwrap_or_default();
    let mut parts = Vec::new();
    if !said.is_empty() {
        parts.push(Part::text(said));
    }
    for call in message["toolCalls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let (name, arguments) = (text(function, "name")?, text(function, "arguments")?);
        parts.push(Part::call(ToolCall::new(text(call, "id")?, name, arguments)));
    }
    Ok(parts)
}

fn read_content(content: &Value) -> Result<Vec<Content>, RequestError> {
    if let Some(text) = content.as_str() {
        return Ok(vec![Content::text(text)]);
    }
    let parts = content.as_array().ok_or_else(|| malformed("`content` is no text and no list"))?;
    parts.iter().filter_map(|part| read_part(part).transpose()).collect()
}

fn read_part(part: &Value) -> Result<Option<Content>, RequestError> {
    let source = &part["source"];
    let mime_type = source["mimeType"].as_str().unwrap_or_default();
    Ok(match (text(part, "type")?, source["type"].as_str()) {
        ("text", _) => Some(Content::text(text(part, "text")?)),
        (name, Some("data")) => Some(encoded(text(source, "value")?, mime_type, name)?),
        (name, Some("url")) => Some(file(text(source, "value")?, mime_type, name)?),
        // A file of a provider, or a part of a later version.
        _ => None,
    })
}

/// Reads what was said to interrupts: `{"approved": bool, "reason"?: text}` to one that asks for an
/// approval, the answer itself to a question.
fn read_resume(resume: &Value) -> Result<BTreeMap<String, Said>, RequestError> {
    let entries = resume.as_array().map_or(&[][..], Vec::as_slice);
    let read = |entry: &Value| {
        let id = text(entry, "interruptId")?.to_owned();
        let said = match (text(entry, "status")?, &entry["payload"]) {
            ("cancelled", _) => Said::Denied("the user cancelled the call".to_owned()),
            ("resolved", answer) if id.contains('#') => {
                Said::Answered(Answer::Accepted(answer.clone()))
            }
            ("resolved", payload) => decision(payload)?,
            (status, _) => return Err(malformed(format!("{status:?} is no status"))),
        };
        Ok((id, said))
    };
    entries.iter().map(read).collect()
}

fn decision(payload: &Value) -> Result<Said, RequestError> {
    match payload["approved"].as_bool() {
        Some(true) => Ok(Said::Approved),
        Some(false) => {
            let reason = payload["reason"].as_str().unwrap_or("the user denied the call");
            Ok(Said::Denied(reason.to_owned()))
        }
        None => Err(malformed("`payload.approved` is missing, or is no boolean")),
    }
}

/// Writes events of AG-UI.
pub(crate) struct AgUiWriter {
    thread: String,
    run: String,
}

impl AgUiWriter {
    pub(crate) fn new(request: &WebRequest) -> Self {
        Self { thread: request.thread.clone(), run: request.run.clone() }
    }

    fn finished(&self, outcome: &Value, usage: Usage) -> Value {
        json!({
            "type": "RUN_FINISHED",
            "threadId": self.thread,
            "runId": self.run,
            "outcome": outcome,
            "usage": [{
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens(),
            }],
        })
    }

    fn end(&self, end: End) -> Value {
        match end {
            End::Answered { usage, .. } => self.finished(&json!({"type": "success"}), usage),
            End::Cancelled => self.finished(&json!({"type": "cancelled"}), Usage::default()),
            End::Waiting { pending, usage } => {
                let interrupts: Vec<_> = pending.iter().flat_map(interrupts).collect();
                // The calls of the front end's own tools are there; it makes them, and asks again.
                if interrupts.is_empty() {
                    return self.finished(&json!({"type": "success"}), usage);
                }
                let outcome = json!({"type": "interrupt", "interrupts": interrupts});
                self.finished(&outcome, usage)
            }
            End::Failed { code, message } => {
                json!({"type": "RUN_ERROR", "code": code, "message": message})
            }
        }
    }
}

impl Writer for AgUiWriter {
    fn write(&mut self, piece: Piece, documents: &mut Vec<Value>) {
        match piece {
            Piece::Begin => documents
                .push(json!({"type": "RUN_STARTED", "threadId": self.thread, "runId": self.run})),
            Piece::Step => {}
            Piece::TextBegin { kind: TextKind::Text, id } => documents
                .push(json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"})),
            Piece::Text { kind: TextKind::Text, id, delta } => documents
                .push(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta})),
            Piece::TextEnd { kind: TextKind::Text, id } => {
                documents.push(json!({"type": "TEXT_MESSAGE_END", "messageId": id}));
            }
            Piece::TextBegin { kind: TextKind::Reasoning, id } => documents.extend([
                json!({"type": "REASONING_START", "messageId": id}),
                json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
            ]),
            Piece::Text { kind: TextKind::Reasoning, id, delta } => documents.push(
                json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": delta}),
            ),
            Piece::TextEnd { kind: TextKind::Reasoning, id } => documents.extend([
                json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
                json!({"type": "REASONING_END", "messageId": id}),
            ]),
            Piece::End(end) => documents.push(self.end(end)),
            Piece::Call(piece) => documents.push(call_event(piece)),
        }
    }
}

/// Returns the event of a piece of a call.
fn call_event(piece: CallPiece) -> Value {
    match piece {
        CallPiece::Begin { id, tool, message } => json!({
            "type": "TOOL_CALL_START",
            "toolCallId": id,
            "toolCallName": tool,
            "parentMessageId": message,
        }),
        CallPiece::Arguments { id, delta } => {
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta})
        }
        CallPiece::Ready { id, .. } => json!({"type": "TOOL_CALL_END", "toolCallId": id}),
        CallPiece::Result { id, text, status } => {
            let mut event = json!({
                "type": "TOOL_CALL_RESULT",
                "messageId": format!("result-{id}"),
                "toolCallId": id,
                "content": text,
                "role": "tool",
            });
            if status != ResultStatus::Ok {
                event["metadata"] = json!({"isError": true});
            }
            event
        }
        CallPiece::Item { id, index, text } => json!({
            "type": "CUSTOM",
            "name": "tool_output",
            "value": {"toolCallId": id, "index": index, "text": text},
        }),
        CallPiece::Progress { id, done, total, message } => json!({
            "type": "CUSTOM",
            "name": "tool_progress",
            "value": {"toolCallId": id, "done": done, "total": total, "message": message},
        }),
    }
}

/// Returns what a pending call asks: one interrupt for an approval, or one for each question.
fn interrupts(call: &PendingCall) -> Vec<Value> {
    let tool_call = top_call(&call.id);
    if call.questions.is_empty() {
        return vec![json!({
            "id": call.id,
            "reason": "tool_call",
            "message": format!("May tool `{}` run?", call.tool),
            "toolCallId": tool_call,
            "responseSchema": {
                "type": "object",
                "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
                "required": ["approved"],
            },
        })];
    }
    let interrupt = |(at, question): (usize, &toolbox::context::PendingQuestion)| {
        let mut interrupt = json!({
            "id": question_id(&call.id, at),
            "reason": "input_required",
            "message": question.message,
            "toolCallId": tool_call,
        });
        match &question.form {
            QuestionForm::Fields(schema) => interrupt["responseSchema"] = schema.clone(),
            QuestionForm::Url(url) => interrupt["metadata"] = json!({"url": url}),
            _ => {}
        }
        interrupt
    };
    call.questions.iter().enumerate().map(interrupt).collect()
}
