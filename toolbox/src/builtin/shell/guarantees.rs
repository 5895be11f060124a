//! The guarantees that hold for commands on this system.

use std::fmt;

use serde::Serialize;

use super::namespaces::FileSystemPlan;
use super::settings::ShellSettings;
use super::system::{Isolation, System};

/// A property of confined commands that a [`Shell`](super::Shell) promises, as far as the system
/// can enforce it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Guarantee {
    /// Files outside of the allowed folders cannot be read, and those that are not writable cannot
    /// be written, created or removed.
    Files,
    /// The mode, owner, times and extended attributes of files outside cannot be changed, and their
    /// names cannot be listed.
    FileAttributes,
    /// Processes outside cannot be signalled.
    Signals,
    /// Processes outside cannot be traced, read, limited or rescheduled.
    OtherProcesses,
    /// Processes outside, their arguments and usage cannot be seen.
    ProcessList,
    /// No socket can be opened, unless the network is allowed, and then only those of IP.
    Network,
    /// Shared memory, semaphores, message queues and keyrings of the kernel cannot be reached, and
    /// none are left behind.
    KernelObjects,
    /// No capability can be gained, not by set-user-id programs and not as the superuser.
    Privileges,
    /// All processes end with the call, however they were started.
    EndsWithCall,
    /// All processes end with the program, whatever ends it, `SIGKILL` included; temporary files go
    /// with them.
    EndsWithProgram,
    /// The kernel enforces the limit on processes.
    ProcessLimit,
    /// The kernel enforces the limit on memory.
    MemoryLimit,
}

impl Guarantee {
    /// Returns the guarantee as a short sentence.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Files => "files outside cannot be read or written",
            Self::FileAttributes => {
                "mode, owner, times and names of files outside are out of reach"
            }
            Self::Signals => "processes outside cannot be signalled",
            Self::OtherProcesses => "processes outside cannot be traced, limited or rescheduled",
            Self::ProcessList => "processes outside cannot be seen",
            Self::Network => "no network, unless it is allowed",
            Self::KernelObjects => "no shared memory, queues or keyrings outside",
            Self::Privileges => "no capabilities",
            Self::EndsWithCall => "all processes end with the call",
            Self::EndsWithProgram => "all processes end with the program",
            Self::ProcessLimit => "the kernel limits processes",
            Self::MemoryLimit => "the kernel limits memory",
        }
    }
}

/// A [`Guarantee`] on this system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GuaranteeStatus {
    /// The guarantee.
    pub guarantee: Guarantee,
    /// `true` if it holds.
    pub holds: bool,
    /// The mechanism that enforces it, or the reason why not and what holds instead.
    pub detail: String,
}

/// The guarantees that hold for the commands of a [`Shell`](super::Shell), and what weakens them.
///
/// Its [`Display`](fmt::Display) is a table, a line each.
///
/// ```no_run
/// use toolbox::builtin::{Workspace, shell::{Guarantee, Shell}};
///
/// let shell = Shell::new(Workspace::open("project")?)?;
/// let guarantees = shell.guarantees();
/// print!("{guarantees}");
/// assert!(guarantees.holds(Guarantee::EndsWithProgram), "not on this machine");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Guarantees {
    guarantees: Vec<GuaranteeStatus>,
    warnings: Vec<String>,
}

impl Guarantees {
    fn add(&mut self, guarantee: Guarantee, holds: bool, detail: impl Into<String>) {
        self.guarantees.push(GuaranteeStatus { guarantee, holds, detail: detail.into() });
    }

    /// Returns `true` if a guarantee holds.
    #[must_use]
    pub fn holds(&self, guarantee: Guarantee) -> bool {
        self.guarantees.iter().any(|status| status.guarantee == guarantee && status.holds)
    }

    /// Returns all guarantees, those that do not hold included.
    pub fn iter(&self) -> std::slice::Iter<'_, GuaranteeStatus> {
        self.guarantees.iter()
    }

    /// Returns the guarantees that do not hold.
    pub fn missing(&self) -> impl Iterator<Item = &GuaranteeStatus> {
        self.guarantees.iter().filter(|status| !status.holds)
    }

    /// Returns the reasons why the confinement is weaker than it could be, such as a program that
    /// runs as the superuser.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl<'a> IntoIterator for &'a Guarantees {
    type Item = &'a GuaranteeStatus;
    type IntoIter = std::slice::Iter<'a, GuaranteeStatus>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Guarantees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for status in self {
            let mark = if status.holds { "yes" } else { "NO " };
            writeln!(f, "{mark}  {}: {}", status.guarantee.description(), status.detail)?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}

/// Returns the guarantees for the commands of a shell.
pub(super) fn of(shell: &ShellSettings) -> Guarantees {
    let system = System::get();
    let files = shell.files();
    let isolation = shell.isolation(&files);
    let mut guarantees = Guarantees::default();
    let (in_namespaces, confined) =
        (matches!(isolation, Isolation::Namespaces(_)), !matches!(isolation, Isolation::None));
    let scoped = confined && system.landlock == Ok(true);
    let why = match &shell.no_namespaces {
        _ if !confined => "commands are not confined".to_owned(),
        Some(reason) => format!("no namespaces: {reason}"),
        None => FileSystemPlan::new(&files)
            .err()
            .map_or_else(String::new, |error| format!("no namespaces: {error}")),
    };
    let namespaces = |kind: &str| format!("{kind} namespace");
    let mut add = |guarantee, kind: &str, otherwise: Option<&str>, instead: &str| {
        let (holds, detail) = match (in_namespaces && !kind.is_empty(), otherwise) {
            (true, _) => (true, namespaces(kind)),
            (false, Some(means)) => (true, means.to_owned()),
            (false, None) if instead.is_empty() => (false, why.clone()),
            (false, None) => (false, format!("{why}; {instead}")),
        };
        guarantees.add(guarantee, holds, detail);
    };
    let landlock = confined.then_some("Landlock");
    let signals = scoped.then_some("Landlock");
    let seccomp = confined.then_some("seccomp");
    add(Guarantee::Files, "mount", landlock, "");
    add(Guarantee::FileAttributes, "mount", None, "");
    add(Guarantee::Signals, "PID", signals, "Landlock confines signals from Linux 6.12 on");
    add(Guarantee::OtherProcesses, "", seccomp, "");
    add(Guarantee::ProcessList, "PID", None, "");
    add(Guarantee::Network, "", seccomp, "");
    add(Guarantee::KernelObjects, "", seccomp, "");
    add(Guarantee::Privileges, "", confined.then_some("no new privileges, no capabilities"), "");
    let group = "only what stays in its process group ends";
    add(Guarantee::EndsWithCall, "PID", signals, group);
    add(Guarantee::EndsWithProgram, "PID", scoped.then_some("a guard process"), group);
    let cgroup = "control group";
    let user_limit = (confined && !system.is_superuser).then_some(if in_namespaces {
        "RLIMIT_NPROC in a user namespace"
    } else {
        "RLIMIT_NPROC, which counts all processes of the user"
    });
    let by_group = (confined && system.limits_processes_by_group()).then_some(cgroup);
    let sampled = if confined {
        "no control group can be made here; usage is sampled every 50 ms"
    } else {
        "usage is sampled every 50 ms"
    };
    let mut limit = |guarantee, means: Option<&str>, why: &str| {
        guarantees.add(guarantee, means.is_some(), means.unwrap_or(why));
    };
    let root = format!("{sampled}, and RLIMIT_NPROC does not hold for the superuser");
    let no_processes = if system.is_superuser { &*root } else { sampled };
    limit(Guarantee::ProcessLimit, by_group.or(user_limit), no_processes);
    let by_group = (confined && system.limits_memory_by_group()).then_some(cgroup);
    limit(Guarantee::MemoryLimit, by_group, sampled);
    if system.is_superuser {
        guarantees.warnings.push(
            "this program runs as the superuser: its commands have the superuser's files, and only what confines them stands before \
             the rest; run it as an ordinary user"
                .to_owned(),
        );
    }
    guarantees
}
