//! Calls a second with an audit log: without one, with one that calls do not wait for, and with one whose line is on the disk
//! before a result is handed on; beside a file that is appended to and synced for each line.
//!
//! ```sh
//! cargo bench -p llm-toolbox --features audit --bench audit             # in the target folder
//! cargo bench -p llm-toolbox --features audit --bench audit -- FOLDER   # on another disk
//! ```

#![allow(clippy::pedantic, clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use toolbox::audit::{self, AuditLog};
use toolbox::{ToolBox, ToolCall, tool, tools};

/// The time for which each row is measured.
const TIME: Duration = Duration::from_secs(2);

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder = given.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let runtime = Runtime::new().expect("a runtime");
    println!("one line, appended and synced: {:.0} a second", synced_lines(&folder));
    println!(
        "{:>8} {:>12} {:>12} {:>12} {:>10}",
        "callers", "no log", "not waited", "on the disk", "dropped"
    );
    for callers in [1, 64, 512] {
        let plain = runtime.block_on(rate(ToolBox::from(tools![add]), callers));
        let (loose, dropped) = logged(&runtime, &folder, false, callers);
        let (safe, lost) = logged(&runtime, &folder, true, callers);
        assert_eq!(lost, 0, "a line that a call waited for");
        println!("{callers:>8} {plain:>12.0} {loose:>12.0} {safe:>12.0} {dropped:>10}");
    }
}

/// Returns the lines a second of a file that is synced after each.
fn synced_lines(folder: &Path) -> f64 {
    let path = folder.join("lines.jsonl");
    let (mut file, line, begun) =
        (File::create(&path).expect("a file"), [b'x'; 400], Instant::now());
    let mut lines = 0;
    while begun.elapsed() < TIME {
        file.write_all(&line).and_then(|()| file.sync_data()).expect("a disk");
        lines += 1;
    }
    let rate = f64::from(lines) / begun.elapsed().as_secs_f64();
    let _ = std::fs::remove_file(path);
    rate
}

/// Returns the calls a second of a box with an audit log, and the lines that were dropped.
fn logged(runtime: &Runtime, folder: &Path, synchronous: bool, callers: usize) -> (f64, u64) {
    let path = folder.join("audit.jsonl");
    let _ = std::fs::remove_file(&path);
    let log = AuditLog::builder(&path).synchronous(synchronous).max_bytes(1 << 40).open();
    let log = log.expect("a log");
    let toolbox = ToolBox::builder().tools(tools![add]).audit(&log).build().expect("a box");
    let rate = runtime.block_on(rate(toolbox, callers));
    let dropped = log.dropped();
    runtime.block_on(log.flush()).expect("a disk");
    drop(log);
    audit::verify_log(&path).expect("a chain without a gap");
    let _ = std::fs::remove_file(path);
    (rate, dropped)
}

/// Returns the calls a second that some callers make together.
async fn rate(toolbox: ToolBox, callers: usize) -> f64 {
    let begun = Instant::now();
    let mut work = JoinSet::new();
    for _ in 0..callers {
        let toolbox = toolbox.clone();
        work.spawn(async move {
            let mut calls = 0_u64;
            while begun.elapsed() < TIME {
                let call = ToolCall::new("call_1", "add", r#"{"a": 2, "b": 3}"#);
                assert_eq!(toolbox.call(call).await.text(), "5");
                calls += 1;
                // A caller that never waits would keep the others from their turn.
                if calls.is_multiple_of(64) {
                    tokio::task::yield_now().await;
                }
            }
            calls
        });
    }
    let calls: u64 = work.join_all().await.into_iter().sum();
    calls as f64 / begun.elapsed().as_secs_f64()
}
