//! The road of a reply: each round begins where a model has a request.

use std::sync::Mutex;

use toolbox::agent::Agent;
use toolbox::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse, Reply};
use toolbox::{BoxFuture, ToolCall, tools};

use crate::{ARGUMENTS, ROUNDS, WARM, forecast, mark};

/// A model that calls one tool in each reply, until the rounds are done.
struct Caller(Mutex<Vec<Reply>>);

#[allow(clippy::unnecessary_literal_bound, reason = "the trait lends names")]
impl Model for Caller {
    fn name(&self) -> &str {
        "caller"
    }

    fn respond<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        let mut replies = self.0.lock().expect("one request at a time");
        mark(WARM + ROUNDS + 1 - replies.len());
        let reply = replies.pop().expect("a reply for each round");
        drop(replies);
        Box::pin(async move { Ok(ModelResponse::from(reply)) })
    }
}

pub(crate) async fn walk() {
    let call = |round| ToolCall::new(format!("call_{round}"), "forecast", ARGUMENTS);
    let mut replies = vec![Reply::text("Take an umbrella.")];
    replies.extend((0..WARM + ROUNDS).map(|round| Reply::calls([call(round)])));
    let agent = Agent::builder(Caller(Mutex::new(replies)))
        .system("You are a careful assistant.")
        .tools(tools![forecast])
        .max_iterations(u32::MAX)
        .no_repeat_limit()
        .build()
        .expect("an agent");
    let outcome = agent.run("What is the weather in Bergen?").await.expect("a run");
    assert_eq!(outcome.content, "Take an umbrella.");
}
