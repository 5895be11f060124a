//! Reads JSON-RPC messages, and tolerates invalid ones.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rmcp::model::{
    ClientRequest, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation,
    InitializeResult, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerRequest,
    ServerResult,
};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::notifications::Notifications;
use crate::text::{mend_halves, without_mark};

/// The outermost object of a message.
#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The messages of a list.
struct MessageList<'a>(Vec<&'a RawValue>);

impl MessageList<'_> {
    /// Returns `false` for a list of anything else, such as a line of a log.
    fn is_of_objects(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|message| message.get().starts_with('{'))
    }
}

/// The most messages of a list that are read; a longer one is none.
const MAX_LIST: usize = 1024;

impl<'de> Deserialize<'de> for MessageList<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;

        impl<'de> Visitor<'de> for Elements {
            type Value = MessageList<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {MAX_LIST} messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut messages = Vec::new();
                while let Some(message) = list.next_element()? {
                    if messages.len() == MAX_LIST {
                        return Err(A::Error::invalid_length(MAX_LIST + 1, &self));
                    }
                    messages.push(message);
                }
                Ok(MessageList(messages))
            }
        }

        deserializer.deserialize_seq(Elements)
    }
}

/// The way in which the answer to a request is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    /// By rmcp: the handshake and the like.
    Typed,
    /// By rmcp as well, and only for servers of the newer protocol: some older ones return success
    /// for any request.
    Probe,
    /// By this crate: the result is passed on as text, so that one fault in it does not invalidate
    /// the whole.
    Raw,
    /// By this crate as well; rmcp may need the tools.
    List,
    /// Not at all: another answer was taken in place of this one.
    Replaced,
    /// As the answer to the older handshake, which was begun before a slow server answered this
    /// first request of the newer protocol.
    LateProbe,
    /// By rmcp: the older handshake.
    Initialize,
}

/// Wraps the text of a result for the way through rmcp.
pub(super) fn in_envelope(raw: &str) -> ServerResult {
    ServerResult::CustomResult(CustomResult::new(Value::String(raw.to_owned())))
}

/// Reads messages and matches answers to pending requests.
pub(super) struct MessageReader {
    expected: HashMap<RequestId, AnswerKind>,
    list: fn(&str) -> ServerResult,
    notifications: Arc<Notifications>,
}

impl MessageReader {
    /// Creates a reader; `list` wraps the text of a list of tools.
    pub(super) fn new(notifications: Arc<Notifications>, list: fn(&str) -> ServerResult) -> Self {
        Self { expected: HashMap::new(), list, notifications }
    }

    /// Registers a request that is being sent.
    pub(super) fn expect(&mut self, id: &RequestId, request: &ClientRequest) {
        let reading = match request {
            ClientRequest::DiscoverRequest(_) => AnswerKind::Probe,
            ClientRequest::InitializeRequest(_) => AnswerKind::Initialize,
            ClientRequest::ListToolsRequest(_) => AnswerKind::List,
            ClientRequest::CallToolRequest(_)
            | ClientRequest::ListPromptsRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ListResourcesRequest(_)
            | ClientRequest::ListResourceTemplatesRequest(_)
            | ClientRequest::ListSkillsRequest(_)
            | ClientRequest::ReadResourceRequest(_)
            | ClientRequest::SubscribeRequest(_)
            | ClientRequest::UnsubscribeRequest(_)
            | ClientRequest::GetTaskRequest(_)
            | ClientRequest::UpdateTaskRequest(_)
            | ClientRequest::CancelTaskRequest(_)
            | ClientRequest::CompleteRequest(_) => AnswerKind::Raw,
            _ => AnswerKind::Typed,
        };
        self.expected.insert(id.clone(), reading);
    }

    /// Records that the discovery request was given up. Its answer may still come: a child that is
    /// slow to start reads all that was sent to it at once.
    pub(super) fn give_up(&mut self, id: &RequestId) {
        self.expected.insert(id.clone(), AnswerKind::LateProbe);
    }

    /// Returns the late answer to the discovery request as one to the older handshake, which is
    /// pending: its version says that there is none.
    fn late_discovery(&mut self, result: &str) -> Option<ServerJsonRpcMessage> {
        let Ok(ServerResult::DiscoverResult(found)) = serde_json::from_str(result) else {
            return None;
        };
        if !found.supported_versions.contains(&ProtocolVersion::V_2026_07_28) {
            return None;
        }
        let pending = self.expected.iter().find(|(_, kind)| **kind == AnswerKind::Initialize);
        let id = pending?.0.clone();
        let named = found.server_info().unwrap_or_else(|| Implementation::new("", ""));
        let mut info = InitializeResult::new(found.capabilities).with_server_info(named);
        info.protocol_version = ProtocolVersion::V_2026_07_28;
        info.instructions = found.instructions;
        info.meta = found.meta;
        self.expected.insert(id.clone(), AnswerKind::Replaced);
        Some(ServerJsonRpcMessage::response(ServerResult::InitializeResult(info), id))
    }

    /// Returns `true` if the server speaks the newer protocol, and the older handshake was sent to
    /// it.
    pub(super) fn replaced_handshake(&self) -> bool {
        self.expected.values().any(|kind| *kind == AnswerKind::Replaced)
    }

    /// Returns the answer to one of the requests, in place of a skipped message, found by the
    /// message's two ends.
    pub(super) fn too_long(&mut self, head: &[u8], tail: &[u8]) -> Option<ServerJsonRpcMessage> {
        self.notifications.note_too_long();
        let ids = [id_at_start(head), id_at_end(tail)];
        let id = ids.into_iter().flatten().find(|id| self.expected.contains_key(id))?;
        match self.expected.remove(&id) {
            Some(AnswerKind::LateProbe | AnswerKind::Replaced) => None,
            _ => Some(failed(id, TOO_LONG)),
        }
    }

    /// Returns a failed answer to any pending request, in place of a message longer than the limit.
    pub(super) fn cut_off(&mut self) -> Option<ServerJsonRpcMessage> {
        self.notifications.note_too_long();
        let id = self.expected.keys().next()?.clone();
        self.expected.remove(&id);
        Some(failed(id, TOO_LONG))
    }

    /// Returns whether no answer is pending.
    pub(super) fn is_done(&self) -> bool {
        self.expected.is_empty()
    }

    /// Parses a message, or a list of them; returns those that are expected.
    ///
    /// Servers of 2025-03-26 may send lists, and careless ones put a single answer into one.
    pub(super) fn read(&mut self, text: &[u8]) -> Vec<ServerJsonRpcMessage> {
        let text = without_mark(text.trim_ascii());
        if text.is_empty() {
            return Vec::new();
        }
        let text = &*self.readable(text);
        if text.first() != Some(&b'[') {
            return self.read_one(text).into_iter().collect();
        }
        let list = serde_json::from_slice(text).ok().filter(MessageList::is_of_objects);
        let Some(MessageList(messages)) = list else {
            self.notifications.note_garbage(text);
            return Vec::new();
        };
        messages.iter().filter_map(|message| self.read_one(message.get().as_bytes())).collect()
    }

    fn read_one(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        let Ok(envelope) = serde_json::from_slice::<RawMessage<'_>>(line) else {
            self.notifications.note_garbage(line);
            return None;
        };
        if let Some(method) = envelope.method {
            return self.unasked(line, method, &envelope);
        }
        let id: Option<RequestId> =
            envelope.id.and_then(|id| serde_json::from_str(id.get()).ok()).map(same_id);
        let expected = id.and_then(|id| Some((self.expected.remove(&id)?, id)));
        let Some((reading, id)) = expected else {
            // JSON that is no message at all, such as a line of a log.
            if envelope.result.is_none() && envelope.error.is_none() {
                self.notifications.note_garbage(line);
            } else {
                self.notifications.note_stray();
            }
            return None;
        };
        match reading {
            AnswerKind::Replaced => return None,
            AnswerKind::LateProbe => return self.late_discovery(envelope.result?.get()),
            _ => {}
        }
        if let Some(error) = envelope.error.filter(|error| error.get() != "null") {
            let error = serde_json::from_str(error.get()).unwrap_or_default();
            return Some(ServerJsonRpcMessage::error(error_of(error), Some(id)));
        }
        let Some(result) = envelope.result else {
            return Some(failed(id, "the answer holds neither a result nor an error"));
        };
        let wrap = match reading {
            AnswerKind::Raw => Some(in_envelope as fn(&str) -> ServerResult),
            AnswerKind::List => Some(self.list),
            _ => None,
        };
        if let Some(wrap) = wrap {
            return Some(ServerJsonRpcMessage::response(wrap(result.get()), id));
        }
        Some(match serde_json::from_str::<ServerResult>(result.get()) {
            Ok(result)
                if reading == AnswerKind::Probe
                    && !matches!(result, ServerResult::DiscoverResult(_)) =>
            {
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no discovery", None);
                ServerJsonRpcMessage::error(error, Some(id))
            }
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(_) => failed(id, "the answer cannot be read"),
        })
    }

    /// Returns a message with U+FFFD in place of what is no text: bytes that are no UTF-8, and
    /// halves of surrogate pairs.
    fn readable<'l>(&self, line: &'l [u8]) -> Cow<'l, [u8]> {
        let text = String::from_utf8_lossy(line);
        let (mended, halves) = mend_halves(&text, &[]);
        if halves > 0 || matches!(text, Cow::Owned(_)) {
            self.notifications.note_broken_text();
            return Cow::Owned(mended.into_owned().into_bytes());
        }
        Cow::Borrowed(line)
    }

    /// Returns a request or a notification of the server, unless it was consumed here.
    fn unasked(
        &self,
        line: &[u8],
        method: &RawValue,
        envelope: &RawMessage<'_>,
    ) -> Option<ServerJsonRpcMessage> {
        if envelope.id.is_none() {
            match method.get() {
                r#""notifications/tools/list_changed""#
                | r#""notifications/prompts/list_changed""#
                | r#""notifications/resources/list_changed""# => {
                    self.notifications.list_changed();
                    return None;
                }
                r#""notifications/resources/updated""# => {
                    self.notifications.resource_updated(envelope.params?.get());
                    return None;
                }
                r#""notifications/progress""# => {
                    self.notifications.progress(envelope.params?.get());
                    return None;
                }
                r#""notifications/subscriptions/acknowledged""#
                | r#""notifications/cancelled""# => {}
                r#""notifications/message""# => {
                    self.notifications.logged(envelope.params?.get());
                    return None;
                }
                _ => return None,
            }
        }
        let is_question = method.get() == r#""elicitation/create""#;
        let message =
            if is_question { question(envelope) } else { serde_json::from_slice(line).ok() };
        if message.is_none() {
            self.notifications.note_garbage(line);
        }
        message
    }
}

/// Reads the error of a message. A member of a wrong form is read, or left out, and the message
/// stays: what the server says is what its user needs.
pub(super) fn error_of(mut error: Value) -> ErrorData {
    let said = match error.get_mut("message").map(Value::take) {
        Some(Value::String(said)) => said,
        None | Some(Value::Null) if error.is_object() => "no message".to_owned(),
        None | Some(Value::Null) => match error.take() {
            Value::String(said) => said,
            other => other.to_string(),
        },
        Some(other) => other.to_string(),
    };
    let code = error.get("code").filter(|code| !code.is_null());
    let number = code.and_then(|code| match code {
        Value::Number(number) => number.as_i64().or_else(|| number.to_string().parse().ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    });
    let number = number.and_then(|number: i64| i32::try_from(number).ok());
    let said = match code {
        // A code in words, such as `ENOENT`, says more than the number in its place.
        Some(Value::String(word)) if number.is_none() => format!("{word}: {said}"),
        _ => said,
    };
    let data = error.get_mut("data").map(Value::take).filter(|data| !data.is_null());
    ErrorData::new(number.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode), said, data)
}

/// The method under which a question to the user passes rmcp, which would drop what it does not
/// know of one of the protocol's own.
pub(super) const QUESTION: &str = "toolbox/question";

/// Returns a question to the user as a request whose parameters rmcp does not read.
fn question(envelope: &RawMessage<'_>) -> Option<ServerJsonRpcMessage> {
    let id = serde_json::from_str(envelope.id?.get()).ok()?;
    let params = envelope.params.and_then(|params| serde_json::from_str(params.get()).ok());
    let request = ServerRequest::CustomRequest(CustomRequest::new(QUESTION, params));
    Some(ServerJsonRpcMessage::request(request, id))
}

/// Converts `"7"` to 7, since some servers answer with strings.
fn same_id(id: RequestId) -> RequestId {
    let number = match &id {
        RequestId::String(text) => text.parse().ok(),
        RequestId::Number(_) => None,
    };
    number.map_or(id, RequestId::Number)
}

/// The data of an error that this crate made: an answer came and cannot be used.
pub(super) const UNREAD: &str = "toolbox/unread";

const TOO_LONG: &str = "the answer was longer than the limit on one message";

fn failed(id: RequestId, message: &'static str) -> ServerJsonRpcMessage {
    let mark = Some(Value::from(UNREAD));
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, message, mark), Some(id))
}

/// Returns the number after the first `"id":` if it precedes any result.
fn id_at_start(head: &[u8]) -> Option<RequestId> {
    let text = &head[..head.len().min(256)];
    let result = memchr::memmem::find(text, b"\"result\"").unwrap_or(text.len());
    number_after(&text[..result], memchr::memmem::find(&text[..result], b"\"id\"")?)
}

/// Returns the number after the last `"id":` if only the end of the message follows.
fn id_at_end(tail: &[u8]) -> Option<RequestId> {
    let text = &tail[tail.len().saturating_sub(256)..];
    let at = memchr::memmem::rfind(text, b"\"id\"")?;
    let depth = text[at..].iter().filter(|byte| matches!(byte, b'{' | b'}' | b'[' | b']')).count();
    (depth == 1).then(|| number_after(text, at)).flatten()
}

fn number_after(text: &[u8], at: usize) -> Option<RequestId> {
    let rest = text.get(at + 4..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok().map(RequestId::Number)
}
