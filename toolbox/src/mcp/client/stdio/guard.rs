//! The process group of a child, which ends with this process, however it ends.
//!
//! A process killed with `SIGKILL` cannot end its children. So a small shell in the group of each
//! child reads an input that only this process holds open, and ends the group when the input ends.
//! The shell is the group's leader: until it is reaped, the group's id is not reused.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

/// The guard's script: reads until the input ends, and gives the child the same time to exit as
/// this process would. Its argument is the control group of the child, if any.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r _; sleep 2; kill -TERM 0; sleep 2; \
     if [ -n \"$1\" ]; then echo 1 >\"$1/cgroup.kill\"; sleep 0.1; rmdir \"$1\"; fi; kill -KILL 0";

/// The time to wait for the shell to exit once killed.
const REAP: Duration = Duration::from_millis(50);

/// A process group for one child.
pub(super) struct Group {
    guard: Option<Child>,
    /// `None` before the child leads the group, where there is no guard.
    id: Option<Pid>,
}

impl Group {
    /// Starts the guard, whose group the child is to join; it also ends the control group of the
    /// child.
    pub(super) fn new(control: Option<&Path>) -> Self {
        let guard = start(control);
        let id = guard.as_ref().and_then(|guard| pid(guard.id()));
        Self { guard, id }
    }

    /// Returns the group that the child joins; zero if it leads its own.
    pub(super) fn to_join(&self) -> i32 {
        self.id.map_or(0, Pid::as_raw)
    }

    /// Sets the id of the child.
    pub(super) fn joined_by(&mut self, child: Option<u32>) {
        self.id = self.id.or_else(|| child.and_then(pid));
    }

    /// Sends `SIGTERM` to the group, and to the child wherever it is unless it was reaped. The
    /// guard stays.
    pub(super) fn terminate(&self, child: Option<u32>) {
        self.signal(Signal::SIGTERM);
        // Many programs abort their cleanup on a second signal.
        if let Some(child) = child.and_then(pid)
            && getpgid(Some(child)).ok() != self.id
        {
            let _ = kill(child, Signal::SIGTERM);
        }
    }

    /// Kills the whole group and the guard.
    pub(super) fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            let _ = killpg(id, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.guard.is_some() {
            self.kill();
        }
        let Some(guard) = &mut self.guard else { return };
        for _ in 0..REAP.as_millis() {
            if !matches!(guard.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().map(Pid::from_raw)
}

fn start(control: Option<&Path>) -> Option<Child> {
    use std::os::unix::process::CommandExt as _;

    let path = std::env::var_os("PATH").map(|path| (OsString::from("PATH"), path));
    let mut command = Command::new("/bin/sh");
    // The third argument is the name in process lists. `PATH` is needed to find `sleep`.
    command.args(["-c", SCRIPT, "toolbox-mcp-guard"]).env_clear().envs(path).current_dir("/");
    command.arg(control.unwrap_or(Path::new("")));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().inspect_err(said_once).ok()
}

fn said_once(error: &std::io::Error) {
    static LOGGED: Once = Once::new();
    LOGGED.call_once(|| {
        tracing::warn!(
            %error,
            "`/bin/sh` cannot be started: MCP servers that ignore the end of their input outlive a killed host"
        );
    });
}
