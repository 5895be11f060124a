//! The way of a result into the journal.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::event::Event;
use super::held::HeldCall;
use super::outgoing::{Means, token_of};
use crate::call::{FailureKind, JobId, ToolResult};
use crate::collection::ToolBox;
use crate::context::{CarriedContext, ToolContext};
use crate::durable::{CallEnd, CallState, Claim, Outbox};
use crate::fleet::subjects::QueueKey;
use crate::fleet::wire::{Answer, CallNote, Outcome, stored_arguments, stored_result};
use crate::text::{QUOTED, quote};

/// The pause before a watch is made anew that failed.
const RETRY: Duration = Duration::from_millis(500);

impl Means {
    /// Returns the end of a call by the value of its result.
    pub(super) async fn end(
        &self,
        call: &HeldCall,
        key: &QueueKey,
        value: &[u8],
        toolbox: Option<ToolBox>,
    ) -> CallEnd {
        let (mut result, dead) = match self.read(key, value).await {
            Ok(read) => read,
            Err(reason) => {
                let reason = quote(&reason, 4 * QUOTED);
                let text = format!("the answer of tool `{}` cannot be read: {reason}", call.tool);
                (ToolResult::failure(FailureKind::InvalidOutput, text), false)
            }
        };
        // Only the gate of this process is taken at its word.
        result.unmark();
        if let Some(toolbox) = toolbox
            && let Some(tool) = toolbox.get(&call.tool)
        {
            let shared = &toolbox.shared;
            // Nobody could read what is kept without an owner.
            let keeps = toolbox.keeper().is_some();
            let owner = if keeps { self.context(&call.claim.id).await } else { None };
            match owner {
                Some(context) => shared.bound(&tool, &context, &mut result).await,
                None => result.fit(shared.settings.result_bytes, || tool.definition()),
            }
        }
        let mut end = Outbox::end_of(&result, call.idempotent);
        end.is_dead = dead && end.state == CallState::Failed;
        end
    }

    /// Returns the context in which a call was submitted, whose owner has its kept result.
    async fn context(&self, id: &JobId) -> Option<ToolContext> {
        let call = self.outbox.get(id).await.ok().flatten()?;
        let carried: CarriedContext = serde_json::from_str(&call.context).ok()?;
        Some(carried.restore())
    }

    async fn read(&self, key: &QueueKey, value: &[u8]) -> Result<(ToolResult, bool), String> {
        let limit = self.connection().options.max_payload;
        let concluded = |outcome: Outcome<'_>| (ToolResult::from(outcome.result), outcome.dead);
        match Answer::read(value)? {
            Answer::Done(outcome) => Ok(concluded(*outcome)),
            Answer::Note(CallNote::Stored(_)) => {
                let name = stored_result(&key.id);
                let stored = self.queue.payloads.get(self.connection(), &name, limit).await?;
                serde_json::from_slice(&stored).map(concluded).map_err(|error| error.to_string())
            }
            Answer::Note(_) => Err("it is no result".to_owned()),
        }
    }

    /// Writes the end of a call, and removes its large payloads.
    pub(super) async fn finish(
        &self,
        call: &HeldCall,
        end: CallEnd,
        events: &UnboundedSender<Event>,
    ) {
        let id = &call.claim.id;
        let written = self.outbox.finish(&call.claim, &end).await;
        if let Err(error) = &written {
            tracing::error!(%error, call = %id, "a result could not be written; trying again");
        }
        let is_written = written.is_ok();
        let _ = events.send(Event::Ended(id.clone(), (!is_written).then_some(end)));
        if is_written && call.has_stored {
            // A result that is stored belongs to a call whose arguments may be, or not.
            for name in [stored_arguments(id.as_str()), stored_result(id.as_str())] {
                self.queue.payloads.delete(self.connection(), &name).await;
            }
        }
    }

    /// Counts a result of a call that has ended otherwise.
    pub(super) async fn note_late(&self, id: &JobId, key: &QueueKey, value: &[u8]) {
        let Ok(Some(call)) = self.outbox.get(id).await else { return };
        let Ok((mut result, _)) = self.read(key, value).await else { return };
        result.unmark();
        let end = Outbox::end_of(&result, call.idempotent);
        let is_same = call.result.as_ref().is_some_and(|known| known.text() == result.text());
        if !is_same {
            let place = call.owner.clone().unwrap_or_default();
            let _ = self.outbox.finish(&Claim::new(id.clone(), call.attempt).at(place), &end).await;
        }
    }
}

/// Follows the marks and results of a place.
pub(super) async fn watch(
    means: Arc<Means>,
    place: String,
    rewatch: Arc<Notify>,
    events: UnboundedSender<Event>,
) {
    let keys = QueueKey::all_of(token_of(&place));
    let mut connected = means.connection().events.connected();
    let mut pass = 0;
    loop {
        connected.mark_unchanged();
        pass += 1;
        let _ = events.send(Event::Began(place.clone()));
        let mut again = std::pin::pin!(rewatch.notified());
        let watched = async {
            let queue = &means.queue;
            queue.ensure(means.connection()).await.map_err(|error| error.to_string())?;
            // The end of what there is shows at an entry, so there has to be one.
            queue.note_place(token_of(&place)).await?;
            let mut entries = queue.watch(&keys).await.map_err(|error| error.to_string())?;
            let mut is_current = false;
            loop {
                let entry = tokio::select! {
                    entry = entries.next() => entry.ok_or("the server ended the watch")?,
                    // A pass that is not over is not begun again, or none would ever be.
                    () = &mut again, if is_current => return Ok(true),
                };
                let entry = entry.map_err(|error| error.to_string())?;
                if entry.operation == Operation::Put {
                    note(&events, &entry.key, entry.value.to_vec(), entry.revision, pass);
                }
                if entry.seen_current && !is_current {
                    is_current = true;
                    let _ = events.send(Event::Current(place.clone(), pass));
                }
            }
        };
        let watched: Result<bool, String> = tokio::select! {
            watched = watched => watched,
            // What was missed meanwhile is read again from the start.
            _ = connected.changed() => Ok(false),
        };
        let pause = match watched {
            Ok(false) => continue,
            Ok(true) => means.lease() / 4,
            Err(error) => {
                if means.connection().is_connected() {
                    let notice = format!("the results of durable calls cannot be watched: {error}");
                    means.connection().events.notice(&notice);
                }
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

fn note(events: &UnboundedSender<Event>, key: &str, value: Vec<u8>, revision: u64, pass: u64) {
    let Some((is_result, key)) = QueueKey::read(key) else { return };
    let event = if is_result {
        Event::Result(key, value, revision)
    } else {
        match serde_json::from_slice(&value) {
            Ok(mark) => Event::Marked(key, mark, revision, pass),
            Err(_) => return,
        }
    };
    let _ = events.send(event);
}
