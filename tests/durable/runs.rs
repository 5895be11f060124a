//! Runs that go on after their process died, at each of their steps.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

use support::Scratch;

/// The number of deaths to try in one pass; all of them in the long form.
fn stride(full: usize) -> usize {
    if std::env::var_os("TOOLBOX_CRASHES").is_some() { 1 } else { full.div_ceil(6).max(1) }
}

/// Starts the run, which dies at an event or after an effect. Returns what it printed, if it ended.
fn start(folder: &Path, events: usize, effect: usize) -> Option<(usize, String)> {
    let output = std::process::Command::new(crate::program("steps"))
        .arg(folder.join("run.db"))
        .arg(folder.join("effects"))
        .args([events.to_string(), effect.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    if output.status.signal() == Some(9) {
        return None;
    }
    assert!(output.status.success(), "{:?}", output.status);
    let (seen, answer) = text.trim_end().split_once(' ').unwrap_or_else(|| panic!("{text:?}"));
    Some((seen.parse().unwrap(), answer.to_owned()))
}

/// Counts the lines of effects.
fn effects(folder: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(folder.join("effects")).unwrap_or_default();
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

/// Returns `true` for an answer to a report of a job that came after the answer of the run: whether
/// there is one is up to the speed of the disk.
fn is_late(line: &str) -> bool {
    line.starts_with("paid boss  4") && line > "paid boss  40"
}

/// Compares a run that died with one that did not. `lost` is the most effects that may be missing,
/// those of calls that had begun when the run died; `again` the most replies that came when it died,
/// and were paid for again.
#[track_caller]
fn same(
    folder: &Path,
    answer: &str,
    whole: &BTreeMap<String, usize>,
    [lost, again]: [usize; 2],
    what: &str,
) {
    assert_eq!(answer, "boss did all", "{what}");
    let counts = effects(folder);
    let mut paid_again = 0;
    for (line, count) in &counts {
        let paid = line.starts_with("paid");
        paid_again += if paid { count - 1 } else { 0 };
        assert!(paid || *count == 1, "{what}: {line} happened {count} times");
        assert!(
            is_late(line) || whole.contains_key(line),
            "{what}: {line} is none of the whole run"
        );
    }
    assert!(paid_again <= again, "{what}: {paid_again} replies were paid for again");
    let missing: Vec<_> = whole.keys().filter(|line| !counts.contains_key(*line)).collect();
    assert!(missing.len() <= lost, "{what}: {missing:?} are missing");
    assert!(missing.iter().all(|line| !line.starts_with("paid")), "{what}: {missing:?}");
}

/// Returns the number of events and the effects that every run has.
fn whole() -> (usize, BTreeMap<String, usize>) {
    let scratch = Scratch::new();
    let (mut events, answer) = start(scratch.path(), 0, 0).expect("it ends");
    let mut whole = effects(scratch.path());
    // A late answer is one event.
    events -= whole.keys().filter(|line| is_late(line)).count();
    whole.retain(|line, _| !is_late(line));
    same(scratch.path(), &answer, &whole, [0, 0], "the whole run");
    // 41 replies of the boss and 3 of each of 5 helpers; 15 + 10 charges, 5 parcels, 5 reports.
    let paid = whole.keys().filter(|line| line.starts_with("paid")).count();
    assert_eq!((paid, whole.len() - paid), (41 + 15, 35), "{whole:?}");
    (events, whole)
}

#[test]
fn a_run_that_is_killed_at_any_event_goes_on() {
    let (events, whole) = whole();
    assert!(events > 150, "{events}");
    for at in (1..=events).step_by(stride(events)) {
        let scratch = Scratch::new();
        assert_eq!(start(scratch.path(), at, 0), None, "it dies at event {at}");
        let (_, answer) = start(scratch.path(), 0, 0).expect("it goes on");
        // Where two calls of a reply had begun, both may be unknown.
        same(scratch.path(), &answer, &whole, [1, 0], &format!("killed at event {at}"));
    }
}

#[test]
fn a_run_that_is_killed_after_any_effect_goes_on_and_repeats_none() {
    let (_, whole) = whole();
    for at in (1..=35).step_by(stride(35)) {
        let scratch = Scratch::new();
        assert_eq!(start(scratch.path(), 0, at), None, "it dies after effect {at}");
        let (_, answer) = start(scratch.path(), 0, 0).expect("it goes on");
        // A background job dies while the model replies.
        same(scratch.path(), &answer, &whole, [0, 1], &format!("killed after effect {at}"));
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_gets_to_its_end() {
    let (_, whole) = whole();
    for life in [5, 8] {
        let scratch = Scratch::new();
        let mut deaths = 0;
        let answer = loop {
            match start(scratch.path(), life, 0) {
                Some((_, answer)) => break answer,
                None => deaths += 1,
            }
            assert!(deaths < 200, "it gets nowhere");
        };
        assert!(deaths >= 20, "{deaths}");
        same(scratch.path(), &answer, &whole, [deaths, deaths], &format!("lives of {life} events"));
    }
}
