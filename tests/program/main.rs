//! The program as a real process, and the page in the browser.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

mod audit;
mod commands;
mod contract;
mod directory;
mod import;
mod inspect;
mod install;
mod journal;
mod live;
mod login;
mod offers;
mod pack;
mod page;
mod recorded;
mod save;
mod scripts;
mod serve;
mod sessions;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(unix)]
mod token;
#[cfg(unix)]
mod waiting;
mod worker;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::bounded;

support::programs!("program-programs");

/// The program of this project.
fn toolbox_program() -> &'static str {
    crate::program("toolbox-program")
}

/// A program over a box of its own.
fn own_program() -> &'static str {
    crate::program("own-program")
}

/// The time in which a program that is not to go on ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("toolbox-program-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output and exit code of a process.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    #[track_caller]
    fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.out).expect("one line of JSON")
    }

    /// Checks the exit code, and what stands on the two outputs.
    #[track_caller]
    fn check(&self, code: i32, out: &str, err: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.out.contains(out), "no {out:?} in {self:?}");
        assert!(self.err.contains(err), "no {err:?} in {self:?}");
    }
}

/// Runs a program with a configuration of its own, and nothing of this process's.
fn run(program: &str, config: &Path, words: &[&str], input: &str) -> Ended {
    ended(Command::new(program).args(words).env("OPENCODE_TOOLBOX_CONFIG", config), input)
}

/// Runs a command with this input.
fn ended(command: &mut Command, input: &str) -> Ended {
    let mut child = command
        .env_remove("TOOLBOX_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input");
    // A program that reads nothing may be gone by now.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let (id, (ended, wait)) = (child.id(), std::sync::mpsc::channel());
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    let Ok(output) = wait.recv_timeout(PATIENCE) else {
        let _ = Command::new("kill").arg(id.to_string()).status();
        panic!("it does not end: {command:?}");
    };
    let output = output.expect("the program ends");
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

fn own(words: &[&str]) -> Ended {
    run(own_program(), Path::new("/nowhere"), words, "")
}

/// Starts the program of this project, unheard, with its input open.
pub(crate) fn started(config: &Path, words: &[&str]) -> Child {
    Command::new(toolbox_program())
        .args(words)
        .env("OPENCODE_TOOLBOX_CONFIG", config)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

fn toolbox(config: &Path, words: &[&str]) -> Ended {
    run(toolbox_program(), config, words, "")
}

/// A configuration of two servers that behave.
fn two_servers() -> Value {
    json!({
        "mcp": {
            "time": {"type": "local", "command": [own_program(), "serve"]},
            "parts": {"command": [own_program(), "serve"], "environment": {"MORE_TOOLS": "60"}},
        },
        "settings": {"retries": 0},
    })
}
