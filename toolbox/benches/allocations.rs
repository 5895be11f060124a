//! How many allocations a call makes, of the same cases as `cost`.
//!
//! ```sh
//! cargo bench -p llm-toolbox --bench allocations
//! ```

#![allow(
    clippy::pedantic,
    clippy::print_stdout,
    dead_code,
    missing_docs,
    unreachable_pub,
    missing_debug_implementations
)]

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

mod harness;
mod suite;
mod workload;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> std::process::ExitCode {
    suite::all().run_allocations(|| {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    })
}
