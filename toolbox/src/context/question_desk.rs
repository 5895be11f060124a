//! Questions of calls that nobody answers at once: the run that made the calls pauses with them.

use std::collections::HashMap;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::context::ToolContext;
use super::question::{Answer, Question, QuestionForm};
use crate::future::BoxFuture;
use crate::sync::Mutex;

/// A question that waits for its answer, with a call of a paused run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingQuestion {
    /// The key that the tool gave it, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The question, for a person.
    pub message: String,
    /// The form of the answer.
    pub form: QuestionForm,
    /// The mounted server that asks, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// An answer that was given to a call before it was made again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GivenAnswer {
    question: PendingQuestion,
    answer: Answer,
}

impl PendingQuestion {
    fn of(question: &Question) -> Self {
        Self {
            key: question.key.clone(),
            message: question.message.clone(),
            form: question.form.clone(),
            server: question.server.clone(),
        }
    }

    pub(crate) fn answered(self, answer: Answer) -> GivenAnswer {
        GivenAnswer { question: self, answer }
    }

    /// Returns `true` if a call that is made again means the same by another question.
    fn is_repeated_by(&self, other: &Question) -> bool {
        let is_same =
            if self.key.is_empty() { self.message == other.message } else { self.key == other.key };
        is_same && self.server == other.server
    }
}

/// The questions of the calls of one run, by the ids of the calls.
#[derive(Default)]
pub(crate) struct QuestionDesk {
    calls: Mutex<HashMap<String, CallQuestions>>,
    opened: Notify,
}

#[derive(Default)]
struct CallQuestions {
    /// Answers that were given before the call was made again, each used once.
    given: Vec<GivenAnswer>,
    /// Questions that nobody has answered.
    open: Vec<PendingQuestion>,
}

impl QuestionDesk {
    /// Provides answers to a call that is made again.
    pub(crate) fn give(&self, call_id: &str, answers: Vec<GivenAnswer>) {
        self.calls.lock().entry(call_id.to_owned()).or_default().given = answers;
    }

    /// Takes the open questions of a call.
    pub(crate) fn take_open(&self, call_id: &str) -> Vec<PendingQuestion> {
        self.calls.lock().remove(call_id).unwrap_or_default().open
    }

    /// Returns `true` if a question of a call is open.
    pub(crate) fn is_open(&self, call_id: &str) -> bool {
        self.calls.lock().get(call_id).is_some_and(|call| !call.open.is_empty())
    }

    fn answer_to(&self, call_id: &str, question: &Question) -> Option<Answer> {
        let mut calls = self.calls.lock();
        let given = &mut calls.get_mut(call_id)?.given;
        let at = given.iter().position(|own| own.question.is_repeated_by(question))?;
        Some(given.remove(at).answer)
    }

    fn open(&self, call_id: &str, question: &Question) {
        let pending = PendingQuestion::of(question);
        self.calls.lock().entry(call_id.to_owned()).or_default().open.push(pending);
        self.opened.notify_waiters();
    }

    /// Waits until a question of a call is open.
    async fn until_open(&self, call_id: &str) {
        loop {
            let mut opened = pin!(self.opened.notified());
            opened.as_mut().enable();
            if self.is_open(call_id) {
                return;
            }
            opened.await;
        }
    }
}

#[derive(Clone)]
struct Desk(Arc<QuestionDesk>);

impl ToolContext {
    /// Lets the questions of calls pause the run that makes them.
    pub(crate) fn with_question_desk(self, desk: Arc<QuestionDesk>) -> Self {
        self.with_extension(Desk(desk))
    }

    /// Returns the context of a call whose questions pause no run, since it is not made again.
    pub(crate) fn without_question_desk(self) -> Self {
        self.without_extension::<Desk>()
    }

    /// Returns the desk that was put in last.
    pub(crate) fn shared_question_desk(&self) -> Option<Arc<QuestionDesk>> {
        self.extension().map(|Desk(desk)| Arc::clone(desk))
    }

    fn question_desk(&self) -> Option<&QuestionDesk> {
        self.extension().filter(|_| self.is_deferrable()).map(|Desk(desk)| &**desk)
    }

    /// Returns `true` if the call belongs to a run that pauses, and can be resumed, where a
    /// decision or an answer is missing.
    #[must_use]
    pub fn can_pause(&self) -> bool {
        self.question_desk().is_some()
    }

    /// Returns `true` if the call asks something that nobody answers.
    pub(crate) fn has_open_question(&self) -> bool {
        self.question_desk().is_some_and(|desk| desk.is_open(self.call_id()))
    }

    /// Waits until a question of the call is open that nobody answers; `None` if none can be.
    pub(crate) fn until_question_is_open(&self) -> Option<BoxFuture<'_, ()>> {
        let desk = self.question_desk()?;
        Some(Box::pin(desk.until_open(self.call_id())))
    }

    /// Puts a question to whoever answers for the call. Where nobody does, and the call belongs to
    /// a run that can pause, the run pauses and this call ends here.
    pub(super) async fn put_question(&self, question: Question) -> Answer {
        let desk = self.question_desk();
        if let Some(answer) = desk.and_then(|desk| desk.answer_to(self.call_id(), &question)) {
            return answer;
        }
        let answer = match self.asker() {
            Some(asker) => asker.ask(question.clone()).await,
            None => Answer::Nobody,
        };
        match desk.filter(|_| answer == Answer::Nobody) {
            None => answer,
            Some(desk) => {
                desk.open(self.call_id(), &question);
                // The gate drops the call.
                pending().await
            }
        }
    }
}
