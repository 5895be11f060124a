//! Execution of async handlers in place, with nothing around them but their containment.

use std::future::poll_fn;
use std::mem::swap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use super::supervise::{SupervisedCall, Timeout, panicked};
use crate::arguments::call::HandlerCall;
use crate::call::ToolResult;
use crate::collection::BoxSettings;
use crate::context::{ToolContext, UNUSED_CONTEXT};
use crate::future::BoxFuture;
use crate::panics::forget_quietly;
use crate::tool::{BoxedHandler, Tool, ToolInner};

/// Runs an async tool that needs no approval, permit or layer, and sets its result.
///
/// The caller keeps the call, its context if the handler reads it, and the result, so that its
/// future holds them once.
#[inline]
pub(super) async fn run(
    tool: &Tool,
    own_context: &mut Option<ToolContext>,
    id: &mut String,
    text: &str,
    settings: &BoxSettings,
    result: &mut Option<ToolResult>,
) {
    let tool = tool.inner();
    let context = own_context.as_ref().unwrap_or(&UNUSED_CONTEXT);
    let call = tool.handler_call(context, text, settings.argument_depth);
    let first = poll_fn(|wakers| Poll::Ready(first_poll(tool, &call, result, wakers)));
    if let Some(future) = first.await {
        let timeout = Timeout::of_tool(tool, settings.timeout);
        let mut run = SupervisedCall::new(future, tool, context, timeout).polled();
        run.of_handler = !tool.running.relays;
        *result = Some(run.await);
    }
    let Some(result) = result else { unreachable!("a call that is over has a result") };
    call.conclude(result);
    context.mark_result(false, result);
    result.fit(settings.result_bytes, || &tool.definition);
    swap(own_context.as_mut().map_or(id, |own| &mut own.call_id), &mut result.call_id);
}

/// Returns the result of a call that is over.
#[inline]
pub(super) fn set(result: Option<ToolResult>) -> ToolResult {
    result.unwrap_or_else(|| unreachable!("a call that does not wait has a result"))
}

/// Makes the future of an async handler and polls it; sets its result, or returns the future if it
/// waits.
///
/// A future that does not wait needs no supervision but that of its panics.
#[inline]
fn first_poll<'call>(
    tool: &ToolInner,
    call: &'call HandlerCall<'call>,
    result: &mut Option<ToolResult>,
    context: &mut Context<'_>,
) -> Option<BoxFuture<'call, ToolResult>> {
    let BoxedHandler::Async(handler) = &tool.handler else { unreachable!("the handler is async") };
    let mut future = None;
    let caught = catch_unwind(AssertUnwindSafe(|| {
        if let Poll::Ready(returned) = future.insert(handler(call)).as_mut().poll(context) {
            *result = Some(returned);
        }
    }));
    match (caught, &mut *result) {
        (Ok(()), None) => return future,
        (Ok(()), Some(_)) if tool.running.relays => {}
        (Ok(()), Some(result)) => result.unmark(),
        (Err(payload), result) => *result = Some(panicked(&tool.definition.name, payload)),
    }
    // Not dropped by the closure: a panic of the drop would end the process if the poll panicked.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(future))) {
        forget_quietly(payload);
    }
    None
}
