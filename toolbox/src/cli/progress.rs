//! Progress display on a terminal.

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::text::{cut, line};
use super::waiting;
use crate::mcp::{ServerStartup, ServerStatus};
use crate::sync::Mutex;

/// The time after which work is displayed.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// Lines on standard error that are removed when their work is done; disabled without a terminal.
pub(super) struct Progress {
    lines: MultiProgress,
    bar: ProgressBar,
    /// The servers that have not answered yet.
    open: Mutex<OpenServers>,
}

/// The display of work, until it is dropped.
pub(super) struct WorkProgress {
    thread: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

impl Drop for WorkProgress {
    fn drop(&mut self) {
        if let Some((work, thread)) = self.thread.take() {
            drop(work);
            // What is printed next stands where the line was.
            let _ = thread.join();
        }
    }
}

#[derive(Default)]
struct OpenServers {
    names: Vec<String>,
    /// The lines of those that take long.
    slow: HashMap<String, ProgressBar>,
}

impl Progress {
    /// Returns the display for connecting servers.
    pub(super) fn of_servers(names: Vec<String>) -> Self {
        let bar = ProgressBar::new(names.len().try_into().unwrap_or(u64::MAX));
        let bar = bar.with_message(cut(&names.join(", "), 60));
        let progress = Self::styled(bar, "{spinner} {pos} of {len} servers; waiting for {msg}");
        progress.open.lock().names = names;
        progress
    }

    /// Returns the display for one call.
    pub(super) fn of_call(tool: &str) -> Self {
        let bar = ProgressBar::no_length().with_prefix(line(tool));
        Self::styled(bar, "{spinner} {prefix} {msg}")
    }

    /// Returns the display for work that takes longer than half a second; until then nothing is
    /// displayed.
    pub(super) fn of_work(what: &'static str) -> WorkProgress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let bar = bar.with_style(style("{spinner} {msg}, {elapsed}")).with_message(what);
        let (work, end) = mpsc::channel();
        // The work may keep the thread of the runtime busy.
        let thread = std::thread::spawn(move || {
            if end.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(100));
                let _ = end.recv();
                bar.finish_and_clear();
            }
        });
        WorkProgress { thread: Some((work, thread)) }
    }

    fn styled(bar: ProgressBar, template: &str) -> Self {
        let lines = MultiProgress::new();
        let bar = lines.add(bar.with_style(style(template)));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { lines, bar, open: Mutex::default() }
    }

    /// Displays a tool's report.
    pub(super) fn report(&self, report: &crate::context::Progress) {
        let total = report.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let about = report.message.as_deref().map(line).unwrap_or_default();
        self.bar.set_message(format!("{}{total} {}", report.done, cut(&about, 80)));
    }

    /// Displays the servers that have not answered yet, and what a slow one prints.
    pub(super) fn changed(&self, status: &ServerStatus) {
        let mut open = self.open.lock();
        if let Some(startup) = &status.startup {
            // The first report of a start comes with it.
            if startup.waited >= Duration::from_secs(1) {
                self.slow(&mut open, status, startup);
            }
            return;
        }
        if let Some(slow) = open.slow.remove(&status.name) {
            slow.finish_and_clear();
        }
        let before = open.names.len();
        open.names.retain(|name| *name != status.name);
        self.bar.inc(u64::from(open.names.len() < before));
        self.bar.set_message(cut(&open.names.join(", "), 60));
    }

    /// Displays a line for a slow server, whose time goes on by itself.
    fn slow(&self, open: &mut OpenServers, status: &ServerStatus, startup: &ServerStartup) {
        let slow = open.slow.entry(status.name.clone()).or_insert_with(|| {
            let waited = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{} s", state.elapsed().as_secs());
            };
            let style = style("waiting for {prefix}, {waited} of {msg}");
            let bar = ProgressBar::no_length().with_style(style.with_key("waited", waited));
            let bar = bar.with_prefix(waiting::named(status)).with_elapsed(startup.waited);
            let bar = self.lines.add(bar.with_message(waiting::limit(startup)));
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        slow.set_message(waiting::limit(startup));
    }

    /// Does something while the lines are not displayed.
    pub(super) fn hidden<T>(&self, run: impl FnOnce() -> T) -> T {
        self.lines.suspend(run)
    }

    /// Removes the lines.
    pub(super) fn end(&self) {
        for (_, slow) in self.open.lock().slow.drain() {
            slow.finish_and_clear();
        }
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the style of a template, which is constant and valid.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
