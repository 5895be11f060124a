//! An API as a set of tools.

use std::sync::Arc;

use toolbox::Tool;
use toolbox::tool::Toolset;

use crate::report::Report;

/// The tools of an API: made by [`OpenApi::build`](crate::OpenApi::build), and registered like any
/// other set.
#[derive(Debug, Clone)]
pub struct Api {
    pub(crate) tools: Vec<Tool>,
    pub(crate) report: Report,
}

impl Api {
    /// Returns the tools, in the order of the description.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns `true` if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns what became of the operations of the description.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }
}

impl Toolset for Api {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }
}
