//! Servers whose host is gone from one moment to the next, and what watches over them for that.

use crate::bounded::tokio;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::support::started;
use super::support::{Mounted, eventually, misbehaving};

/// Returns the group of a process that has not ended.
fn group_of(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?;
    (!matches!(state, "Z" | "X")).then(|| group.to_owned())
}

/// Returns the processes of a group that have not ended.
fn alive_in(group: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("a table of processes").flatten();
    let pids = processes.filter_map(|process| process.file_name().into_string().ok());
    pids.filter(|pid| group_of(pid).is_some_and(|of| of == group)).collect()
}

/// A folder that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("toolbox-killed-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The server, and what it started, ignore the end of their input and the signals that ask them to
/// end.
#[test]
fn no_server_outlives_a_program_that_is_killed() {
    for signal in ["KILL", "ABRT"] {
        let scratch = Scratch::new(signal);
        let (file, config) = (scratch.0.join("pid"), scratch.0.join("toolbox.jsonc"));
        let server = json!({
            "command": [
                "env", "--ignore-signal=TERM", "--ignore-signal=HUP",
                crate::program("misbehaving"), "ignore-end", "grandchild", file,
            ],
            "connectTimeout": "20s",
        });
        std::fs::write(&config, json!({"mcp": {"s": server}}).to_string()).expect("a file");
        let mut host = started(&config);
        let until = Instant::now() + Duration::from_secs(30);
        let group = loop {
            // The number may be written in part.
            let pid = std::fs::read_to_string(&file).unwrap_or_default();
            let group = group_of(pid.trim()).filter(|_| !pid.is_empty());
            if let Some(group) = group.filter(|group| alive_in(group).len() == 3) {
                break group;
            }
            assert!(Instant::now() < until, "the server, its child and its guard never came");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut sent = Command::new("kill");
        let sent = sent.args([&format!("-{signal}"), &host.id().to_string()]);
        assert!(sent.status().expect("a signal").success());
        // The input of the host stays open: it is the signal that ends it.
        host.wait().expect("an end");
        let until = Instant::now() + Duration::from_secs(20);
        while !alive_in(&group).is_empty() {
            if Instant::now() > until {
                let left = alive_in(&group);
                let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
                panic!("after {signal} there are still {left:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(host.stdin.take());
    }
}

#[tokio::test]
async fn what_watches_over_a_server_ends_with_it() {
    for end in ["close", "drop", "die"] {
        let mounted = Mounted::of(misbehaving(&[]).retries(0)).await;
        let group = group_of(&mounted.text("pid").await).expect("it is there");
        assert_eq!(alive_in(&group).len(), 2, "the server and what watches over it");
        match end {
            "close" => {
                mounted.close().await;
                assert_eq!(alive_in(&group), Vec::<String>::new(), "closing waits for both");
            }
            "drop" => drop(mounted),
            _ => drop(mounted.call("die", "{}").await),
        }
        eventually(async || alive_in(&group).is_empty()).await;
        // Nor is there an entry left that nobody has heard of.
        eventually(async || !Path::new("/proc").join(&group).exists()).await;
    }
}
