//! A hand on a run at work: messages on its way, and a pause.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::call::Content;
use crate::model::{History, UserContent};
use crate::sync::Mutex;

/// A handle to a run, for what comes up while it works. Clones are handles to the same run.
///
/// ```
/// use toolbox::agent::Agent;
/// use toolbox::testing::ScriptedModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new().text("Red.").text("Red, and blue.");
/// let agent = Agent::builder(model.clone()).build()?;
/// let run = agent.run("Which colours are in it?");
/// let handle = run.handle();
/// let run = run.on_event(move |event| {
///     // From another task just as well: a person types while the run works.
///     if event.step == 1 && matches!(event.kind, toolbox::agent::EventKind::ModelStarted { .. }) {
///         assert!(handle.steer("Also look at the back."));
///     }
/// });
/// assert_eq!(run.await?.content, "Red, and blue.");
/// assert_eq!(model.requests()[1].history.last_user_text().unwrap(), "Also look at the back.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunHandle(pub(super) Arc<Steering>);

impl RunHandle {
    /// Gives the run a message of the user, which enters the transcript before the next request to
    /// the model: after the results of calls that are being made, or after the answer, which then
    /// is not the last. [Guards on the input](super::AgentBuilder::guard_input) check it there.
    ///
    /// Returns `false` if the run has ended and the message is lost. A run that stops for another
    /// reason than an answer before it could take the message has it at the end of its
    /// [history](super::RunOutcome::history), and a paused one in its document.
    pub fn steer(&self, content: impl Into<UserContent>) -> bool {
        self.0.put(SteeredInput::new(content, false))
    }

    /// Gives the run a message, like [`steer`](Self::steer), and [pins](crate::History::pin) it.
    pub fn steer_pinned(&self, content: impl Into<UserContent>) -> bool {
        self.0.put(SteeredInput::new(content, true))
    }

    /// Pauses the run at the next boundary of a step: once the calls that are being made have their
    /// results, and before the model is asked again. An agent below pauses at a boundary of its
    /// own, and the call that started it goes on when the run does.
    ///
    /// The run then ends with [`StopReason::Paused`](super::StopReason::Paused) and a
    /// [`Paused`](super::Paused) document; [`Agent::go_on`](super::Agent::go_on) continues it. A
    /// run whose model answers first ends with the answer.
    pub fn pause(&self) {
        self.0.pause.0.store(true, Ordering::Release);
    }

    /// Returns `true` once the run takes no more messages.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.0.inbox.lock().is_closed
    }
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("is_ended", &self.is_ended()).finish()
    }
}

/// A message that the user sent while the run worked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SteeredInput {
    pub(super) content: Vec<Content>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) pinned: bool,
}

impl SteeredInput {
    pub(super) fn new(content: impl Into<UserContent>, pinned: bool) -> Self {
        Self { content: content.into().into_parts().to_vec(), pinned }
    }

    /// Adds the message to a transcript.
    pub(super) fn enter(self, history: &mut History) {
        history.push_user(self.content);
        if self.pinned {
            history.pin(history.len() - 1);
        }
    }
}

/// A wish that a run pauses.
#[derive(Clone, Default)]
pub(super) struct PauseFlag(Arc<AtomicBool>);

impl PauseFlag {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The messages for a run that wait for its next step, and the wish to pause it.
#[derive(Default)]
pub(super) struct Steering {
    inbox: Mutex<Inbox>,
    pub(super) pause: PauseFlag,
}

#[derive(Default)]
struct Inbox {
    waiting: VecDeque<SteeredInput>,
    is_closed: bool,
}

impl Steering {
    /// Adds a message; returns `false` if the run has ended.
    pub(super) fn put(&self, input: SteeredInput) -> bool {
        let mut inbox = self.inbox.lock();
        if !inbox.is_closed {
            inbox.waiting.push_back(input);
        }
        !inbox.is_closed
    }

    /// Adds messages before those that wait.
    pub(super) fn put_first(&self, inputs: Vec<SteeredInput>) {
        let mut inbox = self.inbox.lock();
        for input in inputs.into_iter().rev() {
            inbox.waiting.push_front(input);
        }
    }

    pub(super) fn take(&self) -> Option<SteeredInput> {
        self.inbox.lock().waiting.pop_front()
    }

    /// Forgets a message that the log of the run has already.
    pub(super) fn forget(&self, input: &SteeredInput) {
        let mut inbox = self.inbox.lock();
        if let Some(at) = inbox.waiting.iter().position(|own| own == input) {
            inbox.waiting.remove(at);
        }
    }

    /// Takes no more messages, if none waits. Returns `false` if one does.
    pub(super) fn close_if_empty(&self) -> bool {
        let mut inbox = self.inbox.lock();
        inbox.is_closed |= inbox.waiting.is_empty();
        inbox.is_closed
    }

    /// Takes no more messages, and returns those that wait.
    pub(super) fn close(&self) -> Vec<SteeredInput> {
        let mut inbox = self.inbox.lock();
        inbox.is_closed = true;
        inbox.waiting.drain(..).collect()
    }
}

/// A run that is dropped takes no messages either.
pub(super) struct CloseOnDrop(pub(super) Arc<Steering>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}
