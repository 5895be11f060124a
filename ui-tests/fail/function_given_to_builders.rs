use toolbox::testing::ScriptedModel;
use toolbox::{Agent, ToolBox, tool};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = ToolBox::builder().tool(add);
    let _ = Agent::builder(ScriptedModel::new()).tool(add);
}
