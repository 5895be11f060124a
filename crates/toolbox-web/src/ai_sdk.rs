//! The AI SDK 6: requests of `useChat`, and UI message streams.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolbox::Content;
use toolbox::agent::PendingCall;
use toolbox::call::{ToolCall, ToolResult};
use toolbox::context::{Answer, QuestionForm};
use toolbox::model::{FoundMessage, Part, Reply};

use crate::frames::Writer;
use crate::offered::Offer;
use crate::paused::question_id;
use crate::piece::{CallPiece, End, Piece, ResultStatus, TextKind, top_call, value_of};
use crate::request::{RequestError, Said, WebRequest, file, id, malformed, text};

/// Reads the body that `DefaultChatTransport` sends: `id`, `messages`, and what the front end adds:
/// `answers`, to questions by their ids, `null` for a question that is declined; and `tools` of its
/// own by their names.
pub(crate) fn read(body: &[u8]) -> Result<WebRequest, RequestError> {
    let body: Value = serde_json::from_slice(body).map_err(malformed)?;
    let messages = body["messages"].as_array();
    let messages = messages.ok_or_else(|| malformed("`messages` is missing, or is no list"))?;
    let mut found = Vec::new();
    let mut said = read_answers(&body["answers"]);
    for (at, message) in messages.iter().enumerate() {
        let parts = message["parts"].as_array();
        let parts = parts.ok_or_else(|| malformed("`parts` is missing, or is no list"))?;
        match text(message, "role")? {
            "user" => found.push(FoundMessage::User(read_user(parts)?)),
            "assistant" => {
                read_assistant(parts, &mut found)?;
                if at + 1 == messages.len() {
                    said.extend(parts.iter().filter_map(read_approval));
                }
            }
            // Instructions are the program's.
            _ => {}
        }
    }
    let offer = |(name, tool): (&String, &Value)| Offer {
        name: name.as_str().into(),
        description: tool["description"].clone(),
        schema: tool.get("parameters").unwrap_or(&tool["inputSchema"]).clone(),
    };
    let offers = body["tools"].as_object().into_iter().flatten().map(offer).collect();
    Ok(WebRequest { thread: id(&body, "id")?, run: String::new(), messages: found, said, offers })
}

fn read_answers(answers: &Value) -> BTreeMap<String, Said> {
    let read = |(id, answer): (&String, &Value)| {
        let answer = match answer {
            Value::Null => Answer::Declined,
            answer => Answer::Accepted(answer.clone()),
        };
        (id.clone(), Said::Answered(answer))
    };
    answers.as_object().into_iter().flatten().map(read).collect()
}

fn read_user(parts: &[Value]) -> Result<Vec<Content>, RequestError> {
    let mut contents = Vec::new();
    for part in parts {
        match text(part, "type")? {
            "text" => contents.push(Content::text(text(part, "text")?)),
            "file" => {
                let name = part["filename"].as_str().unwrap_or("file");
                contents.push(file(text(part, "url")?, text(part, "mediaType")?, name)?);
            }
            // Data of the front end's own.
            _ => {}
        }
    }
    Ok(contents)
}

/// Reads a message of the model: one reply a step, each with the results of its calls.
fn read_assistant(parts: &[Value], found: &mut Vec<FoundMessage>) -> Result<(), RequestError> {
    for step in parts.split(|part| part["type"] == "step-start") {
        let (mut reply, mut results) = (Vec::new(), Vec::new());
        for part in step {
            let kind = text(part, "type")?;
            let tool = match kind {
                "text" => {
                    reply.push(Part::text(text(part, "text")?));
                    continue;
                }
                "dynamic-tool" => text(part, "toolName")?,
                kind => match kind.strip_prefix("tool-") {
                    Some(tool) => tool,
                    // Reasoning goes back to no service without its signature.
                    None => continue,
                },
            };
            let call_id = text(part, "toolCallId")?;
            let input = &part["input"];
            let arguments = if input.is_object() { input.to_string() } else { "{}".to_owned() };
            reply.push(Part::call(ToolCall::new(call_id, tool, arguments)));
            let call_id = call_id.to_owned();
            results
                .extend(read_result(part).map(|result| FoundMessage::Result { call_id, result }));
        }
        if !reply.is_empty() {
            found.push(FoundMessage::Reply(Reply::new(reply)));
            found.extend(results);
        }
    }
    Ok(())
}

fn read_result(part: &Value) -> Option<ToolResult> {
    match part["state"].as_str()? {
        "output-available" => Some(match &part["output"] {
            Value::String(text) => ToolResult::new(text.as_str()),
            output => ToolResult::new(output.to_string()),
        }),
        "output-error" => Some(ToolResult::error(part["errorText"].as_str().unwrap_or("failed"))),
        "output-denied" => {
            let reason = part["approval"]["reason"].as_str().unwrap_or("the user denied the call");
            Some(ToolResult::error(reason))
        }
        _ => None,
    }
}

fn read_approval(part: &Value) -> Option<(String, Said)> {
    if part["state"] != "approval-responded" {
        return None;
    }
    let approval = &part["approval"];
    let said = if approval["approved"].as_bool()? {
        Said::Approved
    } else {
        let reason = approval["reason"].as_str().unwrap_or("the user denied the call");
        Said::Denied(reason.to_owned())
    };
    Some((approval["id"].as_str()?.to_owned(), said))
}

/// Writes parts of a UI message stream.
#[derive(Default)]
pub(crate) struct AiSdkWriter {
    is_in_step: bool,
}

impl AiSdkWriter {
    fn end(&mut self, end: End, documents: &mut Vec<Value>) {
        if let End::Waiting { pending, .. } = &end {
            documents.extend(asked(pending));
        }
        self.end_step(documents);
        let finish = |reason: &str| json!({"type": "finish", "finishReason": reason});
        match end {
            End::Answered { reason, .. } => documents.push(finish(reason)),
            End::Waiting { .. } => documents.push(finish("tool-calls")),
            End::Cancelled => {
                documents.push(json!({"type": "abort", "reason": "the run was cancelled"}));
            }
            End::Failed { message, .. } => {
                documents.extend([json!({"type": "error", "errorText": message}), finish("error")]);
            }
        }
    }

    fn end_step(&mut self, documents: &mut Vec<Value>) {
        if std::mem::take(&mut self.is_in_step) {
            documents.push(json!({"type": "finish-step"}));
        }
    }
}

impl Writer for AiSdkWriter {
    fn write(&mut self, piece: Piece, documents: &mut Vec<Value>) {
        let kind = |kind: TextKind, what: &str| match kind {
            TextKind::Text => format!("text-{what}"),
            TextKind::Reasoning => format!("reasoning-{what}"),
        };
        let document = match piece {
            Piece::Begin => json!({"type": "start"}),
            Piece::Step => {
                self.end_step(documents);
                self.is_in_step = true;
                json!({"type": "start-step"})
            }
            Piece::TextBegin { kind: own, id } => json!({"type": kind(own, "start"), "id": id}),
            Piece::Text { kind: own, id, delta } => {
                json!({"type": kind(own, "delta"), "id": id, "delta": delta})
            }
            Piece::TextEnd { kind: own, id } => json!({"type": kind(own, "end"), "id": id}),
            Piece::End(end) => return self.end(end, documents),
            Piece::Call(piece) => call_part(piece),
        };
        documents.push(document);
    }

    fn last(&self) -> Option<&'static str> {
        Some("data: [DONE]\n\n")
    }
}

/// Returns the part of a piece of a call. Tools are dynamic: the front end has no types of them.
fn call_part(piece: CallPiece) -> Value {
    match piece {
        CallPiece::Begin { id, tool, .. } => {
            json!({"type": "tool-input-start", "toolCallId": id, "toolName": tool, "dynamic": true})
        }
        CallPiece::Arguments { id, delta } => {
            json!({"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": delta})
        }
        CallPiece::Ready { id, tool, arguments } => json!({
            "type": "tool-input-available",
            "toolCallId": id,
            "toolName": tool,
            "input": value_of(arguments),
            "dynamic": true,
        }),
        CallPiece::Result { id, text, status: ResultStatus::Ok } => json!({
            "type": "tool-output-available",
            "toolCallId": id,
            "output": value_of(text),
            "dynamic": true,
        }),
        CallPiece::Result { id, text, status: ResultStatus::Failed } => json!({
            "type": "tool-output-error",
            "toolCallId": id,
            "errorText": text,
            "dynamic": true,
        }),
        CallPiece::Result { id, status: ResultStatus::Denied, .. } => {
            json!({"type": "tool-output-denied", "toolCallId": id})
        }
        CallPiece::Item { id, text, .. } => json!({
            "type": "tool-output-available",
            "toolCallId": id,
            "output": value_of(text),
            "dynamic": true,
            "preliminary": true,
        }),
        CallPiece::Progress { id, done, total, message } => json!({
            "type": "data-progress",
            "data": {"toolCallId": id, "done": done, "total": total, "message": message},
            "transient": true,
        }),
    }
}

/// Returns what pending calls ask. A part has room for one approval: of several calls below one,
/// the first is asked about, and the next once the run waits again.
fn asked(pending: &[PendingCall]) -> Vec<Value> {
    let mut asked = Vec::new();
    let mut shown = Vec::new();
    for call in pending {
        let tool_call = top_call(&call.id);
        if call.questions.is_empty() && !shown.contains(&tool_call) {
            shown.push(tool_call);
            asked.push(json!({
                "type": "tool-approval-request",
                "approvalId": call.id,
                "toolCallId": tool_call,
            }));
        }
        for (at, question) in call.questions.iter().enumerate() {
            let mut data = json!({"toolCallId": tool_call, "message": question.message});
            match &question.form {
                QuestionForm::Fields(schema) => data["schema"] = schema.clone(),
                QuestionForm::Url(url) => data["url"] = url.as_str().into(),
                _ => {}
            }
            let id = question_id(&call.id, at);
            asked.push(json!({"type": "data-question", "id": id, "data": data}));
        }
    }
    asked
}
