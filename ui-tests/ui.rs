//! Compiler errors of mistakes (`fail`, and `features` with the feature `all`, each with its
//! snapshot), and programs that must compile (`pass`).
//!
//! By default one case of each message is compiled, and all of them with `TOOLBOX_FULL_TESTS=1`.
//!
//! After a change of a message, run `TOOLBOX_FULL_TESTS=1 TRYBUILD=overwrite cargo test -p toolbox-ui-tests` and
//! read the diff as a user would.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of the snapshots; another one words its own parts of a message
/// differently.
const PINNED: &str = "1.95.";

#[test]
fn the_compiler_reports_each_mistake_once_and_takes_what_is_right() {
    // Two runs: without a program to start, the mistakes need no code generated.
    match compiler() {
        Some(version) if !version.starts_with(PINNED) => {
            #[allow(clippy::print_stdout, reason = "what a test leaves out is said")]
            {
                println!(
                    "skipped fail/*.rs: the snapshots are of rustc {PINNED}x, and this is {version}"
                );
            }
        }
        _ => {
            let cases = trybuild::TestCases::new();
            if std::env::var_os("TOOLBOX_FULL_TESTS").is_some() {
                cases.compile_fail("fail/*.rs");
            } else {
                for case in one_of_each_message() {
                    cases.compile_fail(case);
                }
            }
            // What only optional features have.
            #[cfg(feature = "all")]
            cases.compile_fail("features/*.rs");
        }
    }
    // What compiles does so without the features, and they cost minutes to link.
    #[cfg(not(feature = "all"))]
    trybuild::TestCases::new().pass("pass/*.rs");
}

/// Returns the version of the compiler that cargo runs, if it tells.
fn compiler() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(1).map(str::to_owned)
}

/// Returns the first cases of `fail` that show each message once, and those without a snapshot.
fn one_of_each_message() -> Vec<PathBuf> {
    let folder = fs::read_dir("fail").expect("tests run in the folder of their package");
    let files = folder.map(|file| file.expect("the folder is readable").path());
    let mut cases: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect();
    cases.sort();
    let mut known = BTreeSet::new();
    // No short-circuit: each message of a case that is compiled is known.
    cases.retain(|case| {
        messages(case).is_none_or(|found| {
            found.into_iter().filter(|one| known.insert(one.clone())).count() > 0
        })
    });
    assert!(known.len() > 100, "{} messages were found", known.len());
    cases
}

/// Returns the messages in the snapshot of a case without the names and numbers in them.
fn messages(case: &Path) -> Option<Vec<String>> {
    let snapshot = fs::read_to_string(case.with_extension("stderr")).ok()?;
    let errors = snapshot.lines().filter(|line| line.starts_with("error"));
    let unnamed = |line: &str| {
        line.split('`').step_by(2).collect::<String>().replace(|c: char| c.is_ascii_digit(), "")
    };
    Some(errors.map(unnamed).collect())
}
