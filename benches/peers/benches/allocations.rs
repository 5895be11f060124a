//! Counts the allocations of a call in other frameworks.

#![allow(dead_code, reason = "the suite of `toolbox` is shared, and not all of it is used here")]

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[path = "../../../toolbox/benches/harness/mod.rs"]
mod harness;
mod peers;
#[path = "../../../toolbox/benches/suite/mod.rs"]
mod suite;
#[path = "../../../toolbox/benches/workload/mod.rs"]
mod workload;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> std::process::ExitCode {
    peers::all().run_allocations(|| {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    })
}
