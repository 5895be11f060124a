//! The processes that a child starts: a control group where one can be created, else the observed
//! descendants.
//!
//! A process leaves its group with `setsid`, its parent by a second fork, and the mark in its
//! environment by clearing it. It cannot leave a control group that it may not write to. Without a
//! control group, the descendants of the child are polled; each one found is remembered by its id
//! and start time.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The interval at which the descendants of a child are polled, without a control group.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum time until a killed control group can be removed.
const REMOVE: Duration = Duration::from_millis(100);

/// The script of the shell that becomes the child: it joins the control group first, so that
/// nothing is started outside of it, and removes the variables that the shell itself sets.
pub(super) const JOIN: &str =
    r#"echo 0 >"$1/cgroup.procs"; shift; unset PWD OLDPWD SHLVL _; exec "$@""#;

/// The processes that belong to a child.
pub(super) struct ServerProcesses {
    group: Option<PathBuf>,
    root: Option<u32>,
    seen: HashSet<Process>,
}

/// A process, identified by its id and start time, since ids are reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    id: u32,
    /// In clock ticks since boot.
    start: u64,
}

impl ServerProcesses {
    pub(super) fn new() -> Self {
        Self { group: make_group(), root: None, seen: HashSet::new() }
    }

    /// Returns the control group, for the guard that ends it when this process is gone.
    pub(super) fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    /// Adds a child that has just started; `in_group` is `true` if it joined the control group.
    pub(super) fn join(&mut self, child: Option<u32>, in_group: bool) {
        self.root = child;
        if !in_group {
            self.remove();
        }
    }

    /// Returns whether processes have to be polled.
    pub(super) fn must_poll(&self) -> bool {
        self.group.is_none()
    }

    /// Records the current descendants of the child and of known processes.
    pub(super) fn poll(&mut self) {
        self.seen.retain(Process::is_there);
        let below = self.below();
        self.seen.extend(below);
    }

    fn below(&self) -> Vec<Process> {
        let mut open: Vec<u32> = self.root.into_iter().collect();
        open.extend(self.seen.iter().map(|process| process.id));
        let (mut known, mut found): (HashSet<u32>, _) =
            (open.iter().copied().collect(), Vec::new());
        while let Some(id) = open.pop() {
            for child in children(id) {
                if known.insert(child) {
                    open.push(child);
                    found.extend(Process::of(child));
                }
            }
        }
        found
    }

    /// Kills all processes.
    pub(super) fn kill(&mut self) {
        match &self.group {
            Some(group) => drop(fs::write(group.join("cgroup.kill"), "1")),
            None => {
                self.poll();
                for process in self.seen.iter().filter(|process| process.is_there()) {
                    let id = i32::try_from(process.id).map(Pid::from_raw);
                    let _ = id.map(|id| kill(id, Signal::SIGKILL));
                }
            }
        }
    }

    fn remove(&mut self) {
        let Some(group) = self.group.take() else { return };
        for _ in 0..REMOVE.as_millis() {
            match fs::remove_dir(&group) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => return,
            }
        }
    }
}

impl Drop for ServerProcesses {
    fn drop(&mut self) {
        self.kill();
        self.remove();
    }
}

impl Process {
    fn of(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // A name may contain spaces and parentheses; the fields start after the last parenthesis.
        let begun = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        Some(Self { id, start: begun })
    }

    fn is_there(&self) -> bool {
        Self::of(self.id) == Some(*self)
    }
}

/// Returns whether a program can be started by its name: a shell in between would report another
/// error than the system.
pub(super) fn is_program(name: &str, path: Option<&OsStr>, directory: Option<&Path>) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    let is_one = |file: PathBuf| {
        fs::metadata(file)
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if directory.is_some_and(|directory| !directory.is_dir()) {
        return false;
    }
    let directory = directory.unwrap_or(Path::new(""));
    if name.contains('/') {
        return is_one(directory.join(name));
    }
    std::env::split_paths(path.unwrap_or_default())
        .any(|folder| is_one(directory.join(folder).join(name)))
}

/// Returns the children of a process.
fn children(id: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| ids(&list)).collect()
}

fn ids(list: &str) -> Vec<u32> {
    list.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Creates a control group below that of this process, if permitted and if the system can kill a
/// group as a whole.
fn make_group() -> Option<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let start = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("toolbox-mcp-{}-{start:x}-{number}", std::process::id());
    let own = own_group()?;
    // Moving a process requires write access to the group it leaves.
    fs::OpenOptions::new().write(true).open(own.join("cgroup.procs")).ok()?;
    let group = own.join(name);
    fs::create_dir(&group).ok()?;
    if group.join("cgroup.kill").exists() {
        return Some(group);
    }
    let _ = fs::remove_dir(&group);
    None
}

/// Returns the directory of this process's control group (version 2).
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (mount, about) = line.split_once(" - ")?;
        about.starts_with("cgroup2 ").then_some(())?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(point).join(below))
    })
}
