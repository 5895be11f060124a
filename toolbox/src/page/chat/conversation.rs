//! One conversation: its transcript, its run, and what a page has seen of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::entry::ChatEntry;
use super::message::UserMessage;
use super::transcript::ChatTranscript;
use crate::agent::{RunError, RunErrorKind, RunOutcome};
use crate::context::{CancellationToken, Taint};
use crate::cost::Cost;
use crate::event::StopReason;
use crate::model::{History, Message, ModelErrorKind, Usage};
use crate::sync::Mutex;
use crate::text::cut;

/// The channel of the calls of conversations.
pub(super) const CHANNEL: &str = "chat";

/// The most bytes of what the model is sent again with each message.
const MAX_HISTORY: usize = 8 << 20;

/// The most bytes of the reason of a fault.
const MAX_FAULT: usize = 2000;

/// The time after which a run ends that no page looks at.
const FORGOTTEN: Duration = Duration::from_secs(180);

/// The part of a conversation that a page has seen.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SeenChanges {
    /// The conversation that it saw: another one may have its id by now.
    born: u64,
    version: u64,
    /// The number of the last text of the model, and the bytes of it.
    at: Option<usize>,
    bytes: usize,
}

/// The beginning of a run.
pub(super) enum ChatBeginning {
    /// A message of the user.
    Message(UserMessage),
    /// The end of the last run, which goes on.
    Again,
}

/// A run that begins.
pub(super) struct ChatRun {
    pub(super) history: History,
    pub(super) taint: Taint,
    pub(super) token: CancellationToken,
}

/// A conversation with a model.
pub(super) struct ChatConversation {
    born: u64,
    state: Mutex<ConversationState>,
    changed: watch::Sender<()>,
}

struct ConversationState {
    history: History,
    /// That of all its runs: texts of apps are marked here before a run begins.
    taint: Taint,
    transcript: ChatTranscript,
    run: Option<CancellationToken>,
    /// `true` if the history can be sent as it is.
    can_go_on: bool,
    usage: Usage,
    cost: Cost,
    looked: Instant,
}

impl Default for ChatConversation {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let state = ConversationState {
            history: History::new(),
            taint: Taint::new(),
            transcript: ChatTranscript::default(),
            run: None,
            can_go_on: false,
            usage: Usage::default(),
            cost: Cost::default(),
            looked: Instant::now(),
        };
        Self {
            // Another start of the program counts on from another time.
            born: NEXT.fetch_add(1, Ordering::Relaxed) ^ (started() << 20),
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
        }
    }
}

/// Returns the seconds since 1970, of which a browser keeps every digit behind twenty more bits.
fn started() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs()) & 0xffff_ffff
}

/// Returns what a page shows of a conversation that is not there.
pub(super) fn none() -> Value {
    json!({"born": 0, "version": 0, "whole": true, "gone": 0, "running": false, "can_go_on": false,
        "usage": Usage::default(), "cost": shown_cost(&Cost::default()), "entries": []})
}

impl ChatConversation {
    pub(super) fn is_running(&self) -> bool {
        self.state.lock().run.is_some()
    }

    pub(super) fn looked_at(&self) -> Instant {
        self.state.lock().looked
    }

    /// Returns `true` if no page looked at the conversation for minutes.
    pub(super) fn is_forgotten(&self) -> bool {
        self.looked_at().elapsed() > FORGOTTEN
    }

    /// Begins a run, or says why none begins.
    pub(super) fn begin(&self, from: ChatBeginning) -> Result<ChatRun, &'static str> {
        let run = {
            let mut state = self.state.lock();
            if state.run.is_some() {
                return Err("the model still works on the message before: wait for it, or stop it");
            }
            let is_long =
                serde_json::to_vec(&state.history).map_or(0, |text| text.len()) > MAX_HISTORY;
            if is_long {
                return Err("the conversation is too long to go on: Clear begins a new one");
            }
            state.transcript.begin_turn();
            match from {
                ChatBeginning::Message(message) => {
                    message.mark(&state.taint);
                    message.entries().for_each(|entry| state.transcript.push(entry));
                    state.history.push_user(message.into_content());
                }
                ChatBeginning::Again if !state.can_go_on => {
                    return Err("the last answer is whole: write a message");
                }
                ChatBeginning::Again => {}
            }
            state.can_go_on = false;
            state.looked = Instant::now();
            let token = CancellationToken::new();
            state.run = Some(token.clone());
            state.transcript.touch();
            ChatRun { history: state.history.clone(), taint: state.taint.clone(), token }
        };
        self.changed.send_replace(());
        Ok(run)
    }

    /// Cancels the run; returns `false` if there is none.
    pub(super) fn stop(&self) -> bool {
        self.state.lock().run.as_ref().map(CancellationToken::cancel).is_some()
    }

    /// Changes the entries.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut ChatTranscript) -> R) -> R {
        let changed = change(&mut self.state.lock().transcript);
        self.changed.send_replace(());
        changed
    }

    /// Ends the run with its outcome; `None` if it was lost.
    pub(super) fn end(&self, end: Option<Result<RunOutcome, RunError>>, took: Duration) {
        {
            let mut state = self.state.lock();
            state.run = None;
            state.transcript.end_calls();
            let (usage, cost, reason, fault, history) = match end {
                Some(Ok(outcome)) => {
                    let reason = outcome.reason;
                    let fault = outcome.blocked.unwrap_or_default();
                    // The answer of another agent that took the conversation over.
                    if state.transcript.last_text() != Some(&*outcome.content)
                        && reason == StopReason::Answered
                        && !outcome.content.is_empty()
                        && state.transcript.last_text().is_none()
                    {
                        state.transcript.push(ChatEntry::text("text", &outcome.content));
                    }
                    (outcome.usage, outcome.cost, reason.code(), fault, Some(outcome.history))
                }
                Some(Err(error)) => {
                    let fault = reason_of(&error);
                    (error.usage, error.cost, "failed", fault, Some(error.history))
                }
                None => {
                    let fault = "the run ended without an outcome; the program logs the reason";
                    (Usage::default(), Cost::default(), "failed", fault.to_owned(), None)
                }
            };
            if let Some(history) = history.filter(|history| !history.is_empty()) {
                state.history = history;
            }
            state.can_go_on = reason != StopReason::Answered.code()
                && match state.history.messages().last() {
                    Some(Message::User(_)) => true,
                    Some(Message::Step(step)) => !step.results().is_empty(),
                    None => false,
                };
            state.usage += usage;
            state.cost += cost;
            state.transcript.push(ChatEntry::new(json!({
                "kind": "end",
                "reason": reason,
                "fault": cut(&fault, MAX_FAULT),
                "usage": usage,
                "cost": shown_cost(&cost),
                "took_ms": took.as_secs_f64() * 1000.0,
            })));
        }
        self.changed.send_replace(());
    }

    /// Waits until there is something that a page has not seen, while the model works.
    pub(super) async fn changed_since(&self, seen: &SeenChanges, time: Duration) {
        let mut changed = self.changed.subscribe();
        let is_new = || {
            let mut state = self.state.lock();
            state.looked = Instant::now();
            seen.born != self.born
                || state.transcript.version() != seen.version
                || state.run.is_none()
        };
        let wait = async { while !is_new() && changed.changed().await.is_ok() {} };
        let _ = timeout(time, wait).await;
    }

    /// Returns what a page has not seen.
    pub(super) fn show(&self, seen: &SeenChanges) -> Value {
        let state = self.state.lock();
        let is_known = seen.born == self.born;
        let version = if is_known { seen.version } else { 0 };
        let has = seen.at.filter(|_| is_known).map(|at| (at, seen.bytes));
        json!({
            "born": self.born,
            "version": state.transcript.version(),
            "whole": !is_known,
            "gone": state.transcript.gone(),
            "running": state.run.is_some(),
            "can_go_on": state.can_go_on && state.run.is_none(),
            "usage": state.usage,
            "cost": shown_cost(&state.cost),
            "entries": state.transcript.since(version, has),
        })
    }
}

/// Returns the reason of a fault, with what helps.
fn reason_of(error: &RunError) -> String {
    let help = match &error.kind {
        RunErrorKind::Model(model) => match model.kind() {
            ModelErrorKind::Unauthorized => {
                ". The program that serves this page has the key: start it with another"
            }
            ModelErrorKind::RateLimited => ". Try again in a while",
            ModelErrorKind::ContextTooLong => ". Clear begins a new conversation",
            _ => "",
        },
        _ => "",
    };
    let said = error.to_string();
    format!("{}{help}", cut(&said, MAX_FAULT - 200).trim_end_matches('.'))
}

fn shown_cost(cost: &Cost) -> Value {
    json!({"usd": cost.money.to_string(), "unpriced_tokens": cost.unpriced_tokens})
}
