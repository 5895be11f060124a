//! The table of processes, as Linux shows it in `/proc`.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// What the tables take that say where memory is. There can be more of them than of what they lead to.
const TABLES: &str = "VmPTE:";

/// Returns all processes.
pub(super) fn pids() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// Tells whether a process ended, and waits for whoever started it to hear of that.
pub(super) fn is_dead(pid: Pid) -> bool {
    // Of one whose first thread has ended, others may go on.
    stat(pid, 0).is_some_and(|state| matches!(&*state, "Z" | "X"))
        && stat(pid, 17).is_none_or(|threads| matches!(&*threads, "0" | "1"))
}

/// Tells whether a process is in a group.
pub(super) fn is_in(pid: Pid, group: Pid) -> bool {
    stat(pid, 2).is_some_and(|own| own == group.as_raw_nonzero().to_string())
}

/// Returns a field behind the name of a process, counted from zero.
fn stat(pid: Pid, field: usize) -> Option<String> {
    let stat = read(pid, "stat")?;
    // A process may have brackets in its name.
    stat.rsplit(')').next()?.split_whitespace().nth(field).map(str::to_owned)
}

/// What a process takes.
pub(super) struct Taken {
    pub(super) threads: u64,
    /// What it has in memory or swapped out, in bytes, and not in a file that it could be read from again, and what the system
    /// needs to know where that is. What several processes share counts for each.
    pub(super) memory: u64,
}

/// Returns what a process takes; nothing, once it is gone.
pub(super) fn taken(pid: Pid) -> Taken {
    let status = of_memory(pid, "status", "RssAnon:").or_else(|| read(pid, "status"));
    let status = status.unwrap_or_default();
    Taken {
        threads: sum(&status, &["Threads:"]),
        memory: sum(&status, &["RssAnon:", "RssShmem:", "VmSwap:", TABLES]) << 10,
    }
}

/// Returns the memory of a process, with its share of what it shares; `None` if it may not be looked at so closely.
///
/// The system walks through all of that memory for it.
pub(super) fn share(pid: Pid) -> Option<u64> {
    let rollup = of_memory(pid, "smaps_rollup", "Pss_Anon:")?;
    let tables = sum(&of_memory(pid, "status", TABLES)?, &[TABLES]);
    Some((sum(&rollup, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]) + tables) << 10)
}

/// Reads what a process says of its memory: that of a thread, where the first one has ended and has none.
fn of_memory(pid: Pid, file: &str, key: &str) -> Option<String> {
    let tells = |text: &String| text.lines().any(|line| line.starts_with(key));
    read(pid, file).filter(tells).or_else(|| {
        let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok()?;
        threads.flatten().filter_map(|thread| text(&thread.path().join(file))).find(tells)
    })
}

fn read(pid: Pid, file: &str) -> Option<String> {
    text(Path::new(&format!("/proc/{}/{file}", pid.as_raw_nonzero())))
}

fn text(path: &Path) -> Option<String> {
    let text = fs::read(path).ok()?;
    // A process may call itself what is no text.
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Adds up the numbers of the lines that begin so.
fn sum(text: &str, keys: &[&str]) -> u64 {
    let value = |line: &str| {
        let rest = keys.iter().find_map(|key| line.strip_prefix(key))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    text.lines().filter_map(value).sum()
}
