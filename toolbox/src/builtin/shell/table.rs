//! The table of processes, as Linux shows it in `/proc`.

use std::fs;

use rustix::process::Pid;

/// Returns all processes.
pub(super) fn pids() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// Tells whether a process ended, and waits for whoever started it to hear of that.
pub(super) fn is_dead(pid: Pid) -> bool {
    stat(pid, 0).is_some_and(|state| matches!(&*state, "Z" | "X"))
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
    /// What it has in memory or swapped out, in bytes, and not in a file that it could be read from again. What several
    /// processes share counts for each.
    pub(super) memory: u64,
}

/// Returns what a process takes; nothing, once it is gone.
pub(super) fn taken(pid: Pid) -> Taken {
    let status = read(pid, "status").unwrap_or_default();
    Taken {
        threads: sum(&status, &["Threads:"]),
        memory: sum(&status, &["RssAnon:", "RssShmem:", "VmSwap:"]) << 10,
    }
}

/// Returns the memory of a process, with its share of what it shares; `None` if it may not be looked at so closely.
///
/// The system walks through all of that memory for it.
pub(super) fn share(pid: Pid) -> Option<u64> {
    let rollup = read(pid, "smaps_rollup").filter(|rollup| rollup.contains("Pss_Anon:"))?;
    Some(sum(&rollup, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]) << 10)
}

fn read(pid: Pid, file: &str) -> Option<String> {
    let text = fs::read(format!("/proc/{}/{file}", pid.as_raw_nonzero())).ok()?;
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
