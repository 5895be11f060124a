//! Kept results in a file, whose process is killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use toolbox::store::SqliteStore;
use toolbox::{ToolBox, ToolCall};

use crate::bounded::tokio;
use support::Scratch;

#[tokio::test]
async fn no_handle_is_told_that_does_not_exist_when_the_process_is_killed() {
    let scratch = Scratch::new();
    let path = scratch.path().join("store");
    let mut told: Vec<(String, String)> = Vec::new();
    for round in 0..12_u64 {
        let mut child = Command::new(crate::program("reporter"))
            .arg(&path)
            .arg((round * 1_000).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
        // Each round stops at another point of a write.
        std::thread::sleep(Duration::from_micros((round * 7919) % 9000));
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = first.into_iter().chain(lines.map_while(Result::ok));
        told.extend(lines.filter_map(|line| {
            let (handle, number) = line.split_once(' ')?;
            Some((handle.to_owned(), number.to_owned()))
        }));
    }
    assert!(told.len() >= 24, "{}", told.len());
    let store = SqliteStore::open(&path).unwrap();
    let toolbox = ToolBox::builder().keep_results(store).build().unwrap();
    for (handle, number) in &told {
        let read = json!({"handle": handle, "lines": "1"}).to_string();
        let read = toolbox.call(ToolCall::new("1", "result_read", read)).await;
        assert_eq!(read.text(), format!("report {number}\n"), "{handle}");
    }
    let mut handles: Vec<_> = told.iter().map(|(handle, _)| handle).collect();
    handles.sort_unstable();
    handles.dedup();
    assert_eq!(handles.len(), told.len(), "no handle has two results");
}
