//! A command from its start to the end of all that it started.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::launch::{Launched, launch};
use super::output::OutputBuffer;
use super::settings::ShellSettings;
use crate::call::{FailureKind, ToolResult};
use crate::context::ToolContext;

/// The time for which the output is read on after the command ended, while a process that it
/// started holds it open.
const DRAIN: Duration = Duration::from_secs(2);

/// The end of a command, with its output.
pub(super) struct CommandResult {
    how: CommandEnd,
    stdout: String,
    stderr: String,
}

enum CommandEnd {
    Exited(ExitStatus),
    /// It exceeded a limit, which the text names.
    Exceeded(String),
    TimedOut(Duration),
    Cancelled,
}

/// Runs a command until it ends, its time is over, or its call is cancelled.
///
/// Dropping the future kills all processes of the command.
pub(super) async fn run(
    shell: &ShellSettings,
    words: &[String],
    limit: Duration,
    network: bool,
    context: &ToolContext,
) -> io::Result<CommandResult> {
    let launched = tokio::select! {
        launched = launch(shell, words, network) => launched?,
        () = context.cancelled() => return Ok(CommandResult::new(CommandEnd::Cancelled)),
    };
    let Launched { mut child, mut supervisor, mut exceeded } = launched;
    let (out, err) = (OutputBuffer::new(shell.output_bytes), OutputBuffer::new(shell.output_bytes));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut reading = pin!(async { tokio::join!(out.read(stdout), err.read(stderr)) });
    let (mut read, mut limited) = (false, true);
    let mut time = pin!(sleep(limit));
    let mut how = loop {
        tokio::select! {
            biased;
            // The output of a cancelled call is reported only if nothing is awaited from here on.
            () = context.cancelled() => break CommandEnd::Cancelled,
            () = &mut time => break CommandEnd::TimedOut(limit),
            _ = &mut reading, if !read => read = true,
            // It is sent before the command is killed for it.
            limit = &mut exceeded, if limited => match limit {
                Ok(limit) => break CommandEnd::Exceeded(limit),
                Err(_) => limited = false,
            },
            status = child.wait() => break CommandEnd::Exited(status?),
        }
    };
    match how {
        CommandEnd::Cancelled => drop(supervisor),
        CommandEnd::TimedOut(_) => supervisor.end(&mut child).await,
        CommandEnd::Exited(_) | CommandEnd::Exceeded(_) => {
            if matches!(how, CommandEnd::Exited(_)) {
                supervisor.forget_empty_group();
            }
            if !read {
                let _ = timeout(DRAIN, &mut reading).await;
            }
            supervisor.end(&mut child).await;
        }
    }
    // The kernel may have ended the command for a limit between two samples.
    if let CommandEnd::Exited(status) = how
        && !status.success()
        && limited
        && let Ok(limit) = exceeded.try_recv()
    {
        how = CommandEnd::Exceeded(limit);
    }
    Ok(CommandResult { how, stdout: out.text(), stderr: err.text() })
}

impl CommandResult {
    fn new(how: CommandEnd) -> Self {
        Self { how, stdout: String::new(), stderr: String::new() }
    }

    pub(super) fn into_result(self) -> ToolResult {
        let mut text = self.stdout;
        let section = |text: &mut String, part: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(part);
        };
        if !self.stderr.is_empty() {
            section(&mut text, "[stderr]\n");
            text.push_str(&self.stderr);
        }
        let failed = match self.how {
            CommandEnd::Exited(status) if status.success() => {
                if text.is_empty() {
                    text.push_str("[no output]");
                }
                return ToolResult::new(text);
            }
            CommandEnd::Exited(status) => {
                section(&mut text, &format!("[{}]", describe(status)));
                FailureKind::Reported
            }
            CommandEnd::Exceeded(limit) => {
                section(&mut text, &format!("[killed: {limit}]"));
                FailureKind::Reported
            }
            CommandEnd::TimedOut(limit) => {
                section(&mut text, &format!("[stopped after {limit:?}]"));
                FailureKind::TimedOut
            }
            CommandEnd::Cancelled => {
                section(&mut text, "[cancelled]");
                FailureKind::Cancelled
            }
        };
        ToolResult::failure(failed, text)
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code @ 129..=192), _) => format!("exit code {code} (128 + signal {})", code - 128),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
