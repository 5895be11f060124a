//! The run of one message: the agent with the approvals of the page, and what is shown of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, interval, timeout};

use super::conversation::{CHANNEL, ChatConversation, ChatRun};
use super::desk::ResultDesk;
use super::entry::ChatEntry;
use super::transcript::ChatTranscript;
use super::watched::WatchedModel;
use crate::agent::{Agent, RunError, RunOutcome};
use crate::context::{CancellationToken, Decision, ToolContext};
use crate::event::{DecisionKind, Event, EventKind, EventSink, ToolFinished};
use crate::model::History;
use crate::page::calls;
use crate::page::inner::PageInner;

/// The time of one run, decisions of people included.
const MAX_RUN: Duration = Duration::from_secs(30 * 60);

/// The time for a run that was cancelled to end.
const GRACE: Duration = Duration::from_secs(10);

/// The interval at which a run is ended that no page looks at.
const WATCH: Duration = Duration::from_secs(5);

/// The most times that a run goes on after decisions that were put off.
const MAX_DEFERRED: usize = 20;

/// Ends the conversation's run, whatever becomes of its task.
struct RunGuard {
    talk: Arc<ChatConversation>,
    began: Instant,
    end: Option<Result<RunOutcome, RunError>>,
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.talk.end(self.end.take(), self.began.elapsed());
    }
}

/// Runs an agent on a conversation, until it has an answer, is stopped, or nobody looks at it.
pub(super) async fn run(
    page: Arc<PageInner>,
    talk: Arc<ChatConversation>,
    agent: Agent,
    (session, name): (u64, String),
    begins: ChatRun,
    closing: CancellationToken,
) {
    let mut guard = RunGuard { talk: Arc::clone(&talk), began: Instant::now(), end: None };
    let token = begins.token.clone();
    let context = ToolContext::new()
        .with(crate::context::Conversation::new(CHANNEL, &name))
        .with(begins.taint)
        .with_shared_approver(Arc::new(page.options.inbox.clone()))
        .with_asker(page.options.inbox.clone())
        .with_cancellation(token.clone());
    let desk = Arc::new(ResultDesk {
        page,
        talk: Arc::clone(&talk),
        session,
        name,
        toolbox: agent.toolbox().clone(),
        context: context.clone(),
    });
    let model = WatchedModel {
        model: Arc::clone(agent.model()),
        talk: Arc::clone(&talk),
        desk: Arc::clone(&desk),
        token: token.clone(),
    };
    let agent = agent.with_model(Arc::new(model));
    let answering = answered(&agent, begins.history, &context, &talk);
    let watching = async {
        let mut clock = interval(WATCH);
        loop {
            tokio::select! {
                _ = clock.tick() => if talk.is_forgotten() { break },
                () = closing.cancelled() => break,
                () = token.cancelled() => break,
            }
        }
        token.cancel();
        tokio::time::sleep(GRACE).await;
    };
    let end = tokio::select! {
        end = timeout(MAX_RUN + GRACE, answering) => end.ok(),
        () = watching => None,
    };
    if let Some(Ok(outcome)) = &end {
        desk.show(&outcome.history).await;
    }
    if let Some(Err(error)) = &end {
        desk.show(&error.history).await;
    }
    guard.end = end;
}

/// Runs the agent to its end. A call whose decision a person puts off is denied for now.
async fn answered(
    agent: &Agent,
    history: History,
    context: &ToolContext,
    talk: &Arc<ChatConversation>,
) -> Result<RunOutcome, RunError> {
    let until = std::time::Instant::now() + MAX_RUN;
    let begin = |run: crate::agent::Run| {
        let talk = Arc::clone(talk);
        let sink = EventSink::from_fn(move |event| talk.change(|own| take(own, event)));
        run.in_context(context.clone()).with_deadline(until).with_events(sink.with_content())
    };
    let mut outcome = begin(agent.run_on(history)).await?;
    for _ in 0..MAX_DEFERRED {
        let Some(paused) = outcome.paused.take() else { break };
        let deny = || Decision::Deny("the user put the decision off".to_owned());
        let decisions: Vec<_> =
            paused.pending().into_iter().map(|call| (call.id, deny())).collect();
        outcome = begin(agent.resume(paused, decisions)).await?;
    }
    Ok(outcome)
}

/// Shows an event of the run.
fn take(own: &mut ChatTranscript, event: Event) {
    let by = event.parent_call_id.unwrap_or_default();
    let within = event.path.get(1..).unwrap_or_default();
    let state =
        |state: &'static str| move |entry: &mut ChatEntry| entry.shown["state"] = state.into();
    match event.kind {
        EventKind::ToolStarted { call_id, tool, arguments } => {
            own.call((&by, &call_id, &tool, within), |entry| {
                entry.shown["arguments"] = arguments.as_str().into();
                state("running")(entry);
            });
        }
        EventKind::ApprovalRequested { call_id, tool, arguments } => {
            own.call((&by, &call_id, &tool, within), |entry| {
                entry.shown["arguments"] = arguments.as_str().into();
                state("waiting")(entry);
            });
        }
        EventKind::ToolRefused { call_id, tool, arguments, .. } => {
            own.call((&by, &call_id, &tool, within), |entry| {
                if let Some(arguments) = arguments {
                    entry.shown["arguments"] = arguments.as_str().into();
                }
                state("refused")(entry);
            });
        }
        EventKind::ApprovalDecided { call_id, tool, decision, detail, .. } => {
            own.call((&by, &call_id, &tool, within), |entry| {
                let word = match decision {
                    DecisionKind::Approved => "Approved",
                    DecisionKind::Denied => "Denied",
                    DecisionKind::Edited => "Approved with other arguments",
                    DecisionKind::Answered => "Answered in place of the tool",
                    DecisionKind::Deferred => "Put off",
                };
                let note =
                    detail.map_or_else(|| word.to_owned(), |detail| format!("{word}: {detail}"));
                add_note(entry, &note);
                state(if decision == DecisionKind::Denied { "refused" } else { "running" })(entry);
            });
        }
        EventKind::ApprovalDeferred { call_id, tool } => {
            own.call((&by, &call_id, &tool, within), state("deferred"));
        }
        EventKind::ToolProgress(progress) => {
            let shown = json!({
                "done": progress.done,
                "total": progress.total,
                "message": progress.message,
            });
            own.call((&by, &progress.call_id, &progress.tool, within), |entry| {
                entry.shown["progress"] = shown;
            });
        }
        EventKind::ToolOutput(item) => {
            let text = item.text();
            own.call((&by, &item.call_id, &item.tool, within), |entry| {
                entry.item(item.index, &text);
            });
        }
        EventKind::ToolFinished(end) | EventKind::JobFinished(end) => {
            let (id, tool) = (end.call_id.clone(), end.tool.clone());
            own.call((&by, &id, &tool, within), |entry| finish(entry, &end));
        }
        kind => {
            if let Some(note) = note(&kind) {
                own.push(ChatEntry::note(&note));
            }
        }
    }
}

fn add_note(entry: &mut ChatEntry, note: &str) {
    if let Some(notes) = entry.shown["notes"].as_array_mut().filter(|notes| notes.len() < 20) {
        notes.push(crate::text::cut(note, 2000).into());
    }
}

/// Shows the end of a call: its text until the whole result is there.
fn finish(entry: &mut ChatEntry, end: &ToolFinished) {
    let is_refused = entry.shown["state"] == "refused";
    entry.shown["state"] = match (end.pending, end.is_error(), is_refused) {
        (true, ..) => "background",
        (false, true, true) => "refused",
        (false, true, false) => "failed",
        (false, false, _) => "done",
    }
    .into();
    entry.shown["progress"] = Value::Null;
    if entry.shown["result"]["is_whole"] != true {
        entry.shown["result"] = calls::shown_end(end);
    }
}

/// Returns a sentence about what happened in the run beside texts and calls.
fn note(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::Repeated { tool, times } => {
            format!("The model made the same call of {tool} {times} times, and was told.")
        }
        EventKind::HandedOver { to } => format!("The agent {to} goes on with the conversation."),
        EventKind::Blocked { reason } => format!("A guard stopped the run: {reason}"),
        EventKind::ResultsShortened { results, .. } => {
            format!("{results} old results were replaced by references, to shorten the request.")
        }
        EventKind::MessagesRemoved { .. } => {
            "The oldest messages were taken out, to shorten the request.".to_owned()
        }
        EventKind::CompactionFailed { .. } => "The oldest messages have no summary.".to_owned(),
        EventKind::JobCompleted { tool, .. } => format!("The model hears of the end of {tool}."),
        _ => return None,
    })
}
