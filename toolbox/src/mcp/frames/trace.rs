//! The course of one connection: which requests wait, what was declared, and what breaks the
//! protocol.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use serde_json::{Value, json};

use super::frame::FrameDirection;
use super::kind::FrameKind;
use super::messages::{
    Members, Message, NeededCapability, declares, is_id, is_modern, needed_of_client,
    needed_of_notification, quoted,
};
use super::results::ResultContext;
use super::tools::OutputSchemas;
use crate::text::{QUOTED, quote};

/// The most requests, ids and URIs that are remembered, of each kind.
const MAX_REMEMBERED: usize = 4096;

/// The key in `_meta` of a request for the capabilities of the client.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The key in `_meta` of a notification for the subscription that it belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A request that waits for its answer.
pub(super) struct TracedRequest {
    number: u64,
    pub(super) method: String,
    since: Instant,
    /// The name or the URI that it is about.
    pub(super) subject: Option<String>,
    /// `true` if it goes on with a list.
    pub(super) cursor: Option<String>,
    /// `true` if its client said that a task may answer it.
    pub(super) takes_tasks: bool,
    token: Option<String>,
}

/// The state of one connection.
#[derive(Default)]
pub(super) struct ConnectionTrace {
    version: Option<String>,
    /// The capabilities that the server declared.
    declared: Option<Value>,
    /// The capabilities that this program declared.
    client: Value,
    open: HashMap<String, TracedRequest>,
    answered: VecDeque<String>,
    /// The ids and the tokens of requests whose answers are no longer waited for; what still comes
    /// breaks nothing.
    given_up: VecDeque<String>,
    /// The requests of the server that wait.
    asked: HashMap<String, TracedRequest>,
    asked_ids: HashSet<String>,
    /// The last progress of each request that waits, by its token.
    progress: HashMap<String, f64>,
    /// The tokens of requests that were answered.
    spent: VecDeque<String>,
    subscribed: HashSet<String>,
    cursors: HashSet<(String, String)>,
    schemas: OutputSchemas,
}

impl ConnectionTrace {
    /// Reads the next message.
    pub(super) fn read(
        &mut self,
        number: u64,
        direction: FrameDirection,
        bytes: &[u8],
        now: Instant,
    ) -> Message {
        let members = match Members::of(bytes) {
            Ok(members) => members,
            Err(fault) => return Message::invalid(fault),
        };
        let is_request = members.text("method").is_some();
        match (direction, is_request) {
            (FrameDirection::Sent, true) => self.sent(number, &members, now),
            (FrameDirection::Sent, false) => self.replied(&members, now),
            (FrameDirection::Received, is_request) => {
                let mut message = if is_request {
                    self.unasked(number, &members, now)
                } else {
                    self.answer(&members, now)
                };
                if members.text("jsonrpc") != Some("\"2.0\"") {
                    message.fault("jsonrpc", "`jsonrpc` is not \"2.0\"");
                }
                message
            }
        }
    }

    fn is_modern(&self) -> bool {
        self.version.as_deref().is_some_and(is_modern)
    }

    /// Notes a request or a notification of this program.
    fn sent(&mut self, number: u64, members: &Members<'_>, now: Instant) -> Message {
        let method = members.method().unwrap_or_default();
        let params = members.value("params").unwrap_or_default();
        let Some(id) = members.id() else {
            if method == "notifications/cancelled" {
                self.give_up(&params["requestId"].to_string());
            }
            return Message { method: Some(method), ..Message::new(FrameKind::Notification) };
        };
        match method.as_str() {
            "initialize" => {
                self.version = None;
                self.client = params["capabilities"].clone();
            }
            "resources/subscribe" => self.subscribe(&params["uri"]),
            "resources/unsubscribe" => {
                self.subscribed.remove(params["uri"].as_str().unwrap_or_default());
            }
            "subscriptions/listen" => {
                let uris = params.pointer("/notifications/resourceSubscriptions");
                uris.and_then(Value::as_array).into_iter().flatten().for_each(|uri| {
                    self.subscribe(uri);
                });
            }
            _ => {}
        }
        let subject = params.get("name").or(params.get("uri")).and_then(Value::as_str);
        let token = params.pointer("/_meta/progressToken").map(ToString::to_string);
        let extensions = &params["_meta"][CLIENT_CAPABILITIES]["extensions"];
        let request = TracedRequest {
            number,
            method: method.clone(),
            since: now,
            subject: subject.map(str::to_owned),
            cursor: params["cursor"].as_str().map(str::to_owned),
            takes_tasks: extensions.get("io.modelcontextprotocol/tasks").is_some(),
            token: token.clone(),
        };
        if self.open.len() >= MAX_REMEMBERED {
            let oldest = self.open.iter().min_by_key(|(_, request)| request.number);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                self.give_up(&oldest);
            }
        }
        self.open.insert(id.clone(), request);
        if let Some(token) = token {
            self.progress.insert(token, f64::NEG_INFINITY);
        }
        Message { method: Some(method), id: Some(id), ..Message::new(FrameKind::Request) }
    }

    /// Forgets a request whose answer is no longer waited for.
    fn give_up(&mut self, id: &str) {
        let Some(request) = self.open.remove(id) else { return };
        remember(&mut self.given_up, id.to_owned());
        if let Some(token) = request.token {
            self.progress.remove(&token);
            remember(&mut self.given_up, token_key(&token));
        }
    }

    fn subscribe(&mut self, uri: &Value) {
        if let Some(uri) = uri.as_str().filter(|_| self.subscribed.len() < MAX_REMEMBERED) {
            self.subscribed.insert(uri.to_owned());
        }
    }

    /// Notes an answer of this program to a request of the server.
    fn replied(&mut self, members: &Members<'_>, now: Instant) -> Message {
        let kind =
            if members.text("error").is_some() { FrameKind::Error } else { FrameKind::Result };
        let mut message = Message { id: members.id(), ..Message::new(kind) };
        if let Some(request) = message.id.as_ref().and_then(|id| self.asked.remove(id)) {
            message.request = Some(request.number);
            message.duration = Some(now - request.since);
            message.method = Some(request.method);
        }
        message
    }

    /// Reads a request or a notification of the server.
    fn unasked(&mut self, number: u64, members: &Members<'_>, now: Instant) -> Message {
        let has_id = members.text("id").is_some();
        let kind = if has_id { FrameKind::Request } else { FrameKind::Notification };
        let mut message = Message { id: members.id(), ..Message::new(kind) };
        let Some(method) = members.method() else {
            message.kind = FrameKind::Invalid;
            message.fault("method", "`method` is no text");
            return message;
        };
        message.method = Some(method.clone());
        if members.text("result").is_some() || members.text("error").is_some() {
            message.fault("method", "a message with `method` has no `result` and no `error`");
        }
        let params = members.value("params").unwrap_or_default();
        if has_id {
            self.request(number, &method, &params, now, &mut message);
        } else {
            self.notification(&method, &params, &mut message);
        }
        message
    }

    fn request(
        &mut self,
        number: u64,
        method: &str,
        params: &Value,
        now: Instant,
        message: &mut Message,
    ) {
        let id = message.id.clone().unwrap_or_default();
        let shown = quote(method, QUOTED);
        if !is_id(&id) {
            message.fault("id", "the id of a request is a text or an integer");
        } else if self.asked_ids.len() < MAX_REMEMBERED && !self.asked_ids.insert(id.clone()) {
            let text = format!("the id {} was used before", quote(&id, QUOTED));
            message.fault("repeated-id", text);
        }
        match needed_of_client(method) {
            NeededCapability::UnknownMethod => {
                message.fault("unknown-method", format!("servers request no `{shown}`"));
            }
            _ if self.is_modern() => {
                let text = "servers of versions without a handshake send no requests";
                message.fault("request-of-server", text);
            }
            NeededCapability::One(needed) if !self.client_takes(needed, params) => {
                let text = format!("`{shown}` was requested of a client that does not declare it");
                message.fault("undeclared-capability", text);
            }
            _ => {}
        }
        if self.asked.len() < MAX_REMEMBERED {
            let request = TracedRequest {
                number,
                method: method.to_owned(),
                since: now,
                subject: None,
                cursor: None,
                takes_tasks: false,
                token: None,
            };
            self.asked.insert(id, request);
        }
    }

    fn client_takes(&self, needed: &str, params: &Value) -> bool {
        let mode = if params["mode"] == "url" { "/url" } else { "" };
        let needed =
            if needed == "/elicitation" { format!("{needed}{mode}") } else { needed.into() };
        declares(&self.client, &needed)
    }

    fn notification(&mut self, method: &str, params: &Value, message: &mut Message) {
        let declared = self.declared.as_ref();
        match needed_of_notification(method) {
            NeededCapability::UnknownMethod => {
                let text = format!("servers send no notification `{}`", quote(method, QUOTED));
                return message.fault("unknown-method", text);
            }
            NeededCapability::One(needed) if declared.is_some_and(|own| !declares(own, needed)) => {
                let needed = needed[1..].replace('/', ".");
                let text = format!("the server does not declare the capability `{needed}`");
                message.fault("undeclared-notification", text);
            }
            _ => {}
        }
        let is_change = method.ends_with("/list_changed") || method.ends_with("/updated");
        if is_change && self.is_modern() {
            let subscription = &params["_meta"][SUBSCRIPTION];
            if !self.is_listening(subscription) {
                let text = "it belongs to no subscription: versions without a handshake send it where `subscriptions/listen` asked for it";
                message.fault("no-subscription", text);
            }
        }
        match method {
            "notifications/progress" => self.reported(params, message),
            "notifications/resources/updated" => match params["uri"].as_str() {
                None => message.fault("params", "`uri` is no text"),
                // A resource within the one that was subscribed to may be named.
                Some(uri) if !self.subscribed.iter().any(|own| uri.starts_with(own.as_str())) => {
                    let text = format!("nobody subscribed to `{}`", quote(uri, QUOTED));
                    message.fault("no-subscription", text);
                }
                Some(_) => {}
            },
            "notifications/cancelled" => {
                let id = params["requestId"].to_string();
                if !self.asked_ids.contains(&id) && !self.open.contains_key(&id) {
                    let text = format!("there is no request {}", quote(&id, QUOTED));
                    message.fault("unknown-id", text);
                }
            }
            _ => {}
        }
    }

    fn is_listening(&self, subscription: &Value) -> bool {
        let id = subscription.to_string();
        let request = self.open.get(&id).or_else(|| self.open.get(&unquoted(&id)));
        request.is_some_and(|request| request.method == "subscriptions/listen")
    }

    fn reported(&mut self, params: &Value, message: &mut Message) {
        let token = params["progressToken"].to_string();
        let Some(done) = params["progress"].as_f64() else {
            return message.fault("params", "`progress` is no number");
        };
        match self.progress.get_mut(&token) {
            Some(last) if done > *last => *last = done,
            Some(_) => message.fault("progress", "the progress does not grow"),
            None if self.given_up.contains(&token_key(&token)) => {}
            None if self.spent.contains(&token) => {
                message.fault("progress", "the request of this progress was answered before");
            }
            None => {
                let text = format!("no request has the token {}", quote(&token, QUOTED));
                message.fault("progress", text);
            }
        }
    }

    /// Reads an answer of the server.
    fn answer(&mut self, members: &Members<'_>, now: Instant) -> Message {
        let (result, error) = (members.text("result"), members.text("error"));
        let kind = match (result, error) {
            (_, Some(error)) if error != "null" => FrameKind::Error,
            (Some(_), _) => FrameKind::Result,
            _ => FrameKind::Invalid,
        };
        let mut message = Message { id: members.id(), ..Message::new(kind) };
        match (result, error) {
            (Some(_), Some(_)) => message.fault("answer", "it has a `result` and an `error`"),
            (None, None) => message.fault("answer", "it has no `method`, `result` or `error`"),
            _ => {}
        }
        if kind == FrameKind::Error {
            check_error(&members.value("error").unwrap_or_default(), &mut message);
        }
        let Some(request) = self.request_of(&mut message) else { return message };
        message.request = Some(request.number);
        message.duration = Some(now - request.since);
        message.method = Some(request.method.clone());
        if kind == FrameKind::Result {
            match members.value("result") {
                Some(value @ Value::Object(_)) => self.result(&request, &value, &mut message),
                Some(other) => {
                    let text = format!("the result is no object: {}", quoted(&other));
                    message.fault("result", text);
                }
                None => message.fault("depth", "the result is nested more than 128 levels deep"),
            }
        }
        message
    }

    /// Takes the request that an answer belongs to.
    fn request_of(&mut self, message: &mut Message) -> Option<TracedRequest> {
        let id = match message.id.clone().filter(|id| id != "null") {
            Some(id) => id,
            // An error may answer what could not be read.
            None if message.kind == FrameKind::Error => return None,
            None => {
                message.fault("unknown-id", "it has no id");
                return None;
            }
        };
        let mut request = self.open.remove(&id);
        if request.is_none() {
            let other = if id.starts_with('"') { unquoted(&id) } else { json!(id).to_string() };
            request = self.open.remove(&other);
            if request.is_some() {
                message.fault("id-type", format!("the id was {other}, and {id} is another"));
            }
        }
        let Some(request) = request else {
            if self.given_up.contains(&id) {
                return None;
            }
            let shown = quote(&id, QUOTED);
            let (rule, text) = if self.answered.contains(&id) {
                ("answered-twice", format!("the request {shown} was answered before"))
            } else {
                ("unknown-id", format!("there was no request {shown}"))
            };
            message.fault(rule, text);
            return None;
        };
        remember(&mut self.answered, id);
        if let Some(token) = &request.token {
            self.progress.remove(token);
            remember(&mut self.spent, token.clone());
        }
        Some(request)
    }

    fn result(&mut self, request: &TracedRequest, result: &Value, message: &mut Message) {
        match request.method.as_str() {
            "initialize" => {
                self.version = result["protocolVersion"].as_str().map(str::to_owned);
                self.declared = Some(result["capabilities"].clone());
            }
            "server/discover" => {
                let versions = result["supportedVersions"].as_array();
                let newest = versions.into_iter().flatten().filter_map(Value::as_str).max();
                self.version = newest.map(str::to_owned);
                self.declared = Some(result["capabilities"].clone());
            }
            _ => {}
        }
        let mut context = ResultContext {
            request,
            is_modern: self.is_modern(),
            declared: self.declared.as_ref(),
            schemas: &mut self.schemas,
            message,
        };
        context.check(result);
        if let Some(next) = result["nextCursor"].as_str() {
            let key = (request.method.clone(), next.to_owned());
            if request.cursor.is_none() {
                self.cursors.retain(|(method, _)| *method != request.method);
            }
            if self.cursors.len() < MAX_REMEMBERED && !self.cursors.insert(key) {
                let text = format!("the cursor `{}` came before", quote(next, QUOTED));
                message.fault("cursor", text);
            }
        }
    }
}

fn remember(kept: &mut VecDeque<String>, own: String) {
    if kept.len() == MAX_REMEMBERED {
        kept.pop_front();
    }
    kept.push_back(own);
}

/// Returns the key of a token beside ids.
fn token_key(token: &str) -> String {
    format!("token {token}")
}

/// Returns a JSON text without its quotes, such as `7` for `"7"`.
fn unquoted(id: &str) -> String {
    id.trim_matches('"').to_owned()
}

fn check_error(error: &Value, message: &mut Message) {
    if !error["code"].is_i64() {
        message.fault("error", "the `code` of an error is an integer");
    }
    if !error["message"].is_string() {
        message.fault("error", "the `message` of an error is a text");
    }
}
