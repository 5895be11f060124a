//! Somebody who is told what becomes of calls while they run.

use std::time::Duration;

use crate::call::Arguments;
use crate::context::ToolContext;
use crate::result::ToolResult;

/// Hears of the calls made under a context, those that tools make in turn among them.
pub(crate) trait Watch: Send + Sync {
    /// The tool is about to run.
    fn started(&self, context: &ToolContext, arguments: &Arguments);
    /// Somebody is asked whether the tool may run.
    fn asked(&self, context: &ToolContext, arguments: &Arguments);
    /// The call was let in and has its result.
    fn finished(&self, context: &ToolContext, result: &ToolResult, took: Duration);
}
