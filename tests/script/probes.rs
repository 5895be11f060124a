//! The process of a script, as the tests need it: it runs JavaScript, and what a script could only
//! do by a fault of its engine. By the name of its file it is also a program that runs scripts, and
//! one on a system that confines nothing.

use std::env;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Command, abort, exit, id};
use std::thread;
use std::time::Duration;

use serde_json::json;
use toolbox::{Tool, ToolBox, ToolCall};
use toolbox_script::{
    Confined, Engine, Host, JavaScript, Limits, Script, ScriptError, Scripts, child,
};

/// JavaScript, and texts that begin with `probe `.
struct Probing;

impl Engine for Probing {
    fn language(&self) -> &str {
        JavaScript.language()
    }

    fn run(&self, script: &Script, limits: &Limits, host: Host) -> Result<String, ScriptError> {
        match script.script.strip_prefix("probe ") {
            Some(probe) => Ok(json!(probed(probe, &host)).to_string()),
            None => JavaScript.run(script, limits, host),
        }
    }

    fn check(&self, script: &str, limits: &Limits) -> Result<(), ScriptError> {
        JavaScript.check(script, limits)
    }
}

fn told<T>(done: io::Result<T>) -> String {
    match done {
        Ok(_) => "done".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

/// Sends a frame to the program, of this length and these bytes.
fn frame(length: usize, bytes: &[u8]) {
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut output = io::stdout().lock();
    let _ = output.write_all(&length).and_then(|()| output.write_all(bytes));
    let _ = output.flush();
}

fn send(json: &str) {
    frame(json.len(), json.as_bytes());
}

/// Tries something that no script can do, and says what came of it.
fn probed(probe: &str, host: &Host) -> String {
    let (probe, with) = probe.split_once(' ').unwrap_or((probe, ""));
    match probe {
        "pid" => id().to_string(),
        "environment" => env::vars_os().count().to_string(),
        "read" => told(File::open(with)),
        "write" => told(File::create(with)),
        "list" => told(std::fs::read_dir(with)),
        "remove" => told(std::fs::remove_file(with)),
        "stat" => told(std::fs::metadata(with)),
        "connect" => told(TcpStream::connect(with)),
        "bind" => told(UdpSocket::bind("127.0.0.1:0")),
        "local" => told(UnixStream::connect(with)),
        "pair" => told(UnixStream::pair()),
        "exec" => told(Command::new(with).spawn()),
        "thread" => told(thread::Builder::new().spawn(|| {})),
        "kill" => {
            let own = rustix::process::getpid();
            told(
                rustix::process::kill_process(own, rustix::process::Signal::CONT)
                    .map_err(io::Error::from),
            )
        }
        "trace" => told(std::fs::read(format!("/proc/{}/maps", id()))),
        "raise" => {
            let most = rustix::process::Rlimit { current: None, maximum: None };
            told(
                rustix::process::setrlimit(rustix::process::Resource::Data, most)
                    .map_err(io::Error::from),
            )
        }
        // The ends of a process.
        "abort" => abort(),
        "exit" => exit(0),
        "panic" => panic!("a fault"),
        "overflow" => deep(0).to_string(),
        "silence" => loop {
            thread::sleep(Duration::from_secs(1));
        },
        "turn" => loop {
            std::hint::spin_loop();
        },
        "memory" => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                all.push(vec![1; 1 << 20]);
            }
        }
        // Frames that the program does not expect.
        "noise" => {
            frame(5, b"noise");
            thread::sleep(Duration::from_secs(60));
            String::new()
        }
        "huge" => {
            frame(usize::MAX, b"");
            thread::sleep(Duration::from_secs(60));
            String::new()
        }
        "half" => {
            frame(100, b"half");
            exit(0)
        }
        "ready" | "no-calls" | "many-calls" | "wrong-number" => {
            let call = |number: u32| json!({"number": number, "tool": "one", "arguments": "{}", "line": null});
            let calls = match probe {
                "no-calls" => vec![],
                "many-calls" => (1..=17).map(call).collect(),
                _ => vec![call(7)],
            };
            if probe == "ready" {
                send(r#"{"Ready":{"version":1,"language":"x"}}"#);
            } else {
                let console = json!({"text": "", "omitted": 0});
                send(&json!({"Calls": {"calls": calls, "console": console}}).to_string());
            }
            thread::sleep(Duration::from_secs(60));
            String::new()
        }
        "console" => {
            let console = json!({"text": "x".repeat(1 << 15), "omitted": 3});
            send(&json!({"Ended": {"end": {"Ok": "1"}, "console": console}}).to_string());
            exit(0)
        }
        "no-json" => {
            let console = json!({"text": "", "omitted": 0});
            send(&json!({"Ended": {"end": {"Ok": "{"}, "console": console}}).to_string());
            exit(0)
        }
        "value" => "x".repeat(1 << 17),
        _ => {
            host.print("no such probe");
            String::new()
        }
    }
}

/// Uses the stack up.
fn deep(depth: u64) -> u64 {
    let here = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { deep(depth + 1) + here[1] }
}

/// Takes from this process what confines others.
fn without_filters() {
    use seccompiler::{SeccompAction, SeccompFilter, TargetArch, apply_filter};
    let arch = TargetArch::try_from(env::consts::ARCH).expect("a known processor");
    let rules = [(libc::SYS_seccomp, Vec::new())].into_iter().collect();
    let absent = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, absent, arch).expect("a filter");
    let program: seccompiler::BpfProgram = filter.try_into().expect("a program");
    apply_filter(&program).expect("it applies");
}

/// Runs a script of this program, which never ends.
fn endless() {
    let toolbox = ToolBox::from(Tool::new("one", "x").call(|_| "1"));
    let limits = Limits { compute: Duration::from_secs(600), ..Limits::default() };
    let engine = Confined::start().expect("this system confines");
    toolbox.register(Scripts::over(&toolbox).with_limits(limits).with_engine(engine));
    let call = ToolCall::new("s", "run_script", json!({"script": "while (true);"}));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(toolbox.call(call));
}

pub(crate) fn main() {
    let name = env::current_exe().ok().and_then(|path| path.file_name().map(ToOwned::to_owned));
    if name.as_ref().is_some_and(|name| name == "without-filters") {
        without_filters();
    }
    if name.as_ref().is_some_and(|name| name == "typescript") {
        child::run_if_asked();
    }
    child::run_if_asked_with(Probing);
    if name.is_some_and(|name| name == "endless") {
        endless();
    }
}
