//! Observation of calls as they start, wait for approval and finish.

use std::sync::Arc;
use std::time::Duration;

use super::context::ToolContext;
use crate::call::{Arguments, ToolResult};

/// Observes the calls made under a context, including those that its tools make in turn.
pub(crate) trait CallObserver: Send + Sync {
    /// Reports that the tool is about to run.
    fn started(&self, context: &ToolContext, arguments: &Arguments);
    /// Reports that the approver is asked whether the tool may run.
    fn approval_requested(&self, context: &ToolContext, arguments: &Arguments);
    /// Reports that an admitted call has its result.
    fn finished(&self, context: &ToolContext, result: &ToolResult, took: Duration);
}

#[derive(Clone)]
struct Observed(Arc<dyn CallObserver>);

impl ToolContext {
    /// Returns the observer of the calls made under this context.
    pub(crate) fn observer(&self) -> Option<&dyn CallObserver> {
        self.extension().map(|Observed(observer)| &**observer)
    }

    pub(crate) fn with_observer(self, observer: Arc<dyn CallObserver>) -> Self {
        self.with_extension(Observed(observer))
    }
}
