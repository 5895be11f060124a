use toolbox::agent::Agent;
use toolbox::testing::ScriptedModel;

fn main() {
    let below = Agent::builder(ScriptedModel::new()).build().unwrap();
    let _ = Agent::builder(ScriptedModel::new()).add_subagent(below);
}
