//! A command from its start to the end of all that it started.

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::launch::{Launched, launch};
use super::output::Kept;
use super::settings::ShellSettings;
use crate::call::{FailureKind, ToolResult};
use crate::context::ToolContext;

/// How long the output is read on when the command ended, while something that it started still holds it open.
const DRAIN: Duration = Duration::from_secs(2);

/// How a command ended, and what it printed.
pub(super) struct Ended {
    how: How,
    stdout: String,
    stderr: String,
}

enum How {
    Exited(ExitStatus),
    /// It exceeded a limit, which the text names.
    Exceeded(String),
    TimedOut(Duration),
    Cancelled,
}

/// Runs a command until it ends, its time is over, or its call is cancelled.
///
/// Dropping the future kills what was started.
pub(super) async fn run(
    shell: &ShellSettings,
    words: &[String],
    limit: Duration,
    network: bool,
    context: &ToolContext,
) -> io::Result<Ended> {
    let launched = tokio::select! {
        launched = launch(shell, words, network) => launched?,
        () = context.cancelled() => return Ok(Ended::new(How::Cancelled)),
    };
    let Launched { mut child, mut supervisor, mut exceeded } = launched;
    let (out, err) = (Kept::new(shell.output_bytes), Kept::new(shell.output_bytes));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut reading = pin!(async { tokio::join!(out.read(stdout), err.read(stderr)) });
    let (mut read, mut limited) = (false, true);
    let mut time = pin!(sleep(limit));
    let mut how = loop {
        tokio::select! {
            biased;
            // What was printed is reported only if nothing is waited for from here on.
            () = context.cancelled() => break How::Cancelled,
            () = &mut time => break How::TimedOut(limit),
            _ = &mut reading, if !read => read = true,
            // It is sent before the command is killed for it.
            limit = &mut exceeded, if limited => match limit {
                Ok(limit) => break How::Exceeded(limit),
                Err(_) => limited = false,
            },
            status = child.wait() => break How::Exited(status?),
        }
    };
    match how {
        How::Cancelled => drop(supervisor),
        How::TimedOut(_) => supervisor.end(&mut child).await,
        How::Exited(_) | How::Exceeded(_) => {
            if matches!(how, How::Exited(_)) {
                supervisor.forget_empty_group();
            }
            if !read {
                let _ = timeout(DRAIN, &mut reading).await;
            }
            supervisor.end(&mut child).await;
        }
    }
    // The kernel may have ended the command for a limit between two looks.
    if let How::Exited(status) = how
        && !status.success()
        && limited
        && let Ok(limit) = exceeded.try_recv()
    {
        how = How::Exceeded(limit);
    }
    Ok(Ended { how, stdout: out.text(), stderr: err.text() })
}

impl Ended {
    fn new(how: How) -> Self {
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
            How::Exited(status) if status.success() => {
                if text.is_empty() {
                    text.push_str("[no output]");
                }
                return ToolResult::new(text);
            }
            How::Exited(status) => {
                section(&mut text, &format!("[{}]", describe(status)));
                FailureKind::Reported
            }
            How::Exceeded(limit) => {
                section(&mut text, &format!("[killed: {limit}]"));
                FailureKind::Reported
            }
            How::TimedOut(limit) => {
                section(&mut text, &format!("[stopped after {limit:?}]"));
                FailureKind::TimedOut
            }
            How::Cancelled => {
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
