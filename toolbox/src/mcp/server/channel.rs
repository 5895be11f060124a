//! The channel to the client of a call: requests to it, and the questions of tools to its user.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::caller::ClientClaims;
use super::client_link::ClientLink;
use super::client_requests::{ClientRequestError, ClientRequests};
use super::log_level::LogLevel;
use super::outlet::Outlet;
use super::protocol::{self, ProtocolVersion};
use super::rounds::Rounds;
use crate::call::JobId;
use crate::context::{Answer, Asker, Question, QuestionForm};
use crate::future::BoxFuture;
use crate::mcp::elicitation::{ELICITATION, answer_of, requested_schema};
use crate::text::{clean, cut};

/// The maximum length of the name of a server within a message, in bytes.
const MAX_NAME: usize = 100;

/// The maximum length of a line of a script within a message, in bytes.
const MAX_LINE: usize = 300;

/// The client of a call, and the ways to it.
pub(super) struct ClientChannel {
    pub(super) claims: Arc<ClientClaims>,
    /// The outlet of messages that belong to the request.
    outlet: Outlet,
    /// The least level of log messages that the client wants; `None` for no messages.
    log_level: Option<LogLevel>,
    requests: RequestWay,
    link: ClientLink,
    /// `true` once the request is answered and its call goes on, without messages of its own.
    is_silent: AtomicBool,
}

/// The way of requests to a client.
#[derive(Clone)]
pub(super) enum RequestWay {
    /// The client answers in messages of its own.
    Messages(ClientRequests),
    /// The client makes the call again.
    Rounds(Arc<Rounds>),
    /// The client answers no requests.
    None,
}

impl ClientChannel {
    pub(super) fn new(
        claims: Arc<ClientClaims>,
        outlet: Outlet,
        log_level: Option<LogLevel>,
        requests: RequestWay,
        link: ClientLink,
    ) -> Self {
        Self { claims, outlet, log_level, requests, link, is_silent: AtomicBool::new(false) }
    }

    /// Ends the log messages of the call: its request is answered.
    pub(super) fn silence(&self) {
        self.is_silent.store(true, Ordering::Relaxed);
    }

    /// Returns the requests of the call, if its client answers them in requests of its own.
    pub(super) fn rounds(&self) -> Option<&Arc<Rounds>> {
        match &self.requests {
            RequestWay::Rounds(rounds) => Some(rounds),
            RequestWay::Messages(_) | RequestWay::None => None,
        }
    }

    /// Sends a request to the client, and waits for its result.
    pub(super) async fn request(
        &self,
        key: &str,
        method: &str,
        params: Value,
    ) -> Result<Value, ClientRequestError> {
        match &self.requests {
            RequestWay::Messages(requests) => {
                let operation = self.link.begin(method, self.claims.protocol());
                requests.send(&self.outlet, method, params, operation).await
            }
            RequestWay::Rounds(rounds) => {
                rounds.request(key, method, params).await.ok_or(ClientRequestError::Gone)
            }
            RequestWay::None => Err(ClientRequestError::Gone),
        }
    }

    /// Sends a log message, if the client wants those of its level.
    pub(super) async fn log(&self, level: LogLevel, logger: Option<&str>, data: &Value) {
        let is_silent = self.is_silent.load(Ordering::Relaxed);
        if is_silent || self.log_level.is_none_or(|least| level < least) {
            return;
        }
        let mut params = json!({ "level": level.as_str(), "data": data });
        if let Some(logger) = logger {
            params["logger"] = logger.into();
        }
        // The transport detects a client that is gone.
        let _ = self.outlet.send(protocol::notification("notifications/message", &params)).await;
    }

    /// Returns `true` if the client can ask its user.
    pub(super) fn can_ask(&self) -> bool {
        self.claims.asks_by_form() || self.claims.asks_by_url()
    }
}

/// Asks the user of a client.
pub(super) struct ClientAsker(pub(super) Arc<ClientChannel>);

impl Asker for ClientAsker {
    fn ask(&self, question: Question) -> BoxFuture<'static, Answer> {
        let channel = Arc::clone(&self.0);
        Box::pin(async move {
            let Some(params) = params_of(&question, &channel.claims) else { return Answer::Nobody };
            match channel.request(&question.key, ELICITATION, params).await {
                Ok(result) => answer_of(&result),
                Err(ClientRequestError::Gone) => Answer::Nobody,
                Err(ClientRequestError::Refused(error)) => {
                    tracing::debug!(%error, "a client refused a question");
                    Answer::Nobody
                }
            }
        })
    }
}

/// Returns the parameters of a question; `None` if the client cannot put it.
fn params_of(question: &Question, claims: &ClientClaims) -> Option<Value> {
    let version = claims.protocol();
    let mut params = match &question.form {
        QuestionForm::Fields(form) if claims.asks_by_form() => match requested_schema(form) {
            Ok(schema) => json!({ "mode": "form", "requestedSchema": schema }),
            Err(field) => {
                let tool = question.context.tool_name();
                tracing::warn!(tool, field, "a field is too complex for a form of the protocol");
                return None;
            }
        },
        QuestionForm::Url(url) if claims.asks_by_url() => json!({ "mode": "url", "url": url }),
        _ => return None,
    };
    let members = params.as_object_mut()?;
    members.insert("message".to_owned(), message_of(question).into());
    if version < ProtocolVersion::V2025_11_25 {
        members.remove("mode");
    } else if !version.is_modern() && members.contains_key("url") {
        members.insert("elicitationId".to_owned(), JobId::new().as_str().into());
    }
    Some(params)
}

/// Returns the text of a question. The client knows this server alone, so a server behind it is
/// named, and so is the line of the script that makes the call.
fn message_of(question: &Question) -> String {
    let mut message = match &question.server {
        Some(server) => format!("[{}] {}", cut(&clean(server), MAX_NAME), question.message),
        None => question.message.clone(),
    };
    if let Some(excerpt) = question.context.script_excerpt() {
        let line = clean(excerpt.line_of_call().trim());
        let shown = cut(&line, MAX_LINE);
        let end = if shown.len() < line.len() { "…" } else { "" };
        let _ =
            write!(message, "\nIt is called by line {} of a script: {shown}{end}", excerpt.line);
    }
    message
}

impl fmt::Debug for ClientChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientChannel").field("claims", &self.claims).finish_non_exhaustive()
    }
}
