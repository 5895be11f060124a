//! Runs of an agent that spend up to the limits of a day.
//!
//! `spender <database> <runs> <requests>`: each run makes one call, and so two requests of 110
//! tokens; a day has `requests` of them for `ada`. It prints the number of runs that were answered.
//! `spender <database> dies <requests>`: the process ends in the second request of its first run.

#![allow(clippy::print_stdout, reason = "the tests read the output")]

use toolbox::ToolContext;
use toolbox::agent::{Agent, UsageLimits};
use toolbox::context::Principal;
use toolbox::durable::Journal;
use toolbox::model::{ModelRequest, ModelResponse, Reply, Usage};
use toolbox::testing::ScriptedModel;
use toolbox::{ToolCall, tool, tools};

/// Looks at something.
#[tool]
fn look() -> &'static str {
    "seen"
}

fn reply(request: &ModelRequest, dies: bool) -> ModelResponse {
    let has_called = request.history.last_reply().is_some();
    if has_called && dies {
        std::process::abort();
    }
    let call = || Reply::calls([ToolCall::new("c", "look", "{}")]);
    let reply = if has_called { Reply::text("done") } else { call() };
    ModelResponse::from(reply).with_usage(Usage::new(100, 10))
}

#[tokio::main]
pub(crate) async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, runs, requests] = arguments.as_slice() else {
        panic!("spender <database> <runs> <requests>")
    };
    let dies = runs == "dies";
    let journal = Journal::open(database).unwrap();
    let limits = UsageLimits::new().max_requests(requests.parse().unwrap());
    let model = ScriptedModel::new().respond(move |request| Ok(reply(request, dies))).forever();
    let agent = Agent::builder(model)
        .tools(tools![look])
        .spending_limits(journal.spending_limits().per_day(limits))
        .build()
        .unwrap();
    let mut answered = 0;
    for _ in 0..runs.parse().unwrap_or(1) {
        let context = ToolContext::new().with(Principal::new("ada"));
        let outcome = agent.run("x").in_context(context).await.unwrap();
        answered += u32::from(outcome.is_answered());
    }
    println!("{answered}");
}
