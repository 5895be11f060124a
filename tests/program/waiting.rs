//! Servers that are slow to start: what the program shows, and what goes on meanwhile.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::serve::Host;
use super::{Folder, own_program, toolbox, toolbox_program};

/// A server that lives and says nothing but a line on its standard error.
fn silent(line: &str, limit: &str) -> Value {
    let script = format!("echo '{line}' >&2; while read -r x; do :; done");
    json!({"command": ["/bin/sh", "-c", script], "connectTimeout": limit})
}

fn quick() -> Value {
    json!({"command": [own_program(), "serve"]})
}

fn configured(folder: &Folder, servers: Value) -> std::path::PathBuf {
    folder.write("toolbox.jsonc", &json!({"mcp": servers}).to_string())
}

#[test]
fn a_server_that_took_too_long_is_named_with_what_it_printed() {
    let folder = Folder::new();
    let servers = json!({"slow": silent("fetching layer 3", "1500ms"), "quick": quick()});
    let config = configured(&folder, servers);
    let expected = "error: the server `slow` cannot be reached: the server did not answer within 1.5 seconds: it lives, and has not answered `initialize`; its last words: fetching layer 3; a slow server needs a longer `connectTimeout`\n";
    for words in [&["list"][..], &["check"], &["search", "time"]] {
        let ended = toolbox(&config, words);
        let code = if words[0] == "search" { 0 } else { 4 };
        ended.check(code, "quick_get_current_time", expected);
        // Nobody looks at it while it waits.
        assert!(!ended.err.contains("waiting for"), "{ended:?}");
    }
    let told = toolbox(&config, &["list", "--json"]);
    assert_eq!(told.json()["problems"][0]["server"], "slow", "{told:?}");
    assert_eq!(told.err, "", "{told:?}");
}

/// On a terminal, which `script` makes.
#[cfg(target_os = "linux")]
#[test]
fn what_is_waited_for_is_shown_on_a_terminal() {
    let folder = Folder::new();
    let servers = json!({
        "one": silent("fetching layer 3", "4s"),
        "two": silent("resolving 70 packages", "4s"),
        "quick": quick(),
    });
    let config = configured(&folder, servers);
    let cases = [("list", "quick_get_current_time"), ("call one_tool", "there is no")];
    let shown = cases.map(|(words, _)| {
        // Its standard output is none, so that nothing of it is mixed in.
        let command = format!("stty cols 200; '{}' {words} >/dev/null", toolbox_program());
        Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env("OPENCODE_TOOLBOX_CONFIG", &config)
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux")
    });
    for (shown, (words, _)) in shown.into_iter().zip(cases) {
        let shown = shown.wait_with_output().expect("an end").stdout;
        let shown = String::from_utf8_lossy(&shown);
        for expected in [
            "waiting for `one` (`/bin/sh -c echo 'fetching layer 3' >&2; while",
            "), 2 s of 4 s; its last line: fetching layer 3",
            "waiting for `two` (`/bin/sh -c echo 'resolving 70 packages' >&2;",
            "), 3 s of 4 s; its last line: resolving 70 packages",
        ] {
            assert!(shown.contains(expected), "{words}: no {expected:?} in {shown:?}");
        }
        assert!(!shown.contains("waiting for `quick`"), "{words}: {shown:?}");
    }
}

#[test]
fn the_tools_of_other_servers_are_served_while_one_is_slow() {
    let folder = Folder::new();
    let servers = json!({"slow": silent("fetching", "60s"), "quick": quick()});
    let config = configured(&folder, servers);
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    let started = Instant::now();
    let call = json!({"name": "quick_sum", "arguments": {"numbers": [1, 2]}});
    assert_eq!(host.call("toolbox_execute", call), "3");
    let found = host.search("add numbers");
    let problem = found["problems"][0].as_str().unwrap_or_default();
    assert!(problem.starts_with("the server `slow` has not answered yet, after "), "{found}");
    assert!(
        problem.contains(" of 60 s; its last line: fetching; search again later for its tools"),
        "{found}"
    );
    assert!(found["tools"].to_string().contains("quick_sum"), "{found}");
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(host.end(), Some(0));
    let started = Instant::now();
    let mut host = Host::start(toolbox_program(), &config, &["serve", "--no-gateway"]);
    assert_eq!(host.call("quick_sum", json!({"numbers": [1, 2]})), "3");
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(host.end(), Some(0));
}

#[test]
fn the_log_of_a_host_says_what_is_waited_for() {
    let folder = Folder::new();
    let config = configured(&folder, json!({"slow": silent("fetching layer 3", "2500ms")}));
    let mut child = Command::new(toolbox_program())
        .arg("serve")
        .env("OPENCODE_TOOLBOX_CONFIG", &config)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let log = BufReader::new(child.stderr.take().expect("its log"));
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        log.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let next = |start: &str| loop {
        let line = lines.recv_timeout(Duration::from_secs(20)).expect("a line");
        if line.starts_with(start) {
            break line;
        }
    };
    assert_eq!(next("slow: w"), "slow: waited for, 2 s of 2.5 s; its last line: fetching layer 3");
    next("slow: cannot be reached: the server did not answer within 2.5 seconds");
    drop(child.stdin.take());
    child.wait().expect("an end");
}
