//! The tools of boxes and workers that tests kill: each call is a line of a file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt as _};
use toolbox::context::Conversation;
use toolbox::durable::{CallFilter, CallState, Journal};
use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, tool, tools};

/// A file with a line for each effect on the world.
pub(crate) struct World(File);

impl World {
    pub(crate) fn open(path: &str) -> Self {
        Self(OpenOptions::new().append(true).create(true).open(path).expect("a file"))
    }

    fn note(&self, line: &str) {
        (&self.0).write_all(format!("{line}\n").as_bytes()).expect("a line");
    }
}

/// Takes as long as a call of these tools does.
async fn pause() {
    let time = std::env::var("CALL_MICROS").map_or(200, |text| text.parse().expect("a number"));
    tokio::time::sleep(Duration::from_micros(time)).await;
}

/// May run again.
#[tool(idempotent)]
async fn again(n: u64, world: State<World>) -> String {
    pause().await;
    world.note(&format!("again {n}"));
    format!("again {n}")
}

/// May not run again.
#[tool]
async fn once(n: u64, world: State<World>) -> String {
    world.note(&format!("once {n}"));
    pause().await;
    format!("once {n}")
}

/// Puts out the two parts of a line, with a pause before each; notes it before the part at `noted`.
fn in_parts(
    name: &str,
    n: u64,
    noted: usize,
    world: State<World>,
) -> impl Stream<Item = String> + use<> {
    let (line, parts) = (format!("{name} {n}"), [format!("{name} "), n.to_string()]);
    stream::iter(parts).enumerate().then(move |(at, part)| {
        if at == noted {
            world.note(&line);
        }
        async move {
            pause().await;
            part
        }
    })
}

/// May run again; it streams.
#[tool(idempotent, name = "again")]
fn again_in_parts(n: u64, world: State<World>) -> impl Stream<Item = String> {
    in_parts("again", n, 1, world)
}

/// May not run again; it streams.
#[tool(name = "once")]
fn once_in_parts(n: u64, world: State<World>) -> impl Stream<Item = String> {
    in_parts("once", n, 0, world)
}

/// Returns both tools; with the variable STREAMS those that stream.
pub(crate) fn both() -> Vec<Tool> {
    match std::env::var_os("STREAMS") {
        Some(_) => tools![again_in_parts, once_in_parts],
        None => tools![again, once],
    }
}

fn call(n: u64) -> ToolCall {
    let tool = if n.is_multiple_of(2) { "again" } else { "once" };
    ToolCall::new(n.to_string(), tool, format!("{{\"n\": {n}}}"))
}

/// Makes calls, of both tools in turn, and prints the id of each that is accepted; submits them if
/// there is a journal.
pub(crate) async fn make_calls(toolbox: &ToolBox, journal: Option<&Journal>, rest: &[String]) {
    let numbers: Vec<u64> = rest.iter().map(|text| text.parse().expect("a number")).collect();
    let [first, count] = numbers[..] else { panic!("<first> <count>") };
    let mut tasks = tokio::task::JoinSet::new();
    for n in first..first + count {
        let (toolbox, journal) = (toolbox.clone(), journal.cloned());
        tasks.spawn(async move {
            let context = ToolContext::new().with(Conversation::new("test", "one"));
            let result = match journal {
                None => toolbox.call_in(&context, call(n)).await,
                Some(journal) => toolbox.submit(&journal, &context, call(n)).await,
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

/// Waits until every call has its final state.
pub(crate) async fn all_ended(journal: &Journal) {
    let open = || {
        CallFilter::default().with_state(CallState::Waiting).with_state(CallState::Running).limit(1)
    };
    while !journal.calls(open()).await.expect("calls").is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Delivers each result to its conversation, and prints a line for each once that is confirmed.
pub(crate) async fn deliver(journal: &Journal) {
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
