//! Somebody's word before a tool runs.

use std::fmt;

use crate::call::Arguments;
use crate::context::ToolContext;
use crate::definition::ToolDefinition;
use crate::tool::{BoxFuture, Tool};

/// What an approver decides on: a call whose arguments are valid.
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The context of the call: its id, the conversation.
    pub context: ToolContext,
    /// The arguments, as the model wrote them.
    pub arguments: Arguments,
    tool: Tool,
}

impl ApprovalRequest {
    pub(super) fn new(tool: Tool, context: ToolContext, arguments: Arguments) -> Self {
        Self { context, arguments, tool }
    }

    /// Returns what the model was told about the tool.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// What an approver says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The call may run.
    Approve,
    /// It may not; the model is told why.
    Deny(String),
}

/// Decides on calls of tools that need approval: any async closure from an [`ApprovalRequest`] to a [`Decision`].
pub trait Approver: Send + Sync + 'static {
    /// Decides on one call.
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Decision>;
}

impl<F, Fut> Approver for F
where
    F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Decision> {
        Box::pin(self(request))
    }
}
