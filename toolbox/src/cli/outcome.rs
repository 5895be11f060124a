//! The outcome of a command, and its output.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Value, json};

/// The exit codes, as listed in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Fine,
    Failed,
    Usage,
    Config,
    Unreachable,
    Wording,
    Widening,
    Breaking,
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Config => 3,
            Exit::Unreachable => 4,
            Exit::Wording => 5,
            Exit::Widening => 6,
            Exit::Breaking => 7,
            Exit::Interrupted => 130,
        })
    }
}

/// A problem reported beside the result of a command.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Problem {
    /// `config`, `warning`, `server`, `withheld` or `rule`.
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column: Option<usize>,
    pub(super) message: String,
    /// The problem formatted for people.
    #[serde(skip)]
    pub(super) displayed: String,
}

impl Problem {
    /// Returns the exit code of a command that concerns everything.
    fn exit(&self) -> Exit {
        match self.kind {
            "config" => Exit::Config,
            "server" => Exit::Unreachable,
            _ => Exit::Fine,
        }
    }
}

/// Returns the exit code of a command that concerns everything.
pub(super) fn exit_of(problems: &[Problem]) -> Exit {
    let exits = || problems.iter().map(Problem::exit);
    if exits().any(|exit| exit == Exit::Config) {
        Exit::Config
    } else {
        exits().find(|exit| *exit != Exit::Fine).unwrap_or(Exit::Fine)
    }
}

/// The outcome of a command: text, JSON and exit code.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) exit: Exit,
    /// The text for standard output.
    pub(super) text: String,
    /// The text for standard error.
    pub(super) complaint: String,
    /// The JSON for standard output with `--json`; `problems` is added.
    pub(super) value: Value,
}

impl Outcome {
    pub(super) fn fine(text: String, value: Value) -> Self {
        Self { exit: Exit::Fine, text, complaint: String::new(), value }
    }

    /// Returns an outcome with only an error message.
    pub(super) fn failed(exit: Exit, complaint: impl Into<String>) -> Self {
        let complaint = complaint.into();
        let value = json!({"error": complaint});
        Self { exit, text: String::new(), complaint: format!("error: {complaint}"), value }
    }

    /// Prints the outcome, and returns the exit code.
    pub(super) fn print(mut self, json: bool, problems: &[Problem]) -> Exit {
        if json {
            self.value["problems"] = json!(problems);
            let line = self.value.to_string();
            return printed(&line).unwrap_or(self.exit);
        }
        for problem in problems {
            complain(&problem.displayed);
        }
        let end = if self.text.is_empty() { None } else { printed(&self.text) };
        if !self.complaint.is_empty() {
            complain(&self.complaint);
        }
        end.unwrap_or(self.exit)
    }
}

/// Writes to standard output; a closed pipe is no error.
pub(super) fn printed(text: &str) -> Option<Exit> {
    let mut output = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = write!(output, "{text}{end}").and_then(|()| output.flush());
    match written {
        Ok(()) => None,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Some(Exit::Fine),
        Err(error) => {
            complain(&format!("error: standard output cannot be written: {error}"));
            Some(Exit::Failed)
        }
    }
}

/// Writes a line to standard error; a failure cannot be reported anywhere.
pub(super) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Terminal styles, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    on: bool,
}

impl Paint {
    /// Returns styles if standard output is a terminal and `NO_COLOR` is not set.
    pub(super) fn of_output() -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { on: io::stdout().is_terminal() && !set("NO_COLOR") && !dumb }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.marked("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.marked("2", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.marked("31", text)
    }

    fn marked(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
