//! Processes that left the group of the child that started them, found again by a mark in their environment.
//!
//! A process group catches what a server starts in the usual way. What starts a session of its own, as daemons do, leaves the
//! group, but takes the environment along. Only Linux lets others of one's own processes be looked at so.

use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that holds the mark.
pub(super) const VARIABLE: &str = "TOOLBOX_MCP_CHILD";

/// A mark that no other child has.
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

    /// Kills every process that carries the mark.
    #[cfg(target_os = "linux")]
    pub(super) fn kill_all(&self) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;

        let mark = format!("{VARIABLE}={}", self.0);
        let Ok(processes) = std::fs::read_dir("/proc") else { return };
        for process in processes.flatten() {
            let pid = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            let Some(pid) = pid else { continue };
            // Processes of others cannot be read, and are not ours.
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
