//! A handler under watch: its panics are contained, its time is bounded, its caller can cancel it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Sleep;

use crate::context::ToolContext;
use crate::definition::ToolDefinition;
use crate::error::FailureKind;
use crate::result::ToolResult;
use crate::tool::BoxFuture;

/// How a handler ended.
pub(super) enum Outcome {
    Done(ToolResult),
    Panicked(Box<dyn Any + Send>),
    TimedOut(Duration),
    Cancelled,
}

/// Runs a handler's future under watch.
///
/// The timer and the cancellation are set up when the handler first waits: one that never waits pays for neither.
pub(super) struct Supervised<'a> {
    handler: Option<BoxFuture<'a, ToolResult>>,
    context: &'a ToolContext,
    timeout: Option<Duration>,
    watch: Option<Watch<'a>>,
}

struct Watch<'a> {
    timer: Option<Pin<Box<Sleep>>>,
    cancelled: Option<BoxFuture<'a, ()>>,
}

impl<'a> Supervised<'a> {
    pub(super) fn new(
        handler: BoxFuture<'a, ToolResult>,
        context: &'a ToolContext,
        timeout: Option<Duration>,
    ) -> Self {
        Self { handler: Some(handler), context, timeout, watch: None }
    }
}

impl Future for Supervised<'_> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let this = &mut *self;
        let Some(handler) = &mut this.handler else { return Poll::Pending };
        match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
            Ok(Poll::Ready(result)) => return Poll::Ready(Outcome::Done(result)),
            Ok(Poll::Pending) => {}
            Err(payload) => return Poll::Ready(Outcome::Panicked(payload)),
        }
        let (call, timeout) = (this.context, this.timeout);
        let watch = this.watch.get_or_insert_with(|| Watch::new(call, timeout));
        if let Some(cancelled) = &mut watch.cancelled
            && cancelled.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Outcome::Cancelled);
        }
        if let Some(timer) = &mut watch.timer
            && timer.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Outcome::TimedOut(timeout.unwrap_or_default()));
        }
        Poll::Pending
    }
}

impl Drop for Supervised<'_> {
    fn drop(&mut self) {
        // What the handler holds may panic when it is dropped; that is contained like a panic of its own.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(self.handler.take()))) {
            forget_quietly(payload);
        }
    }
}

impl<'a> Watch<'a> {
    fn new(call: &'a ToolContext, timeout: Option<Duration>) -> Self {
        let cancelled =
            call.cancellation().map(|token| -> BoxFuture<'a, ()> { Box::pin(token.cancelled()) });
        Self { timer: timeout.and_then(timer), cancelled }
    }
}

/// Sets a timer where there is one: without a tokio runtime, time is not bounded.
fn timer(timeout: Duration) -> Option<Pin<Box<Sleep>>> {
    Handle::try_current().ok()?;
    // A runtime built without time panics here, and there is no way to ask it first.
    catch_unwind(|| Box::pin(tokio::time::sleep(timeout))).ok()
}

/// Drops the payload of a panic, which may panic in turn.
pub(super) fn forget_quietly(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

impl Outcome {
    /// Returns the result of the call, in the words that the model reads.
    pub(super) fn into_result(self, definition: &ToolDefinition, detached: bool) -> ToolResult {
        let tool = definition.name.as_str();
        match self {
            Self::Done(result) => result,
            Self::Panicked(payload) => panicked(tool, payload),
            Self::TimedOut(limit) => {
                let mut text = format!("tool `{tool}` did not finish within {limit:?}");
                if detached {
                    text.push_str("; it may still be running");
                } else if !definition.annotations.is_idempotent() {
                    text.push_str("; whether it took effect is unknown");
                }
                tracing::warn!(tool, timeout = ?limit, "a tool did not finish in time");
                ToolResult::failure(FailureKind::TimedOut, text)
            }
            Self::Cancelled => cancelled(tool),
        }
    }
}

pub(super) fn cancelled(tool: &str) -> ToolResult {
    ToolResult::failure(FailureKind::Cancelled, format!("the call of tool `{tool}` was cancelled"))
}

/// Returns the result of a call that panicked. The message goes to the log: it may hold what the model must not see.
#[cold]
pub(super) fn panicked(tool: &str, payload: Box<dyn Any + Send>) -> ToolResult {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a payload that is no text");
    tracing::error!(tool, panic = message, "a tool panicked");
    forget_quietly(payload);
    ToolResult::failure(FailureKind::Panicked, format!("tool `{tool}` panicked"))
}
