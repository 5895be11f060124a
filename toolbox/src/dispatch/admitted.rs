//! A call on its way through the gate.

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
    /// It comes through a gateway, and may reach what is hidden behind it.
    pub(crate) hidden: bool,
}

/// A call that was let in: its tool, its box, and its context.
pub(super) struct AdmittedCall {
    pub(super) tool: Tool,
    pub(super) shared: Arc<BoxInner>,
    pub(super) context: ToolContext,
}

/// A call that was let in, and owns all it needs to end.
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
