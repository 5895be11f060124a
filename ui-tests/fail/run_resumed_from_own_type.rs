use toolbox::Agent;
use toolbox::agent::{ResumeFrom, Run};
use toolbox::context::Decision;

type Decisions = Vec<(String, Decision)>;

struct Saved;

fn resume(agent: &Agent, run: impl ResumeFrom<Decisions>) -> Run {
    agent.resume(run, vec![("call_1".to_owned(), Decision::Approve)])
}

fn saved(agent: &Agent) -> Run {
    resume(agent, Saved)
}

fn main() {}
