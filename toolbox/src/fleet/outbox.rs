//! What a call of a worker tells its box before its result.

use tokio::sync::mpsc::{Receiver, channel};

use super::wire::{CallNote, ItemReport, ProgressReport};
use crate::context::{OutputItem, Progress, ToolContext};

/// The reports of progress that may wait to be sent. More are dropped: a later one supersedes them.
const REPORTS: usize = 64;
/// The items that may wait to be sent; then the tool waits.
const ITEMS: usize = 16;

/// The notes of one call that wait to be sent.
pub(super) struct CallOutbox {
    reports: Receiver<Progress>,
    items: Receiver<OutputItem>,
}

impl CallOutbox {
    /// Returns the context of a call, and its notes, if they are read.
    pub(super) fn of(context: ToolContext, is_read: bool) -> (ToolContext, Option<Self>) {
        if !is_read {
            return (context, None);
        }
        let (sender, reports) = channel(REPORTS);
        let (items_sender, items) = channel(ITEMS);
        let context = context.with_outputs(items_sender).with_progress(move |report| {
            // JSON has no other numbers.
            if report.done.is_finite() {
                let _ = sender.try_send(report);
            }
        });
        (context, Some(Self { reports, items }))
    }

    /// Waits for the next note.
    pub(super) async fn next(&mut self) -> CallNote<'static> {
        tokio::select! {
            biased;
            Some(report) = self.reports.recv() => of_report(report),
            Some(item) = self.items.recv() => of_item(item),
            else => std::future::pending().await,
        }
    }

    /// Takes the next note, if there is one.
    pub(super) fn take(&mut self) -> Option<CallNote<'static>> {
        let report = self.reports.try_recv().ok().map(of_report);
        report.or_else(|| self.items.try_recv().ok().map(of_item))
    }
}

fn of_report(report: Progress) -> CallNote<'static> {
    let total = report.total.filter(|total| total.is_finite());
    let message = report.message.map(Into::into);
    CallNote::Progress(ProgressReport { done: report.done, total, message })
}

fn of_item(item: OutputItem) -> CallNote<'static> {
    CallNote::Item(ItemReport { index: item.index, content: item.content })
}
