//! The record of decisions and results, for those who check later what was done.

use std::sync::Arc;
use std::time::Duration;

use super::approval::Decision;
use super::context::ToolContext;
use crate::call::{Arguments, ToolResult};
use crate::future::BoxFuture;

/// A step of a call that is recorded.
pub(crate) enum AuditedStep<'a> {
    /// There is a decision on the call, by this name.
    Decision { by: &'a str, decision: &'a Decision },
    /// The call has its result.
    Result { result: &'a ToolResult, took: Duration },
    /// The background job that the call started has its result.
    Job { result: &'a ToolResult, took: Duration },
}

/// Records decisions and results before they are handed on.
pub(crate) trait CallAuditor: Send + Sync {
    /// Records a step of a call of this tool; `context` is that of the call. An error is the result
    /// of the call in its place.
    fn record(
        &self,
        context: &ToolContext,
        tool: &str,
        arguments: &Arguments,
        step: AuditedStep<'_>,
    ) -> BoxFuture<'static, Result<(), ToolResult>>;

    /// Records a step of which nobody waits for the record any longer.
    fn note(&self, context: &ToolContext, tool: &str, arguments: &Arguments, step: AuditedStep<'_>);
}

/// The auditor of a box.
pub(crate) type SharedAuditor = Arc<dyn CallAuditor>;
