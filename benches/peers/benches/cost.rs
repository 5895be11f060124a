//! Measures the cost of a call in other frameworks, beside the limit and `toolbox`, in
//! instructions.
//!
//! ```sh
//! cargo bench --manifest-path benches/peers/Cargo.toml --bench cost
//! ```

#![allow(dead_code, reason = "the suite of `toolbox` is shared, and not all of it is used here")]

#[path = "../../../toolbox/benches/harness/mod.rs"]
mod harness;
mod peers;
#[path = "../../../toolbox/benches/suite/mod.rs"]
mod suite;
#[path = "../../../toolbox/benches/workload/mod.rs"]
mod workload;

fn main() -> std::process::ExitCode {
    peers::all().run()
}
