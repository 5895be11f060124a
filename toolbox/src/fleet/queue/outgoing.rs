//! The way of a call out of the journal: its ticket, its place in the journal, its message.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::UnboundedSender;

use super::event::Event;
use super::held::HeldCall;
use super::mark::Mark;
use super::store::{Published, Queue, Written};
use crate::call::{FailureKind, JobId, ToolResult};
use crate::context::CarriedContext;
use crate::durable::{Claim, Outbox, RecordedCall};
use crate::fleet::connection::Connection;
use crate::fleet::random;
use crate::fleet::remote::{Caller, RemoteTool, head};
use crate::fleet::subjects::QueueKey;
use crate::fleet::wire::{CallHead, QueuedCall, stored_arguments};
use crate::store::StoreError;
use crate::text::{QUOTED, quote};

/// The means of a relay, which its tasks share.
pub(super) struct Means {
    pub(super) outbox: Outbox,
    pub(super) queue: Queue,
    pub(super) caller: Arc<Caller>,
}

/// The tools whose calls are handed over, by their names and digests in the journal.
pub(super) type RelayedTools = HashMap<(String, String), Arc<RemoteTool>>;

/// Returns the last token of the name of a place, which is its name in keys and subjects.
pub(super) fn token_of(place: &str) -> &str {
    place.rsplit(':').next().unwrap_or_default()
}

impl Means {
    pub(super) fn connection(&self) -> &Connection {
        &self.caller.connection
    }

    pub(super) fn lease(&self) -> Duration {
        self.connection().options.lease
    }

    /// Hands calls over: writes their tickets, takes them in the journal, and publishes them.
    ///
    /// Returns `true` if there may be more.
    pub(super) async fn hand_over(
        &self,
        tools: &RelayedTools,
        most: usize,
        place: &str,
        events: &UnboundedSender<Event>,
    ) -> Result<bool, StoreError> {
        let calls = self.outbox.waiting(tools.keys().cloned().collect(), most).await?;
        let is_full_batch = calls.len() == most;
        let writing: FuturesUnordered<_> = calls
            .iter()
            .map(|call| async move {
                let tool = tools.get(&(call.tool.clone(), call.digest.clone()))?;
                let ticket = self.ticket(call, tool, token_of(place)).await?;
                Some((call.id.clone(), ticket))
            })
            .collect();
        let written: Vec<Option<(JobId, (Mark, u64))>> = writing.collect().await;
        let tickets: HashMap<JobId, (Mark, u64)> = written.into_iter().flatten().collect();
        let ids = calls.iter().map(|call| &call.id).filter(|id| tickets.contains_key(id));
        let ids: Vec<JobId> = ids.cloned().collect();
        if ids.is_empty() {
            return Ok(false);
        }
        let taken = self.outbox.hand_over(ids, place).await?;
        let with_tickets = taken.iter().filter_map(|call| {
            let (mark, revision) = tickets.get(&call.id)?;
            Some((call.clone(), mark.clone(), *revision))
        });
        // Known to the loop before there can be a result.
        let _ = events.send(Event::HandedOver(with_tickets.collect()));
        let publishing: FuturesUnordered<_> = taken
            .iter()
            .map(|call| async {
                let (Some(tool), Some((mark, revision))) =
                    (tools.get(&(call.tool.clone(), call.digest.clone())), tickets.get(&call.id))
                else {
                    return;
                };
                let ticket = (mark.subject(), *revision);
                self.publish(call, tool, ticket, call.id.as_str(), events).await;
            })
            .collect();
        publishing.collect::<Vec<()>>().await;
        Ok(is_full_batch)
    }

    /// Writes the ticket of a call that nobody can have begun.
    async fn ticket(
        &self,
        call: &RecordedCall,
        tool: &RemoteTool,
        token: &str,
    ) -> Option<(Mark, u64)> {
        let (name, digest) = &tool.name_and_digest;
        let key = QueueKey::new(name, token, call.id.as_str());
        let mark = Mark::Ticket { subject: self.connection().subjects.queued(digest, &key) };
        let mut expected = 0;
        for _ in 0..2 {
            match self.queue.mark(&key, &mark, expected).await {
                Written::As(revision) => return Some((mark, revision)),
                // Left by a relay that died before it took the call in the journal, or gave it
                // back: a ticket of its own makes that one void.
                Written::Conflict => expected = self.queue.read_mark(&key).await.ok()??.1,
                Written::Unclear(reason) => {
                    tracing::debug!(call = %call.id, reason, "a call is not handed over yet");
                    return None;
                }
            }
        }
        None
    }

    /// Publishes a call that is held. The same ticket may be published any number of times.
    async fn publish(
        &self,
        call: &RecordedCall,
        tool: &RemoteTool,
        (subject, ticket): (&str, u64),
        message_id: &str,
        events: &UnboundedSender<Event>,
    ) {
        let message = match self.message(call, tool, ticket).await {
            Ok(message) => message,
            Err(result) => {
                let end = Outbox::end_of(&result, call.idempotent);
                let claim = Claim::new(call.id.clone(), call.attempt)
                    .at(call.owner.as_deref().unwrap_or_default());
                let is_written = self.outbox.finish(&claim, &end).await.is_ok();
                let left = (!is_written).then_some(end);
                let _ = events.send(Event::Ended(call.id.clone(), left));
                return;
            }
        };
        let event = match self.queue.publish(subject.to_owned(), message_id, message).await {
            Published::At(position) => Event::Published(call.id.clone(), Some(position)),
            Published::Unclear(reason) => {
                tracing::debug!(call = %call.id, reason, "a call may not have been published");
                Event::Published(call.id.clone(), None)
            }
            Published::Refused(reason) => {
                tracing::warn!(call = %call.id, reason, "the queue refuses a call; it waits");
                let claim = Claim::new(call.id.clone(), call.attempt)
                    .at(call.owner.as_deref().unwrap_or_default());
                match self.outbox.release(claim).await {
                    Ok(_) => Event::GivenBack(call.id.clone()),
                    // Its message is looked for, and it is published again.
                    Err(_) => Event::Published(call.id.clone(), None),
                }
            }
        };
        let _ = events.send(event);
    }

    /// Returns the message of a call, or the result of a call that cannot be sent.
    async fn message(
        &self,
        call: &RecordedCall,
        tool: &RemoteTool,
        ticket: u64,
    ) -> Result<Vec<u8>, ToolResult> {
        let name = &call.tool;
        let connection = self.connection();
        if let Some(toolbox) = tool.toolbox.upgrade()
            && !toolbox.permits(name)
        {
            let text = format!("tool `{name}` is blacklisted: it may not be called");
            return Err(ToolResult::refusal(FailureKind::Blacklisted, text));
        }
        let refused = |text: String| ToolResult::refusal(FailureKind::Infrastructure, text);
        let carried: CarriedContext = serde_json::from_str(&call.context).map_err(|error| {
            refused(format!(
                "the call of tool `{name}` cannot be run: its context cannot be read: {error}"
            ))
        })?;
        let arguments = call.arguments.as_str();
        let limit = connection.options.max_payload;
        if arguments.len() > limit {
            let size = arguments.len();
            return Err(refused(format!(
                "the arguments for `{name}` have {size} bytes, and a fleet takes at most {limit} (`FleetOptions::max_payload_bytes`)"
            )));
        }
        let context = carried.restore();
        let since = call.expires.duration_since(UNIX_EPOCH).unwrap_or_default();
        let expires = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let own = head(call.id.as_str(), tool, &context);
        let mut head = CallHead {
            call_id: call.call_id.as_str().into(),
            left_ms: tool.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            progress: false,
            // It was approved when it was accepted, if it had to be.
            approved: true,
            can_be_approved: false,
            queued: Some(QueuedCall { ticket, expires }),
            ..own
        };
        // It may wait for long: the time of the clock counts.
        head.context.deadline = carried.deadline;
        let not_sent = |reason: &str| {
            let reason = quote(reason, 4 * QUOTED);
            refused(format!("the call of tool `{name}` cannot be sent: {reason}; nothing ran"))
        };
        if arguments.len() <= connection.inline() {
            return head.message(arguments).map_err(|reason| not_sent(&reason));
        }
        head.stored = Some(arguments.len());
        let message = head.message("").map_err(|reason| not_sent(&reason))?;
        let stored = stored_arguments(call.id.as_str());
        if let Err(reason) =
            self.queue.payloads.put(connection, &stored, arguments.as_bytes()).await
        {
            return Err(not_sent(&reason));
        }
        Ok(message)
    }

    /// Publishes a call again whose message is gone, with a new ticket if the old one was spent or
    /// is gone too.
    pub(super) async fn publish_again(
        &self,
        call: &HeldCall,
        tools: &RelayedTools,
        events: &UnboundedSender<Event>,
    ) {
        let id = &call.claim.id;
        let Ok(Some(recorded)) = self.outbox.get(id).await else {
            let _ = events.send(Event::Published(id.clone(), None));
            return;
        };
        let Some(tool) = tools.get(&(recorded.tool.clone(), recorded.digest.clone())) else {
            // Until a worker offers the tool again.
            let _ = events.send(Event::Published(id.clone(), None));
            return;
        };
        let place = call.claim.place.as_deref().unwrap_or_default();
        let (name, digest) = &tool.name_and_digest;
        let key = QueueKey::new(name, token_of(place), id.as_str());
        let (subject, ticket) = match &call.mark {
            Some((Mark::Ticket { subject }, revision)) => (subject.clone(), *revision),
            other => {
                let subject = self.connection().subjects.queued(digest, &key);
                let mark = Mark::Ticket { subject: subject.clone() };
                let expected = other.as_ref().map_or(0, |(_, revision)| *revision);
                match self.queue.mark(&key, &mark, expected).await {
                    Written::As(revision) => {
                        let written = Some((mark, revision));
                        let _ = events.send(Event::Remarked(id.clone(), written));
                        (subject, revision)
                    }
                    Written::Conflict | Written::Unclear(_) => {
                        let _ = events.send(Event::Published(id.clone(), None));
                        return;
                    }
                }
            }
        };
        // The server may remember the id of a message that is gone. Copies begin nothing twice.
        let message_id = format!("{id}.{}", random::token());
        self.publish(&recorded, tool, (&subject, ticket), &message_id, events).await;
    }

    /// Takes the ticket of a call back, so that nobody begins it.
    pub(super) async fn void(&self, call: &HeldCall, events: &UnboundedSender<Event>) {
        let Some((Mark::Ticket { subject }, revision)) = &call.mark else { return };
        let Some(key) = QueueKey::of_subject(subject) else { return };
        let marked = match self.queue.mark(&key, &Mark::Void, *revision).await {
            Written::As(revision) => {
                // One that stays begins nothing.
                let _ = self.queue.remove_message(subject).await;
                Some((Mark::Void, revision))
            }
            Written::Conflict | Written::Unclear(_) => None,
        };
        let _ = events.send(Event::Remarked(call.claim.id.clone(), marked));
    }
}
