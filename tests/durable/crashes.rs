//! Boxes and workers that are killed.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::ledger::{accepted, check, pick, size};
use support::Scratch;

pub(crate) struct Ledger<'a> {
    /// The folder of the journal.
    folder: &'a Path,
    /// The world: a file to which each effect of a tool appends a line.
    pub(crate) effects: PathBuf,
    pub(crate) lease: &'static str,
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(folder: &'a Path) -> Self {
        Self { folder, effects: folder.join("effects"), lease: "30", environment: Vec::new() }
    }

    pub(crate) fn start(&self, role: &str, rest: &[usize]) -> Child {
        Command::new(crate::program("ledger"))
            .arg(role)
            .arg(self.folder.join("calls.db"))
            .arg(&self.effects)
            .args(rest.iter().map(usize::to_string))
            .env("LEASE", self.lease)
            .envs(self.environment.iter().cloned())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Stops a process while it does not write: one that is stopped with the file locked holds up
    /// all others until it goes on or dies.
    fn stop_outside_of_a_write(&self, child: &Child) {
        let journal = rusqlite::Connection::open(self.folder.join("calls.db")).unwrap();
        journal.busy_timeout(Duration::from_millis(20)).unwrap();
        for _ in 0..500 {
            stop(child);
            if journal.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
                return;
            }
            kill_process(Pid::from_child(child), Signal::CONT).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the process always writes");
    }

    #[track_caller]
    pub(crate) fn check(
        &self,
        accepted: &[String],
        delivered: &[String],
    ) -> BTreeMap<String, usize> {
        check(&self.folder.join("calls.db"), &self.effects, accepted, delivered)
    }

    /// Lets all calls get to their end, and checks them.
    #[track_caller]
    pub(crate) fn settle(&self, accepted: &[String]) -> BTreeMap<String, usize> {
        let delivered = end(self.start("drain", &[]), None);
        self.check(accepted, &delivered)
    }
}

/// Waits for the first lines that a process prints, and then some microseconds.
pub(crate) fn first_lines(child: &mut Child, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let output = child.stdout.as_mut().unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while lines.len() < count && output.read(&mut byte).unwrap() == 1 {
        if byte[0] == b'\n' {
            lines.push(String::from_utf8(std::mem::take(&mut line)).unwrap());
        } else {
            line.push(byte[0]);
        }
    }
    std::thread::sleep(Duration::from_micros(317 * (count as u64 % 7)));
    lines
}

/// Stops a process, and waits until it stands still: it may go on for a while after the signal, and
/// write. One that has ended stays as it is.
pub(crate) fn stop(child: &Child) {
    let id = Pid::from_child(child);
    let _ = kill_process(id, Signal::STOP);
    let still = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(id), still).unwrap();
}

/// Ends a process, and returns what it had printed.
pub(crate) fn end(child: Child, signal: Option<Signal>) -> Vec<String> {
    if let Some(signal) = signal {
        // It may have ended by itself.
        let _ = kill_process(Pid::from_child(&child), signal);
    }
    let mut child = child;
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn workers_that_are_killed_lose_no_call() {
    let (calls, kills) = (size(2_000, 50_000), size(20, 600));
    let scratch = Scratch::new();
    let ledger = Ledger::new(scratch.path());
    let ids: Vec<_> = accepted(end(ledger.start("submit", &[0, calls]), None)).collect();
    assert_eq!(ids.len(), calls);
    let mut seed = 1;
    let mut workers: Vec<_> = (0..2).map(|_| ledger.start("work", &[])).collect();
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(10 + pick(&mut seed, 60)));
        let index = usize::try_from(pick(&mut seed, 2)).unwrap();
        let worker = std::mem::replace(&mut workers[index], ledger.start("work", &[]));
        end(worker, Some(Signal::KILL));
    }
    for worker in workers {
        end(worker, Some(Signal::KILL));
    }
    let states = ledger.settle(&ids);
    println!("{calls} calls, {kills} workers killed: {states:?}");
    assert!(states["done"] > calls / 2, "{states:?}");
}

/// A call that streams is recorded by its end: one that was killed in the middle runs again as a
/// whole or not at all, and what was collected is the result of every one that ended.
#[test]
fn calls_that_stream_have_whole_results_after_kills() {
    let (calls, kills) = (size(600, 10_000), size(12, 200));
    let scratch = Scratch::new();
    let mut ledger = Ledger::new(scratch.path());
    ledger.environment = vec![("STREAMS", "1".to_owned()), ("CALL_MICROS", "1000".to_owned())];
    let ids: Vec<_> = accepted(end(ledger.start("submit", &[0, calls]), None)).collect();
    assert_eq!(ids.len(), calls);
    let mut seed = 2;
    for _ in 0..kills {
        let worker = ledger.start("work", &[]);
        std::thread::sleep(Duration::from_millis(10 + pick(&mut seed, 60)));
        end(worker, Some(Signal::KILL));
    }
    let states = ledger.settle(&ids);
    assert!(states["done"] > calls / 2, "{states:?}");
    let journal = rusqlite::Connection::open(scratch.path().join("calls.db")).unwrap();
    let mut rows =
        journal.prepare("SELECT tool, arguments, result FROM call WHERE state = 'done'").unwrap();
    let column = |row: &rusqlite::Row<'_>, at| row.get::<_, String>(at).unwrap();
    let rows = rows.query_map([], |row| Ok([0, 1, 2].map(|at| column(row, at)))).unwrap();
    for row in rows {
        let [tool, arguments, result] = row.unwrap();
        let n = arguments.trim_matches(|c: char| !c.is_ascii_digit());
        assert!(result.contains(&format!("\"{tool} {n}\"")), "{tool} {n}: {result}");
    }
}

#[test]
fn boxes_that_are_killed_lose_no_call_that_they_accepted() {
    let (rounds, size) = (size(10, 600), 200);
    for role in ["submit", "call"] {
        let scratch = Scratch::new();
        let ledger = Ledger::new(scratch.path());
        let worker = ledger.start("work", &[]);
        let (mut seed, mut ids) = (2, Vec::new());
        for round in 0..rounds {
            let mut submitter = ledger.start(role, &[round * size, size]);
            let until = usize::try_from(pick(&mut seed, 60)).unwrap();
            ids.extend(accepted(first_lines(&mut submitter, until)));
            ids.extend(accepted(end(submitter, Some(Signal::KILL))));
        }
        end(worker, Some(Signal::KILL));
        let states = ledger.settle(&ids);
        println!("{role}: {} calls accepted, {rounds} boxes killed: {states:?}", ids.len());
        assert!(ids.len() > rounds, "{}", ids.len());
    }
}

#[test]
fn a_worker_that_stops_for_longer_than_its_lease_ends_no_call_twice() {
    let scratch = Scratch::new();
    let mut ledger = Ledger::new(scratch.path());
    ledger.lease = "1";
    let calls = size(400, 20_000);
    let ids: Vec<_> = accepted(end(ledger.start("submit", &[0, calls]), None)).collect();
    let zombie = ledger.start("work", &[]);
    std::thread::sleep(Duration::from_millis(80));
    ledger.stop_outside_of_a_write(&zombie);
    let began = Instant::now();
    // It waits until the lease is over, and takes over.
    let delivered = end(ledger.start("drain", &[]), None);
    let took = began.elapsed();
    kill_process(Pid::from_child(&zombie), Signal::CONT).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    end(zombie, Some(Signal::KILL));
    let states = ledger.check(&ids, &delivered);
    println!("taken over after {took:?}: {states:?}");
}

#[test]
fn a_full_disk_refuses_calls_and_loses_none() {
    let scratch = Scratch::new();
    let mut ledger = Ledger::new(scratch.path());
    ledger.environment.push(("MAX_BYTES", (400 << 10).to_string()));
    let lines = end(ledger.start("submit", &[0, 4_000]), None);
    let refused = lines.iter().filter(|line| line.starts_with("refused")).count();
    assert!(lines.iter().all(|line| !line.starts_with("refused") || line.contains("is full")));
    let ids: Vec<_> = accepted(lines).collect();
    assert!(refused > 100 && ids.len() > 100, "{refused} of {} were refused", ids.len());
    // The results find no room until there is some.
    ledger.environment.clear();
    ledger.settle(&ids);
}
