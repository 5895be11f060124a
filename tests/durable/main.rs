//! Calls and runs that outlive their process.

#[path = "../bounded.rs"]
mod bounded;
mod crashes;
mod journal;
mod resumed;
mod runs;
#[allow(dead_code, reason = "shared with other binaries")]
#[path = "../builtin/support.rs"]
mod support;
