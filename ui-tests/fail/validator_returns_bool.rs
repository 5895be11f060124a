use toolbox::agent::{Agent, Checked};
use toolbox::testing::ScriptedModel;

fn main() {
    let _ = Agent::builder(ScriptedModel::new()).validate_answer(|answer: &Checked| answer.text().is_empty());
}
