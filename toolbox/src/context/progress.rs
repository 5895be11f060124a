//! Reports of progress.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(super) type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// The progress of a call, as its tool reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The amount done, in a unit of the tool's choice; grows from report to report.
    pub done: f64,
    /// The total amount in the same unit, if the tool knows it.
    pub total: Option<f64>,
    /// A description of the current step.
    pub message: Option<String>,
}
