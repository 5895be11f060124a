//! A server over standard streams in a process of its own, and what it costs there.

#![allow(dead_code, reason = "each bench uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A client of a server over standard streams.
pub struct Pipes {
    child: Child,
    input: std::process::ChildStdin,
    output: std::io::BufReader<std::process::ChildStdout>,
    line: String,
}

impl Pipes {
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("its input");
        let output = std::io::BufReader::new(child.stdout.take().expect("its output"));
        let mut pipes = Self { child, input, output, line: String::new() };
        pipes.write(concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#,
            "\n"
        ));
        pipes.read("serverInfo");
        pipes.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        pipes
    }

    pub fn of(server: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["stdio", server]);
        command
    }

    pub fn write(&mut self, text: &str) {
        std::io::Write::write_all(&mut self.input, text.as_bytes()).expect("it takes the line");
    }

    /// Reads a line that holds a text.
    pub fn read(&mut self, text: &str) -> &str {
        self.line.clear();
        std::io::BufRead::read_line(&mut self.output, &mut self.line).expect("a line");
        assert!(self.line.contains(text), "{}", self.line);
        &self.line
    }

    /// The memory in use, in kilobytes.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    pub fn stop(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        let _ = child.wait();
    }
}

/// The file of the counts of one run.
pub fn counts_file() -> PathBuf {
    std::env::temp_dir().join(format!("calls.{}", std::process::id()))
}

/// This program under callgrind, with other arguments.
pub fn counted_command(out: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "-q"]);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(std::env::current_exe().expect("this program")).args(arguments);
    command
}

/// Reads the instructions of a run that ended, and removes the file.
pub fn total(out: &Path) -> u64 {
    let text = std::fs::read_to_string(out).expect("the counts");
    let _ = std::fs::remove_file(out);
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total.and_then(|total| total.trim().parse().ok()).expect("the total")
}
