//! A journal as the outbox in front of a queue elsewhere.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::futures::Notified;

use super::backlog::{CallEnd, CallFilter, Claim, RecordedCall};
use super::journal::{Journal, JournalInner, digest, end_of};
use crate::call::{JobId, ToolResult};
use crate::definition::ToolDefinition;
use crate::store::StoreError;

/// A tool by its name and the digest of its definition in a journal.
pub(crate) type JournalTool = (String, String);

/// The calls of a journal that are handed over to a queue elsewhere.
///
/// Workers of the same journal leave the tools alone that it relays.
pub(crate) struct Outbox {
    journal: Arc<JournalInner>,
    number: u64,
}

impl Outbox {
    pub(crate) fn new(journal: &Journal) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { journal: Arc::clone(&journal.inner), number }
    }

    /// Returns the digest under which a journal keeps calls of a tool.
    pub(crate) fn digest(definition: &ToolDefinition) -> String {
        digest(definition)
    }

    /// Sets the tools whose calls are handed over.
    pub(crate) fn relay(&self, tools: HashSet<JournalTool>) {
        self.journal.relayed.lock().insert(self.number, tools);
    }

    /// Is ready once something in the journal was changed here.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.journal.changed.notified()
    }

    /// Is ready once a call is to be cancelled here.
    pub(crate) fn cancelling(&self) -> Notified<'_> {
        self.journal.cancelling.notified()
    }

    pub(crate) async fn waiting(
        &self,
        tools: Vec<JournalTool>,
        most: usize,
    ) -> Result<Vec<RecordedCall>, StoreError> {
        self.journal.backlog.waiting(tools, most).await
    }

    pub(crate) async fn hand_over(
        &self,
        ids: Vec<JobId>,
        place: &str,
    ) -> Result<Vec<RecordedCall>, StoreError> {
        self.journal.backlog.hand_over(ids, place.to_owned()).await
    }

    /// Returns the calls that places hold whose names begin so.
    pub(crate) async fn held_by(&self, places: &str) -> Result<Vec<RecordedCall>, StoreError> {
        let mut held = Vec::new();
        let mut filter = CallFilter::default().held_by(places).limit(PAGE);
        loop {
            let page = self.journal.backlog.list(filter.clone()).await?;
            let Some(last) = page.last() else { return Ok(held) };
            filter = filter.after(last.id.clone());
            held.extend(page);
        }
    }

    /// Returns the ids of the calls that are to be cancelled at places whose names begin so.
    pub(crate) async fn to_cancel(&self, places: &str) -> Result<Vec<JobId>, StoreError> {
        let filter = CallFilter::default().held_by(places).cancelled().limit(PAGE);
        let calls = self.journal.backlog.list(filter).await?;
        Ok(calls.into_iter().map(|call| call.id).collect())
    }

    pub(crate) async fn get(&self, id: &JobId) -> Result<Option<RecordedCall>, StoreError> {
        self.journal.backlog.get(id).await
    }

    /// Ends a call; `false` if it has ended already, which counts as a late result.
    pub(crate) async fn finish(&self, claim: &Claim, end: &CallEnd) -> Result<bool, StoreError> {
        self.journal.write(claim, end).await
    }

    /// Gives a call back that was not begun.
    pub(crate) async fn release(&self, claim: Claim) -> Result<bool, StoreError> {
        self.journal.backlog.release(claim).await
    }

    /// Returns the final state of a call by its result.
    pub(crate) fn end_of(result: &ToolResult, idempotent: bool) -> CallEnd {
        end_of(result, idempotent)
    }
}

/// The calls of one page of a list.
const PAGE: usize = 1000;

impl Drop for Outbox {
    fn drop(&mut self) {
        self.journal.relayed.lock().remove(&self.number);
    }
}
