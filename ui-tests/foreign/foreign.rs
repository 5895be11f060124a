//! Compiler errors for arguments of other crates' types, where the features for them are off.
//!
//! A package of its own, because cargo turns on the features that any dependency of a program asks
//! for.

use std::process::Command;

#[test]
fn the_features_that_are_missing_are_named() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    // The snapshots are those of one compiler, as in `../ui.rs`.
    if String::from_utf8_lossy(&output.stdout).contains(" 1.95.") {
        trybuild::TestCases::new().compile_fail("fail/*.rs");
    }
}
