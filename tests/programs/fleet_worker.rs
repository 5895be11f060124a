//! A worker that a test starts and kills: `fleet-worker URL`.

use std::time::Duration;

use toolbox::fleet::{FleetOptions, Worker};
use toolbox::{ToolBox, tool, tools};

/// Returns the id of the process.
#[tool]
fn pid() -> u32 {
    std::process::id()
}

/// Appends a line to a file, and waits.
#[tool]
async fn write(path: String, line: String) {
    use std::io::Write as _;

    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
}

/// Waits, and changes nothing.
#[tool(idempotent)]
async fn look(path: String) {
    write(path, "look".to_owned()).await;
}

/// Blocks its thread.
#[tool(timeout = "60s")]
fn block(seconds: u64) -> String {
    std::thread::sleep(Duration::from_secs(seconds));
    "done".to_owned()
}

// Two that are blocked leave one.
#[tokio::main(flavor = "multi_thread", worker_threads = 3)]
pub(crate) async fn main() {
    let url = std::env::args().nth(1).expect("the URL of the server");
    let worker = Worker::connect(&url, FleetOptions::new()).await.unwrap();
    worker.serve(ToolBox::from(tools![pid, write, look, block])).await.unwrap();
}
