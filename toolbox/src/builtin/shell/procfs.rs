//! Reads processes from a mounted `/proc`.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// Memory of page tables. It can be larger than the pages it maps.
const TABLES: &str = "VmPTE:";

/// A `/proc` file system, which shows the processes of one PID namespace.
#[derive(Debug, Clone)]
pub(super) struct ProcFs(PathBuf);

/// Resources in use by one process.
pub(super) struct ProcessUsage {
    pub(super) threads: u64,
    /// In bytes: resident or swapped out, page tables and files in memory held open; not what can
    /// be read from a file again. Memory shared by several processes counts for each.
    pub(super) memory: u64,
}

/// A file in memory (`memfd_create`): its device and inode.
type MemoryFile = (u64, u64);

impl ProcFs {
    /// Returns the `/proc` of this process.
    pub(super) fn host() -> Self {
        Self(PathBuf::from("/proc"))
    }

    /// Returns the `/proc` that a process sees, by its id here.
    pub(super) fn seen_by(init: Pid) -> Self {
        Self(PathBuf::from(format!("/proc/{}/root/proc", init.as_raw_nonzero())))
    }

    /// Returns all processes.
    pub(super) fn pids(&self) -> impl Iterator<Item = Pid> + use<> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().filter_map(Result::ok);
        entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
    }

    /// Returns the first child of a process.
    pub(super) fn child(&self, pid: Pid) -> Option<Pid> {
        let pid = pid.as_raw_nonzero().to_string();
        let children =
            fs::read_to_string(self.0.join(&pid).join("task").join(&pid).join("children"));
        Pid::from_raw(children.ok()?.split_whitespace().next()?.parse().ok()?)
    }

    /// Returns `true` if a process ended and waits for its parent to collect its status.
    pub(super) fn is_dead(&self, pid: Pid) -> bool {
        // Other threads may go on after the first one has ended.
        self.stat(pid, 0).is_some_and(|state| matches!(&*state, "Z" | "X"))
            && self.stat(pid, 17).is_none_or(|threads| matches!(&*threads, "0" | "1"))
    }

    /// Returns `true` if a process is in a process group.
    pub(super) fn is_in(&self, pid: Pid, group: Pid) -> bool {
        self.stat(pid, 2).is_some_and(|own| own == group.as_raw_nonzero().to_string())
    }

    /// Counts the tasks (processes and threads) of a user.
    pub(super) fn tasks_of(&self, user: u32) -> u64 {
        let tasks = |pid: Pid| {
            let status = self.read(pid, "status")?;
            let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            let is_own = uid.split_whitespace().next()?.parse() == Ok(user);
            is_own.then(|| sum(&status, &["Threads:"]))
        };
        self.pids().filter_map(tasks).sum()
    }

    /// Returns a field of `stat`, counted from zero after the name of the process.
    fn stat(&self, pid: Pid, field: usize) -> Option<String> {
        let stat = self.read(pid, "stat")?;
        // The name may contain brackets.
        stat.rsplit(')').next()?.split_whitespace().nth(field).map(str::to_owned)
    }

    /// Returns the usage of a process; all zero, once it is gone.
    pub(super) fn usage(&self, pid: Pid) -> ProcessUsage {
        let status = self.of_memory(pid, "status", "RssAnon:").or_else(|| self.read(pid, "status"));
        let status = status.unwrap_or_default();
        let files: u64 = self.memory_files(pid).values().sum();
        ProcessUsage {
            threads: sum(&status, &["Threads:"]),
            memory: (sum(&status, &["RssAnon:", "RssShmem:", "VmSwap:", TABLES]) << 10) + files,
        }
    }

    /// Returns the memory of several processes in bytes; memory that they share counts once.
    ///
    /// The kernel walks through all of that memory for it.
    pub(super) fn memory_together(&self, pids: &[Pid]) -> u64 {
        let mut files = HashMap::new();
        for pid in pids {
            files.extend(self.memory_files(*pid));
        }
        let own = |pid: &Pid| self.share(*pid, &files).unwrap_or_else(|| self.usage(*pid).memory);
        pids.iter().map(own).sum::<u64>() + files.values().sum::<u64>()
    }

    /// Returns a process's proportional share of its memory, without the mapped pages of the files
    /// given; `None` if it may not be read.
    fn share(&self, pid: Pid, files: &HashMap<MemoryFile, u64>) -> Option<u64> {
        let rollup = self.of_memory(pid, "smaps_rollup", "Pss_Anon:")?;
        let tables = sum(&self.of_memory(pid, "status", TABLES)?, &[TABLES]);
        let all = (sum(&rollup, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]) + tables) << 10;
        let mapped = if files.is_empty() { 0 } else { self.mapped(pid, files) };
        Some(all.saturating_sub(mapped))
    }

    /// Returns the number of bytes of these files that a process has mapped, by its proportional
    /// share.
    fn mapped(&self, pid: Pid, files: &HashMap<MemoryFile, u64>) -> u64 {
        let (mut counts, mut kib) = (false, 0);
        for line in self.of_memory(pid, "smaps", "Pss:").unwrap_or_default().lines() {
            if let Some(share) = line.strip_prefix("Pss:") {
                kib += if counts { sum(&format!("Pss:{share}"), &["Pss:"]) } else { 0 };
            } else if line.starts_with(|c: char| c.is_ascii_digit() || ('a'..='f').contains(&c)) {
                let inode = line.split_whitespace().nth(4).and_then(|inode| inode.parse().ok());
                counts = line.contains(" /memfd:")
                    && inode.is_some_and(|inode: u64| files.keys().any(|file| file.1 == inode));
            }
        }
        kib << 10
    }

    /// Returns the files in memory that a process holds open, with their size in bytes.
    fn memory_files(&self, pid: Pid) -> HashMap<MemoryFile, u64> {
        let folder = self.0.join(pid.as_raw_nonzero().to_string()).join("fd");
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let file = |entry: fs::DirEntry| {
            let path = entry.path();
            let is_memory = fs::read_link(&path).ok()?.to_str()?.starts_with("/memfd:");
            let file = is_memory.then(|| fs::metadata(&path).ok()).flatten()?;
            Some(((file.dev(), file.ino()), file.blocks() * 512))
        };
        entries.filter_map(file).collect()
    }

    /// Reads a file of a process that describes its memory: that of a thread, if the first thread
    /// has ended and has none.
    fn of_memory(&self, pid: Pid, file: &str, key: &str) -> Option<String> {
        let tells = |text: &String| text.lines().any(|line| line.starts_with(key));
        self.read(pid, file).filter(tells).or_else(|| {
            let threads = self.0.join(pid.as_raw_nonzero().to_string()).join("task");
            let threads = fs::read_dir(threads).ok()?.flatten();
            threads.filter_map(|thread| text(&thread.path().join(file))).find(tells)
        })
    }

    fn read(&self, pid: Pid, file: &str) -> Option<String> {
        text(&self.0.join(pid.as_raw_nonzero().to_string()).join(file))
    }
}

fn text(path: &Path) -> Option<String> {
    // A process name need not be UTF-8.
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}

/// Adds up the numbers of the lines that begin with one of the keys.
fn sum(text: &str, keys: &[&str]) -> u64 {
    let value = |line: &str| {
        let rest = keys.iter().find_map(|key| line.strip_prefix(key))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    text.lines().filter_map(value).sum()
}
