//! The limits of one script.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of one script, and of the scripts of a box together.
///
/// ```
/// use std::time::Duration;
/// use toolbox_script::Limits;
///
/// let limits = Limits { memory_bytes: 64 << 20, ..Limits::default() };
/// assert_eq!(limits.compute, Duration::from_secs(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The memory of the engine, in bytes. Default 32 MiB. Beyond it, the script gets an exception.
    pub memory_bytes: usize,
    /// The stack of the engine, in bytes, up to 4 MiB. Default 512 KiB. Beyond it, the script gets
    /// an exception.
    pub stack_bytes: usize,
    /// The time that the script itself may compute; its waits for tools do not count. Default 2 s.
    /// Beyond it, the script ends.
    pub compute: Duration,
    /// The length of the script, in bytes. Default 64 KiB.
    pub script_bytes: usize,
    /// The JSON of the value that the script returns, in bytes. Default 64 KiB. Beyond it, the
    /// script fails.
    pub value_bytes: usize,
    /// The text that the script writes to the console, in bytes. Default 16 KiB. What is more is
    /// left out, and counted.
    pub console_bytes: usize,
    /// The calls of one script. Default 1 000. Further ones are refused, which the script gets as
    /// an exception.
    pub calls: u32,
    /// The calls that run at once. Default 16; zero counts as one. Further ones wait.
    pub parallel_calls: usize,
    /// The scripts that are at work at once. Default 64. Further ones are refused.
    pub scripts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 32 << 20,
            stack_bytes: 512 << 10,
            compute: Duration::from_secs(2),
            script_bytes: 64 << 10,
            value_bytes: 64 << 10,
            console_bytes: 16 << 10,
            calls: 1_000,
            parallel_calls: 16,
            scripts: 64,
        }
    }
}
