//! Processes that left their child's process group, found by a mark in their environment.
//!
//! A process group contains what a server starts in the usual way. A process that starts its own
//! session, such as a daemon, leaves the group and keeps the environment. Only on Linux can the
//! environment of other processes be read this way.

use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable that holds the mark.
pub(super) const VARIABLE: &str = "TOOLBOX_MCP_CHILD";

/// A unique mark of one child.
#[derive(Clone)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let start = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{start:x}-{number}", std::process::id()))
    }

    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Kills every process with the mark.
    #[cfg(target_os = "linux")]
    pub(super) fn kill_all(&self) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;

        let mark = format!("{VARIABLE}={}", self.0);
        let Ok(processes) = std::fs::read_dir("/proc") else { return };
        for process in processes.flatten() {
            let pid = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            let Some(pid) = pid else { continue };
            // Processes of other users cannot be read, and do not belong to the child.
            let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
            if environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::unused_self, reason = "there is a way on one system only")]
    pub(super) fn kill_all(&self) {}
}
