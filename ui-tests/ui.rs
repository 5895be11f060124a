//! Compiler errors of mistakes (`fail`, and `features` with the feature `all`, each with its
//! snapshot), and programs that must compile (`pass`).
//!
//! After a change of a message, run `TRYBUILD=overwrite cargo test -p toolbox-ui-tests` and read
//! the diff as a user would.

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
            cases.compile_fail("fail/*.rs");
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
