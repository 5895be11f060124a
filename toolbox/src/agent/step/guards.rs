//! The guards of a run: limits, guards on its input and output, validators, repeated calls.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use super::answer::TypedAnswer;
use super::conversation::RunConversation;
use super::end::End;
use super::held::{GuardedReply, HeldDeltas};
use super::legs::Leg;
use super::limits::RunLimits;
use crate::agent::hooks::{Checked, Guard, Verdict};
use crate::agent::repeat::RepeatGuard;
use crate::agent::settings::AgentSettings;
use crate::call::{FailureKind, ToolResult};
use crate::dispatch::{Supervised, SupervisedEnd};
use crate::event::{EventKind, Reporter, StopReason};
use crate::model::{Finish, ModelError, ModelResponse, Usage};
use crate::panics::forget_quietly;

/// The guards of a run, and how far it has passed them.
pub(super) struct RunGuards {
    pub(super) limits: RunLimits,
    pub(super) repeats: RepeatGuard,
    /// The guards on the input: those of the agent, behind those of the agents before it.
    input: Vec<Arc<dyn Guard>>,
    /// The number of them that have passed all that the user has said, from the first.
    passed_input: usize,
    /// The guards on the output: those of the agents before, and of the agent.
    output: Vec<Arc<dyn Guard>>,
    /// The number of answers that were not taken.
    failed_answers: u32,
    /// The number of replies in a row that were no answer, and made no call that could run.
    unfinished: u32,
}

impl RunGuards {
    pub(super) fn new(limits: RunLimits) -> Self {
        Self {
            limits,
            repeats: RepeatGuard::new(None),
            input: Vec::new(),
            passed_input: 0,
            output: Vec::new(),
            failed_answers: 0,
            unfinished: 0,
        }
    }

    /// Adds the guards of the agent that has the conversation from now on.
    pub(super) fn enter_leg(&mut self, settings: &AgentSettings) {
        self.repeats = RepeatGuard::new(settings.repeat_limit);
        self.input.extend_from_slice(&settings.hooks.on_input);
        self.output.extend_from_slice(&settings.hooks.on_output);
    }

    /// Returns `true` once all guards on the input have passed what the user has said.
    pub(super) fn is_input_passed(&self) -> bool {
        self.passed_input == self.input.len()
    }

    /// Returns the number of guards that have passed the input, for a pause.
    pub(super) fn passed_input(&self) -> usize {
        self.passed_input
    }

    /// Notes that the first `passed` guards have passed the input, or all where there are fewer.
    pub(super) fn set_passed_input(&mut self, passed: usize) {
        self.passed_input = passed.min(self.input.len());
    }

    pub(super) fn pass_input(&mut self) {
        self.passed_input = self.input.len();
    }

    /// Returns `true` if guards may block the reply.
    pub(super) fn may_block_reply(&self) -> bool {
        !self.output.is_empty()
    }

    /// Waits for a reply and for the guards on the input, whichever comes first.
    pub(super) async fn beside_input(
        &self,
        conversation: &RunConversation,
        respond: impl Future<Output = Result<ModelResponse, ModelError>> + Send,
        deltas: &HeldDeltas<'_>,
    ) -> GuardedReply {
        if self.is_input_passed() {
            return GuardedReply::Passed(respond.await);
        }
        let context = conversation.context_beside_calls();
        let checked = Checked::input(context, conversation.request.history.clone());
        let mut guards = pin!(first_block(&self.input[self.passed_input..], &checked));
        let mut respond = pin!(respond);
        let mut has_passed = false;
        let mut reply = None;
        poll_fn(|context| {
            if !has_passed && let Poll::Ready(block) = guards.as_mut().poll(context) {
                match block {
                    Some(reason) => {
                        let usage = match reply.take() {
                            Some(Ok(ModelResponse { usage, .. })) => usage,
                            _ => Usage::default(),
                        };
                        return Poll::Ready(GuardedReply::Blocked { reason, usage });
                    }
                    None => {
                        has_passed = true;
                        deltas.release();
                    }
                }
            }
            if reply.is_none() {
                match respond.as_mut().poll(context) {
                    Poll::Ready(Err(error)) => {
                        return Poll::Ready(GuardedReply::Passed(Err(error)));
                    }
                    Poll::Ready(response) => reply = Some(response),
                    Poll::Pending => {}
                }
            }
            match reply.take_if(|_| has_passed) {
                Some(response) => Poll::Ready(GuardedReply::Passed(response)),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Lets the guards on the output check what the run is about to return.
    pub(super) async fn guard_output(
        &self,
        conversation: &mut RunConversation,
        events: &Reporter,
        end: End,
    ) -> End {
        if self.output.is_empty() {
            return end;
        }
        let (reason, content) = match end {
            End::Stopped(reason, content) => (reason, content),
            other => return other,
        };
        let answer = conversation.answer.as_ref().filter(|_| reason == StopReason::Answered);
        let value = answer.and_then(TypedAnswer::value);
        if content.is_empty() && value.is_none() {
            return End::Stopped(reason, content);
        }
        let checked = conversation.checked(&content);
        let blocked = match self.limits.within(first_block(&self.output, &checked)).await {
            Ok(Some(None)) => return End::Stopped(reason, content),
            Ok(Some(Some(reason))) => {
                events.emit(|| EventKind::Blocked { reason: reason.clone() });
                End::Blocked(StopReason::OutputBlocked, reason)
            }
            Ok(None) => End::Blocked(StopReason::OutputBlocked, panicked()),
            Err(reason) => End::stopped(reason),
        };
        conversation.take_back_reply();
        blocked
    }

    /// Returns what the validators of the agent say against an answer, if one does.
    pub(super) async fn validate(
        &self,
        leg: &Leg,
        conversation: &RunConversation,
        text: &str,
    ) -> Result<Option<String>, End> {
        let validators = &leg.settings().hooks.on_answer;
        if validators.is_empty() {
            return Ok(None);
        }
        let checked = conversation.checked(text);
        for validator in validators {
            match self.limits.within(validator.validate(&checked)).await.map_err(End::stopped)? {
                Some(Ok(())) => {}
                Some(Err(fault)) => return Ok(Some(fault)),
                None => {
                    tracing::error!("a validator of answers panicked");
                    return Ok(Some("it could not be checked".to_owned()));
                }
            }
        }
        Ok(None)
    }

    /// Lets the validators check the answer that a call gave, and forgets one that they do not
    /// take.
    ///
    /// Returns the end of the run too, if that came first: the calls still have their results.
    pub(super) async fn validated(
        &self,
        leg: &Leg,
        conversation: &RunConversation,
        taken: Vec<ToolResult>,
    ) -> (Vec<ToolResult>, Option<End>) {
        let Some(answer) = conversation.answer.as_ref().filter(|answer| answer.is_given()) else {
            return (taken, None);
        };
        let (kind, fault, end) = match self.validate(leg, conversation, "").await {
            Ok(None) => return (taken, None),
            Ok(Some(fault)) => (FailureKind::InvalidArguments, fault, None),
            Err(end) => (FailureKind::Cancelled, "the run has ended".to_owned(), Some(end)),
        };
        answer.forget();
        let refuse = |result: ToolResult| {
            let text = format!("the answer was not taken: {fault}");
            let id = result.call_id().to_owned();
            ToolResult::failure(kind, text).with_call_id(id)
        };
        (taken.into_iter().map(refuse).collect(), end)
    }

    /// Counts a reply that is no answer and makes no call that can run. Returns the end of the run,
    /// unless the model is asked again: once, and where it wrote too much or nothing that could be
    /// read, up to the limit of repetitions.
    pub(super) fn unfinished(&mut self, finish: &Finish, text: String) -> Option<End> {
        self.unfinished = self.unfinished.saturating_add(1);
        let (most, reason) = match finish {
            Finish::Length => (self.repeats.limit(), StopReason::Length),
            Finish::MalformedCall => (self.repeats.limit(), StopReason::NoAnswer),
            _ => (Some(2), StopReason::NoAnswer),
        };
        (most.is_some_and(|most| self.unfinished >= most)).then(|| {
            tracing::warn!(replies = self.unfinished, %finish, "a model gave no answer");
            End::Stopped(reason, text)
        })
    }

    /// Notes that a reply was an answer, or made calls.
    pub(super) fn finished(&mut self) {
        self.unfinished = 0;
    }

    /// Counts an attempt at an answer that came to nothing, and returns the end of the run if it
    /// was the last of `most`.
    pub(super) fn answer_failed(&mut self, most: u32, text: String) -> Option<End> {
        self.failed_answers = self.failed_answers.saturating_add(1);
        if self.failed_answers < most {
            return None;
        }
        tracing::warn!(attempts = most, "a model gave no answer that was taken");
        Some(End::Stopped(StopReason::AnswerInvalid, text))
    }
}

/// Runs guards beside each other, and returns the reason of the first that blocks.
async fn first_block(guards: &[Arc<dyn Guard>], checked: &Checked) -> Option<String> {
    let supervised = |guard| {
        let guard: &Arc<dyn Guard> = guard;
        // In the future, so that a panic before it is one of the guard too.
        Supervised::new(Box::pin(async move { guard.check(checked).await }), None, None)
    };
    let mut open: Vec<_> = guards.iter().map(supervised).collect();
    poll_fn(|context| {
        let mut block = None;
        open.retain_mut(|guard| {
            if block.is_some() {
                return true;
            }
            match Pin::new(guard).poll(context) {
                Poll::Ready(SupervisedEnd::Done(Verdict::Pass)) => false,
                Poll::Ready(SupervisedEnd::Done(Verdict::Block(reason))) => {
                    block = Some(reason);
                    false
                }
                Poll::Ready(SupervisedEnd::Panicked(payload)) => {
                    forget_quietly(payload);
                    tracing::error!("a guard panicked");
                    block = Some(panicked());
                    false
                }
                // They have no limits of their own.
                Poll::Ready(SupervisedEnd::Cancelled | SupervisedEnd::TimedOut) | Poll::Pending => {
                    true
                }
            }
        });
        match block {
            Some(reason) => Poll::Ready(Some(reason)),
            None if open.is_empty() => Poll::Ready(None),
            None => Poll::Pending,
        }
    })
    .await
}

fn panicked() -> String {
    "a guard panicked".to_owned()
}
