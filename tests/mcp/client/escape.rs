//! Servers whose processes leave their group, their parent and their environment behind.

use crate::bounded::tokio;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use toolbox::mcp::ServerConfig;

use super::support::Mounted;
use super::support::started;

/// Ways out, with a place for what is to stay behind, and whether it is below the server for a
/// while.
const WAYS: [(&str, &str, bool); 6] = [
    ("a session of its own", "setsid env -i SLEEP &", true),
    ("a background job", "SLEEP &", true),
    ("two forks", "(setsid env -i sh -c 'SLEEP &' &)", false),
    ("no streams", "(setsid env -i sh -c 'exec 0<&- 1>&- 2>&-; cd /; SLEEP &' &)", false),
    ("a session in a session", "setsid setsid env -i setsid SLEEP &", false),
    ("signals ignored", "(trap '' TERM HUP INT; setsid env -i SLEEP &)", false),
];

/// Returns a command that sleeps, and the words of it that nobody else has.
fn sleeper() -> (String, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let seconds = 500_000_000 + u64::from(std::process::id()) * 100;
    let seconds = seconds + u64::from(NEXT.fetch_add(1, Ordering::Relaxed));
    (format!("/bin/sleep {seconds}"), format!("/bin/sleep\0{seconds}\0"))
}

fn is_there(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("a table of processes").flatten();
    let line = |path: &Path| std::fs::read(path.join("cmdline")).unwrap_or_default();
    processes.into_iter().any(|process| line(&process.path()) == words.as_bytes())
}

#[track_caller]
fn until(what: &str, wanted: bool, words: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while is_there(words) != wanted {
        if Instant::now() > end {
            let seconds = words.split('\0').nth(1).unwrap_or_default();
            let _ = Command::new("sh").args(["-c", &format!("for p in /proc/[0-9]*; do grep -qa {seconds} $p/cmdline 2>/dev/null && kill -9 ${{p#/proc/}}; done")]).status();
            panic!("{what}: there={}", !wanted);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns whether a control group can be created here, without which two forks at once are not
/// noticed.
fn has_groups() -> bool {
    cfg!(has_groups)
}

fn ways() -> impl Iterator<Item = (&'static str, String, String)> {
    let all = has_groups();
    WAYS.into_iter().filter(move |(_, _, below)| all || *below).map(|(what, way, _)| {
        let (sleep, words) = sleeper();
        let way = way.replace("SLEEP", &sleep);
        (what, format!("{way}\nexec {}", crate::program("misbehaving")), words)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_of_a_server_outlives_close_wherever_it_goes() {
    for (what, script, words) in ways() {
        let mounted = Mounted::of(ServerConfig::command("sh").args(["-c", &script])).await;
        until(what, true, &words);
        // Without a control group, what is below a server is looked at now and then.
        tokio::time::sleep(Duration::from_millis(if has_groups() { 0 } else { 1200 })).await;
        mounted.close().await;
        assert!(!is_there(&words), "{what}: it outlives close()");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_one_that_the_server_left_when_it_ended_by_itself() {
    for (what, script, words) in ways() {
        let mounted =
            Mounted::of(ServerConfig::command("sh").args(["-c", &script]).retries(0)).await;
        until(what, true, &words);
        tokio::time::sleep(Duration::from_millis(if has_groups() { 0 } else { 1200 })).await;
        mounted.call("die", "{}").await;
        until(what, false, &words);
        mounted.close().await;
    }
}

#[test]
#[cfg_attr(not(has_groups), ignore = "needs control groups")]
fn nor_one_of_a_host_that_is_killed() {
    let folder = std::env::temp_dir().join(format!("toolbox-escape-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let config = folder.join("toolbox.jsonc");
    let all: Vec<_> = ways().collect();
    let servers: serde_json::Map<_, _> = all
        .iter()
        .enumerate()
        .map(|(at, (_, script, _))| (format!("s{at}"), json!({"command": ["sh", "-c", script]})))
        .collect();
    std::fs::write(&config, json!({"mcp": servers}).to_string()).expect("a file");
    let mut host = started(&config);
    for (what, _, words) in &all {
        until(what, true, words);
    }
    // A host is killed once its servers joined their groups.
    std::thread::sleep(Duration::from_millis(300));
    host.kill().expect("a signal");
    host.wait().expect("an end");
    for (what, _, words) in &all {
        until(what, false, words);
    }
    let _ = std::fs::remove_dir_all(&folder);
}
