//! Changes of the configuration file while the program serves.

#![allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Folder, toolbox_program};

fn misbehaving() -> &'static str {
    crate::program("misbehaving")
}

/// The longest that any step takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(30);

/// A host whose waits are bounded, over a file that changes.
struct Host {
    folder: Folder,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    log: Receiver<String>,
    notifications: Vec<String>,
    count: u32,
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Host {
    fn start(config: &str, words: &[&str]) -> Self {
        let folder = Folder::new();
        let path = folder.write("toolbox.jsonc", config);
        let mut child = Command::new(toolbox_program())
            .args(words)
            .env("OPENCODE_TOOLBOX_CONFIG", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("its input");
        let output = lines(child.stdout.take().expect("its output"));
        let log = lines(child.stderr.take().expect("its errors"));
        let notifications = Vec::new();
        let mut host = Self { folder, child, input, output, log, notifications, count: 0 };
        let client = json!({"name": "host", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        host.ask("initialize", &params);
        host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        host
    }

    fn config(&self) -> PathBuf {
        self.folder.path("toolbox.jsonc")
    }

    /// Replaces the file by another.
    fn rename(&self, text: &[u8]) {
        let beside = self.folder.path("new.jsonc");
        std::fs::write(&beside, text).expect("a file");
        std::fs::rename(beside, self.config()).expect("a replaced file");
    }

    /// Writes over the file in place.
    fn overwrite(&self, text: &[u8]) {
        std::fs::write(self.config(), text).expect("a written file");
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the program reads");
    }

    /// Sends a request, and returns its id.
    fn request(&mut self, method: &str, params: &Value) -> u32 {
        self.count += 1;
        let id = self.count;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn next(&mut self) -> Value {
        let line = self.output.recv_timeout(LIMIT).expect("a message in time");
        let message: Value = serde_json::from_str(&line).expect("JSON");
        if let Some(method) = message["method"].as_str() {
            self.notifications.push(method.to_owned());
        }
        message
    }

    fn answer(&mut self, id: u32) -> Value {
        loop {
            let message = self.next();
            if message["id"] == json!(id) {
                return message["result"].clone();
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    fn names(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", &json!({}));
        let tools = list["tools"].as_array().expect("tools").iter();
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// Waits until the list holds these tools; each list but the first is asked for when its
    /// change is reported.
    #[track_caller]
    fn wait_for(&mut self, names: &[&str]) {
        let started = Instant::now();
        loop {
            let now = self.names();
            if now == names {
                self.notifications.clear();
                return;
            }
            assert!(started.elapsed() < LIMIT, "{now:?} in place of {names:?}");
            while self.notifications.is_empty() {
                self.next();
            }
            self.notifications.clear();
        }
    }

    fn call(&mut self, name: &str) -> String {
        let result = self.ask("tools/call", &json!({"name": name, "arguments": {}}));
        result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    fn search(&mut self, text: &str) -> Value {
        let params = json!({"name": "toolbox_search_bm25", "arguments": {"text": text}});
        let result = self.ask("tools/call", &params);
        serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON")
    }

    /// Waits until a change is applied, and returns the lines up to the report on it.
    #[track_caller]
    fn applied(&mut self) -> String {
        self.reported("the configuration is applied: ")
    }

    /// Waits for a line, and returns the lines up to it.
    #[track_caller]
    fn reported(&mut self, start: &str) -> String {
        let mut text = String::new();
        loop {
            let line = self.log.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no report: {text}"));
            text.push_str(&line);
            text.push('\n');
            if line.starts_with(start) {
                return text;
            }
        }
    }

    fn end(mut self) {
        drop(self.input);
        let ended = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(ended.elapsed() < LIMIT, "the program does not end");
            let _ = self.log.recv_timeout(Duration::from_millis(10));
        }
    }
}

/// An entry of a server with few tools.
fn few(tools: &str) -> Value {
    json!({"command": [misbehaving(), "list", "few", "only", tools]})
}

fn file(servers: Value) -> String {
    json!({ "mcp": servers }).to_string()
}

#[test]
fn changes_of_the_file_apply_at_once_and_reach_the_host() {
    let servers = json!({"a": few("pid")});
    let mut host = Host::start(&file(servers), &["serve", "--no-gateway"]);
    host.wait_for(&["a_pid"]);
    let pid = host.call("a_pid");
    let (a, b) = (few("pid"), few("echo,slow"));
    let with = |settings: Value| json!({"mcp": {"a": a, "b": b}, "settings": settings});
    let mut slower = b.clone();
    slower["timeout"] = json!("9s");
    let mut off = b.clone();
    off["enabled"] = json!(false);
    let both = &["a_pid", "b_echo", "b_slow"][..];
    let cases = [
        (file(json!({"a": a, "b": b})), "added b; kept a", both),
        // The same with other words.
        (format!("// the same\n{}", with(json!({}))), "kept a, b", both),
        (with(json!({"timeout": "60s"})).to_string(), "kept a, b", both),
        (file(json!({"a": a, "b": slower})), "replaced b; kept a", both),
        (file(json!({"a": a, "b": off})), "replaced b; kept a", &["a_pid"]),
        (with(json!({})).to_string(), "replaced b; kept a", both),
        (with(json!({"blacklist": ["b_s*"]})).to_string(), "kept a, b", &["a_pid", "b_echo"]),
        (with(json!({"allow": ["*_slow", "a_*"]})).to_string(), "kept a, b", &["a_pid", "b_slow"]),
        (
            with(json!({"lockFile": "x.lock", "maxResultBytes": 2048})).to_string(),
            "kept a, b; from the next start on: maxResultBytes, lockFile",
            both,
        ),
        (file(json!({"a": a})), "removed b; kept a", &["a_pid"]),
    ];
    for (at, (text, expected, names)) in cases.iter().enumerate() {
        if at % 2 == 0 {
            host.rename(text.as_bytes());
        } else {
            host.overwrite(text.as_bytes());
        }
        let written = Instant::now();
        let report = host.applied();
        // 100 ms on a machine at rest.
        assert!(written.elapsed() < Duration::from_secs(5), "{expected}");
        let line = format!("the configuration is applied: {expected}\n");
        assert!(report.ends_with(&line), "{report}: {expected}");
        host.wait_for(names);
        assert_eq!(host.call("a_pid"), pid, "{expected}");
    }
    assert!(!host.folder.path("x.lock").exists());
    host.end();
}

#[test]
fn a_file_with_a_fault_changes_nothing_until_it_is_corrected() {
    let good = file(json!({"a": few("pid")}));
    let mut host = Host::start(&good, &["serve"]);
    let execute = json!({"name": "a_pid", "arguments": {}});
    let execute = json!({"name": "toolbox_execute", "arguments": execute});
    let pid = host.ask("tools/call", &execute);
    let half = &good.as_bytes()[..good.len() / 2];
    let long = vec![b' '; (4 << 20) + 1];
    let faults: &[(&[u8], &str)] = &[
        (half, "toolbox.jsonc:1:"),
        (b"", "the file is empty"),
        (b"{\"mcp\": {}, \"mcp\": {}}", "`mcp` is given twice"),
        (b"{\"mcp\": {\xff}}", "the file is not UTF-8"),
        (b"[]", "expected an object, found a list"),
        (b"{\"servers\": {}}", "unknown key `servers`"),
        (br#"{"mcp": {}, "settings": {"blacklist": ["*"]}}"#, "names no tool"),
        (br#"{"mcp": {}, "settings": {"timeout": "soon"}}"#, "`timeout` must be a time"),
        (&long, "the file is longer than 4 MiB"),
    ];
    for (text, expected) in faults {
        host.rename(text);
        let report = host.reported("the configuration is not applied before this is corrected");
        assert!(report.contains(expected), "{report}");
        let problems = host.search("anything")["problems"].to_string();
        assert!(problems.contains(expected) && problems.contains("not applied"), "{problems}");
        assert_eq!(host.ask("tools/call", &execute), pid, "{expected}");
    }
    // The same content is not reported again, also when it is written again.
    host.rename(faults[faults.len() - 1].0);
    let again = host.log.recv_timeout(Duration::from_millis(300));
    assert!(again.is_err(), "{again:?}");
    // A file that is away for a moment.
    std::fs::remove_file(host.config()).expect("a file");
    let report = host.reported("the configuration is not applied");
    assert!(report.contains("the file cannot be read"), "{report}");
    host.rename(good.as_bytes());
    assert!(host.applied().ends_with("the configuration is applied: kept a\n"));
    assert_eq!(host.search("anything").get("problems"), None);
    // A fault of one server concerns it alone: it stays what it was.
    let mut servers = json!({"a": few("pid"), "b": few("echo")});
    servers["a"]["comand"] = json!(["x"]);
    host.rename(file(servers).as_bytes());
    let report = host.applied();
    assert!(report.contains("unknown key `comand` of server `a`"), "{report}");
    assert!(report.ends_with("the configuration is applied: added b; kept a\n"), "{report}");
    assert_eq!(host.ask("tools/call", &execute), pid);
    assert!(host.search("anything")["problems"].to_string().contains("`comand`"));
    host.end();
}

#[test]
fn rules_that_no_tool_meets_are_reported_with_each_change() {
    let with = |rules: Value| {
        json!({"mcp": {"a": few("pid,echo")}, "settings": {"blacklist": rules}}).to_string()
    };
    let unmet = |rule: &str| {
        format!("the rule `{rule}` of `blacklist` matches none of the tools that are there")
    };
    let mut host = Host::start(&with(json!(["pid", "pidd"])), &["serve"]);
    host.reported(&unmet("pidd"));
    host.rename(with(json!(["pid", "ech", "a_*"])).as_bytes());
    host.reported(&unmet("ech"));
    // None is reported where all are met, and none before the tools are known.
    host.rename(with(json!(["echo"])).as_bytes());
    host.applied();
    host.rename(with(json!(["e*"])).as_bytes());
    let next = host.reported(&unmet("e*"));
    assert!(!next.contains("`echo`"), "{next}");
    host.end();
    let mut lazy = Host::start(&with(json!(["pidd"])), &["serve", "--lazy"]);
    lazy.rename(with(json!(["ech"])).as_bytes());
    assert!(!lazy.applied().contains("matches none"));
    lazy.end();
}

#[test]
fn warnings_are_reported_with_each_change() {
    let with = |timeout: Value| {
        let mut server = few("pid");
        server["timeout"] = timeout;
        json!({"mcp": {"a": server}}).to_string()
    };
    let mut host = Host::start(&with(json!(999)), &["serve"]);
    host.reported("warning: `timeout` of server `a` is 999 ms");
    host.rename(with(json!(998)).as_bytes());
    host.reported("warning: `timeout` of server `a` is 998 ms");
    host.rename(with(json!("998ms")).as_bytes());
    assert!(
        !host.applied().contains("999") && host.names().contains(&"toolbox_execute".to_owned())
    );
    host.end();
}

#[test]
fn what_models_read_follows_the_file() {
    let value = |servers: Value, limit: u32| {
        json!({"mcp": servers, "settings": {"defaultLimit": limit}}).to_string()
    };
    let tools = "echo,pid,slow,env,meta,parts";
    let mut host = Host::start(&value(json!({"a": few(tools)}), 5), &["serve"]);
    let found = |host: &mut Host| host.search("one of few")["tools"].as_array().map_or(0, Vec::len);
    assert_eq!(found(&mut host), 5);
    host.rename(value(json!({"a": few(tools), "second": few("pid")}), 2).as_bytes());
    assert!(host.applied().contains("added second; kept a"));
    assert_eq!(found(&mut host), 2);
    // The instructions for the next client, which asks without a handshake.
    let version = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "h", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let discovered = host.ask("server/discover", &json!({"_meta": version}));
    let instructions = discovered["instructions"].as_str().unwrap_or_default();
    assert!(instructions.contains("from these servers: a, second."), "{discovered}");
    host.end();
}

#[test]
fn a_call_ends_after_its_server_was_removed() {
    let servers = json!({"a": few("pid"), "s": few("slow,pid")});
    let mut host = Host::start(&file(servers), &["serve", "--no-gateway"]);
    host.wait_for(&["a_pid", "s_slow", "s_pid"]);
    for now in [json!({"a": few("pid"), "s": few("slow")}), json!({"a": few("pid")})] {
        let params = json!({"name": "s_slow", "arguments": {"millis": 1500}});
        let call = host.request("tools/call", &params);
        // It has begun when a later one is answered.
        host.call("a_pid");
        host.rename(file(now).as_bytes());
        host.applied();
        assert_eq!(host.answer(call)["content"][0]["text"], "slow but sure");
    }
    host.end();
}

/// However often and however the file is written, the last content counts, and nothing else is
/// touched.
#[cfg(target_os = "linux")]
#[test]
fn the_last_of_200_quick_rewrites_counts() {
    let mark = format!("mark-{}", std::process::id());
    let marked = |tools: &str, number: usize| {
        let number = format!("{number:03}");
        json!({"command": [misbehaving(), "list", "few", "only", tools, number, mark]})
    };
    let text = |number: usize| file(json!({"a": few("pid"), "b": marked("echo", number)}));
    let mut host = Host::start(&text(0), &["serve", "--no-gateway"]);
    host.wait_for(&["a_pid", "b_echo"]);
    let pid = host.call("a_pid");
    for number in 1..=200 {
        // All are of one length, so neither it nor a coarse time tells them apart.
        let text = text(number);
        match number % 4 {
            0 => host.rename(text.as_bytes()),
            1 => host.overwrite(&text.as_bytes()[..text.len() * number / 201]),
            _ => host.overwrite(text.as_bytes()),
        }
        assert_eq!(host.call("a_pid"), pid);
    }
    let words_of = |process: &Path| {
        let words = std::fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        words.starts_with(misbehaving()).then_some(words)
    };
    let started = Instant::now();
    loop {
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let servers: Vec<String> = processes
            .filter_map(|process| words_of(&process.path()))
            .filter(|words| words.contains(&mark))
            .collect();
        if matches!(&servers[..], [only] if only.contains("\x00200\0")) {
            break;
        }
        assert!(started.elapsed() < LIMIT, "{servers:?}");
        let _ = host.log.recv_timeout(Duration::from_millis(20));
    }
    host.wait_for(&["a_pid", "b_echo"]);
    assert_eq!(host.call("a_pid"), pid);
    host.end();
}
