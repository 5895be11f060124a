//! Reports of progress that wait to be sent.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::context::Progress;
use crate::sync::Mutex;

/// The maximum number of reports of one call that wait; the oldest is dropped for another, since a
/// later one supersedes it.
const WAITING: usize = 64;

/// The reports of one call that wait to be sent, in order.
#[derive(Clone, Default)]
pub(super) struct WaitingReports(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    reports: Mutex<VecDeque<Progress>>,
    added: Notify,
}

impl WaitingReports {
    pub(super) fn add(&self, report: Progress) {
        let mut reports = self.0.reports.lock();
        if reports.len() == WAITING {
            reports.pop_front();
        }
        reports.push_back(report);
        drop(reports);
        self.0.added.notify_one();
    }

    /// Waits for the next report.
    pub(super) async fn next(&self) -> Progress {
        loop {
            if let Some(report) = self.take() {
                return report;
            }
            self.0.added.notified().await;
        }
    }

    /// Takes the next report, if there is one.
    pub(super) fn take(&self) -> Option<Progress> {
        self.0.reports.lock().pop_front()
    }
}
