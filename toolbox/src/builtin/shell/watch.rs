//! What a command takes while it runs, and the end of one that takes more than it may.
//!
//! The system's own limits do not serve: `RLIMIT_NPROC` counts all that a user runs on the whole machine, and does not hold for
//! the superuser; `RLIMIT_AS` counts addresses instead of memory, which many runtimes reserve by the terabyte, and each process
//! by itself; a control group needs rights that few programs have.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::sandbox::Inside;
use super::{Limits, table};

/// The time from one look to the next. A command that is shorter costs none.
const LOOK: Duration = Duration::from_millis(50);

/// How many threads there may be for each process that may. One that ended, and that nobody waited for, counts as one too.
const THREADS: u64 = 16;

/// A limit that was passed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Excess {
    Processes(u32),
    Threads(u64),
    Memory(u64),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes(limit) => {
                write!(f, "more than {limit} processes at once; run fewer beside each other")
            }
            Self::Threads(limit) => write!(f, "more than {limit} threads at once; run fewer"),
            Self::Memory(limit) => write!(
                f,
                "more than {} MiB of memory at once; work on less at a time",
                limit.div_ceil(1 << 20)
            ),
        }
    }
}

/// All that a command started.
pub(super) enum Crowd {
    /// It is known by the restrictions, wherever it went.
    Inside(Inside),
    /// It is known as long as it stays in the group.
    Group(Option<Pid>),
}

impl Crowd {
    pub(super) fn of(inside: Option<Inside>, group: Option<Pid>) -> Self {
        match inside {
            Some(inside) if inside.is_closed() => Self::Inside(inside),
            _ => Self::Group(group),
        }
    }

    fn members(&self) -> Vec<Pid> {
        let is_member = |pid: &Pid| match self {
            Self::Inside(inside) => inside.holds(*pid),
            Self::Group(group) => group.is_some_and(|group| table::is_in(*pid, group)),
        };
        table::pids().filter(is_member).collect()
    }

    /// Kills all of it. The system does it at one stroke, so that no process that is just being started escapes.
    pub(super) fn kill(&self) {
        match self {
            Self::Inside(inside) => inside.kill(),
            Self::Group(Some(group)) => {
                let _ = rustix::process::kill_process_group(*group, Signal::KILL);
            }
            Self::Group(None) => {}
        }
    }

    /// Kills what is left when the command has ended, and waits until it is gone. A group is left to whoever knows that its
    /// number is not another's yet.
    pub(super) fn sweep(&self) {
        if let Self::Inside(inside) = self {
            inside.sweep();
        }
    }

    fn excess(&self, limits: Limits) -> Option<Excess> {
        let members = self.members();
        let processes = limits.processes as usize;
        let alive = || members.iter().filter(|pid| !table::is_dead(**pid));
        if members.len() > processes && alive().nth(processes).is_some() {
            return Some(Excess::Processes(limits.processes));
        }
        let taken: Vec<_> = members.iter().map(|pid| table::taken(*pid)).collect();
        let threads = u64::from(limits.processes) * THREADS;
        if taken.iter().map(|taken| taken.threads).sum::<u64>() > threads {
            return Some(Excess::Threads(threads));
        }
        let memory = taken.iter().map(|taken| taken.memory).sum::<u64>();
        (memory > limits.memory && confirms(&members, limits.memory))
            .then_some(Excess::Memory(limits.memory))
    }

    /// Waits for a word, or the end of whoever could say it; returns earlier when a limit is passed.
    pub(super) fn watch(&self, until: &Receiver<()>, limits: Limits) -> Option<Excess> {
        while until.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let excess = self.excess(limits);
            if excess.is_some() {
                return excess;
            }
        }
        None
    }
}

/// Tells whether processes take more memory than they may together, if what they share counts once.
///
/// Forks of one process share most of theirs. As some of them end, the shares of the others grow while they are added up, which
/// looks like more than it is, but not twice.
fn confirms(members: &[Pid], limit: u64) -> bool {
    let share = |pid: &Pid| table::share(*pid).unwrap_or_else(|| table::taken(*pid).memory);
    (0..2).all(|_| members.iter().map(share).sum::<u64>() > limit)
}
