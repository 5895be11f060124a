//! One call at a server, with what its server asks meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::task::ServerTask;
use super::{CalledTool, Server};
use crate::call::{FailureKind, ToolError, ToolResult};
use crate::context::ToolContext;
#[cfg(feature = "mcp-oauth")]
use crate::context::{Question, QuestionForm};
use crate::mcp::client::answer::{self, ServerAnswer};
use crate::mcp::client::connection::Connection;
use crate::mcp::client::connection_error::{ConnectionError, with_data};
use crate::mcp::client::http::lost_session;
use crate::mcp::client::questions::{CallRounds, InputAnswers, InputRequired};
use crate::mcp::client::server_request::ServerRequest;
use crate::mcp::client::text;
use crate::mcp::client::unread::unread_members;
use crate::text::{QUOTED, cut, quote};

/// The error code with which a server of an older version names pages that the user has to open.
const PAGES_REQUIRED: i32 = -32042;

/// The error code of parameters that do not fit: of an unknown resource as well.
const INVALID_PARAMS: i32 = -32602;

/// The error code of an unknown resource, of servers of older versions.
const NO_RESOURCE: i32 = -32002;

/// The maximum length of a value that completes an argument, in bytes.
const MAX_VALUE: usize = 4096;

/// The end of a conversation with a server about one request.
enum Conversed {
    Result(ToolResult),
    /// The server goes on with the call, and is asked for its result later.
    Task(ServerTask),
}

impl Server {
    /// Calls one tool.
    pub(in crate::mcp::client) async fn call(
        self: &Arc<Self>,
        tool: &Arc<CalledTool>,
        context: &ToolContext,
        text: &str,
    ) -> ToolResult {
        let _call = self.calls.take();
        let tool_name = context.tool_name();
        let connection = match self.connection_for_call().await {
            Ok(connection) => connection,
            Err(reason) => return self.lost(tool_name, &reason),
        };
        let request = ServerRequest::Tool { name: &tool.name, arguments: text };
        let mut answer = self.converse(&connection, request, context).await;
        match &answer {
            Err(ConnectionError::SessionLost) if tool.repeats => {
                answer = self.converse(&connection, request, context).await;
            }
            // As an event; rmcp sees to the others.
            Err(ConnectionError::Refused { code, message, .. })
                if connection.is_in_session() && lost_session::is_told_as(*code, message) =>
            {
                self.reconnect().await;
                if let Ok(connection) = self.connection_for_call().await {
                    answer = self.converse(&connection, request, context).await;
                }
            }
            _ => {}
        }
        let answer = match answer {
            Ok(Conversed::Task(task)) => return self.finish_task(tool, task, context).await,
            Ok(Conversed::Result(result)) => Ok(result),
            Err(error) => Err(error),
        };
        self.concluded(tool, context, answer).await
    }

    /// Returns the result of a call by the answer of the server.
    pub(super) async fn concluded(
        self: &Arc<Self>,
        tool: &CalledTool,
        context: &ToolContext,
        answer: Result<ToolResult, ConnectionError>,
    ) -> ToolResult {
        let tool_name = context.tool_name();
        match answer.map_err(|error| self.explained(error)) {
            Ok(result) => {
                if self.now().wants_sign_in {
                    // A user has signed in meanwhile.
                    self.change(|now| now.wants_sign_in = false);
                }
                let result = self.with_uris_of_the_box(result);
                self.remember_links(&result);
                if let Some(fault) = answer::misfit(&result, tool.output_schema.as_ref()) {
                    if let Some(connection) = self.connection() {
                        connection.notifications.note_misfit(tool_name, fault);
                    }
                    self.withdraw_output_schema(&tool.name).await;
                }
                result
            }
            Err(ConnectionError::Unread(reason)) => answer::unreadable(tool_name, &reason),
            Err(ConnectionError::Silent(limit)) => {
                let effect = if tool.repeats { "" } else { "; whether it took effect is unknown" };
                let text = format!(
                    "tool `{tool_name}` reported no progress for {limit:?}, its own timeout (`\"timeout\"` in toolbox.jsonc){effect}"
                );
                ToolResult::failure(FailureKind::TimedOut, text)
            }
            Err(ConnectionError::SessionLost) => ToolResult::failure(
                FailureKind::OutcomeUnknown,
                format!(
                    "tool `{tool_name}` has no answer: server `{}` lost the session, and the call may have run, so it was not repeated. Check that before you call it again",
                    self.name
                ),
            ),
            Err(ConnectionError::Lost(reason) | ConnectionError::TimedOut(reason)) => {
                self.lost(tool_name, &reason)
            }
            Err(error @ ConnectionError::Unauthorized { .. }) => {
                self.change(|now| now.wants_sign_in = self.wants_sign_in(&error));
                self.lost(tool_name, &error.to_string())
            }
            Err(ConnectionError::Refused { code, message, data }) => ToolResult::error(format!(
                "server `{}` refused the call of `{tool_name}` (error {code}): {message}{}",
                self.name,
                with_data(data.as_deref())
            )),
        }
    }

    /// Gets a prompt, or reads a resource.
    pub(in crate::mcp::client) async fn offer(
        self: &Arc<Self>,
        request: ServerRequest<'_>,
        context: &ToolContext,
    ) -> ToolResult {
        let _call = self.calls.take();
        let infrastructure = |reason: String| {
            let text = format!("the connection to server `{}` failed: {reason}", self.name);
            ToolResult::failure(FailureKind::Infrastructure, text)
        };
        let connection = match self.connection_for_call().await {
            Ok(connection) => connection,
            Err(reason) => return infrastructure(reason),
        };
        let answer = self.converse(&connection, request, context).await;
        match answer.map_err(|error| self.explained(error)) {
            Ok(Conversed::Result(result)) => self.with_uris_of_the_box(result),
            // Of calls alone.
            Ok(Conversed::Task(_)) => infrastructure("it answered with a task".to_owned()),
            Err(ConnectionError::Unread(reason)) => {
                let reason = quote(&reason, 4 * QUOTED);
                let text = format!("the answer of server `{}` cannot be read: {reason}", self.name);
                ToolResult::failure(FailureKind::InvalidOutput, text)
            }
            Err(ConnectionError::Refused { code, message, data }) => {
                let kind = match (request, code) {
                    (ServerRequest::Prompt { .. }, INVALID_PARAMS) => FailureKind::InvalidArguments,
                    (
                        ServerRequest::Resource { .. } | ServerRequest::SkillFile { .. },
                        INVALID_PARAMS | NO_RESOURCE,
                    ) => FailureKind::NotFound,
                    _ => FailureKind::Reported,
                };
                let data = with_data(data.as_deref());
                let text = format!("server `{}` (error {code}): {message}{data}", self.name);
                ToolResult::failure(kind, text)
            }
            Err(error) => {
                self.change(|now| now.wants_sign_in |= self.wants_sign_in(&error));
                infrastructure(error.to_string())
            }
        }
    }

    /// Requests values that complete an argument.
    pub(in crate::mcp::client) async fn complete(
        self: &Arc<Self>,
        reference: Value,
        argument: &str,
        value: &str,
        given: BTreeMap<String, String>,
    ) -> Result<Vec<String>, ToolError> {
        let _call = self.calls.take();
        let failed = |reason: &dyn std::fmt::Display| {
            ToolError::reported(format!("server `{}`: {reason}", self.name))
        };
        let connection = self.connection_for_call().await.map_err(|reason| failed(&reason))?;
        let values = connection.complete(reference, argument, value, given).await;
        let values = values.map_err(|error| failed(&error))?;
        Ok(values.iter().map(|value| text::clean(cut(value, MAX_VALUE)).into_owned()).collect())
    }

    /// Makes a request, and answers what its server asks the user meanwhile.
    async fn converse(
        &self,
        connection: &Connection,
        request: ServerRequest<'_>,
        context: &ToolContext,
    ) -> Result<Conversed, ConnectionError> {
        let tool_name = context.tool_name();
        let (mut rounds, mut answers) = (CallRounds::default(), InputAnswers::default());
        let mut is_first = true;
        // The gate holds the time of a call, and that of what progress does not extend.
        let of_tool = matches!(request, ServerRequest::Tool { .. });
        let silence = self.config.longest_silence().filter(|_| of_tool);
        loop {
            let first = std::mem::take(&mut is_first);
            let required = match connection.call(request, answers, context, first, silence).await {
                Ok(raw) => match answer::read(request, tool_name, &raw) {
                    ServerAnswer::Result(result) => {
                        if matches!(request, ServerRequest::Tool { .. }) {
                            connection.notifications.note_unread(unread_members(&raw));
                        }
                        return Ok(Conversed::Result(result));
                    }
                    ServerAnswer::Task => {
                        let task = ServerTask::begun(&raw).map_err(ConnectionError::Unread)?;
                        return Ok(Conversed::Task(task));
                    }
                    ServerAnswer::InputRequired(required) => required,
                },
                Err(ConnectionError::Refused {
                    code: PAGES_REQUIRED,
                    data: Some(data),
                    message,
                }) if context.can_ask() && rounds.is_first() => {
                    match InputRequired::of_pages(&data) {
                        Some(required) => required,
                        None => {
                            let data = Some(data);
                            let code = PAGES_REQUIRED;
                            return Err(ConnectionError::Refused { code, message, data });
                        }
                    }
                }
                #[cfg(feature = "mcp-oauth")]
                Err(ConnectionError::Unauthorized { scopes, .. })
                    if rounds.signs_in()
                        && Box::pin(self.sign_in(scopes.as_deref(), context)).await =>
                {
                    answers = InputAnswers::default();
                    continue;
                }
                Err(error) => return Err(error),
            };
            answers = match rounds.answer(&self.name, &required, context).await {
                Some(answers) => answers,
                None => return Ok(Conversed::Result(answer::unanswered(tool_name, &required))),
            };
        }
    }

    /// Asks the user of a call to sign in, where the program allows that. Returns `true` if it was
    /// done.
    #[cfg(feature = "mcp-oauth")]
    async fn sign_in(&self, scopes: Option<&str>, context: &ToolContext) -> bool {
        let Some(credentials) = self.shared.common.credentials_for_questions() else {
            return false;
        };
        if !self.config.has_user() || !context.can_ask() {
            return false;
        }
        let scopes: Vec<&str> = scopes.unwrap_or_default().split_whitespace().take(64).collect();
        let message = match scopes.as_slice() {
            [] => "Sign in, so that the call can be made.".to_owned(),
            scopes => {
                let scopes = text::clean(cut(&scopes.join(", "), 512)).into_owned();
                format!("The call needs further permission: {scopes}.")
            }
        };
        let (found, page) = tokio::sync::oneshot::channel();
        let sign_in =
            crate::mcp::client::oauth::SignIn::new(&self.config, credentials).scopes(scopes);
        let show = |page: &str| drop(found.send(page.to_owned()));
        let mut sign_in = std::pin::pin!(sign_in.run(show));
        let agreed = async {
            let Ok(page) = page.await else { return std::future::pending().await };
            let mut question = Question::new(message, QuestionForm::Url(page), context.clone());
            question.server = Some(self.name.to_string());
            context.put(question).await.is_ok()
        };
        let mut agreed = std::pin::pin!(agreed);
        let done = tokio::select! {
            done = &mut sign_in => done,
            agreed = &mut agreed => {
                if !agreed {
                    return false;
                }
                sign_in.await
            }
        };
        if let Err(error) = &done {
            tracing::warn!(server = &*self.name, %error, "a sign-in failed");
        }
        done.is_ok()
    }
}
