//! Reports of progress, and items of tools that stream, that wait to be sent.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, channel};

use crate::context::{OutputItem, Progress, ToolContext};
use crate::sync::Mutex;
use crate::text::cut;

/// The maximum number of reports of one call that wait; the oldest is dropped for another, since a
/// later one supersedes it.
const WAITING: usize = 64;

/// The maximum number of items of one call that wait; then its tool waits.
const ITEMS: usize = 16;

/// The longest text of an item in a report, in bytes; the result has all of it.
const TEXT: usize = 64 << 10;

/// The reports and items of one call that are to be sent before its end, in order.
pub(super) struct WaitingReports {
    waiting: Arc<Waiting>,
    items: Receiver<OutputItem>,
    /// The progress of the last report: the protocol requires that it grows.
    last: f64,
}

#[derive(Default)]
struct Waiting {
    reports: Mutex<VecDeque<Progress>>,
    added: Notify,
}

impl WaitingReports {
    /// Returns a context that reports, and its reports.
    pub(super) fn of(context: ToolContext) -> (ToolContext, Self) {
        let waiting = Arc::new(Waiting::default());
        let added = Arc::clone(&waiting);
        let (sender, items) = channel(ITEMS);
        let context = context.with_progress(move |report| added.add(report)).with_outputs(sender);
        (context, Self { waiting, items, last: f64::NEG_INFINITY })
    }

    /// Waits for the next report.
    pub(super) async fn next(&mut self) -> Progress {
        loop {
            if let Some(report) = self.take() {
                return report;
            }
            tokio::select! {
                () = self.waiting.added.notified() => {}
                Some(item) = self.items.recv() => return self.report_of(item),
            }
        }
    }

    /// Takes the next report, if there is one.
    pub(super) fn take(&mut self) -> Option<Progress> {
        loop {
            let Some(report) = self.waiting.reports.lock().pop_front() else { break };
            if report.done.is_finite() && report.done > self.last {
                self.last = report.done;
                return Some(report);
            }
        }
        let item = self.items.try_recv().ok()?;
        Some(self.report_of(item))
    }

    /// Returns an item as a report with its text.
    fn report_of(&mut self, item: OutputItem) -> Progress {
        #[expect(clippy::cast_precision_loss, reason = "fewer items than 2^53 are collected")]
        let number = item.index as f64 + 1.0;
        self.last = if number > self.last { number } else { self.last + 1.0 };
        let message = Some(cut(&item.text(), TEXT).to_owned()).filter(|text| !text.is_empty());
        let OutputItem { call_id, tool, .. } = item;
        Progress { call_id, tool, done: self.last, total: None, message }
    }
}

impl Waiting {
    fn add(&self, report: Progress) {
        let mut reports = self.reports.lock();
        if reports.len() == WAITING {
            reports.pop_front();
        }
        reports.push_back(report);
        drop(reports);
        self.added.notify_one();
    }
}
