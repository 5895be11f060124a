use toolbox::{ToolContext, tool};

/// Names itself.
#[tool]
fn name(#[arg(rename = "ctx")] context: &ToolContext) -> String {
    context.tool_name().to_owned()
}

fn main() {}
