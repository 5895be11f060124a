//! Boxes and workers that are killed, and the checker: it reads the journal from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Scratch;

/// The numbers of a series: the short form that CI runs, or the long one of docs/reliability.md.
pub(crate) fn size(short: usize, long: usize) -> usize {
    if std::env::var_os("TOOLBOX_CRASHES").is_some() { long } else { short }
}

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
        Command::new(env!("CARGO_BIN_EXE_ledger"))
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

    /// Checks that every accepted call has exactly one final state, and that the world saw what the
    /// journal says. Returns the number of calls by state.
    #[track_caller]
    pub(crate) fn check(
        &self,
        accepted: &[String],
        delivered: &[String],
    ) -> BTreeMap<String, usize> {
        let journal = rusqlite::Connection::open(self.folder.join("calls.db")).unwrap();
        let mut rows = journal
            .prepare("SELECT id, tool, arguments, state, result IS NOT NULL, delivered IS NOT NULL FROM call")
            .unwrap();
        let mut calls = BTreeMap::new();
        let mut states: BTreeMap<String, usize> = BTreeMap::new();
        let mut effects: BTreeMap<String, usize> = BTreeMap::new();
        let world = std::fs::read_to_string(&self.effects).unwrap_or_default();
        for line in world.lines() {
            *effects.entry(line.to_owned()).or_default() += 1;
        }
        let rows = rows.query_map([], |row| {
            let columns: (String, String, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((columns, (row.get::<_, bool>(4)?, row.get::<_, bool>(5)?)))
        });
        for row in rows.unwrap() {
            let ((id, tool, arguments, state), (has_result, is_delivered)) = row.unwrap();
            let n = arguments.trim_matches(|c: char| !c.is_ascii_digit());
            let count = effects.get(&format!("{tool} {n}")).copied().unwrap_or_default();
            let expected = match (tool.as_str(), state.as_str()) {
                ("again", "done") => 1..=usize::MAX,
                ("once", "done") => 1..=1,
                ("once", "outcome_unknown" | "cancelled") => 0..=1,
                ("again", "cancelled" | "failed") => 0..=usize::MAX,
                (_, "expired") => 0..=0,
                (_, state) => panic!("call {n} of {tool} is left {state}"),
            };
            assert!(expected.contains(&count), "{tool} {n} is {state}, and happened {count} times");
            assert!(has_result, "{tool} {n} is {state}, and has no result");
            assert!(is_delivered, "the result of {tool} {n} is not delivered");
            *states.entry(state).or_default() += 1;
            calls.insert(id, n.to_owned());
        }
        for id in accepted {
            assert!(calls.contains_key(id), "{id} was accepted, and is lost");
        }
        // Each line was printed by the one that may show the result.
        let distinct: BTreeSet<_> = delivered.iter().collect();
        assert_eq!(distinct.len(), delivered.len(), "a result was delivered twice");
        assert!(distinct.len() <= calls.len());
        let integrity: String =
            journal.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(integrity, "ok");
        states
    }

    /// Stops a process while it does not write: one that is stopped with the file locked holds up
    /// all others until it goes on or dies.
    fn stop_outside_of_a_write(&self, child: &Child) {
        let journal = rusqlite::Connection::open(self.folder.join("calls.db")).unwrap();
        journal.busy_timeout(Duration::from_millis(20)).unwrap();
        for _ in 0..500 {
            kill_process(Pid::from_child(child), Signal::STOP).unwrap();
            if journal.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
                return;
            }
            kill_process(Pid::from_child(child), Signal::CONT).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the process always writes");
    }

    /// Lets all calls get to their end, and checks them.
    #[track_caller]
    pub(crate) fn settle(&self, accepted: &[String]) -> BTreeMap<String, usize> {
        let delivered = Self::end(self.start("drain", &[]), None);
        self.check(accepted, &delivered)
    }
}

pub(crate) fn accepted(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().filter(|line| line.starts_with("job_"))
}

/// Returns a number below `most`, from a sequence that is the same in each run.
pub(crate) fn pick(state: &mut u64, most: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % most
}

#[test]
fn workers_that_are_killed_lose_no_call() {
    let (calls, kills) = (size(2_000, 50_000), size(20, 600));
    let scratch = Scratch::new();
    let ledger = Ledger::new(scratch.path());
    let ids: Vec<_> = accepted(Ledger::end(ledger.start("submit", &[0, calls]), None)).collect();
    assert_eq!(ids.len(), calls);
    let mut seed = 1;
    let mut workers: Vec<_> = (0..2).map(|_| ledger.start("work", &[])).collect();
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(10 + pick(&mut seed, 60)));
        let index = usize::try_from(pick(&mut seed, 2)).unwrap();
        let worker = std::mem::replace(&mut workers[index], ledger.start("work", &[]));
        Ledger::end(worker, Some(Signal::KILL));
    }
    for worker in workers {
        Ledger::end(worker, Some(Signal::KILL));
    }
    let states = ledger.settle(&ids);
    println!("{calls} calls, {kills} workers killed: {states:?}");
    assert!(states["done"] > calls / 2, "{states:?}");
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
            ids.extend(accepted(Ledger::first_lines(&mut submitter, until)));
            ids.extend(accepted(Ledger::end(submitter, Some(Signal::KILL))));
        }
        Ledger::end(worker, Some(Signal::KILL));
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
    let ids: Vec<_> = accepted(Ledger::end(ledger.start("submit", &[0, calls]), None)).collect();
    let zombie = ledger.start("work", &[]);
    std::thread::sleep(Duration::from_millis(80));
    ledger.stop_outside_of_a_write(&zombie);
    let began = Instant::now();
    // It waits until the lease is over, and takes over.
    let delivered = Ledger::end(ledger.start("drain", &[]), None);
    let took = began.elapsed();
    kill_process(Pid::from_child(&zombie), Signal::CONT).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    Ledger::end(zombie, Some(Signal::KILL));
    let states = ledger.check(&ids, &delivered);
    println!("taken over after {took:?}: {states:?}");
}

#[test]
fn a_full_disk_refuses_calls_and_loses_none() {
    let scratch = Scratch::new();
    let mut ledger = Ledger::new(scratch.path());
    ledger.environment.push(("MAX_BYTES", (400 << 10).to_string()));
    let lines = Ledger::end(ledger.start("submit", &[0, 4_000]), None);
    let refused = lines.iter().filter(|line| line.starts_with("refused")).count();
    assert!(lines.iter().all(|line| !line.starts_with("refused") || line.contains("is full")));
    let ids: Vec<_> = accepted(lines).collect();
    assert!(refused > 100 && ids.len() > 100, "{refused} of {} were refused", ids.len());
    // The results find no room until there is some.
    ledger.environment.clear();
    ledger.settle(&ids);
}
