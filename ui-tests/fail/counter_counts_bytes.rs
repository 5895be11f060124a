use toolbox::Agent;
use toolbox::testing::ScriptedModel;

fn main() {
    let _ = Agent::builder(ScriptedModel::new()).token_counter(8_000);
}
