//! A text to the message it holds, whatever else it holds.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{
    ClientRequest, CustomResult, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::inbox::Inbox;

/// The outermost object of a message.
#[derive(Deserialize)]
struct Envelope<'a> {
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

/// How the answer to a request is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// By rmcp: the handshake and the like.
    Typed,
    /// By rmcp as well, and only a server of the newer protocol has an answer: some older ones say yes to anything.
    Probe,
    /// By us: the result is handed on as its text, so that one slip in it does not spoil the whole.
    Raw,
    /// By us as well; rmcp may want to know of the tools.
    List,
}

/// Wraps the text of a result for the way through rmcp.
pub(super) fn in_envelope(raw: &str) -> ServerResult {
    ServerResult::CustomResult(CustomResult::new(Value::String(raw.to_owned())))
}

/// Reads messages, and knows which answers are still to come.
pub(super) struct Reader {
    expected: HashMap<RequestId, Reading>,
    list: fn(&str) -> ServerResult,
    inbox: Arc<Inbox>,
}

impl Reader {
    /// `list` wraps the text of a list of tools.
    pub(super) fn new(inbox: Arc<Inbox>, list: fn(&str) -> ServerResult) -> Self {
        Self { expected: HashMap::new(), list, inbox }
    }

    /// Notes that a request is on its way.
    pub(super) fn expect(&mut self, id: &RequestId, request: &ClientRequest) {
        let reading = match request {
            ClientRequest::DiscoverRequest(_) => Reading::Probe,
            ClientRequest::ListToolsRequest(_) => Reading::List,
            ClientRequest::CallToolRequest(_) => Reading::Raw,
            _ => Reading::Typed,
        };
        self.expected.insert(id.clone(), reading);
    }

    /// Takes a later answer for a stray one.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.expected.remove(id);
    }

    /// Returns the answer to one of the requests, in place of a message that was skipped, by the two ends of it.
    pub(super) fn too_long(&mut self, head: &[u8], tail: &[u8]) -> Option<ServerJsonRpcMessage> {
        self.inbox.note_too_long();
        let ids = [id_at_start(head), id_at_end(tail)];
        let id = ids.into_iter().flatten().find(|id| self.expected.contains_key(id))?;
        self.expected.remove(&id);
        Some(failed(id, TOO_LONG))
    }

    /// Returns the answer to a request in place of one that is longer than the limit, if any is still to come.
    pub(super) fn cut_off(&mut self) -> Option<ServerJsonRpcMessage> {
        self.inbox.note_too_long();
        let id = self.expected.keys().next()?.clone();
        self.expected.remove(&id);
        Some(failed(id, TOO_LONG))
    }

    /// Returns whether no answer is still to come.
    pub(super) fn is_done(&self) -> bool {
        self.expected.is_empty()
    }

    /// Returns the message in a text, if there is one that somebody waits for.
    pub(super) fn read(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(line) else {
            self.inbox.note_garbage(line);
            return None;
        };
        if let Some(method) = envelope.method {
            return self.unasked(line, method, &envelope);
        }
        let id: Option<RequestId> =
            envelope.id.and_then(|id| serde_json::from_str(id.get()).ok()).map(same_id);
        let expected = id.and_then(|id| Some((self.expected.remove(&id)?, id)));
        let Some((reading, id)) = expected else {
            self.inbox.note_stray();
            return None;
        };
        if let Some(error) = envelope.error.filter(|error| error.get() != "null") {
            let error: ErrorData = serde_json::from_str(error.get()).unwrap_or_else(|_| {
                ErrorData::new(ErrorCode::INTERNAL_ERROR, "an error that cannot be read", None)
            });
            return Some(ServerJsonRpcMessage::error(error, Some(id)));
        }
        let Some(result) = envelope.result else {
            return Some(failed(id, "the answer holds neither a result nor an error"));
        };
        let wrap = match reading {
            Reading::Raw => Some(in_envelope as fn(&str) -> ServerResult),
            Reading::List => Some(self.list),
            Reading::Typed | Reading::Probe => None,
        };
        if let Some(wrap) = wrap {
            return Some(ServerJsonRpcMessage::response(wrap(result.get()), id));
        }
        Some(match serde_json::from_str::<ServerResult>(result.get()) {
            Ok(result)
                if reading == Reading::Probe
                    && !matches!(result, ServerResult::DiscoverResult(_)) =>
            {
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no discovery", None);
                ServerJsonRpcMessage::error(error, Some(id))
            }
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(_) => failed(id, "the answer cannot be read"),
        })
    }

    /// Returns a request or a notification of the server, unless it is for the inbox.
    fn unasked(
        &self,
        line: &[u8],
        method: &RawValue,
        envelope: &Envelope<'_>,
    ) -> Option<ServerJsonRpcMessage> {
        if envelope.id.is_none() {
            match method.get() {
                r#""notifications/tools/list_changed""# => {
                    self.inbox.list_changed();
                    return None;
                }
                r#""notifications/progress""# => {
                    self.inbox.progress(envelope.params?.get());
                    return None;
                }
                r#""notifications/subscriptions/acknowledged""#
                | r#""notifications/cancelled""# => {}
                // What a server logs, and what concerns prompts and resources, nobody here reads.
                _ => return None,
            }
        }
        let message = serde_json::from_slice(line).ok();
        if message.is_none() {
            self.inbox.note_garbage(line);
        }
        message
    }
}

/// Takes `"7"` for 7, as some servers answer.
fn same_id(id: RequestId) -> RequestId {
    let number = match &id {
        RequestId::String(text) => text.parse().ok(),
        RequestId::Number(_) => None,
    };
    number.map_or(id, RequestId::Number)
}

/// What the data of an error is that nobody sent: an answer came and cannot be used.
pub(super) const UNREAD: &str = "toolbox/unread";

const TOO_LONG: &str = "the answer was longer than the limit on one message";

fn failed(id: RequestId, message: &'static str) -> ServerJsonRpcMessage {
    let mark = Some(Value::from(UNREAD));
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, message, mark), Some(id))
}

/// Returns the number after the first `"id":`, where it stands before any result.
fn id_at_start(head: &[u8]) -> Option<RequestId> {
    let text = &head[..head.len().min(256)];
    let result = memchr::memmem::find(text, b"\"result\"").unwrap_or(text.len());
    number_after(&text[..result], memchr::memmem::find(&text[..result], b"\"id\"")?)
}

/// Returns the number after the last `"id":`, where nothing but the end of the message follows.
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
