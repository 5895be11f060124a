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

use std::time::Duration;

use toolbox::durable::{Journal, Worker};
use toolbox::{Tool, ToolBox};

#[path = "ledger_tools.rs"]
mod ledger_tools;

use ledger_tools::World;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, database, effects, rest @ ..] = arguments.as_slice() else {
        panic!("ledger <role> <database> <effects>")
    };
    let lease = std::env::var("LEASE").map_or(30, |text| text.parse().expect("seconds"));
    let builder = Journal::builder().lease(Duration::from_secs(lease)).max_open(2_000_000);
    let journal = match std::env::var("MAX_BYTES") {
        Ok(bytes) => builder.max_file_bytes(bytes.parse().expect("a number")),
        Err(_) => builder,
    };
    let journal = journal.open(database).expect("a journal");
    let durable: Vec<Tool> = ledger_tools::both().into_iter().map(Tool::durable).collect();
    let builder = ToolBox::builder().tools(durable).state(World::open(effects));
    let toolbox = builder.journal(&journal).build().expect("a box");
    let worker = Worker::new(toolbox.clone(), &journal);
    match role.as_str() {
        "submit" => ledger_tools::make_calls(&toolbox, Some(&journal), rest).await,
        "call" => ledger_tools::make_calls(&toolbox, None, rest).await,
        "work" => worker.run_until(std::future::pending()).await,
        "drain" => {
            worker.run_until(ledger_tools::all_ended(&journal)).await;
            ledger_tools::deliver(&journal).await;
        }
        role => panic!("no role is named {role}"),
    }
}
