use toolbox::agent::Agent;
use toolbox::testing::ScriptedModel;

fn main() {
    let _ = Agent::builder(ScriptedModel::new()).before_step(|| ());
}
