//! The entry of the gate: looks up the tool, and runs a synchronous handler that needs no waiting.

use std::mem::{swap, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::admitted::{AdmittedCall, CallerContext, OwnedCall, Pass, answer};
use super::in_place::{run, set};
use super::supervise::panicked;
use super::trace;
use super::unknown::unknown_tool;
use crate::call::{
    Arguments, ArgumentsError, AsArguments, FailureKind, Fault, ToolCall, ToolResult,
};
use crate::collection::{BoxSettings, Snapshot, ToolBox, ToolEntry, Visibility};
use crate::context::auditor::{AuditedStep, SharedAuditor};
use crate::context::call_taint::CallTaint;
use crate::context::observer::CallReport;
use crate::context::{Decision, ToolContext, UNUSED_CONTEXT};
use crate::future::BoxFuture;
use crate::text::{QUOTED, quote};
use crate::tool::{BoxedHandler, SyncHandler, Tool, ToolInner};

/// The part of a call that has to be waited for.
enum UnfinishedCall {
    /// The future of an async tool that needs no approval, permit or layer, and nothing around it.
    InPlace(Tool),
    Boxed(BoxFuture<'static, ToolResult>),
}

/// A call as its maker passes it, what its maker may do, and the slots that it fills.
struct IncomingCall<'c, A> {
    /// Taken by the result.
    id: &'c mut String,
    name: &'c str,
    arguments: &'c mut A,
    caller: CallerContext<'c>,
    /// The context of a call that is finished [in place](UnfinishedCall::InPlace), if it has one.
    own_context: &'c mut Option<ToolContext>,
    /// Set and not returned, as the context is, since each step that returns them copies them.
    result: &'c mut Option<ToolResult>,
}

/// The arguments of a call, which are copied or moved only if the call has to own them.
trait CallArguments {
    fn text(&self) -> &str;
    fn take(&mut self) -> Arguments;
}

impl CallArguments for Arguments {
    #[inline]
    fn text(&self) -> &str {
        self.as_str()
    }

    fn take(&mut self) -> Arguments {
        take(self)
    }
}

impl CallArguments for &str {
    fn text(&self) -> &str {
        self
    }

    fn take(&mut self) -> Arguments {
        Arguments::from(*self)
    }
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
    #[allow(clippy::manual_async_fn, reason = "an `async fn` copies the call once more")]
    #[inline]
    pub(crate) fn dispatch(
        &self,
        caller_context: Option<&ToolContext>,
        mut call: ToolCall,
        pass: Pass,
    ) -> impl Future<Output = ToolResult> + Send {
        let caller = CallerContext { context: caller_context, pass, line: call.line };
        async move {
            let mut own_context = None;
            let rest = {
                let (call, mut result) = (&mut call, None);
                let incoming = IncomingCall {
                    id: &mut call.id,
                    name: &call.name,
                    arguments: &mut call.arguments,
                    caller,
                    own_context: &mut own_context,
                    result: &mut result,
                };
                match self.begin(incoming) {
                    Some(rest) => rest,
                    None => return set(result),
                }
            };
            match rest {
                UnfinishedCall::InPlace(tool) => {
                    let (text, settings) = (call.arguments.as_str(), &self.shared.settings);
                    let mut result = None;
                    run(&tool, &mut own_context, &mut call.id, text, settings, &mut result).await;
                    set(result)
                }
                UnfinishedCall::Boxed(rest) => rest.await,
            }
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
        let mut arguments = &*arguments.as_arguments();
        let (mut id, mut own_context, mut result) = (String::new(), None, None);
        let incoming = IncomingCall {
            id: &mut id,
            name,
            arguments: &mut arguments,
            caller: CallerContext::default(),
            own_context: &mut own_context,
            result: &mut result,
        };
        let result = match self.begin(incoming) {
            None => set(result),
            Some(UnfinishedCall::InPlace(tool)) => {
                let (settings, mut result) = (&self.shared.settings, None);
                run(&tool, &mut own_context, &mut id, arguments, settings, &mut result).await;
                set(result)
            }
            Some(UnfinishedCall::Boxed(rest)) => rest.await,
        };
        let failed = result.is_error();
        let text = result.into_text();
        if failed { Err(text) } else { Ok(text) }
    }

    /// Runs a call as far as it goes without waiting, for most synchronous tools to its end: sets
    /// its result, or returns the rest of the call.
    #[allow(clippy::inline_always, reason = "else its arguments go through memory")]
    #[inline(always)]
    fn begin(&self, call: IncomingCall<'_, impl CallArguments>) -> Option<UnfinishedCall> {
        let snapshot = self.shared.current.load();
        let settings = &self.shared.settings;
        let found = snapshot.get(call.name);
        let is_bare = |entry: &&ToolEntry| {
            entry.is_bare
                && settings.is_plain
                && call.caller.context.is_none()
                && call.arguments.text().len() <= settings.argument_bytes
                && !trace::is_on()
        };
        let Some(entry) = found.filter(is_bare) else {
            return self.begin_checked(found, call);
        };
        let tool = entry.tool.inner();
        let BoxedHandler::Sync(handler) = &tool.handler else {
            return Some(UnfinishedCall::InPlace(entry.tool.clone()));
        };
        let IncomingCall { id, arguments, result, .. } = call;
        let depth = settings.argument_depth;
        let call = tool.handler_call(&UNUSED_CONTEXT, arguments.text(), depth);
        let result = contained(tool, result, || handler(&call));
        call.conclude(result);
        result.fit(settings.result_bytes, || &tool.definition);
        swap(id, &mut result.call_id);
        // Here, the compiler knows what is returned; at the end of the function it would look.
        drop(snapshot);
        None
    }

    /// Begins a call that has to be looked at, waits, or has a context.
    #[inline(never)]
    fn begin_checked(
        &self,
        found: Option<&ToolEntry>,
        call: IncomingCall<'_, impl CallArguments>,
    ) -> Option<UnfinishedCall> {
        let context = call.caller.context;
        let refused = |refused: RefusedCall, arguments: Arguments| {
            Some(UnfinishedCall::Boxed(Box::pin(refused.answer(arguments))))
        };
        let snapshot = self.shared.current.load();
        let found = found.or_else(|| snapshot.by_alias(call.name));
        if found.is_none()
            && let Some(entry) = snapshot.by_old_name(call.name)
            && self.is_open_to(entry, call.caller)
        {
            let note =
                format!("`{}` is now `{}`: call it by that name", call.name, entry.tool.name());
            let renamed = ToolCall::new(take(call.id), entry.tool.name(), call.arguments.take())
                .at_line(call.caller.line);
            return Some(self.begin_renamed(renamed, call.caller, note));
        }
        let Some(entry) = found.filter(|entry| self.is_open_to(entry, call.caller)) else {
            let answer = self.not_found(
                &snapshot,
                take(call.id),
                call.name,
                call.arguments.text(),
                call.caller,
            );
            return refused(answer, call.arguments.take());
        };
        let permitted = entry.permitted
            && context.is_none_or(|context| context.permits_tool(entry.tool.definition()));
        let text = call.arguments.text();
        if !permitted || text.len() > self.shared.settings.argument_bytes {
            let answer = self.refuse(entry, permitted, take(call.id), text, call.caller);
            return refused(answer, call.arguments.take());
        }
        self.begin_in_context(entry, call)
    }

    /// Begins a call by an old name: it is the call by the new one, with a note to the model.
    #[cold]
    fn begin_renamed(
        &self,
        renamed: ToolCall,
        caller: CallerContext<'_>,
        note: String,
    ) -> UnfinishedCall {
        let (toolbox, pass) = (self.clone(), caller.pass);
        let context = caller.context.cloned();
        UnfinishedCall::Boxed(Box::pin(async move {
            let result = toolbox.dispatch(context.as_ref(), renamed, pass).await;
            match result.failure_kind() {
                // The model can call the tool by neither name.
                Some(FailureKind::Blacklisted | FailureKind::NotFound) => result,
                _ => result.with_note(note),
            }
        }))
    }

    /// Begins a call that waits, or whose handler reads its context.
    #[inline(never)]
    fn begin_in_context(
        &self,
        entry: &ToolEntry,
        call: IncomingCall<'_, impl CallArguments>,
    ) -> Option<UnfinishedCall> {
        let IncomingCall { id, arguments, caller, own_context, result, .. } = call;
        let (tool, settings) = (entry.tool.inner(), &self.shared.settings);
        let values = caller.context.and_then(ToolContext::values_below);
        let in_place = entry.at_once && settings.is_plain && values.is_none() && !trace::is_on();
        let is_async = matches!(tool.handler, BoxedHandler::Async(_));
        if in_place && is_async && !tool.signature.uses_context {
            return Some(UnfinishedCall::InPlace(entry.tool.clone()));
        }
        let mut context = ToolContext {
            call_id: take(id),
            line: caller.line,
            tool: Some(Arc::clone(tool.definition.arc())),
            values,
            bound: tool.running.state.clone(),
            state: self.shared.state.clone(),
            approved: caller.pass.approved,
            whole: caller.pass.whole,
            taint: Some(CallTaint::below(caller.context)),
        };
        if !in_place {
            if settings.reporter.is_some() || context.observer().is_some() {
                let caller = caller.context.unwrap_or(&UNUSED_CONTEXT);
                context = context.observed_by(settings.reporter.as_ref(), caller);
            }
            let (tool, shared) = (entry.tool.clone(), Arc::clone(&self.shared));
            let admitted = AdmittedCall { tool, shared, context };
            return Some(UnfinishedCall::Boxed(OwnedCall::finish(admitted, arguments.take())));
        }
        match &tool.handler {
            BoxedHandler::Async(_) => {
                *own_context = Some(context);
                Some(UnfinishedCall::InPlace(entry.tool.clone()))
            }
            BoxedHandler::Sync(handler) => {
                let (text, depth) = (arguments.text(), settings.argument_depth);
                let result = result.insert(sync(&**handler, tool, &context, text, depth));
                context.mark_result(false, result);
                result.fit(settings.result_bytes, || &tool.definition);
                result.call_id = context.call_id;
                None
            }
        }
    }

    /// Reports a call that was refused.
    #[cold]
    fn refused(
        &self,
        id: String,
        entry: Option<&ToolEntry>,
        name: &str,
        arguments: &str,
        CallerContext { context, line, .. }: CallerContext<'_>,
        result: ToolResult,
    ) -> RefusedCall {
        let settings = &self.shared.settings;
        let caller = context.unwrap_or(&UNUSED_CONTEXT);
        let is_watched = settings.reporter.is_some() || caller.observer().is_some();
        if !is_watched && settings.auditor.is_none() {
            return RefusedCall { result: answer(id, result), record: None };
        }
        let context = ToolContext {
            call_id: id.clone(),
            line,
            tool: entry.map(|entry| Arc::clone(entry.tool.shared_definition().arc())),
            values: caller.values_below(),
            state: self.shared.state.clone(),
            ..ToolContext::default()
        };
        let context = context.observed_by(settings.reporter.as_ref(), caller);
        let shown = quote(name, QUOTED);
        let name = entry.map_or(&*shown, |entry| entry.tool.name());
        let code = result.code().unwrap_or_default();
        let is_short = arguments.len() <= settings.argument_bytes;
        let arguments = entry.filter(|_| is_short).map(|_| arguments);
        context.report(|| CallReport::Refused { tool: name, code, arguments });
        let end = CallReport::Finished { tool: name, result: &result, took: Duration::ZERO };
        context.report(|| end);
        let record = settings
            .auditor
            .as_ref()
            .map(|auditor| (Arc::clone(auditor), context, name.to_owned()));
        RefusedCall { result: answer(id, result), record }
    }

    /// Records a decision with which a paused run goes on, where the box keeps a record.
    #[allow(dead_code, reason = "agents are a module on top of this one")]
    pub(crate) async fn audit_decision(
        &self,
        context: &ToolContext,
        call: &ToolCall,
        decision: &Decision,
    ) -> Result<(), ToolResult> {
        let Some(auditor) = &self.shared.settings.auditor else { return Ok(()) };
        let snapshot = self.shared.current.load_full();
        let entry = snapshot.by_any_name(&call.name);
        let context = ToolContext {
            call_id: call.id.clone(),
            line: call.line,
            tool: entry.map(|entry| Arc::clone(entry.tool.shared_definition().arc())),
            ..context.clone()
        };
        let step = AuditedStep::Decision { by: "resumed", decision };
        let name = quote(&call.name, QUOTED);
        auditor.record(&context, &name, &call.arguments, step).await
    }

    /// Refuses a call of a batch.
    pub(super) async fn refuse_in_batch(
        &self,
        call: ToolCall,
        caller_context: Option<&ToolContext>,
        result: ToolResult,
    ) -> ToolResult {
        let snapshot = self.shared.current.load_full();
        let (entry, text) = (snapshot.by_any_name(&call.name), call.arguments.as_str());
        let (line, pass) = (call.line, Pass::default());
        let caller = CallerContext { context: caller_context, pass, line };
        let refused = self.refused(call.id, entry, &call.name, text, caller, result);
        refused.answer(call.arguments).await
    }

    /// Returns `true` if a tool that is not listed can be called: a deferred one may be hidden
    /// behind a gateway, and one for apps is hidden from models.
    pub(super) fn is_open_to(&self, entry: &ToolEntry, caller: CallerContext<'_>) -> bool {
        self.is_open(entry.visibility, entry, caller)
    }

    fn is_open(&self, to: Visibility, entry: &ToolEntry, caller: CallerContext<'_>) -> bool {
        let CallerContext { context, pass, .. } = caller;
        match to {
            Visibility::Listed => true,
            Visibility::Deferred => self.shared.settings.deferred_calls || pass.hidden,
            Visibility::Apps => !pass.hidden && context.is_none_or(|context| context.depth() == 0),
            Visibility::Conditional => self.is_open_if_available(entry, caller),
        }
    }

    #[cold]
    #[inline(never)]
    fn is_open_if_available(&self, entry: &ToolEntry, caller: CallerContext<'_>) -> bool {
        self.offers(&entry.tool, caller.context.unwrap_or(&UNUSED_CONTEXT))
            && self.is_open(entry.audience(), entry, caller)
    }

    #[cold]
    fn not_found(
        &self,
        snapshot: &Snapshot,
        id: String,
        name: &str,
        arguments: &str,
        caller: CallerContext<'_>,
    ) -> RefusedCall {
        let result = unknown_tool(&self.shared, snapshot, name, arguments, caller);
        self.refused(id, None, name, "", caller, result)
    }

    #[cold]
    fn refuse(
        &self,
        entry: &ToolEntry,
        permitted: bool,
        id: String,
        text: &str,
        caller: CallerContext<'_>,
    ) -> RefusedCall {
        let name = entry.tool.name();
        let result = refusal(name, permitted, text, &self.shared.settings);
        self.refused(id, Some(entry), name, text, caller, result)
    }
}

/// A refused call.
struct RefusedCall {
    result: ToolResult,
    /// The record that the box keeps of it, the context and the tool.
    record: Option<(SharedAuditor, ToolContext, String)>,
}

impl RefusedCall {
    /// Records the call where that is asked for, and returns its result.
    async fn answer(self, arguments: Arguments) -> ToolResult {
        let Some((auditor, context, tool)) = self.record else { return self.result };
        let step = AuditedStep::Result { result: &self.result, took: Duration::ZERO };
        match auditor.record(&context, &tool, &arguments, step).await {
            Ok(()) => self.result,
            Err(result) => answer(context.call_id, result),
        }
    }
}

pub(super) fn refusal(
    name: &str,
    permitted: bool,
    arguments: &str,
    settings: &BoxSettings,
) -> ToolResult {
    if !permitted {
        tracing::warn!(tool = name, "a blacklisted tool was called");
        let text = format!("tool `{name}` is blacklisted: it may not be called");
        return ToolResult::refusal(FailureKind::Blacklisted, text);
    }
    let fault = Fault::too_large(settings.argument_bytes, arguments.len());
    let error = ArgumentsError::new(name, fault);
    let text = format!("{error}; `ToolBoxBuilder::max_argument_bytes` raises the limit");
    let result = ToolResult::refusal(FailureKind::InvalidArguments, text);
    result.with_code(error.code())
}

/// Runs a synchronous handler with its panics contained; sets its result, and returns that.
///
/// The result is set and not returned, since each step that returns it copies it.
#[allow(clippy::inline_always, reason = "it is a part of each of its two callers")]
#[inline(always)]
pub(super) fn contained<'r>(
    tool: &ToolInner,
    result: &'r mut Option<ToolResult>,
    handler: impl FnOnce() -> ToolResult,
) -> &'r mut ToolResult {
    let caught = catch_unwind(AssertUnwindSafe(|| *result = Some(handler())));
    let result = match (caught, result) {
        (Ok(()), Some(result)) => result,
        (Ok(()), None) => unreachable!("a handler that did not panic has returned"),
        (Err(payload), result) => return result.insert(panicked(&tool.definition.name, payload)),
    };
    if !tool.running.relays {
        result.unmark();
    }
    result
}

/// Runs a synchronous handler where it is called.
pub(super) fn sync(
    handler: &SyncHandler,
    tool: &ToolInner,
    context: &ToolContext,
    text: &str,
    depth: usize,
) -> ToolResult {
    let call = tool.handler_call(context, text, depth);
    let mut result = None;
    let returned = contained(tool, &mut result, || handler(&call));
    call.conclude(returned);
    set(result)
}
