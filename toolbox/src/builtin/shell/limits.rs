//! Enforces the process and memory limits of a running command.
//!
//! Where a control group is available, the kernel enforces both. Elsewhere it enforces the limit on
//! processes with `RLIMIT_NPROC`, which does not hold for the superuser, and the process tree is
//! sampled for the rest.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal};

use super::cgroup::{Cgroup, Controller};
use super::landlock::Domain;
use super::procfs::ProcFs;
use super::settings::{LimitExceeded, SWEEP, ShellLimits};

/// Interval between two samples. Commands that take less are never sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// The processes started by one command.
pub(super) struct ProcessTree {
    members: ProcessMembers,
    cgroup: Option<Cgroup>,
}

/// The mechanism by which the processes of a command are found and killed.
pub(super) enum ProcessMembers {
    /// All of a PID namespace, which a process cannot leave: its first process, and the parent of
    /// that outside.
    Namespace { init: OwnedFd, parent: OwnedFd, procfs: ProcFs },
    /// All of a Landlock domain, which a process cannot leave.
    Domain(Domain),
    /// All of a process group, which a process can leave with `setsid`.
    Group(Option<Pid>),
}

impl ProcessTree {
    pub(super) fn new(members: ProcessMembers, cgroup: Option<Cgroup>) -> Self {
        Self { members, cgroup }
    }

    /// Replaces the mechanism by which the processes are found.
    pub(super) fn set_members(&mut self, members: ProcessMembers) {
        self.members = members;
    }

    /// Sets the kernel's limit on processes and threads, where there is a control group.
    pub(super) fn limit_processes(&self, processes: u64) -> io::Result<()> {
        self.cgroup.as_ref().map_or(Ok(()), |cgroup| cgroup.limit_processes(processes))
    }

    /// Blocks until the command ends, or returns the first limit it exceeds.
    pub(super) fn enforce(
        &self,
        ended: &Receiver<()>,
        limits: ShellLimits,
    ) -> Option<LimitExceeded> {
        while ended.recv_timeout(SAMPLE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let exceeded = self.refused(limits).or_else(|| self.sample(limits));
            if exceeded.is_some() {
                return exceeded;
            }
        }
        // The kernel may have ended the command for it since the last sample.
        self.refused(limits)
    }

    /// Kills every process at once, including any that is being forked.
    pub(super) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        match &self.members {
            ProcessMembers::Namespace { init, parent, .. } => {
                // The parent first: it would print that its child was killed.
                for process in [parent, init] {
                    let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
                }
            }
            ProcessMembers::Domain(domain) => domain.kill(),
            ProcessMembers::Group(Some(group)) => {
                let _ = rustix::process::kill_process_group(*group, Signal::KILL);
            }
            ProcessMembers::Group(None) => {}
        }
    }

    /// Kills the processes that are left when the command has ended, and waits until they are gone.
    ///
    /// A process group is left to the caller, who knows that its number has not been reused yet.
    pub(super) fn sweep(&self) {
        match &self.members {
            ProcessMembers::Domain(domain) => domain.sweep(),
            ProcessMembers::Namespace { init, .. } => {
                self.kill();
                // The first process of a namespace ends when all the others have.
                let timeout = Timespec::try_from(SWEEP).ok();
                let _ = poll(&mut [PollFd::new(init, PollFlags::IN)], timeout.as_ref());
            }
            ProcessMembers::Group(_) => {}
        }
    }

    /// Returns the limit that the kernel has enforced.
    fn refused(&self, limits: ShellLimits) -> Option<LimitExceeded> {
        self.cgroup.as_ref()?.exceeded(limits)
    }

    fn is_enforced(&self, controller: Controller) -> bool {
        self.cgroup.as_ref().is_some_and(|cgroup| cgroup.limits(controller))
    }

    fn procfs(&self) -> ProcFs {
        match &self.members {
            ProcessMembers::Namespace { procfs, .. } => procfs.clone(),
            ProcessMembers::Domain(_) | ProcessMembers::Group(_) => ProcFs::host(),
        }
    }

    fn pids(&self, procfs: &ProcFs) -> Vec<Pid> {
        let is_member = |pid: &Pid| match &self.members {
            // The first one waits for the command and is not part of it.
            ProcessMembers::Namespace { .. } => *pid != Pid::INIT,
            ProcessMembers::Domain(domain) => domain.contains(*pid),
            ProcessMembers::Group(group) => group.is_some_and(|group| procfs.is_in(*pid, group)),
        };
        procfs.pids().filter(is_member).collect()
    }

    fn sample(&self, limits: ShellLimits) -> Option<LimitExceeded> {
        let (count, measure) =
            (!self.is_enforced(Controller::Processes), !self.is_enforced(Controller::Memory));
        if !count && !measure {
            return None;
        }
        let procfs = self.procfs();
        let pids = self.pids(&procfs);
        let usage: Vec<_> = pids.iter().map(|pid| procfs.usage(*pid)).collect();
        if count {
            // A process that ended counts until its status is collected, as it does for the kernel.
            let tasks: u64 = usage.iter().map(|usage| usage.threads.max(1)).sum();
            if tasks > u64::from(limits.processes) {
                return Some(LimitExceeded::Processes(limits.processes));
            }
        }
        let memory = usage.iter().map(|usage| usage.memory).sum::<u64>();
        // As some of the processes end, the shares of the others grow while they are added up: a
        // sum that is too high once is not too high twice.
        let confirmed = || (0..2).all(|_| procfs.memory_together(&pids) > limits.memory);
        (measure && memory > limits.memory && confirmed())
            .then_some(LimitExceeded::Memory(limits.memory))
    }
}
