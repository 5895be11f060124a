//! Servers that have not answered yet, in words.

use std::collections::HashMap;
use std::time::Duration;

use super::outcome::complain;
use super::text::{counted, cut, line};
use crate::mcp::{ServerStartup, ServerState, ServerStatus};
use crate::sync::Mutex;

/// The maximum length of a command and of a line, in characters.
const COMMAND: usize = 60;
const LINE: usize = 80;

/// Returns the server and its command, or its URL.
pub(super) fn named(status: &ServerStatus) -> String {
    let target = cut(&line(&status.target.join(" ")), COMMAND);
    format!("`{}` (`{target}`)", line(&status.name))
}

/// Returns the time that a server is waited for at most, and what it printed last.
pub(super) fn limit(startup: &ServerStartup) -> String {
    let limit = format!("{} s", startup.limit.as_secs_f32());
    match &startup.last_line {
        Some(last) => format!("{limit}; its last line: {}", cut(&line(last), LINE)),
        None => limit,
    }
}

/// Returns the time that a server was waited for, of the longest, and what it printed last.
pub(super) fn progress(startup: &ServerStartup) -> String {
    format!("{} s of {}", startup.waited.as_secs(), limit(startup))
}

/// Returns a listener that logs the status changes of servers to standard error: what becomes of
/// them, and each time that the wait for a slow one has doubled.
pub(super) fn logged() -> impl Fn(&ServerStatus) + Send + Sync + 'static {
    let log = StatusLog::default();
    move |status| log.changed(status)
}

#[derive(Default)]
struct StatusLog {
    /// The wait of each server after which it is reported.
    next: Mutex<HashMap<String, Duration>>,
}

impl StatusLog {
    fn changed(&self, status: &ServerStatus) {
        let name = &status.name;
        match (status.state, &status.startup) {
            (ServerState::Ready, _) => {
                complain(&format!("{name}: ready, {}", counted(status.tools.len(), "tool")));
            }
            (ServerState::Failed, _) => {
                let why = status.error.as_deref().map(line).unwrap_or_default();
                complain(&format!("{name}: cannot be reached: {why}"));
            }
            (ServerState::Connecting, Some(startup)) => return self.waiting(name, startup),
            _ => {}
        }
        self.next.lock().remove(name);
        for tool in &status.withheld {
            let (tool, why) = (line(&tool.name), line(&tool.detail));
            complain(&format!("{name}: {tool} is withheld: {why}"));
        }
    }

    fn waiting(&self, name: &str, startup: &ServerStartup) {
        let mut next = self.next.lock();
        // The first report of a start comes with it.
        let due = next.entry(name.to_owned()).or_insert(Duration::from_secs(1));
        if startup.waited >= *due {
            *due = Duration::from_secs(startup.waited.as_secs().saturating_mul(2));
            complain(&format!("{name}: waited for, {}", progress(startup)));
        }
    }
}
