//! Execution of an admitted call, up to its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::admitted::{AdmittedCall, OwnedCall};
use super::gate::sync;
use super::permits::Permits;
use super::supervise::{SupervisedCall, Timeout, cancelled, panicked};
use super::trace;
use crate::call::{Arguments, FailureKind, ToolResult};
use crate::collection::{BoxInner, BoxSettings};
use crate::context::approval::{Approval, Condition};
use crate::context::auditor::{AuditedStep, SharedAuditor};
use crate::context::keeper::ResultTokens;
use crate::context::observer::CallReport;
use crate::context::{ApprovalRequest, Decision, ToolContext, now};
use crate::dialect::restore_strict;
use crate::future::BoxFuture;
use crate::panics::forget_quietly;
use crate::tool::layer::{Innermost, Layers};
use crate::tool::{BoxedHandler, Next, Tool, ToolInner};

/// Runs a tool's own handler, without its layers and without supervision.
async fn bare(tool: &ToolInner, context: &ToolContext, text: &str, depth: usize) -> ToolResult {
    match &tool.handler {
        BoxedHandler::Sync(handler) => sync(&**handler, tool, context, text, depth),
        BoxedHandler::Async(handler) => {
            let call = tool.handler_call(context, text, depth);
            let mut result = handler(&call).await;
            if !tool.running.relays {
                result.unmark();
            }
            call.conclude(&mut result);
            result
        }
    }
}

/// Runs a tool's own handler in place, supervised.
async fn run_here(
    tool: &ToolInner,
    context: &ToolContext,
    text: &str,
    settings: &BoxSettings,
    timeout: Option<Timeout>,
) -> ToolResult {
    let depth = settings.argument_depth;
    match &tool.handler {
        BoxedHandler::Sync(handler) => sync(&**handler, tool, context, text, depth),
        BoxedHandler::Async(handler) => {
            let call = tool.handler_call(context, text, depth);
            let mut result = match catch_unwind(AssertUnwindSafe(|| handler(&call))) {
                Ok(future) => {
                    let mut run = SupervisedCall::new(future, tool, context, timeout);
                    run.of_handler = !tool.running.relays;
                    run.await
                }
                Err(payload) => panicked(&tool.definition.name, payload),
            };
            call.conclude(&mut result);
            result
        }
    }
}

impl BoxInner {
    /// Bounds a result of a tool: what is too large is kept elsewhere, or cut.
    pub(crate) async fn bound(&self, tool: &Tool, context: &ToolContext, result: &mut ToolResult) {
        let settings = &self.settings;
        if let Some(keeper) = &settings.keeper {
            let of_step = context.extension::<ResultTokens>().map(|own| own.0);
            let own = of_step.or(tool.inner().running.result_tokens);
            if keeper.exceeds(result, own) {
                if context.whole {
                    return;
                }
                let reader = keeper.reader();
                let current = self.current.load();
                let is_permitted = match current.get(reader) {
                    Some(entry) => context.permits_tool(entry.tool.definition()),
                    None => context.permits(reader),
                };
                let may_read = current.permits(reader) && is_permitted;
                keeper.keep(context, tool.as_source(), own, may_read, result).await;
            }
        }
        result.fit(settings.result_bytes, || tool.definition());
    }
}

impl OwnedCall {
    /// Returns a call with its arguments as the tool takes them.
    pub(super) fn new(admitted: AdmittedCall, arguments: Arguments) -> Self {
        let mut call = Self { admitted, arguments };
        if call.shared.settings.strict || call.tool.definition().strict {
            let schema = &call.tool.definition().input_schema;
            if let Some(text) = restore_strict(schema, call.arguments.as_str()) {
                call.arguments = Arguments::from(text);
            }
        }
        call
    }

    /// Runs a call to its end. The future is boxed: it is large, and most calls do not need it.
    pub(super) fn finish(
        admitted: AdmittedCall,
        arguments: Arguments,
    ) -> BoxFuture<'static, ToolResult> {
        let mut call = Self::new(admitted, arguments);
        Box::pin(async move {
            let is_watched = call.context.observer().is_some() || call.auditor().is_some();
            let open = is_watched.then(|| OpenCall::new(&call));
            let mut result = if trace::is_on() {
                // Boxed, since most calls do not need it on their stack.
                Box::pin(call.pass_in_span()).await
            } else {
                call.pass().await
            };
            if call.is_noted() {
                result = call.with_deprecations(result);
            }
            call.bound(&mut result).await;
            call.note(&result);
            if let Some(open) = open {
                let took = open.close();
                let step = AuditedStep::Result { result: &result, took };
                if let Err(withheld) = call.audit(step).await {
                    result = withheld;
                }
                call.report_end(&result, took);
            }
            result.call_id = std::mem::take(&mut call.admitted.context.call_id);
            result
        })
    }

    /// Reports the end of a call, and before it that it was deferred, or refused for its
    /// arguments.
    #[cold]
    fn report_end(&self, result: &ToolResult, took: Duration) {
        let name = self.tool.name();
        if result.is_deferred() && !self.context.has_open_question() {
            self.context.report(|| CallReport::Deferred);
        }
        if result.is_of_gate() && result.failure_kind() == Some(FailureKind::InvalidArguments) {
            let code = result.code().unwrap_or_default();
            let arguments = Some(self.arguments.as_str());
            self.context.report(|| CallReport::Refused { tool: name, code, arguments });
        }
        self.context.report(|| CallReport::Finished { tool: name, result, took });
    }

    /// Returns the auditor of the call. One that is dispatched again as a call of another tool is
    /// recorded there.
    pub(super) fn auditor(&self) -> Option<&SharedAuditor> {
        let auditor = self.shared.settings.auditor.as_ref()?;
        (!self.tool.inner().running.is_forwarded()).then_some(auditor)
    }

    /// Records a step of the call, where that is asked for.
    pub(super) async fn audit(&self, step: AuditedStep<'_>) -> Result<(), ToolResult> {
        let Some(auditor) = self.auditor() else { return Ok(()) };
        auditor.record(&self.context, self.tool.name(), &self.arguments, step).await
    }

    async fn pass_in_span(&mut self) -> ToolResult {
        let span = trace::Span::open(self);
        let result = span.within(self.pass()).await;
        span.close(&result);
        result
    }

    async fn pass(&mut self) -> ToolResult {
        if self.context.is_cancelled() {
            return cancelled(self.tool.name());
        }
        let mut is_edited = false;
        let advice = if self.context.approved { Ok(None) } else { self.approval_advice() };
        match advice {
            Ok(None) => {}
            // Boxed, here and below, since most calls do not need it on their stack.
            Ok(Some(advice)) => match Box::pin(self.ask_approver(advice)).await {
                Ok(edited) => {
                    self.admitted.context.approved = true;
                    if let Some(edited) = edited {
                        self.arguments = edited;
                        is_edited = true;
                    }
                }
                Err(refusal) => return refusal,
            },
            Err(refusal) => return refusal,
        }
        let result = self.run_permitted().await;
        if is_edited { result.with_edited(self.arguments.clone()) } else { result }
    }

    /// Returns the advice for a model without approval if this very call needs one, or `None`.
    fn approval_advice(&self) -> Result<Option<&'static str>, ToolResult> {
        let conditions = match &self.tool.inner().running.approval {
            Approval::None => return Ok(None),
            Approval::OfBox | Approval::Own(_) => return Ok(Some("")),
            Approval::If(conditions) => conditions,
        };
        // Like an approver, a condition sees only arguments that are valid.
        self.check()?;
        let request = self.request();
        let holds = |condition: &&Condition| {
            catch_unwind(AssertUnwindSafe(|| (condition.holds)(&request))).unwrap_or_else(
                |payload| {
                    // A condition that panics counts as true, so that the call needs approval.
                    tracing::error!(tool = self.tool.name(), "a condition for approval panicked");
                    forget_quietly(payload);
                    true
                },
            )
        };
        Ok(conditions.iter().find(holds).map(|condition| condition.advice))
    }

    fn request(&self) -> ApprovalRequest {
        let definition = Arc::clone(self.tool.shared_definition().arc());
        ApprovalRequest::new(definition, self.context.clone(), self.arguments.clone())
    }

    /// Runs a call that is approved, once it has its permits.
    async fn run_permitted(&self) -> ToolResult {
        if let Some(recorder) = self.recorder() {
            return Box::pin(self.run_recorded(recorder)).await;
        }
        if self.is_background() {
            return self.start_job(None);
        }
        self.run_with_permits().await
    }

    /// Waits for the permits of a call, and runs it.
    async fn run_with_permits(&self) -> ToolResult {
        let permits = match self.try_permits() {
            Some(permits) => permits,
            None => match Box::pin(self.wait()).await {
                Ok(permits) => permits,
                Err(refusal) => return refusal,
            },
        };
        self.run_observed(permits).await
    }

    pub(super) async fn run_observed(&self, permits: Permits) -> ToolResult {
        if self.context.observer().is_some() {
            // Else the start of a call would be reported that never runs.
            if let Err(refusal) = self.check() {
                return refusal;
            }
            self.context.report(|| CallReport::Started(&self.arguments));
        }
        let mut result = self.run(permits, true).await;
        self.mark(&mut result);
        result
    }

    /// Marks a result of the handler that comes from others.
    pub(super) fn mark(&self, result: &mut ToolResult) {
        self.context.mark_result(self.tool.is_untrusted(), result);
    }

    /// Bounds a result: what is too large is kept elsewhere, or cut.
    pub(super) async fn bound(&self, result: &mut ToolResult) {
        self.shared.bound(&self.tool, &self.context, result).await;
    }

    /// Records the sources of a result that a model is about to read.
    pub(super) fn note(&self, result: &ToolResult) {
        self.context.note_result(&self.tool.as_source(), result);
    }

    /// Takes the call out, for work that may outlive its caller; the context stays for the answer.
    pub(super) fn detach(&self) -> Self {
        let admitted = AdmittedCall {
            tool: self.tool.clone(),
            shared: Arc::clone(&self.shared),
            context: self.context.clone(),
        };
        Self { admitted, arguments: self.arguments.clone() }
    }

    /// Asks the approver, once the arguments are known to be valid. Returns other arguments if it
    /// edited them.
    async fn ask_approver(&self, advice: &str) -> Result<Option<Arguments>, ToolResult> {
        self.check()?;
        let name = self.tool.name();
        let approver = match &self.tool.inner().running.approval {
            Approval::Own(approver) => Some(approver),
            _ => self.shared.settings.approver.as_ref().or(self.context.approver()),
        };
        let Some(approver) = approver.map(Arc::clone) else {
            if !self.context.is_deferrable() {
                let mut text = format!("tool `{name}` needs approval, and nobody here can give it");
                if !advice.is_empty() {
                    text = format!("{text}; {advice}");
                }
                return Err(ToolResult::refusal(FailureKind::NotApproved, text));
            }
            return Err(deferred(name));
        };
        self.context.report(|| CallReport::ApprovalRequested(&self.arguments));
        let request = self.request();
        let mut decision = None;
        // The approver is the program's own code, and no less likely to panic than a tool.
        let ask: BoxFuture<'_, ToolResult> = Box::pin(async {
            decision = Some(approver.decide(request).await);
            ToolResult::new("")
        });
        let silence = SupervisedCall::new(
            ask,
            self.tool.inner(),
            &self.context,
            Timeout::until_deadline(&self.context),
        )
        .await;
        if let Some(decision) = &decision {
            let by = &*approver.name();
            self.audit(AuditedStep::Decision { by, decision }).await?;
            self.context.report(|| CallReport::ApprovalDecided { by, decision });
        }
        match decision {
            None => Err(silence),
            Some(Decision::Approve) => Ok(None),
            Some(Decision::Deny(reason)) => {
                Err(ToolResult::refusal(FailureKind::NotApproved, reason))
            }
            Some(Decision::Edit(arguments)) => Ok(Some(arguments)),
            Some(Decision::Answer(text)) => Err(ToolResult::new(text)),
            Some(Decision::Defer | Decision::Reply(_)) => Err(deferred(name)),
        }
    }

    /// Waits for permits. Invalid arguments are refused first.
    pub(super) async fn wait(&self) -> Result<Permits, ToolResult> {
        self.check()?;
        let mut permits = None;
        let wait: BoxFuture<'_, ToolResult> = Box::pin(async {
            permits = Some(self.permits().await);
            ToolResult::new("")
        });
        let result = SupervisedCall::new(
            wait,
            self.tool.inner(),
            &self.context,
            Timeout::until_deadline(&self.context),
        )
        .await;
        permits.ok_or(result)
    }

    /// Returns the timeout of the tool. That of the box does not apply to background jobs.
    fn timeout(&self, of_box: bool) -> Option<Timeout> {
        let of_box = self.shared.settings.timeout.filter(|_| of_box);
        let own = Timeout::of_tool(self.tool.inner(), of_box);
        let left = Timeout::until_deadline(&self.context);
        own.into_iter().chain(left).min_by_key(|timeout| timeout.limit)
    }

    /// Runs the tool as its settings say: in place, as a task, or on a blocking thread.
    pub(super) async fn run(&self, permits: Permits, of_box: bool) -> ToolResult {
        let timeout = self.timeout(of_box);
        if self.tool.inner().running.blocking
            && let Ok(runtime) = Handle::try_current()
        {
            return self.run_blocking(&runtime, permits, timeout).await;
        }
        if let Some(runtime) = self.shared.settings.runtime.clone() {
            return self.run_as_task(&runtime, permits, timeout).await;
        }
        if permits.is_empty() {
            return self.run_here(timeout).await;
        }
        let held = permits.held.clone();
        let result = held.scope(self.run_here(timeout)).await;
        drop(permits);
        result
    }

    async fn run_here(&self, timeout: Option<Timeout>) -> ToolResult {
        let (tool, settings) = (self.tool.inner(), &self.shared.settings);
        let layers = self.layers();
        if layers.is_empty() {
            let text = self.arguments.as_str();
            return run_here(tool, &self.context, text, settings, timeout).await;
        }
        let (context, arguments) = (self.context.clone(), self.arguments.clone());
        let depth = settings.argument_depth;
        let innermost: Innermost = {
            let tool = self.tool.clone();
            Box::new(move |context, arguments| {
                Box::pin(
                    async move { bare(tool.inner(), &context, arguments.as_str(), depth).await },
                )
            })
        };
        let next = Next::new(context, arguments, layers, innermost);
        let run =
            SupervisedCall::new(Box::pin(next.run()), self.tool.inner(), &self.context, timeout);
        if tool.running.relays { run.await } else { run.of_handler().await }
    }

    /// Returns the code around this call: the layers of the tool, then those of the box.
    fn layers(&self) -> Layers {
        let running = &self.tool.inner().running;
        let of_box = &self.shared.settings.layers;
        // A call that is dispatched again as one of another tool passes the box's layers there.
        if of_box.is_empty() || running.is_forwarded() {
            return running.layers.clone();
        }
        running.layers.iter().chain(&**of_box).cloned().collect()
    }

    async fn run_blocking(
        &self,
        runtime: &Handle,
        permits: Permits,
        timeout: Option<Timeout>,
    ) -> ToolResult {
        let call = self.detach();
        let span = tracing::Span::current();
        let work = runtime.spawn_blocking(move || {
            let _entered = span.enter();
            let held = permits.held.clone();
            let result = held.sync_scope(|| call.run_on_this_thread());
            // The permit is released when the thread is done, not when the caller stops waiting.
            drop(permits);
            result
        });
        self.join(work, timeout, true).await
    }

    /// Runs the tool on a thread that may block.
    fn run_on_this_thread(&self) -> ToolResult {
        let tool = self.tool.inner();
        match &tool.handler {
            // Outside of any `block_on`, so that the function may use one itself.
            BoxedHandler::Sync(handler) if self.layers().is_empty() => {
                let (text, depth) = (self.arguments.as_str(), self.shared.settings.argument_depth);
                sync(&**handler, tool, &self.context, text, depth)
            }
            _ => Handle::current().block_on(self.run_here(None)),
        }
    }

    async fn run_as_task(
        &self,
        runtime: &Handle,
        permits: Permits,
        timeout: Option<Timeout>,
    ) -> ToolResult {
        let call = self.detach();
        let held = permits.held.clone();
        let work: BoxFuture<'static, ToolResult> = Box::pin(trace::carried(async move {
            let result = held.scope(call.run_here(None)).await;
            drop(permits);
            result
        }));
        self.join(runtime.spawn(work), timeout, false).await
    }

    /// Waits for work that runs elsewhere, within its time.
    async fn join(
        &self,
        work: JoinHandle<ToolResult>,
        timeout: Option<Timeout>,
        detached: bool,
    ) -> ToolResult {
        let mut work = AbortOnDrop(work);
        let wait: BoxFuture<'_, ToolResult> = Box::pin(async move {
            match (&mut work.0).await {
                Ok(result) => result,
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => std::panic::resume_unwind(payload),
                    Err(_) => {
                        ToolResult::refusal(FailureKind::Cancelled, "the runtime was shut down")
                    }
                },
            }
        });
        let watch = SupervisedCall::new(wait, self.tool.inner(), &self.context, timeout);
        if detached { watch.detached().await } else { watch.await }
    }
}

fn deferred(tool: &str) -> ToolResult {
    let text = format!("tool `{tool}` waits for approval; it has not run");
    ToolResult::refusal(FailureKind::Deferred, text)
}

/// A call that is observed or recorded, and has no result yet. Dropped, it reports that the call
/// was cancelled: its future was dropped.
struct OpenCall {
    context: ToolContext,
    recorded: Option<(SharedAuditor, Arguments)>,
    began: Instant,
    is_closed: bool,
}

impl OpenCall {
    #[cold]
    fn new(call: &OwnedCall) -> Self {
        let recorded = call.auditor().map(|own| (Arc::clone(own), call.arguments.clone()));
        Self { context: call.context.clone(), recorded, began: now(), is_closed: false }
    }

    fn close(mut self) -> Duration {
        self.is_closed = true;
        now().saturating_duration_since(self.began)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if !self.is_closed {
            let name = self.context.tool_name();
            let (result, took) = (cancelled(name), now().saturating_duration_since(self.began));
            self.context.report(|| CallReport::Finished { tool: name, result: &result, took });
            if let Some((auditor, arguments)) = &self.recorded {
                let step = AuditedStep::Result { result: &result, took };
                auditor.note(&self.context, name, arguments, step);
            }
        }
    }
}

/// Aborts a task on drop.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
