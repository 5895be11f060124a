//! Progress display on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::text::{cut, line};
use crate::mcp::{ServerState, ServerStatus};
use crate::sync::Mutex;

/// A line on standard error that is removed when its work is done; disabled without a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    /// The servers that have not answered yet.
    open: Mutex<Vec<String>>,
}

impl Progress {
    /// Returns the display for connecting servers.
    pub(super) fn of_servers(names: Vec<String>) -> Self {
        let bar = ProgressBar::new(names.len().try_into().unwrap_or(u64::MAX));
        bar.set_message(cut(&names.join(", "), 60));
        Self::styled(bar, "{spinner} {pos} of {len} servers; waiting for {msg}", names)
    }

    /// Returns the display for one call.
    pub(super) fn of_call(tool: &str) -> Self {
        let progress =
            Self::styled(ProgressBar::no_length(), "{spinner} {prefix} {msg}", Vec::new());
        progress.bar.set_prefix(line(tool));
        progress
    }

    fn styled(bar: ProgressBar, template: &str, open: Vec<String>) -> Self {
        // The template is constant and valid.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, open: Mutex::new(open) }
    }

    /// Displays a tool's report.
    pub(super) fn report(&self, report: &crate::context::Progress) {
        let total = report.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let about = report.message.as_deref().map(line).unwrap_or_default();
        self.bar.set_message(format!("{}{total} {}", report.done, cut(&about, 80)));
    }

    /// Displays the servers that have not answered yet.
    pub(super) fn changed(&self, status: &ServerStatus) {
        if !matches!(status.state, ServerState::Waiting | ServerState::Connecting) {
            let mut open = self.open.lock();
            let before = open.len();
            open.retain(|name| *name != status.name);
            self.bar.inc(u64::from(open.len() < before));
            self.bar.set_message(cut(&open.join(", "), 60));
        }
    }

    /// Removes the line.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
