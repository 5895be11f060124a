use toolbox::Agent;

fn main() {
    let _ = Agent::builder("gpt-5").build();
}
