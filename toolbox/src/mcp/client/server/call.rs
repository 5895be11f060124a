//! One call at a server, with what its server asks meanwhile.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{CalledTool, Server};
use crate::call::{FailureKind, ToolResult};
use crate::context::ToolContext;
#[cfg(feature = "mcp-oauth")]
use crate::context::{Question, QuestionForm};
use crate::mcp::client::answer::{self, ServerAnswer};
use crate::mcp::client::connection::{Connection, ConnectionError};
use crate::mcp::client::questions::{CallRounds, InputAnswers, InputRequired};
#[cfg(feature = "mcp-oauth")]
use crate::mcp::client::text;
#[cfg(feature = "mcp-oauth")]
use crate::text::cut;

/// The error code with which a server of an older version names pages that the user has to open.
const PAGES_REQUIRED: i32 = -32042;

impl Server {
    /// Calls one tool.
    pub(in crate::mcp::client) async fn call(
        self: &Arc<Self>,
        tool: &CalledTool,
        context: &ToolContext,
        text: &str,
    ) -> ToolResult {
        let _call = self.calls.take();
        let tool_name = context.tool_name();
        let arguments: Map<String, Value> = match serde_json::from_str(text) {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments of `{tool_name}` are no JSON object: {error}");
                return ToolResult::failure(FailureKind::InvalidArguments, message);
            }
        };
        let connection = match self.connection_for_call().await {
            Ok(connection) => connection,
            Err(reason) => return self.lost(tool_name, &reason),
        };
        let answer = self.converse(&connection, tool, arguments, text, context).await;
        match answer.map_err(|error| self.explained(error)) {
            Ok(result) => {
                if self.now().wants_sign_in {
                    // A user has signed in meanwhile.
                    self.change(|now| now.wants_sign_in = false);
                }
                if let Some(fault) = answer::misfit(&result, tool.output_schema.as_ref()) {
                    connection.notifications.note_misfit(tool_name, fault);
                    self.withdraw_output_schema(&tool.name).await;
                }
                result
            }
            Err(ConnectionError::Unread(reason)) => answer::unreadable(tool_name, &reason),
            Err(ConnectionError::Lost(reason)) => self.lost(tool_name, &reason),
            Err(error @ ConnectionError::Unauthorized { .. }) => {
                self.change(|now| now.wants_sign_in = self.wants_sign_in(&error));
                self.lost(tool_name, &error.to_string())
            }
            Err(ConnectionError::Refused { code, message, .. }) => ToolResult::error(format!(
                "server `{}` refused the call of `{tool_name}` (error {code}): {message}",
                self.name
            )),
        }
    }

    /// Calls one tool, and answers what its server asks the user meanwhile.
    async fn converse(
        &self,
        connection: &Connection,
        tool: &CalledTool,
        mut arguments: Map<String, Value>,
        text: &str,
        context: &ToolContext,
    ) -> Result<ToolResult, ConnectionError> {
        let tool_name = context.tool_name();
        let (mut rounds, mut answers) = (CallRounds::default(), InputAnswers::default());
        loop {
            let called = connection.call(&tool.name, arguments, answers, context).await;
            let required = match called {
                Ok(raw) => match answer::read(tool_name, &raw) {
                    ServerAnswer::Result(result) => return Ok(result),
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
                    arguments = serde_json::from_str(text).unwrap_or_default();
                    continue;
                }
                Err(error) => return Err(error),
            };
            answers = match rounds.answer(&self.name, &required, context).await {
                Some(answers) => answers,
                None => return Ok(answer::unanswered(tool_name, &required)),
            };
            // Few servers ask, so the arguments of most calls are read once.
            arguments = serde_json::from_str(text).unwrap_or_default();
        }
    }

    /// Asks the user of a call to sign in, where the program allows that. Returns `true` if it was
    /// done.
    #[cfg(feature = "mcp-oauth")]
    async fn sign_in(&self, scopes: Option<&str>, context: &ToolContext) -> bool {
        let Some(credentials) = self.shared.common.credentials_for_questions() else {
            return false;
        };
        if self.config.has_own_token() || !context.can_ask() {
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
