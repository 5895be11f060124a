//! Boxes and workers over one journal, which tests kill.
//!
//! - `ledger submit <database> <effects> <first> <count>` submits calls, in turn of a tool that may
//!   run again and of one that may not, and prints the id of each that is accepted.
//! - `ledger call <database> <effects> <first> <count>` makes durable calls itself.
//! - `ledger work <database> <effects>` runs what was submitted, until it is killed.
//! - `ledger drain <database> <effects>` works until every call has its final state, and delivers
//!   each result to its conversation: a line of `effects`, once it has confirmed it.
//!
//! Each line of `effects` is one effect on the world.

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    clippy::unused_async,
    reason = "tools are written as users write them, and the tests read the output"
)]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::time::Duration;

use toolbox::context::Conversation;
use toolbox::durable::{CallFilter, CallState, Journal, Worker};
use toolbox::{State, ToolBox, ToolCall, ToolContext, tool, tools};

struct World(File);

impl World {
    fn note(&self, line: &str) {
        (&self.0).write_all(format!("{line}\n").as_bytes()).expect("a line");
    }
}

/// May run again.
#[tool(idempotent, durable)]
async fn again(n: u64, world: State<World>) -> String {
    tokio::time::sleep(Duration::from_micros(200)).await;
    world.note(&format!("again {n}"));
    format!("again {n}")
}

/// May not run again.
#[tool(durable)]
async fn once(n: u64, world: State<World>) -> String {
    world.note(&format!("once {n}"));
    tokio::time::sleep(Duration::from_micros(200)).await;
    format!("once {n}")
}

fn call(n: u64) -> ToolCall {
    let tool = if n.is_multiple_of(2) { "again" } else { "once" };
    ToolCall::new(n.to_string(), tool, format!("{{\"n\": {n}}}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, database, effects, rest @ ..] = arguments.as_slice() else {
        panic!("ledger <role> <database> <effects>")
    };
    let file = OpenOptions::new().append(true).create(true).open(effects).expect("a file");
    let lease = std::env::var("LEASE").map_or(30, |text| text.parse().expect("seconds"));
    let builder = Journal::builder().lease(Duration::from_secs(lease)).max_open(2_000_000);
    let journal = match std::env::var("MAX_BYTES") {
        Ok(bytes) => builder.max_file_bytes(bytes.parse().expect("a number")),
        Err(_) => builder,
    };
    let journal = journal.open(database).expect("a journal");
    let toolbox = ToolBox::builder()
        .tools(tools![again, once])
        .state(World(file))
        .journal(&journal)
        .build()
        .expect("a box");
    let worker = Worker::new(toolbox.clone(), &journal);
    match role.as_str() {
        "submit" | "call" => {
            let numbers: Vec<u64> =
                rest.iter().map(|text| text.parse().expect("a number")).collect();
            let [first, count] = numbers[..] else { panic!("<first> <count>") };
            let mut tasks = tokio::task::JoinSet::new();
            for n in first..first + count {
                let (toolbox, journal) = (toolbox.clone(), journal.clone());
                let is_call = role == "call";
                tasks.spawn(async move {
                    let context = ToolContext::new().with(Conversation::new("test", "one"));
                    let result = if is_call {
                        toolbox.call_in(&context, call(n)).await
                    } else {
                        toolbox.submit(&journal, &context, call(n)).await
                    };
                    match result.job() {
                        Some(id) => println!("{id}"),
                        None => println!("refused {n} {}", result.text()),
                    }
                });
                // As many at once as a busy box has.
                if tasks.len() >= 64 {
                    tasks.join_next().await;
                }
            }
            while tasks.join_next().await.is_some() {}
        }
        "work" => worker.run_until(std::future::pending()).await,
        "drain" => {
            let done = async {
                let open = || {
                    CallFilter::default()
                        .with_state(CallState::Waiting)
                        .with_state(CallState::Running)
                        .limit(1)
                };
                while !journal.calls(open()).await.expect("calls").is_empty() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            worker.run_until(done).await;
            let place = Conversation::new("test", "one");
            loop {
                let results = journal.undelivered(&place).await.expect("results");
                if results.is_empty() {
                    return;
                }
                for call in results {
                    if journal.confirm_delivery(&call.id).await.expect("an answer") {
                        println!("delivered {}", call.id);
                    }
                }
            }
        }
        role => panic!("no role is named {role}"),
    }
}
