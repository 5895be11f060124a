//! A durable run of forty steps with an agent below, approvals, a background job and tools that may
//! not run twice. It dies where it is told to, and goes on when it is started again.
//!
//! `steps <database> <effects> <events> <effect>`: it kills itself at the event of that number, and
//! after the effect of that number on the world; 0 for never. Each line of `effects` is one effect,
//! or one reply that was paid for.

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    clippy::unused_async,
    reason = "tools are written as users write them, and the tests read the output"
)]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolbox::agent::{Agent, EventKind, StopReason};
use toolbox::context::Decision;
use toolbox::durable::Journal;

use toolbox::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse, Part, Reply};
use toolbox::{BoxFuture, State, ToolCall, tool, tools};

const STEPS: usize = 40;

/// The world: what happened in it stays, whatever dies.
struct World {
    effects: PathBuf,
    left: AtomicU32,
}

impl World {
    fn note(&self, line: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(&self.effects).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn effect(&self, line: &str) {
        self.note(line);
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            die();
        }
    }
}

fn die() -> ! {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    unreachable!("the signal cannot be caught")
}

/// Looks at something.
#[tool(read_only, idempotent)]
fn look(n: u32) -> String {
    format!("saw {n}")
}

/// Charges a customer, once.
#[tool]
fn charge(n: u32, world: State<World>) -> String {
    world.effect(&format!("charge {n}"));
    format!("charged {n}")
}

/// Ships a parcel, once, if somebody approves.
#[tool(approval)]
async fn ship(n: u32, world: State<World>) -> String {
    world.effect(&format!("ship {n}"));
    format!("shipped {n}")
}

/// Prints a report, once, while the agent goes on.
#[tool(background)]
async fn print(n: u32, world: State<World>) -> String {
    tokio::task::yield_now().await;
    world.effect(&format!("print {n}"));
    format!("printed {n}")
}

/// A model whose every reply follows from the transcript, and costs.
struct Scripted {
    name: &'static str,
    world: Arc<World>,
}

impl Scripted {
    fn calls(&self, step: usize, task: &str) -> Vec<ToolCall> {
        let call = |tool: &str, n: usize| {
            ToolCall::new(format!("{tool}-call"), tool, format!("{{\"n\": {n}}}"))
        };
        if self.name == "helper" {
            let n = 1000 + 10 * task.parse::<usize>().unwrap() + step;
            return if step < 2 { vec![call("charge", n)] } else { Vec::new() };
        }
        match step % 8 {
            // A report of a job may come after the answer.
            _ if step >= STEPS => Vec::new(),
            1 | 5 => vec![call("charge", step)],
            2 => {
                vec![ToolCall::new("help-call", "helper", format!("{{\"task\": \"{step}\"}}"))]
            }
            3 => vec![call("charge", step), call("look", step)],
            4 => vec![call("ship", step), call("look", step)],
            6 => vec![call("print", step)],
            _ => vec![call("look", step)],
        }
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let step = request.history.steps().count();
            let task = request.history.last_user_text().filter(|_| self.name == "helper");
            let task = task.unwrap_or_default();
            let calls = self.calls(step, &task);
            let reply = if calls.is_empty() {
                Reply::text(format!("{} did all", self.name))
            } else {
                Reply::new(calls.into_iter().map(|call| Part::Call { call, echo: None }).collect())
            };
            self.world.note(&format!("paid {} {task} {step}", self.name));
            Ok(ModelResponse::from(reply))
        })
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, effects, events, effect] = arguments.as_slice() else {
        panic!("steps <database> <effects> <events> <effect>")
    };
    let left = AtomicU32::new(effect.parse().expect("a number"));
    let world = Arc::new(World { effects: effects.into(), left });
    let journal = Journal::open(database).expect("a journal");
    let model = |name| Scripted { name, world: Arc::clone(&world) };
    let helper = Agent::builder(model("helper"))
        .tools(tools![charge])
        .shared_state(Arc::clone(&world))
        .build()
        .expect("an agent");
    let boss = Agent::builder(model("boss"))
        .tools(tools![look, charge, ship, print])
        .shared_state(Arc::clone(&world))
        .add_subagent(helper.as_tool("helper", "Helps"))
        .max_iterations(60)
        .build()
        .expect("an agent");
    let left = AtomicU32::new(events.parse().expect("a number"));
    let seen = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&seen);
    let listener = Arc::new(move |event: toolbox::agent::Event| {
        if matches!(event.kind, EventKind::ModelStarted { .. }) {
            return;
        }
        count.fetch_add(1, Ordering::SeqCst);
        if left.fetch_sub(1, Ordering::SeqCst) == 1 {
            die();
        }
    });
    loop {
        let listener = Arc::clone(&listener);
        let run =
            boss.run("Go").durable("the run", &journal).on_event(move |event| listener(event));
        let outcome = run.await.expect("an outcome");
        if outcome.reason != StopReason::ApprovalNeeded {
            assert_eq!(outcome.reason, StopReason::Answered, "{outcome:?}");
            println!("{} {}", seen.load(Ordering::SeqCst), outcome.content);
            return;
        }
        let pending = outcome.paused.expect("the calls that wait").pending();
        let decisions = pending.into_iter().map(|call| (call.id, Decision::Approve));
        assert!(journal.decide("the run", decisions).await.expect("a decision"));
    }
}
