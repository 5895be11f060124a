//! What if a model is down, and what if users are to get different models?
//!
//! `Fallback` asks the next model when one fails, and lets one that fails again and again rest. A
//! model that wraps another reads the context of the run.
//!
//! `cargo run -p toolbox-examples --example fallback`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use toolbox::agent::Agent;
use toolbox::context::Principal;
use toolbox::model::{
    Deltas, Fallback, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse,
};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, ToolContext};

/// Gives members the better model.
struct ByPlan<A, B> {
    members: A,
    others: B,
}

impl<A: Model, B: Model> Model for ByPlan<A, B> {
    fn name(&self) -> &str {
        self.members.name()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        if Principal::of(&request.context).as_str().starts_with("member:") {
            self.members.respond(request, deltas)
        } else {
            self.others.respond(request, deltas)
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In place of `OpenAi::from_env("gpt-5")?` and `Anthropic::from_env("claude-opus-5")?`.
    let large = ScriptedModel::new().error(ModelErrorKind::Unavailable, "overloaded").forever();
    let large = large.named("large");
    let spare = ScriptedModel::answering("It will rain, says the spare one.").named("spare");
    let small = ScriptedModel::answering("Rain, says the small one.").named("small");

    let members =
        Fallback::new(large.clone()).or(spare).circuit_breaker(2, Duration::from_secs(60));
    let agent = Agent::builder(ByPlan { members, others: small }).build()?;
    for user in ["member:ada", "guest", "member:bo", "member:cy"] {
        let context = ToolContext::new().with(Principal::new(user));
        let outcome = agent.run("How is the weather?").in_context(context).await?;
        println!("{user}: {}", outcome.content);
    }
    // The second failure opened its circuit.
    println!("the large one was asked {} times", large.requests().len());
    Ok(())
}
