//! From a call that was let in to its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::place::Places;
use super::supervise::{Outcome, Supervised, cancelled, panicked};
use super::{ApprovalRequest, Decision, Waiting, trace};
use crate::arguments::about::Signature;
use crate::arguments::call::Call;
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
    context: &ToolContext,
    text: &str,
    depth: usize,
) -> ToolResult {
    let call = Call::new(context, text, signature, depth);
    let result = match catch_unwind(AssertUnwindSafe(|| handler(&call))) {
        Ok(result) => result,
        Err(payload) => panicked(context.tool_name(), payload),
    };
    conclude(call, result)
}

/// Puts on the result what was repaired in the call's arguments.
#[inline]
fn conclude(call: Call<'_>, result: ToolResult) -> ToolResult {
    let repairs = call.into_repairs();
    if repairs.is_empty() { result } else { result.with_repairs(repairs) }
}

/// Runs a tool's own handler, without its layers, unwatched.
pub(crate) async fn bare(
    tool: &Inner,
    context: &ToolContext,
    text: &str,
    depth: usize,
) -> ToolResult {
    match &tool.handler {
        Handler::Sync(handler) => sync(&**handler, &tool.signature, context, text, depth),
        Handler::Async(handler) => {
            let call = Call::new(context, text, &tool.signature, depth);
            let result = handler(&call).await;
            conclude(call, result)
        }
    }
}

impl Waiting {
    /// Takes the call to its end.
    pub(super) async fn finish(&mut self) -> ToolResult {
        let mut result = if trace::is_on() {
            let span = trace::Span::open(self);
            let result = span.within(self.pass()).await;
            span.close(&result);
            result
        } else if self.at_once() {
            // What nothing stands before is spared the rest of the way.
            self.run_here(self.timeout(true)).await
        } else {
            self.pass().await
        };
        result.fit(self.shared.settings.result_bytes);
        result.call_id = std::mem::take(&mut self.context.call_id);
        result
    }

    /// Returns whether nothing has to be asked or waited for before the tool runs.
    fn at_once(&self) -> bool {
        self.tool.inner().running.is_plain()
            && self.shared.settings.is_plain()
            && self.context.given.is_none()
    }

    async fn pass(&mut self) -> ToolResult {
        if self.context.is_cancelled() {
            return cancelled(self.tool.name());
        }
        if self.tool.inner().running.approval
            && let Err(refusal) = self.approved().await
        {
            return refusal;
        }
        if self.tool.inner().running.background && self.context.completions().is_some() {
            return self.start_job();
        }
        let places = match self.places_now() {
            Some(places) => places,
            None => match self.wait().await {
                Ok(places) => places,
                Err(refusal) => return refusal,
            },
        };
        self.run(places, true).await
    }

    /// Takes the call out, for work that outlives whoever waits for it; its context stays for the answer.
    pub(super) fn detach(&self) -> Self {
        Self {
            tool: self.tool.clone(),
            shared: Arc::clone(&self.shared),
            context: self.context.clone(),
            arguments: self.arguments.clone(),
        }
    }

    /// Checks the arguments without running anything.
    pub(super) fn check(&self) -> Result<(), ToolResult> {
        let depth = self.shared.settings.argument_depth;
        let signature = &self.tool.inner().signature;
        Call::new(&self.context, self.arguments.as_str(), signature, depth).checked().map(drop)
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

    /// Returns how long the tool may run. A job in the background is not held to the box's own timeout.
    fn timeout(&self, of_box: bool) -> Option<Duration> {
        let own = self.tool.inner().running.timeout;
        let own = own.or(self.shared.settings.timeout.filter(|_| of_box));
        match (own, self.context.remaining()) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (own, left) => own.or(left),
        }
    }

    /// Runs the tool in the way it asks for.
    pub(super) async fn run(&self, places: Places, of_box: bool) -> ToolResult {
        let timeout = self.timeout(of_box);
        if self.tool.inner().running.blocking
            && let Ok(runtime) = Handle::try_current()
        {
            return self.run_blocking(&runtime, places, timeout).await;
        }
        if let Some(runtime) = self.shared.settings.runtime.clone() {
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

    async fn run_here(&self, timeout: Option<Duration>) -> ToolResult {
        let depth = self.shared.settings.argument_depth;
        let (tool, text) = (self.tool.inner(), self.arguments.as_str());
        let safe = tool.definition.annotations.is_idempotent();
        if !tool.running.layers.is_empty() {
            let next =
                Next::new(self.tool.clone(), self.context.clone(), self.arguments.clone(), depth);
            let outcome = Supervised::new(Box::pin(next.run()), &self.context, timeout).await;
            return outcome.into_result(self.tool.name(), safe, false);
        }
        let handler = match &tool.handler {
            Handler::Async(handler) => handler,
            Handler::Sync(handler) => {
                return sync(&**handler, &tool.signature, &self.context, text, depth);
            }
        };
        let call = Call::new(&self.context, text, &tool.signature, depth);
        let outcome = match catch_unwind(AssertUnwindSafe(|| handler(&call))) {
            Ok(future) => Supervised::new(future, &self.context, timeout).await,
            Err(payload) => Outcome::Panicked(payload),
        };
        let result = outcome.into_result(self.tool.name(), safe, false);
        conclude(call, result)
    }

    async fn run_blocking(
        &self,
        runtime: &Handle,
        places: Places,
        timeout: Option<Duration>,
    ) -> ToolResult {
        let call = self.detach();
        let work = runtime.spawn_blocking(move || {
            let held = places.held.clone();
            let result = held.sync_scope(|| call.run_on_this_thread());
            // The place is given back when the thread is, not when the caller stops waiting.
            drop(places);
            result
        });
        self.watch(work, timeout, true).await
    }

    /// Runs the tool on a thread that may block.
    fn run_on_this_thread(&self) -> ToolResult {
        let tool = self.tool.inner();
        match &tool.handler {
            // Outside of any `block_on`, so that the function may use one itself.
            Handler::Sync(handler) if tool.running.layers.is_empty() => {
                let (text, depth) = (self.arguments.as_str(), self.shared.settings.argument_depth);
                sync(&**handler, &tool.signature, &self.context, text, depth)
            }
            _ => Handle::current().block_on(self.run_here(None)),
        }
    }

    async fn run_elsewhere(
        &self,
        runtime: &Handle,
        places: Places,
        timeout: Option<Duration>,
    ) -> ToolResult {
        let call = self.detach();
        let held = places.held.clone();
        let work = runtime.spawn(async move {
            let result = held.scope(call.run_here(None)).await;
            drop(places);
            result
        });
        self.watch(work, timeout, false).await
    }

    /// Waits for work that runs elsewhere, within its time.
    async fn watch(
        &self,
        work: JoinHandle<ToolResult>,
        timeout: Option<Duration>,
        detached: bool,
    ) -> ToolResult {
        let mut work = AbortOnDrop(work);
        let wait: BoxFuture<'_, ToolResult> = Box::pin(async move {
            match (&mut work.0).await {
                Ok(result) => result,
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => std::panic::resume_unwind(payload),
                    Err(_) => {
                        ToolResult::failure(FailureKind::Cancelled, "the runtime was shut down")
                    }
                },
            }
        });
        let safe = self.tool.definition().annotations.is_idempotent();
        let outcome = Supervised::new(wait, &self.context, timeout).await;
        outcome.into_result(self.tool.name(), safe, detached)
    }
}

/// Ends a task when nobody waits for it any longer.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
