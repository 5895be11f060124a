//! Reports of progress.

use std::sync::Arc;

pub(super) type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// How far a call has come, as its tool says.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// How much is done, in a unit of the tool's own; grows from report to report.
    pub done: f64,
    /// How much there is to do, when the tool knows.
    pub total: Option<f64>,
    /// What is being done, in words.
    pub message: Option<String>,
}
