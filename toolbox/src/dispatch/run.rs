//! From a call that was let in to its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::place::Places;
use super::supervise::{Outcome, Supervised, cancelled, panicked};
use super::{ApprovalRequest, Decision, Waiting, answer, trace};
use crate::arguments::about::Signature;
use crate::arguments::call::Call;
use crate::call::Arguments;
use crate::context::ToolContext;
use crate::error::FailureKind;
use crate::layer::Next;
use crate::result::ToolResult;
use crate::tool::{BoxFuture, Handler, Inner, SyncHandler};

/// Runs a synchronous handler where it is called.
#[inline]
pub(super) fn sync(
    handler: &SyncHandler,
    signature: &Signature,
    context: ToolContext,
    arguments: Arguments,
    depth: usize,
) -> ToolResult {
    let call = Call::new(context, arguments.into_string(), signature, depth);
    let result = match catch_unwind(AssertUnwindSafe(|| handler(&call))) {
        Ok(result) => result,
        Err(payload) => panicked(call.context.tool_name(), payload),
    };
    conclude(call, result)
}

/// Puts the call's id and its repairs on the result.
#[inline]
fn conclude(call: Call<'_>, mut result: ToolResult) -> ToolResult {
    let (context, repairs) = call.into_parts();
    result.call_id = context.call_id;
    if repairs.is_empty() { result } else { result.with_repairs(repairs) }
}

/// Runs a tool's own handler, without its layers, unwatched.
pub(crate) async fn bare(
    tool: &Inner,
    context: ToolContext,
    arguments: Arguments,
    depth: usize,
) -> ToolResult {
    match &tool.handler {
        Handler::Sync(handler) => sync(&**handler, &tool.signature, context, arguments, depth),
        Handler::Async(handler) => {
            let call = Call::new(context, arguments.into_string(), &tool.signature, depth);
            let result = handler(&call).await;
            conclude(call, result)
        }
    }
}

impl Waiting {
    /// Takes the call to its end.
    pub(super) async fn finish(self) -> ToolResult {
        if !trace::is_on() {
            return self.pass().await;
        }
        let span = trace::Span::open(&self);
        let result = span.within(self.pass()).await;
        span.close(&result);
        result
    }

    async fn pass(self) -> ToolResult {
        if self.context.is_cancelled() {
            return answer(self.context.call_id.clone(), cancelled(self.tool.name()));
        }
        if self.tool.inner().running.approval
            && let Err(refusal) = self.approved().await
        {
            return answer(self.context.call_id, refusal);
        }
        if self.tool.inner().running.background && self.context.completions().is_some() {
            return self.start_job();
        }
        let places = match self.places_now() {
            Some(places) => places,
            None => match self.wait().await {
                Ok(places) => places,
                Err(refusal) => return answer(self.context.call_id, refusal),
            },
        };
        let budget = self.shared.settings.result_bytes;
        let mut result = self.run(places, true).await;
        result.fit(budget);
        result
    }

    /// Checks the arguments without running anything.
    pub(super) fn check(&self) -> Result<(), ToolResult> {
        let call = Call::new(
            ToolContext { tool: self.context.tool.clone(), ..ToolContext::default() },
            self.arguments.as_str().to_owned(),
            &self.tool.inner().signature,
            self.shared.settings.argument_depth,
        );
        call.checked().map(drop)
    }

    /// Asks the approver, once the arguments are known to be valid.
    async fn approved(&self) -> Result<(), ToolResult> {
        let name = self.tool.name();
        let Some(approver) = &self.shared.settings.approver else {
            let text = format!("tool `{name}` needs approval, and nobody here can give it");
            return Err(ToolResult::failure(FailureKind::NotApproved, text));
        };
        self.check()?;
        let request =
            ApprovalRequest::new(self.tool.clone(), self.context.clone(), self.arguments.clone());
        let approver = Arc::clone(approver);
        // The approver is the program's own code, and no less likely to panic than a tool.
        let ask = Box::pin(async move {
            match approver.decide(request).await {
                Decision::Approve => ToolResult::new(""),
                Decision::Deny(reason) => ToolResult::failure(FailureKind::NotApproved, reason),
            }
        });
        let answer = Supervised::new(ask, &self.context, self.context.remaining()).await;
        let answer = answer.into_result(name, true, false);
        if answer.is_error() { Err(answer) } else { Ok(()) }
    }

    /// Waits for a place under the limits; what is wrong with the call is said before.
    pub(super) async fn wait(&self) -> Result<Places, ToolResult> {
        self.check()?;
        let mut places = None;
        let wait: BoxFuture<'_, ToolResult> = Box::pin(async {
            places = Some(self.places().await);
            ToolResult::new("")
        });
        let outcome = Supervised::new(wait, &self.context, self.context.remaining()).await;
        let result = outcome.into_result(self.tool.name(), true, false);
        places.ok_or(result)
    }

    /// Runs the tool in the way it asks for. A job in the background is not held to the box's own timeout.
    pub(super) async fn run(self, places: Places, box_timeout: bool) -> ToolResult {
        let running = &self.tool.inner().running;
        let settings = &self.shared.settings;
        let own = running.timeout.or(settings.timeout.filter(|_| box_timeout));
        let timeout = match (own, self.context.remaining()) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (own, left) => own.or(left),
        };
        if running.blocking
            && let Ok(runtime) = Handle::try_current()
        {
            return self.run_blocking(&runtime, places, timeout).await;
        }
        if let Some(runtime) = settings.runtime.clone() {
            return self.run_elsewhere(&runtime, places, timeout).await;
        }
        if places.is_empty() {
            return self.run_here(timeout).await;
        }
        let held = places.held.clone();
        let result = held.scope(self.run_here(timeout)).await;
        drop(places);
        result
    }

    async fn run_here(self, timeout: Option<Duration>) -> ToolResult {
        let depth = self.shared.settings.argument_depth;
        let tool = self.tool.inner();
        let safe = tool.definition.annotations.is_idempotent();
        if !tool.running.layers.is_empty() {
            let next = Next::new(self.tool.clone(), self.context.clone(), self.arguments, depth);
            let outcome = Supervised::new(Box::pin(next.run()), &self.context, timeout).await;
            let result = outcome.into_result(self.tool.name(), safe, false);
            return answer(self.context.call_id, result);
        }
        let handler = match &tool.handler {
            Handler::Async(handler) => handler,
            Handler::Sync(handler) => {
                return sync(&**handler, &tool.signature, self.context, self.arguments, depth);
            }
        };
        let call = Call::new(self.context, self.arguments.into_string(), &tool.signature, depth);
        let outcome = match catch_unwind(AssertUnwindSafe(|| handler(&call))) {
            Ok(future) => Supervised::new(future, &call.context, timeout).await,
            Err(payload) => Outcome::Panicked(payload),
        };
        let result = outcome.into_result(self.tool.name(), safe, false);
        conclude(call, result)
    }

    async fn run_blocking(
        self,
        runtime: &Handle,
        places: Places,
        timeout: Option<Duration>,
    ) -> ToolResult {
        let (tool, context) = (self.tool.clone(), self.context.clone());
        let work = runtime.spawn_blocking(move || {
            let depth = self.shared.settings.argument_depth;
            let held = places.held.clone();
            let result = held.sync_scope(|| match &self.tool.inner().handler {
                Handler::Sync(handler) if self.tool.inner().running.layers.is_empty() => sync(
                    &**handler,
                    &self.tool.inner().signature,
                    self.context,
                    self.arguments,
                    depth,
                ),
                // An async body on the blocking pool is driven by the runtime it came from.
                _ => Handle::current().block_on(self.run_here(None)),
            });
            // The place is given back when the thread is, not when the caller stops waiting.
            drop(places);
            result
        });
        watch(work, &tool, context, timeout, true).await
    }

    async fn run_elsewhere(
        self,
        runtime: &Handle,
        places: Places,
        timeout: Option<Duration>,
    ) -> ToolResult {
        let (tool, context) = (self.tool.clone(), self.context.clone());
        let held = places.held.clone();
        let work = runtime.spawn(async move {
            let result = held.scope(self.run_here(None)).await;
            drop(places);
            result
        });
        watch(work, &tool, context, timeout, false).await
    }
}

/// Ends a task when nobody waits for it any longer.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits for work that runs elsewhere, within its time.
async fn watch(
    work: JoinHandle<ToolResult>,
    tool: &crate::tool::Tool,
    context: ToolContext,
    timeout: Option<Duration>,
    detached: bool,
) -> ToolResult {
    let mut work = AbortOnDrop(work);
    let wait: BoxFuture<'_, ToolResult> = Box::pin(async move {
        match (&mut work.0).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(payload) => std::panic::resume_unwind(payload),
                Err(_) => ToolResult::failure(FailureKind::Cancelled, "the runtime was shut down"),
            },
        }
    });
    let safe = tool.definition().annotations.is_idempotent();
    let outcome = Supervised::new(wait, &context, timeout).await;
    let result = outcome.into_result(tool.name(), safe, detached);
    answer(context.call_id, result)
}
