//! Tools whose calls are envelopes: they name another tool, and have the arguments for it.

use std::fmt;
use std::sync::Arc;

use super::ToolDefinition;

/// The name of the tool that calls the tools of its box.
pub(crate) const EXECUTE_TOOL: &str = "toolbox_execute";

type FindDefinition = dyn Fn(&str) -> Option<Arc<ToolDefinition>> + Send + Sync;

/// The tools that the calls of a tool may name: what is secret in an envelope is decided by the
/// schema of what it carries.
#[derive(Clone)]
pub(crate) struct CarriedTools(Arc<FindDefinition>);

impl CarriedTools {
    /// Returns the tools that a function finds.
    #[allow(dead_code, reason = "for tool search")]
    pub(crate) fn found_by(
        find: impl Fn(&str) -> Option<Arc<ToolDefinition>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(find))
    }

    /// Returns tools that are in another process: none of their schemas is known.
    pub(crate) fn elsewhere() -> Self {
        Self(Arc::new(|_| None))
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<ToolDefinition>> {
        (self.0)(name)
    }
}

/// All alike: they are no part of what a model receives.
impl PartialEq for CarriedTools {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CarriedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CarriedTools")
    }
}
