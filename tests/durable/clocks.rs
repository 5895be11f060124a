//! Processes whose clocks are wrong, each in its own way, and clocks that are set while they run.
//!
//! `libfaketime` answers for the system's clock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::crashes::{Ledger, end};
use crate::ledger::{accepted, pick, size};
use support::Scratch;

/// Returns the library that stands before the system's clock.
fn library() -> PathBuf {
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"]
        .map(|folder| Path::new(folder).join("faketime/libfaketime.so.1"))
        .into_iter()
        .find(|path| path.exists())
        .expect("libfaketime")
}

/// The environment of a process whose wall clock is off by so much: `+1h`, `-1h`.
fn off(library: &Path, by: &str) -> Vec<(&'static str, String)> {
    vec![
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME", by.to_owned()),
        // No user can set the clock that counts from the start of the system.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ]
}

#[test]
#[cfg_attr(not(has_faketime), ignore = "needs libfaketime")]
fn clocks_that_differ_by_hours_lose_no_call_and_repeat_none() {
    let library = library();
    let (calls, kills) = (size(600, 20_000), size(10, 200));
    let scratch = Scratch::new();
    let mut ledger = Ledger::new(scratch.path());
    let mut ids = Vec::new();
    let mut count_on = |ledger: &Ledger<'_>, by: usize| {
        let lines = end(ledger.start("submit", &[by * calls, calls]), None);
        ids.extend(accepted(lines));
    };
    for (at, by) in ["+1h", "-1h"].into_iter().enumerate() {
        ledger.environment = off(&library, by);
        count_on(&ledger, at);
    }
    let mut worker = |by: &str| {
        ledger.environment = off(&library, by);
        ledger.start("work", &[])
    };
    let mut seed = 3;
    let mut workers = [worker("+1h"), worker("-1h")];
    for kill in 0..kills {
        std::thread::sleep(Duration::from_millis(10 + pick(&mut seed, 60)));
        let at = kill % 2;
        let by = ["+1h", "-1h"][at];
        end(std::mem::replace(&mut workers[at], worker(by)), Some(Signal::KILL));
    }
    for worker in workers {
        end(worker, Some(Signal::KILL));
    }
    ledger.environment = off(&library, "+1h");
    let states = ledger.settle(&ids);
    println!("{} calls, {kills} workers killed, clocks 2 hours apart: {states:?}", ids.len());
    assert_eq!(ids.len(), 2 * calls);
    assert!(states["done"] > calls, "{states:?}");
}

#[test]
#[cfg_attr(not(has_faketime), ignore = "needs libfaketime")]
fn a_clock_that_is_set_under_way_takes_no_call_from_a_worker_that_lives() {
    let library = library();
    let calls = size(1_000, 20_000);
    let scratch = Scratch::new();
    let clock = scratch.path().join("clock");
    std::fs::write(&clock, "+0").unwrap();
    let mut ledger = Ledger::new(scratch.path());
    // An hour is many leases, and a busy machine is not mistaken for a dead one.
    ledger.lease = "10";
    ledger.environment = off(&library, "");
    ledger.environment.retain(|(name, _)| *name != "FAKETIME");
    ledger.environment.push(("FAKETIME_TIMESTAMP_FILE", clock.display().to_string()));
    ledger.environment.push(("FAKETIME_NO_CACHE", "1".to_owned()));
    let ids: Vec<_> = accepted(end(ledger.start("submit", &[0, calls]), None)).collect();
    let workers = [ledger.start("work", &[]), ledger.start("work", &[])];
    for by in ["+1h", "-1h", "+90m", "+0", "-1d", "+0"] {
        // Renamed into place: nobody reads half of it.
        let next = scratch.path().join("next");
        std::fs::write(&next, by).unwrap();
        std::fs::rename(&next, &clock).unwrap();
        std::thread::sleep(Duration::from_millis(size(150, 2_000) as u64));
    }
    let drained = end(ledger.start("drain", &[]), None);
    for worker in workers {
        end(worker, Some(Signal::KILL));
    }
    let states = ledger.check(&ids, &drained);
    println!("{calls} calls under a clock that is set: {states:?}");
    // Nobody died: each call has its result.
    assert_eq!(states, [("done".to_owned(), calls)].into());
}

#[test]
#[cfg_attr(not(has_faketime), ignore = "needs libfaketime")]
fn calls_that_wait_an_hour_for_a_worker_run_then() {
    let library = library();
    let calls = size(500, 10_000);
    let scratch = Scratch::new();
    let mut ledger = Ledger::new(scratch.path());
    let ids: Vec<_> = accepted(end(ledger.start("submit", &[0, calls]), None)).collect();
    ledger.environment = off(&library, "+1h");
    let states = ledger.settle(&ids);
    assert_eq!(states, [("done".to_owned(), calls)].into());
    // A day is the default of a journal: what waited longer did not run.
    let late = Scratch::new();
    let mut ledger = Ledger::new(late.path());
    let ids: Vec<_> = accepted(end(ledger.start("submit", &[0, calls]), None)).collect();
    ledger.environment = off(&library, "+25h");
    let states = ledger.settle(&ids);
    assert_eq!(states, [("expired".to_owned(), calls)].into());
    assert!(!ledger.effects.exists() || std::fs::read(&ledger.effects).unwrap().is_empty());
}
