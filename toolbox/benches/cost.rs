//! What a call costs beside the least it could: bare `serde_json` into a hand-written struct, and the plain call.
//!
//! ```sh
//! cargo bench -p llm-toolbox --bench cost                       # instructions of all cases, against the goals
//! cargo bench -p llm-toolbox --bench cost -- add --annotate     # of some of them, and where the instructions go
//! cargo bench -p llm-toolbox --bench cost -- --times            # times, as far as the machine lets one; needs no valgrind
//! ```

#![allow(
    clippy::pedantic,
    clippy::print_stdout,
    dead_code,
    missing_docs,
    unreachable_pub,
    missing_debug_implementations
)]

mod harness;
mod suite;
mod workload;

fn main() -> std::process::ExitCode {
    suite::all().run()
}
