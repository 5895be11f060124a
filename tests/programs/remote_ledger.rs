//! Boxes and workers of a fleet, which tests kill: like `ledger`, over the queue of a server.
//!
//! - `remote-ledger work <url> <effects>` takes durable calls, until it is killed.
//! - `remote-ledger submit <url> <database> <first> <count>` submits calls, prints the id of each
//!   that is accepted, and hands them over until it is killed.
//! - `remote-ledger drain <url> <database>` hands over until every call has its final state, and
//!   delivers each result to its conversation.

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    clippy::unused_async,
    reason = "tools are written as users write them, and the tests read the output"
)]

use std::time::Duration;

use toolbox::ToolBox;
use toolbox::durable::Journal;
use toolbox::fleet::{Fleet, FleetOptions, Relay, Worker};

#[path = "ledger_tools.rs"]
mod ledger_tools;

use ledger_tools::World;

/// The pause before something is tried again that the server refused.
const RETRY: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, url, file, rest @ ..] = arguments.as_slice() else {
        panic!("remote-ledger <role> <url> <file>")
    };
    if role == "work" {
        return work(url, file).await;
    }
    let journal = Journal::builder().max_open(2_000_000).open(file).expect("a journal");
    let toolbox = ToolBox::new();
    let fleet = loop {
        match Fleet::connect(url, options()).await {
            Ok(fleet) => break fleet,
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    };
    let mounted = loop {
        match fleet.mount(&toolbox).await {
            Ok(mounted) => break mounted,
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    };
    let relay = async {
        while Relay::new(&mounted, &journal).run_until(std::future::pending()).await.is_err() {
            tokio::time::sleep(RETRY).await;
        }
    };
    let work = async {
        match role.as_str() {
            "submit" => {
                for tool in ["again", "once"] {
                    mounted.until_offered(tool).await;
                }
                ledger_tools::make_calls(&toolbox, Some(&journal), rest).await;
                println!("all");
                std::future::pending::<()>().await;
            }
            "drain" => {
                ledger_tools::all_ended(&journal).await;
                ledger_tools::deliver(&journal).await;
            }
            role => panic!("no role is named {role}"),
        }
    };
    tokio::select! {
        () = relay => {}
        () = work => {}
    }
}

fn options() -> FleetOptions {
    let lease = std::env::var("LEASE").map_or(30, |text| text.parse().expect("seconds"));
    FleetOptions::new().lease(Duration::from_secs(lease))
}

async fn work(url: &str, effects: &str) {
    let builder = ToolBox::builder().tools(ledger_tools::both()).state(World::open(effects));
    let toolbox = builder.build().expect("a box");
    loop {
        if let Ok(worker) = Worker::connect(url, options()).await {
            let _ = worker.durable().serve(toolbox.clone()).await;
        }
        tokio::time::sleep(RETRY).await;
    }
}
