use toolbox::{ToolContext, tool};

/// Counts.
#[tool]
fn count(context: &mut ToolContext) -> usize {
    context.call_id().len()
}

fn main() {}
