//! One session of a recorded server.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::difference::{ValueDifference, distance};
use super::frames::{SUBSCRIPTION, id, messages, method, progress_token, stable_params};
use super::server::{ReceivedMessage, RecordedServer};
use crate::text::{QUOTED, quote};

/// The codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;

/// The text in place of a secret value.
const HIDDEN: &str = "***";

/// A line that the server writes.
pub(super) struct PlayedLine {
    pub(super) text: String,
    /// `true` for the answer of a request that had notifications before it.
    pub(super) ends_notifications: bool,
}

impl PlayedLine {
    fn new(text: String) -> Self {
        Self { text, ends_notifications: false }
    }
}

/// A session with one client.
pub(super) struct ReplaySession<'a> {
    server: &'a RecordedServer,
    /// `true` for each recorded message that was played.
    played: Vec<bool>,
    /// The number of requests so far.
    asked: usize,
    capabilities: Value,
    /// The rest of messages that wait until the client has answered a request, by the id of it.
    waiting: HashMap<String, Rest>,
    requests: usize,
}

/// The part of a recorded message that is still to be played.
struct Rest {
    /// The index of the recorded message.
    at: usize,
    following: VecDeque<ReceivedMessage>,
    /// The client's message.
    now: Value,
}

/// The error that answers a request.
struct ReplayRefusal {
    code: i32,
    message: String,
}

impl<'a> ReplaySession<'a> {
    pub(super) fn new(server: &'a RecordedServer) -> Self {
        Self {
            server,
            played: vec![false; server.messages.len()],
            asked: 0,
            capabilities: Value::Null,
            waiting: HashMap::new(),
            requests: 0,
        }
    }

    /// Returns the lines that answer a line of the client.
    pub(super) fn answer(&mut self, line: &[u8]) -> Vec<PlayedLine> {
        let Ok(frames) = messages(line) else {
            let refusal = ReplayRefusal::new(PARSE_ERROR, "the message is no JSON");
            return vec![PlayedLine::new(refusal.answer(&Value::Null))];
        };
        frames.into_iter().flat_map(|frame| self.answer_frame(frame)).collect()
    }

    fn answer_frame(&mut self, mut frame: Value) -> Vec<PlayedLine> {
        self.server.schemas.hide(&mut frame);
        match (method(&frame), id(&frame).cloned()) {
            (Some(_), Some(id)) => match self.find(&frame) {
                Ok(Some(at)) => self.play(at, frame),
                Ok(None) => {
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {}});
                    vec![PlayedLine::new(answer.to_string())]
                }
                Err(refusal) => vec![PlayedLine::new(refusal.answer(&id))],
            },
            (Some(_), None) => match self.find_notification(&frame) {
                Some(at) => self.play(at, frame),
                None => Vec::new(),
            },
            (None, Some(id)) => match id.as_str().and_then(|id| self.waiting.remove(id)) {
                Some(rest) => self.go_on(rest),
                None => Vec::new(),
            },
            (None, None) => {
                let refusal =
                    ReplayRefusal::new(INVALID_REQUEST, "the message has no method and no id");
                vec![PlayedLine::new(refusal.answer(&Value::Null))]
            }
        }
    }

    /// Returns the recorded request that answers one; `None` for a `ping`, which any server knows.
    fn find(&mut self, now: &Value) -> Result<Option<usize>, ReplayRefusal> {
        self.asked += 1;
        let wanted = method(now).unwrap_or_default();
        if wanted == "initialize" {
            self.capabilities = now["params"]["capabilities"].clone();
        } else if let Some(capabilities) =
            now["params"]["_meta"].get("io.modelcontextprotocol/clientCapabilities")
        {
            self.capabilities = capabilities.clone();
        }
        let same_method = self.indexes(wanted, true);
        if same_method.is_empty() {
            return if wanted == "ping" { Ok(None) } else { Err(ReplayRefusal::unknown(wanted)) };
        }
        if wanted == "initialize" {
            return Ok(self.first_left(&same_method));
        }
        let now = stable_params(now);
        let recorded = |at: &usize| stable_params(&self.server.messages[*at].frame);
        let is_equal = |at: &usize| {
            let recorded = recorded(at);
            recorded == masked(&recorded, now.clone())
        };
        let equal: Vec<usize> = same_method.iter().copied().filter(is_equal).collect();
        if let Some(at) = self.first_left(&equal) {
            if self.played[at] && wanted == "tools/call" && !self.server.is_loose {
                return Err(self.too_often(&now, equal.len()));
            }
            return Ok(Some(at));
        }
        let by_distance = |at: &usize| {
            let recorded = recorded(at);
            let now = masked(&recorded, now.clone());
            let is_other_tool = recorded.get("name") != now.get("name");
            (is_other_tool, distance(&recorded, &now), self.played[*at])
        };
        let nearest = same_method.iter().copied().min_by_key(by_distance);
        let nearest = nearest.unwrap_or_default();
        let recorded = recorded(&nearest);
        let is_same_tool = recorded.get("name") == now.get("name");
        if self.server.is_loose && is_same_tool {
            return Ok(Some(nearest));
        }
        Err(self.differs(wanted, nearest, &masked(&recorded, now)))
    }

    fn find_notification(&self, now: &Value) -> Option<usize> {
        let same_method = self.indexes(method(now)?, false);
        let (now, left) = (stable_params(now), |at: &&usize| !self.played[**at]);
        let is_equal = |at: &&usize| stable_params(&self.server.messages[**at].frame) == now;
        same_method.iter().filter(left).find(is_equal).copied()
    }

    /// Returns the recorded messages of a method.
    fn indexes(&self, wanted: &str, requests: bool) -> Vec<usize> {
        let messages = self.server.messages.iter().enumerate();
        let wanted = messages.filter(|(_, message)| {
            method(&message.frame) == Some(wanted) && id(&message.frame).is_some() == requests
        });
        wanted.map(|(at, _)| at).collect()
    }

    /// Returns the first that was not played, or else the last.
    fn first_left(&self, indexes: &[usize]) -> Option<usize> {
        indexes.iter().find(|at| !self.played[**at]).or(indexes.last()).copied()
    }

    fn play(&mut self, at: usize, now: Value) -> Vec<PlayedLine> {
        self.played[at] = true;
        let following = &self.server.messages[at].following;
        if following.is_empty() && id(&now).is_some() {
            let text = format!("the recorded request {} has no answer", self.number(at));
            let refusal = ReplayRefusal::new(INTERNAL_ERROR, text);
            return vec![PlayedLine::new(refusal.answer(&now["id"]))];
        }
        self.go_on(Rest { at, following: following.iter().cloned().collect(), now })
    }

    /// Plays what is left of a message, up to a request that the client has to answer.
    fn go_on(&mut self, mut rest: Rest) -> Vec<PlayedLine> {
        let mut lines = Vec::new();
        while let Some(next) = rest.following.pop_front() {
            match next {
                ReceivedMessage::Text(text) => lines.push(PlayedLine::new(text)),
                ReceivedMessage::Answer(mut frame) => {
                    frame["id"] = rest.now["id"].clone();
                    let ends_notifications = !lines.is_empty();
                    lines.push(PlayedLine { text: frame.to_string(), ends_notifications });
                }
                ReceivedMessage::Other(mut frame) if id(&frame).is_some() => {
                    if !self.may_ask(&frame) {
                        continue;
                    }
                    self.requests += 1;
                    let id = format!("recorded-{}", self.requests);
                    frame["id"] = id.as_str().into();
                    lines.push(PlayedLine::new(frame.to_string()));
                    self.waiting.insert(id, rest);
                    break;
                }
                ReceivedMessage::Other(frame) => {
                    let recorded = &self.server.messages[rest.at].frame;
                    let played = notification(frame, recorded, &rest.now);
                    lines.extend(played.map(PlayedLine::new));
                }
            }
        }
        lines
    }

    /// Returns `true` if the client takes a request of the server.
    fn may_ask(&self, request: &Value) -> bool {
        let method = method(request).unwrap_or_default();
        let capability = method.split('/').next().unwrap_or_default();
        method == "ping" || self.capabilities.get(capability).is_some()
    }

    fn too_often(&self, now: &Value, times: usize) -> ReplayRefusal {
        let (name, asked) = (now["name"].as_str().unwrap_or_default(), self.asked);
        let text = format!(
            "request {asked}, this call of `{}`, was recorded {times} times and comes once more",
            quote(name, QUOTED)
        );
        ReplayRefusal::new(INVALID_PARAMS, text)
    }

    fn differs(&self, wanted: &str, nearest: usize, now: &Value) -> ReplayRefusal {
        let recorded = stable_params(&self.server.messages[nearest].frame);
        let mut text = format!(
            "request {}, `{}`, is not in the recording; the nearest is its request {}",
            self.asked,
            quote(wanted, QUOTED),
            self.number(nearest)
        );
        if let Some(difference) = ValueDifference::between(&recorded, now) {
            let _ = write!(text, ": {difference}");
        }
        ReplayRefusal::new(INVALID_PARAMS, text)
    }

    /// Returns the number of a recorded request among the requests, from one.
    fn number(&self, at: usize) -> usize {
        let before = &self.server.messages[..=at];
        before.iter().filter(|message| id(&message.frame).is_some()).count()
    }
}

impl ReplayRefusal {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn unknown(wanted: &str) -> Self {
        let text = format!("the recording has no request `{}`", quote(wanted, QUOTED));
        Self::new(METHOD_NOT_FOUND, text)
    }

    fn answer(&self, id: &Value) -> String {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
    }
}

/// Returns a recorded notification with the token and the id of the client's request; `None` if it
/// is of no use without the token.
fn notification(mut frame: Value, recorded: &Value, now: &Value) -> Option<String> {
    if method(&frame) == Some("notifications/cancelled") {
        return None;
    }
    let of_frame = frame.get("params").and_then(|params| params.get("progressToken"));
    if of_frame.is_some() && of_frame == progress_token(recorded) {
        frame["params"]["progressToken"] = progress_token(now)?.clone();
    }
    let meta = frame.get_mut("params").and_then(|params| params.get_mut("_meta"));
    if let Some(subscription) = meta.and_then(|meta| meta.get_mut(SUBSCRIPTION)) {
        *subscription = now.get("id").cloned().unwrap_or_default();
    }
    Some(frame.to_string())
}

/// Returns a value with `"***"` where the recorded one has it.
fn masked(recorded: &Value, now: Value) -> Value {
    match (recorded, now) {
        (Value::String(text), _) if text == HIDDEN => HIDDEN.into(),
        (Value::Object(recorded), Value::Object(now)) => {
            let fields = now.into_iter().map(|(key, value)| match recorded.get(&key) {
                Some(recorded) => (key, masked(recorded, value)),
                None => (key, value),
            });
            Value::Object(fields.collect())
        }
        (Value::Array(recorded), Value::Array(now)) => {
            let none = Value::Null;
            let items = now.into_iter().enumerate();
            let items = items.map(|(at, item)| masked(recorded.get(at).unwrap_or(&none), item));
            Value::Array(items.collect())
        }
        (_, now) => now,
    }
}
