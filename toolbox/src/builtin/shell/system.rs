//! The means of this system to confine commands.

use std::sync::OnceLock;

use super::cgroup::{Controller, Parents};
use super::landlock;
use super::namespaces::FileSystemPlan;
use super::settings::{ShellFiles, ShellSettings};
use super::syscalls;

/// The way in which a command is confined.
pub(super) enum Isolation {
    Namespaces(Box<FileSystemPlan>),
    Landlock,
    None,
}

/// The capabilities of this system, tested once for the process.
#[derive(Debug)]
pub(super) struct System {
    /// Landlock, and `true` if it confines signals.
    pub(super) landlock: Result<bool, String>,
    pub(super) parents: Parents,
    pub(super) is_superuser: bool,
}

impl System {
    pub(super) fn get() -> &'static Self {
        static SYSTEM: OnceLock<System> = OnceLock::new();
        SYSTEM.get_or_init(|| Self {
            landlock: match syscalls::UNSUPPORTED {
                None => landlock::find(),
                Some(reason) => Err(reason.to_owned()),
            },
            parents: Parents::find(),
            is_superuser: rustix::process::geteuid().is_root(),
        })
    }

    pub(super) fn limits_processes_by_group(&self) -> bool {
        self.parents.limit(Controller::Processes)
    }

    pub(super) fn limits_memory_by_group(&self) -> bool {
        self.parents.limit(Controller::Memory)
    }
}

impl ShellSettings {
    /// Chooses the way in which a command is confined.
    pub(super) fn isolation(&self, files: &ShellFiles) -> Isolation {
        if !self.confined {
            return Isolation::None;
        }
        match FileSystemPlan::new(files) {
            Ok(plan) if self.no_namespaces.is_none() => Isolation::Namespaces(Box::new(plan)),
            _ => Isolation::Landlock,
        }
    }
}
