use toolbox::{Agent, tool};

/// Searches.
#[tool]
fn search() {}

fn main() {
    Agent::builder(toolbox::testing::ScriptedModel::new()).add_tool(search);
}
