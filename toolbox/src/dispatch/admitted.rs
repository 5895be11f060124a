//! Calls that were admitted by the gate.

use std::sync::Arc;

use crate::call::{Arguments, ToolResult};
use crate::collection::BoxInner;
use crate::context::ToolContext;
use crate::tool::Tool;

/// The privileges of a call.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pass {
    /// The call is approved already.
    pub(crate) approved: bool,
    /// The call comes through a gateway, and may reach tools that are hidden behind it.
    pub(crate) hidden: bool,
    /// The result goes to another box, which is the one to keep what is too large.
    pub(crate) whole: bool,
}

/// The context and the privileges of a call's maker, and the line of its script.
#[derive(Clone, Copy, Default)]
pub(super) struct CallerContext<'c> {
    /// The context that the program supplies.
    pub(super) context: Option<&'c ToolContext>,
    pub(super) pass: Pass,
    /// The line at which the call stands, if a script makes it.
    pub(super) line: Option<u32>,
}

/// An admitted call: its tool, its box, and its context.
pub(super) struct AdmittedCall {
    pub(super) tool: Tool,
    pub(super) shared: Arc<BoxInner>,
    pub(super) context: ToolContext,
}

/// An admitted call that owns its arguments, and so may wait or move to another task.
pub(super) struct OwnedCall {
    pub(super) admitted: AdmittedCall,
    pub(super) arguments: Arguments,
}

impl std::ops::Deref for OwnedCall {
    type Target = AdmittedCall;

    fn deref(&self) -> &AdmittedCall {
        &self.admitted
    }
}

/// Returns a result under the id of its call.
pub(super) fn answer(id: String, mut result: ToolResult) -> ToolResult {
    result.call_id = id;
    result
}
