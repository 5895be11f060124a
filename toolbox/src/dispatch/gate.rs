//! The entry of the gate: looks up the tool, and runs the call in place if it needs no waiting.

use std::sync::Arc;

use super::admitted::{AdmittedCall, CallInPlace, OwnedCall, Pass, answer};
use super::{run, trace};
use crate::call::{ArgumentsError, AsArguments, FailureKind, Fault, ToolCall, ToolResult};
use crate::collection::{BoxSettings, Snapshot, ToolBox, ToolEntry};
use crate::context::{Taint, ToolContext, UNUSED_CONTEXT};
use crate::text::{QUOTED, nearest_n, quote};
use crate::tool::{BoxedHandler, Tool};

/// The state of a call after the part that needs no waiting.
enum Begun {
    Done(ToolResult),
    /// Only the tool's own future is left to wait for.
    InPlace(CallInPlace),
    Waiting(AdmittedCall),
}

impl ToolBox {
    /// Makes one call and returns its result, whatever happens: there is no error to handle.
    ///
    /// An unknown name gives `tool not found: <name>`, an error of the tool its own message,
    /// arguments that do not fit a list of what is wrong, a panic and a timeout a sentence that
    /// says so; see [`ToolResult::code`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops the tool's own where it waits. Work that a blocking or background
    /// tool began goes on.
    pub fn call(&self, call: ToolCall) -> impl Future<Output = ToolResult> + Send {
        self.dispatch(None, call, Pass::default())
    }

    /// Makes one call in a context of the program: values, a cancellation token, a deadline.
    ///
    /// # Cancellation
    ///
    /// As for [`ToolBox::call`].
    pub fn call_in(
        &self,
        context: &ToolContext,
        call: ToolCall,
    ) -> impl Future<Output = ToolResult> + Send {
        self.dispatch(Some(context), call, Pass::default())
    }

    /// Makes one call through a gateway, of a tool that may be hidden behind it.
    pub(crate) async fn call_hidden(&self, context: &ToolContext, call: ToolCall) -> ToolResult {
        // The approval of the gateway's call covers this one: the approver saw its arguments.
        let pass = Pass { approved: context.approved, hidden: true, whole: context.whole };
        // The call replaces the gateway's own, and may be deferred if that one could.
        self.dispatch(Some(&context.in_its_place()), call, pass).await
    }

    /// Makes one call.
    #[inline]
    pub(crate) async fn dispatch(
        &self,
        caller_context: Option<&ToolContext>,
        call: ToolCall,
        pass: Pass,
    ) -> ToolResult {
        match self.begin(call.id, &call.name, call.arguments.as_str(), caller_context, pass) {
            Begun::Done(result) => result,
            Begun::InPlace(mut admitted) => {
                admitted.run(call.arguments.as_str(), &self.shared.settings).await
            }
            Begun::Waiting(admitted) => OwnedCall::finish(admitted, call.arguments).await,
        }
    }

    /// Runs a tool by name, with arguments as JSON text or as JSON; no id, no context. Text is not
    /// copied.
    ///
    /// # Errors
    ///
    /// The text of a failure, as a model would read it.
    ///
    /// # Cancellation
    ///
    /// As for [`ToolBox::call`].
    pub async fn execute(&self, name: &str, arguments: impl AsArguments) -> Result<String, String> {
        let arguments = &*arguments.as_arguments();
        let result = match self.begin(String::new(), name, arguments, None, Pass::default()) {
            Begun::Done(result) => result,
            Begun::InPlace(mut admitted) => admitted.run(arguments, &self.shared.settings).await,
            Begun::Waiting(admitted) => OwnedCall::finish(admitted, arguments.into()).await,
        };
        let failed = result.is_error();
        let text = result.into_text();
        if failed { Err(text) } else { Ok(text) }
    }

    /// Runs a call as far as it goes without waiting: for most synchronous tools, to its end.
    #[allow(clippy::inline_always, reason = "else every result is moved once more")]
    #[inline(always)]
    fn begin(
        &self,
        id: String,
        name: &str,
        text: &str,
        caller_context: Option<&ToolContext>,
        pass: Pass,
    ) -> Begun {
        let snapshot = self.shared.current.load();
        let found = snapshot.get(name).or_else(|| snapshot.by_alias(name));
        let Some(entry) = found.filter(|entry| self.is_open_to(entry, pass)) else {
            return Begun::Done(not_found(
                &snapshot,
                id,
                name,
                &self.shared.settings,
                caller_context,
            ));
        };
        let settings = &self.shared.settings;
        let permitted = entry.permitted
            && caller_context.is_none_or(|context| context.permits(entry.tool.name()));
        if !permitted || text.len() > settings.argument_bytes {
            return Begun::Done(refuse(entry, permitted, id, text, settings));
        }
        let tool = entry.tool.inner();
        let values = caller_context.and_then(ToolContext::values_below);
        let in_place = entry.at_once && settings.is_plain && values.is_none() && !trace::is_on();
        if in_place && !tool.signature.uses_context {
            return match &tool.handler {
                BoxedHandler::Sync(handler) => {
                    let depth = settings.argument_depth;
                    let mut result = run::sync(&**handler, tool, &UNUSED_CONTEXT, text, depth);
                    result.call_id = id;
                    result.fit(settings.result_bytes, || &tool.definition);
                    Begun::Done(result)
                }
                BoxedHandler::Async(_) => {
                    let context = ToolContext { call_id: id, ..ToolContext::default() };
                    Begun::InPlace(CallInPlace { tool: entry.tool.clone(), context })
                }
            };
        }
        let mut context = ToolContext {
            call_id: id,
            tool: Some(Arc::clone(tool.definition.arc())),
            values,
            bound: tool.running.state.clone(),
            state: self.shared.state.clone(),
            approved: pass.approved,
            whole: pass.whole,
        };
        if !in_place {
            let (tool, shared) = (entry.tool.clone(), Arc::clone(&self.shared));
            return Begun::Waiting(AdmittedCall { tool, shared, context });
        }
        match &tool.handler {
            BoxedHandler::Async(_) => {
                Begun::InPlace(CallInPlace { tool: entry.tool.clone(), context })
            }
            BoxedHandler::Sync(handler) => {
                let depth = settings.argument_depth;
                let mut result = run::sync(&**handler, tool, &context, text, depth);
                result.call_id = std::mem::take(&mut context.call_id);
                result.fit(settings.result_bytes, || &tool.definition);
                Begun::Done(result)
            }
        }
    }

    /// Returns `true` if a tool can be called at all: a deferred one may be hidden behind a
    /// gateway.
    #[inline]
    fn is_open_to(&self, entry: &ToolEntry, pass: Pass) -> bool {
        self.shared.settings.deferred_calls || pass.hidden || !entry.deferred
    }
}

#[cold]
fn not_found(
    snapshot: &Snapshot,
    id: String,
    name: &str,
    settings: &BoxSettings,
    caller_context: Option<&ToolContext>,
) -> ToolResult {
    let shown = quote(name, QUOTED);
    tracing::warn!(tool = shown, "the tool that was called is not in the box");
    let mut text = format!("tool not found: {shown}");
    if settings.suggest_tools && name.is_ascii() {
        let near = nearest_n(name, snapshot.listed().map(Tool::name), 3);
        if !near.is_empty() {
            let shown = near.iter().filter_map(|name| snapshot.get(name));
            if let Some(taint) = caller_context.and_then(ToolContext::get::<Taint>) {
                // A name is text that the author of the definition chose.
                shown.for_each(|entry| {
                    taint.show_definitions([entry.tool.definition()]);
                });
            }
            text = format!("{text}; the nearest names are {}", near.join(", "));
        }
    }
    answer(id, ToolResult::refusal(FailureKind::NotFound, text))
}

#[cold]
fn refuse(
    entry: &ToolEntry,
    permitted: bool,
    id: String,
    arguments: &str,
    settings: &BoxSettings,
) -> ToolResult {
    let name = entry.tool.name();
    if !permitted {
        tracing::warn!(tool = name, "a blacklisted tool was called");
        let text = format!("tool `{name}` is blacklisted: it may not be called");
        return answer(id, ToolResult::refusal(FailureKind::Blacklisted, text));
    }
    let fault = Fault::too_large(settings.argument_bytes, arguments.len());
    let error = ArgumentsError::new(name, fault);
    let text = format!("{error}; `ToolBoxBuilder::max_argument_bytes` raises the limit");
    let result = ToolResult::refusal(FailureKind::InvalidArguments, text);
    answer(id, result.with_code(error.code()))
}
