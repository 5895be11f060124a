//! The process group of a child, which ends with this process however that goes.
//!
//! A process that is killed with `SIGKILL` ends nobody. So a small shell waits in the group of each child for the end of an input
//! that only this process holds open, and then ends the group. It is the group's leader: as long as it is there, or nobody has
//! heard of its end, the number of the group is no other's.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};

/// What the shell does: it reads until the input ends, and gives the child the same time to go as this process would. Its
/// argument is the control group of the child, if it has one.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r _; sleep 2; kill -TERM 0; sleep 2; \
     if [ -n \"$1\" ]; then echo 1 >\"$1/cgroup.kill\"; sleep 0.1; rmdir \"$1\"; fi; kill -KILL 0";

/// How long is waited for the end of the shell once it was killed.
const REAP: Duration = Duration::from_millis(50);

/// A process group for one child.
pub(super) struct Group {
    guard: Option<Child>,
    /// Nobody leads the group before the child, where there is no guard.
    id: Option<Pid>,
}

impl Group {
    /// Starts the guard, whose group the child is to join; it also ends the control group of the child.
    pub(super) fn new(control: Option<&Path>) -> Self {
        let guard = start(control);
        let id = guard.as_ref().and_then(|guard| pid(guard.id()));
        Self { guard, id }
    }

    /// Returns the group that the child joins; zero if it leads its own.
    pub(super) fn to_join(&self) -> i32 {
        self.id.map_or(0, Pid::as_raw)
    }

    /// Tells the number of the child.
    pub(super) fn joined_by(&mut self, child: Option<u32>) {
        self.id = self.id.or_else(|| child.and_then(pid));
    }

    /// Asks all in the group to end, and the child wherever it is, unless it was waited for. The guard stays.
    pub(super) fn ask(&self, child: Option<u32>) {
        self.signal(Signal::SIGTERM);
        // Many programs take a second signal for impatience, and drop what they are at.
        if let Some(child) = child.and_then(pid)
            && getpgid(Some(child)).ok() != self.id
        {
            let _ = kill(child, Signal::SIGTERM);
        }
    }

    /// Kills all in the group, and the guard with them.
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
    // The third word is what lists of processes show. Of the environment it has where `sleep` is.
    command.args(["-c", SCRIPT, "toolbox-mcp-guard"]).env_clear().envs(path).current_dir("/");
    command.arg(control.unwrap_or(Path::new("")));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().inspect_err(said_once).ok()
}

fn said_once(error: &std::io::Error) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            %error,
            "`/bin/sh` cannot be started: MCP servers that ignore the end of their input outlive a killed host"
        );
    });
}
