//! The check of a call that is not made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};

use super::admitted::{AdmittedCall, CallerContext, OwnedCall, answer};
use super::gate::refusal;
use super::unknown::unknown_tool;
use crate::arguments::call::HandlerCall;
use crate::call::{Repair, ToolCall, ToolResult};
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::panics::forget_quietly;
use crate::tool::BoxedHandler;

impl ToolBox {
    /// Checks a call without making it: the tool, the lists, and the arguments against their
    /// schema.
    ///
    /// Returns the repairs that a call would make. The types of a function's arguments read them,
    /// so that rules are held that no schema expresses; what the program supplies, and approval,
    /// are left to the call.
    ///
    /// ```
    /// use toolbox::call::ArgumentsError;
    /// use toolbox::{tool, tools, ToolBox, ToolCall};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let toolbox = ToolBox::from(tools![add]);
    /// assert!(toolbox.check(&ToolCall::new("1", "add", r#"{"a": 2, "b": 3}"#)).is_ok());
    /// let wrong = ToolCall::new("2", "add", r#"{"a": true, "b": 3}"#);
    /// let refusal = toolbox.check(&wrong).unwrap_err();
    /// let error = refusal.source().unwrap().downcast_ref::<ArgumentsError>().unwrap();
    /// assert_eq!(error.faults()[0].path, "a");
    /// ```
    ///
    /// # Errors
    ///
    /// The refusal that the call would get. Its [source](ToolResult::source) is an
    /// [`ArgumentsError`](crate::call::ArgumentsError) if it is about the arguments.
    pub fn check(&self, call: &ToolCall) -> Result<Vec<Repair>, ToolResult> {
        let snapshot = self.snapshot();
        let (id, settings) = (call.id.clone(), &self.shared.settings);
        let found = snapshot.by_any_name(&call.name);
        let Some(entry) = found.filter(|entry| self.is_open_to(entry, CallerContext::default()))
        else {
            let arguments = call.arguments.as_str();
            let caller = CallerContext::default();
            let result = unknown_tool(&self.shared, &snapshot, &call.name, arguments, caller);
            return Err(answer(id, result));
        };
        let text = call.arguments.as_str();
        if !entry.permitted || text.len() > settings.argument_bytes {
            let refusal = refusal(entry.tool.name(), entry.permitted, text, settings);
            return Err(answer(id, refusal));
        }
        let context = ToolContext { call_id: id, ..ToolContext::default() };
        let (tool, shared) = (entry.tool.clone(), Arc::clone(&self.shared));
        let admitted = AdmittedCall { tool, shared, context };
        OwnedCall::new(admitted, call.arguments.clone()).repairs()
    }
}

impl OwnedCall {
    /// Checks the arguments without running anything.
    pub(super) fn check(&self) -> Result<(), ToolResult> {
        self.repairs().map(drop)
    }

    /// Checks the arguments without running anything, and returns their repairs: against the
    /// schema, and by the types that read them.
    pub(super) fn repairs(&self) -> Result<Vec<Repair>, ToolResult> {
        let depth = self.shared.settings.argument_depth;
        let tool = self.tool.inner();
        let call = || {
            let (definition, text) = (Some(&tool.definition), self.arguments.as_str());
            HandlerCall::new(&self.context, definition, text, &tool.signature, depth)
        };
        let checked = call();
        let fits_schema = checked.checked().map(drop);
        if !tool.signature.arguments.is_empty() {
            let was_read = AtomicBool::new(false);
            // What the types refuse stands beside what the schema refuses.
            let refusal = read_only(&tool.handler, &call().only_reading(&was_read));
            if let (false, Some(refusal)) = (was_read.into_inner(), refusal) {
                return Err(refusal);
            }
        }
        fits_schema?;
        Ok(checked.into_repairs())
    }
}

/// Lets a handler read its arguments and nothing more; returns what it says. A panic is left to the
/// call.
fn read_only(handler: &BoxedHandler, call: &HandlerCall<'_>) -> Option<ToolResult> {
    let read = || match handler {
        BoxedHandler::Sync(handler) => Some(handler(call)),
        // It reads before it waits for anything.
        BoxedHandler::Async(handler) => {
            let mut context = Context::from_waker(Waker::noop());
            match handler(call).as_mut().poll(&mut context) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            }
        }
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|payload| {
        forget_quietly(payload);
        None
    })
}
