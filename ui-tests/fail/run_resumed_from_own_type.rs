use toolbox::Agent;
use toolbox::context::Decision;

struct Saved;

async fn resume(agent: &Agent) {
    let _ = agent.resume(Saved, [("call_1", Decision::Approve)]).await;
}

fn main() {}
