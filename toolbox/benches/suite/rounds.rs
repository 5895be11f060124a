//! What an agent costs around a model that answers at once: a run, a round of calls, a large result on its way out.

use std::rc::Rc;
use std::sync::LazyLock;

use toolbox::BoxFuture;
use toolbox::agent::Agent;
use toolbox::model::{
    Deltas, History, Model, ModelError, ModelRequest, ModelResponse, Replied, Reply,
};
use toolbox::wire::{Anthropic, Format, Gemini, GeminiInteractions, OpenAiChat, OpenAiResponses};
use toolbox::{ToolBox, ToolCall, ToolResult};

use crate::harness::{Suite, ready};
use crate::workload as work;

/// Makes `calls` calls in each of `rounds` rounds, then answers. Does nothing else.
struct Instant {
    rounds: usize,
    calls: usize,
}

impl Instant {
    fn reply(&self, round: usize) -> Reply {
        if round >= self.rounds {
            return Reply::text("done");
        }
        let call = |at| ToolCall::new(format!("call_{round}_{at}"), "add", work::ADD);
        Reply::calls((0..self.calls).map(call))
    }
}

impl Model for Instant {
    fn name(&self) -> &str {
        "instant"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        let reply = self.reply(request.history.steps().count());
        Box::pin(std::future::ready(Ok(reply.into())))
    }
}

fn agent(rounds: usize, calls: usize) -> Agent {
    let tools = ToolBox::from(super::tools::add::tool());
    Agent::builder(Instant { rounds, calls }).toolbox(tools).no_repeat_limit().build().unwrap()
}

/// The least that the same work takes: replies made, calls made through the gate, results kept.
fn by_hand(toolbox: &ToolBox, model: &Instant) -> History {
    let mut history = History::from("go");
    for round in 0.. {
        match history.reply(model.reply(round)) {
            Replied::Calls(open) => {
                let calls: Vec<ToolCall> = open.calls().cloned().collect();
                let results: Vec<ToolResult> =
                    calls.into_iter().map(|call| ready(toolbox.call(call))).collect();
                history = open.answer(results);
            }
            Replied::Answer(done) => return done,
            _ => unreachable!(),
        }
    }
    unreachable!()
}

static RUNTIME: LazyLock<tokio::runtime::Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());

pub fn add(suite: &mut Suite) {
    for (name, rounds, calls) in
        [("no round", 0, 0), ("one round", 1, 1), ("ten rounds", 10, 1), ("20 calls", 1, 20)]
    {
        let toolbox = ToolBox::from(super::tools::add::tool());
        let limit = format!("run of {name}/by hand");
        suite.case(&limit, 64, || (), {
            let toolbox = toolbox.clone();
            move |()| by_hand(&toolbox, &Instant { rounds, calls })
        });
        let own = agent(rounds, calls);
        let run = own.clone();
        suite
            .case(
                format!("run of {name}/agent"),
                64,
                || (),
                move |()| ready(run.run("go").into_future()).unwrap().history,
            )
            .checked(move || {
                let outcome = ready(own.run("go").into_future()).unwrap();
                assert_eq!(
                    (outcome.content.as_str(), outcome.iterations as usize),
                    ("done", rounds + 1)
                );
            })
            .against(&limit);
    }
    // Beside each other, as tasks of a runtime.
    let run = agent(1, 20);
    suite
        .case(
            "run of 20 calls/agent, as tasks",
            16,
            || (),
            move |()| RUNTIME.block_on(run.run("go").into_future()).unwrap().history,
        )
        .against("run of 20 calls/by hand");
    results(suite);
}

/// A result of 1 MB in a request: what its format adds to one copy with escapes.
fn results(suite: &mut Suite) {
    let text: Rc<str> = "x".repeat(1 << 20).into();
    let copied = Rc::clone(&text);
    suite.case(
        "1 MB result/as a JSON string",
        4,
        || (),
        move |()| serde_json::to_string(&*copied).unwrap(),
    );
    let Replied::Calls(open) =
        History::from("go").reply(Reply::calls([ToolCall::new("c", "read", work::READ)]))
    else {
        unreachable!()
    };
    let request = Rc::new(ModelRequest::new(open.answer([ToolResult::new(&*text)])));
    type Body = fn(&ModelRequest, &str, bool) -> String;
    let forms: [(&str, Body); 5] = [
        ("OpenAI chat", OpenAiChat::body),
        ("OpenAI Responses", OpenAiResponses::body),
        ("Anthropic", Anthropic::body),
        ("Gemini", Gemini::body),
        ("Gemini Interactions", GeminiInteractions::body),
    ];
    for (name, body) in forms {
        let request = Rc::clone(&request);
        suite
            .case(format!("1 MB result/{name}"), 4, || (), move |()| body(&request, "m", false))
            .against("1 MB result/as a JSON string");
    }
}
