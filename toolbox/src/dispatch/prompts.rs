//! Calls of prompts through the gate.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::admitted::{AdmittedCall, OwnedCall, Pass};
use crate::call::{Arguments, AsArguments, FailureKind, ToolCall, ToolError, ToolResult};
use crate::collection::{Prompts, ToolBox};
use crate::context::ToolContext;
use crate::prompt::{Prompt, RenderedPrompt};
use crate::text::{QUOTED, quote};
use crate::tool::{Completers, CompletionRequest, Suggestions};

impl Prompts {
    /// Returns the messages of a prompt with its arguments filled in: as JSON text, or as JSON.
    ///
    /// # Errors
    ///
    /// There is no prompt of that name ([`FailureKind::NotFound`]), the arguments do not fit
    /// ([`FailureKind::InvalidArguments`]), or its function failed. Messages that exceed
    /// [`max_result_bytes`](crate::ToolBoxBuilder::max_result_bytes) are
    /// [`FailureKind::ResultTooLarge`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops that of the function where it waits.
    pub async fn get(
        &self,
        name: &str,
        arguments: impl AsArguments,
    ) -> Result<RenderedPrompt, ToolError> {
        self.get_in(&ToolContext::new(), name, arguments).await
    }

    /// Returns the messages of a prompt, in a context of the program.
    ///
    /// # Errors
    ///
    /// As for [`Prompts::get`].
    ///
    /// # Cancellation
    ///
    /// As for [`Prompts::get`].
    pub async fn get_in(
        &self,
        context: &ToolContext,
        name: &str,
        arguments: impl AsArguments,
    ) -> Result<RenderedPrompt, ToolError> {
        let prompt = self.find(name).ok_or_else(|| unknown("prompt", name))?;
        let call = ToolCall::new(context.call_id(), name, &*arguments.as_arguments());
        let result = self.calls.dispatch(Some(context), call, Pass::default()).await;
        let result = whole(result, "prompt", name, self.calls.shared.settings.result_bytes)?;
        Ok(RenderedPrompt::of(prompt.description(), result))
    }

    /// Returns values for an argument that a person is typing; `arguments` are those that have
    /// values already. An argument without a completer has none.
    ///
    /// # Errors
    ///
    /// There is no such prompt ([`FailureKind::NotFound`]) or argument
    /// ([`FailureKind::InvalidArguments`]), or the completer failed.
    ///
    /// # Cancellation
    ///
    /// As for [`Prompts::get`].
    pub async fn complete(
        &self,
        context: &ToolContext,
        name: &str,
        argument: &str,
        value: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Suggestions, ToolError> {
        let permitted = self.calls.permits(name) && context.permits(name);
        let prompt = self.find(name).filter(|_| permitted);
        let prompt = prompt.ok_or_else(|| unknown("prompt", name))?;
        if !prompt.arguments().iter().any(|own| own.name == argument) {
            return Err(unknown_argument("prompt", name, argument));
        }
        let request = request(context, argument, value, arguments);
        complete(&self.calls, prompt.completers(), request).await
    }
}

impl Prompt {
    /// Returns `true` if an argument of the prompt can be completed.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.completers().is_some_and(|completers| !completers.is_empty())
    }
}

pub(super) fn request(
    context: &ToolContext,
    argument: &str,
    value: &str,
    arguments: BTreeMap<String, String>,
) -> CompletionRequest {
    let (argument, value) = (argument.to_owned(), value.to_owned());
    CompletionRequest { argument, value, arguments, context: context.clone() }
}

/// Runs the completer of an argument through the gate.
pub(super) async fn complete(
    calls: &ToolBox,
    completers: Option<&Completers>,
    request: CompletionRequest,
) -> Result<Suggestions, ToolError> {
    let Some(tool) = completers.and_then(|all| all.get(&request.argument)) else {
        return Ok(Suggestions::from(Vec::new()));
    };
    let text = request.call_text();
    let limit = calls.shared.settings.argument_bytes;
    if text.len() > limit {
        let text = format!("the request for completion is larger than {limit} bytes");
        return Err(ToolError::of_kind(FailureKind::InvalidArguments, text));
    }
    let context = ToolContext {
        tool: Some(Arc::clone(tool.inner().definition.arc())),
        values: request.context.values_below(),
        state: calls.shared.state.clone(),
        ..ToolContext::default()
    };
    let (tool, shared) = (tool.clone(), Arc::clone(&calls.shared));
    let admitted = AdmittedCall { tool, shared, context };
    let result = OwnedCall::finish(admitted, Arguments::from(text)).await;
    if result.is_error() { Err(result.into_error()) } else { Ok(Suggestions::from(&result)) }
}

/// Returns a result that succeeded and of which nothing was left out.
pub(super) fn whole(
    result: ToolResult,
    noun: &str,
    name: &str,
    limit: usize,
) -> Result<ToolResult, ToolError> {
    if result.is_error() {
        return Err(named(result.into_error(), noun, name));
    }
    if result.omitted_bytes() > 0 {
        let name = quote(name, QUOTED);
        let text = format!("{noun} `{name}` is larger than the {limit} bytes that the box allows");
        return Err(ToolError::of_kind(FailureKind::ResultTooLarge, text));
    }
    Ok(result)
}

/// Returns an error of the gate, which speaks of tools, in words of what was called.
fn named(error: ToolError, noun: &str, name: &str) -> ToolError {
    let shown = quote(name, QUOTED);
    let text = match error.kind() {
        FailureKind::Blacklisted => format!("{noun} `{shown}` is blacklisted"),
        FailureKind::ResultTooLarge => format!("{noun} `{shown}` is larger than the box allows"),
        FailureKind::TimedOut | FailureKind::Cancelled | FailureKind::Panicked => {
            error.to_string().replacen("tool ", &format!("{noun} "), 1)
        }
        _ => return error,
    };
    error.with_message(text)
}

pub(super) fn unknown(noun: &str, name: &str) -> ToolError {
    let text = format!("there is no {noun} `{}`", quote(name, QUOTED));
    ToolError::of_kind(FailureKind::NotFound, text)
}

pub(super) fn unknown_argument(noun: &str, name: &str, argument: &str) -> ToolError {
    let (name, argument) = (quote(name, QUOTED), quote(argument, QUOTED));
    let text = format!("{noun} `{name}` has no argument `{argument}`");
    ToolError::of_kind(FailureKind::InvalidArguments, text)
}
