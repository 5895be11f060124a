//! What the tests that kill boxes and workers share: above all the checker, which reads the journal from
//! outside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The numbers of a series: the short form that CI runs, or the long one of docs/reliability.md.
pub fn size(short: usize, long: usize) -> usize {
    if std::env::var_os("TOOLBOX_CRASHES").is_some() { long } else { short }
}

/// Checks that every accepted call has exactly one final state, and that the world saw what the
/// journal says: `effects` has a line for each effect. Returns the number of calls by state.
#[track_caller]
pub fn check(
    journal: &Path,
    effects: &Path,
    accepted: &[String],
    delivered: &[String],
) -> BTreeMap<String, usize> {
    let journal = rusqlite::Connection::open(journal).unwrap();
    let mut rows = journal
        .prepare("SELECT id, tool, arguments, state, result IS NOT NULL, delivered IS NOT NULL FROM call")
        .unwrap();
    let mut calls = BTreeMap::new();
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    let mut happened: BTreeMap<String, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(effects).unwrap_or_default().lines() {
        *happened.entry(line.to_owned()).or_default() += 1;
    }
    let rows = rows.query_map([], |row| {
        let columns: (String, String, String, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok((columns, (row.get::<_, bool>(4)?, row.get::<_, bool>(5)?)))
    });
    for row in rows.unwrap() {
        let ((id, tool, arguments, state), (has_result, is_delivered)) = row.unwrap();
        let n = arguments.trim_matches(|c: char| !c.is_ascii_digit());
        let count = happened.get(&format!("{tool} {n}")).copied().unwrap_or_default();
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

pub fn accepted(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().filter(|line| line.starts_with("job_"))
}

/// Returns a number below `most`, from a sequence that is the same in each run.
pub fn pick(state: &mut u64, most: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % most
}
