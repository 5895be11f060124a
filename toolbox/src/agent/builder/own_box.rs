//! The box of an agent that was given none.

use crate::collection::ToolBox;
use crate::tool::Tool;

/// Returns a box for these tools. It keeps large results, unless one of the tools has the name of
/// the one that reads them.
#[cfg(feature = "results")]
pub(super) fn new(tools: &[Tool]) -> ToolBox {
    let keeping = crate::results::keeping_box();
    if tools.iter().any(|tool| keeping.get(tool.name()).is_some()) {
        return ToolBox::new();
    }
    keeping
}

#[cfg(not(feature = "results"))]
pub(super) fn new(_: &[Tool]) -> ToolBox {
    ToolBox::new()
}
