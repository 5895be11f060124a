//! Confinement by Landlock, for files and signals. A thread applies it, and all that it starts
//! inherits it.
//!
//! It is the fallback where namespaces are not available. It has no hook for operations that change
//! a file without opening it (`chmod`, `utime`, `setxattr`), and does not hide other processes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, test_kill_process};

use super::procfs::ProcFs;
use super::settings::{DEVICES, SWEEP, ShellFiles};

/// The newest rights supported here. The system enforces those that it supports.
const RIGHTS: ABI = ABI::V6;

/// Returns an error without Landlock, else `true` if it confines signals (Linux 6.12 and later).
pub(super) fn find() -> Result<bool, String> {
    // The restrictions of a thread end with it.
    let tried = std::thread::Builder::new().spawn(|| {
        let files = Ruleset::default().handle_access(AccessFs::from_all(ABI::V1));
        let files = files.and_then(Ruleset::create)?.restrict_self()?;
        Ok::<_, RulesetError>((files.ruleset != RulesetStatus::NotEnforced, has_scopes(&files)))
    });
    match tried.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok((true, scopes)))) => Ok(scopes),
        Ok(Ok(Ok((false, _)))) => {
            Err("this kernel has no Landlock, or it is switched off".to_owned())
        }
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(_)) => Err("the attempt panicked".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn has_scopes(status: &RestrictionStatus) -> bool {
    matches!(status.landlock, LandlockStatus::Available { effective_abi, .. } if effective_abi >= ABI::V6)
}

impl ShellFiles {
    /// Restricts this thread to the files, permanently.
    pub(super) fn restrict(&self) -> io::Result<()> {
        let status = self.rules().map_err(io::Error::other)?;
        if status.ruleset == RulesetStatus::NotEnforced {
            return Err(io::Error::other("Landlock was not enforced"));
        }
        Ok(())
    }

    fn rules(&self) -> Result<RestrictionStatus, RulesetError> {
        let (all, read) = (AccessFs::from_all(RIGHTS), AccessFs::from_read(RIGHTS));
        let file = AccessFs::from_file(RIGHTS);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            // A domain of its own within that of the guard, so that a command cannot end its guard.
            .scope(Scope::from_all(RIGHTS))?
            .create()?
            .add_rule(PathBeneath::new(self.workspace.dir(), all))?;
        // A path that does not exist needs no right.
        let open = |path: &Path| PathFd::new(path).ok();
        let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| !metadata.is_dir());
        for path in &self.readable {
            let rights = if is_file(path) { read & file } else { read };
            if let Some(handle) = open(path) {
                rules = rules.add_rule(PathBeneath::new(handle, rights))?;
            }
        }
        for path in self.writable.iter().map(PathBuf::as_path).chain(DEVICES.map(Path::new)) {
            let rights = if is_file(path) { all & file } else { all };
            if let Some(handle) = open(path) {
                rules = rules.add_rule(PathBeneath::new(handle, rights))?;
            }
        }
        rules.log_same_exec(false)?.restrict_self()
    }
}

/// The processes that a restricted thread has started, and all that those started: a process cannot
/// leave.
///
/// The thread can signal these and no others but its own process, so it must be the thread that
/// uses this.
pub(super) struct Domain {
    own: Pid,
}

impl Domain {
    /// Confines the signals and abstract sockets of this thread, permanently; `None` where the
    /// system cannot, or if a process outside is still in reach afterwards.
    pub(super) fn enter() -> Option<Self> {
        let witness = Witness::find();
        let rules = || {
            let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
            let rules = rules.scope(Scope::from_all(RIGHTS))?.create()?;
            // This thread tries to signal every process; each refusal would be logged.
            rules.log_same_exec(false)?.restrict_self()
        };
        let status = rules().ok()?;
        let closed =
            has_scopes(&status) && witness.is_some_and(|witness| witness.is_out_of_reach());
        closed.then(|| Self { own: rustix::process::getpid() })
    }

    /// Returns `true` if a process is inside.
    pub(super) fn contains(&self, pid: Pid) -> bool {
        pid != self.own && test_kill_process(pid).is_ok()
    }

    /// Kills every process inside.
    #[expect(
        clippy::unused_self,
        reason = "without a domain it would kill every process of the user"
    )]
    pub(super) fn kill(&self) {
        // Group 1 is how `kill` spells "every process that I may signal, but my own". The kernel
        // does it atomically; killing one by one may lose against a process that forks faster.
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
    }

    /// Kills every process inside, and waits until they are gone.
    pub(super) fn sweep(&self) {
        let (procfs, began) = (ProcFs::host(), Instant::now());
        while began.elapsed() < SWEEP {
            self.kill();
            if !procfs.pids().any(|pid| self.contains(pid) && !procfs.is_dead(pid)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A process outside that this thread can signal before it is restricted.
enum Witness {
    Parent(Pid),
    /// The first process of a container has no parent.
    Started(Child),
}

impl Witness {
    fn find() -> Option<Self> {
        let parent = rustix::process::getppid();
        if let Some(parent) = parent.filter(|pid| test_kill_process(*pid).is_ok()) {
            return Some(Self::Parent(parent));
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "read -r _"]).env_clear().stdin(Stdio::piped());
        let started =
            Self::Started(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?);
        started.pid().is_some_and(|pid| test_kill_process(pid).is_ok()).then_some(started)
    }

    fn pid(&self) -> Option<Pid> {
        match self {
            Self::Parent(pid) => Some(*pid),
            Self::Started(child) => Pid::from_raw(child.id().cast_signed()),
        }
    }

    fn is_out_of_reach(&self) -> bool {
        self.pid().is_some_and(|pid| test_kill_process(pid) == Err(Errno::PERM))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Self::Started(child) = self {
            // It ends when its input is closed, which waiting does. A signal may not reach it by
            // now.
            let _ = child.wait();
        }
    }
}
