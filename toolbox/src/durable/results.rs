//! Results of calls that end without their tool.

use super::backlog::RecordedCall;
use crate::call::{FailureKind, ToolResult};

pub(super) fn cancelled(call: &RecordedCall) -> ToolResult {
    cancelled_of(&call.tool)
}

pub(super) fn cancelled_of(tool: &str) -> ToolResult {
    let text = format!("the call of tool `{tool}` was cancelled; it has not run");
    ToolResult::refusal(FailureKind::Cancelled, text)
}

pub(super) fn expired(call: &RecordedCall) -> ToolResult {
    let text = format!("the call of tool `{}` expired before it could run", call.tool);
    ToolResult::refusal(FailureKind::Expired, text)
}

/// Returns the result of a call that was begun as often as it may be, and never ended.
pub(super) fn dead(call: &RecordedCall) -> ToolResult {
    let text = format!(
        "the call of tool `{}` was begun {} times, and the process that ran it ended each time; it is not tried again",
        call.tool, call.attempt
    );
    ToolResult::refusal(FailureKind::Infrastructure, text)
}

/// Returns the result of a call whose row is damaged.
pub(super) fn unreadable() -> ToolResult {
    let text = "the record of the call is damaged; nobody knows whether it happened";
    ToolResult::refusal(FailureKind::OutcomeUnknown, text)
}
