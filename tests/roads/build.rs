//! Sets `has_valgrind` where the program is installed, for the tests that need it.

use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_valgrind)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    let probe = Command::new("valgrind").arg("--version").output();
    if probe.is_ok_and(|output| output.status.success()) {
        println!("cargo::rustc-cfg=has_valgrind");
    }
}
