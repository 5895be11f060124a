//! The start of a server: the time it takes, and what it prints before it answers.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::notifications::{Garbage, Notifications};
use super::status::ServerStartup;
use super::stdio::ChildOutput;
use crate::mcp::config::{ServerConfig, ServerEndpoint};
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};

/// The maximum length of a line in a status, in characters.
const LINE: usize = 200;

/// One attempt to connect to a server.
pub(super) struct Startup {
    since: Instant,
    limit: Duration,
    /// `true` if the server is a child that was started through `npx` without `-y`.
    asks_to_install: bool,
    seen: Mutex<StartSeen>,
}

/// What is known of the server so far.
#[derive(Default)]
struct StartSeen {
    output: Option<Arc<ChildOutput>>,
    notifications: Option<Arc<Notifications>>,
    is_initialized: bool,
}

impl Startup {
    pub(super) fn new(config: &ServerConfig) -> Self {
        Self {
            since: Instant::now(),
            limit: config.connect_timeout,
            asks_to_install: asks_to_install(&config.endpoint),
            seen: Mutex::default(),
        }
    }

    pub(super) fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    /// Records a child that was started, in place of an earlier one.
    pub(super) fn started(&self, output: &Arc<ChildOutput>, notifications: &Arc<Notifications>) {
        let mut seen = self.seen.lock();
        seen.output = Some(Arc::clone(output));
        seen.notifications = Some(Arc::clone(notifications));
    }

    /// Records that the handshake is over.
    pub(super) fn initialized(&self) {
        self.seen.lock().is_initialized = true;
    }

    pub(super) fn status(&self) -> ServerStartup {
        let last_line = self.last_line().map(|line| quote(&line, LINE));
        ServerStartup { waited: self.waited(), limit: self.limit, last_line }
    }

    /// Returns the last line that the child printed beside its messages.
    pub(super) fn last_line(&self) -> Option<String> {
        let seen = self.seen.lock();
        let output = seen.output.as_ref()?;
        let garbage = || {
            let last = seen.notifications.as_ref()?.garbage().last;
            let last = output.displayed(&last).trim().to_owned();
            (!last.is_empty()).then_some(last)
        };
        output.last_line().or_else(|| output.unfinished_line()).or_else(garbage)
    }

    /// Returns the failure of a server that took longer than the limit.
    pub(super) fn timed_out(&self) -> String {
        let seen = self.seen.lock();
        let mut text =
            format!("the server did not answer within {} seconds: ", self.limit.as_secs_f32());
        text.push_str(match (&seen.output, seen.is_initialized) {
            (Some(_), true) => "it lives, answered `initialize`, and has not listed its tools",
            (Some(_), false) => "it lives, and has not answered `initialize`",
            (None, true) => "it has not listed its tools",
            (None, false) => "it has not answered the first request",
        });
        if let Some(words) = seen.output.as_ref().and_then(|output| output.last_words()) {
            let _ = write!(text, "; its last words: {words}");
        }
        text.push_str(&seen.stdout());
        if self.asks_to_install && !seen.is_initialized {
            text.push_str("; `npx` asks before it installs a package: add `-y` behind it");
        }
        text.push_str("; a slow server needs a longer `connectTimeout`");
        text
    }

    /// Describes what a child that ended before it answered had printed, behind its end.
    pub(super) fn printed(&self) -> String {
        let seen = self.seen.lock();
        let stdout = seen.stdout();
        let is_silent = seen.output.as_ref().is_some_and(|output| output.last_words().is_none());
        if is_silent && stdout.is_empty() { "; it printed nothing".to_owned() } else { stdout }
    }
}

impl StartSeen {
    /// Describes what the child printed on standard output that is no message.
    fn stdout(&self) -> String {
        let (Some(output), Some(notifications)) = (&self.output, &self.notifications) else {
            return String::new();
        };
        let Garbage { count, first, .. } = notifications.garbage();
        let first = quote(output.displayed(&first).trim(), QUOTED);
        let mut text = match count {
            0 => String::new(),
            1 => format!("; it printed 1 line that is no message, `{first}`"),
            count => {
                format!("; it printed {count} lines that are no messages, the first `{first}`")
            }
        };
        if let Some(line) = output.unfinished_line() {
            let line = quote(&line, QUOTED);
            let _ = write!(text, "; it printed `{line}` without a line break");
        }
        text
    }
}

/// Returns `true` for a command that may wait for a person who agrees to an installation.
fn asks_to_install(endpoint: &ServerEndpoint) -> bool {
    let ServerEndpoint::Command { program, arguments, .. } = endpoint else { return false };
    let mut words = std::iter::once(program).chain(arguments);
    let is_npx = |word: &String| {
        let name = Path::new(word).file_stem().and_then(|name| name.to_str());
        name.is_some_and(|name| name.eq_ignore_ascii_case("npx"))
    };
    words.any(is_npx) && !words.any(|word| word == "-y" || word.starts_with("--yes"))
}
