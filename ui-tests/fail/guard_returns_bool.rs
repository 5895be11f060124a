use toolbox::agent::{Agent, Checked};
use toolbox::testing::ScriptedModel;

fn main() {
    let _ = Agent::builder(ScriptedModel::new()).guard_input(|input: &Checked| input.text().is_empty());
}
