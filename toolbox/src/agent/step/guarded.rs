//! The guards on the input and the output of a run, and the validators of its answer.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use super::held::{GuardedReply, HeldDeltas};
use super::{ActiveRun, End, TypedAnswer};
use crate::agent::hooks::{Checked, Guard, Verdict};
use crate::call::{FailureKind, ToolResult};
use crate::dispatch::{Supervised, SupervisedEnd};
use crate::event::EventKind;
use crate::event::StopReason;
use crate::model::{ModelError, ModelResponse, Usage};
use crate::panics::forget_quietly;

impl ActiveRun {
    /// Returns `true` once all guards on the input have passed what the user has said.
    pub(super) fn is_input_passed(&self) -> bool {
        self.passed_guards == self.input_guards.len()
    }

    /// Waits for a reply and for the guards on the input, whichever comes first.
    pub(super) async fn beside_input_guards(
        &self,
        respond: impl Future<Output = Result<ModelResponse, ModelError>> + Send,
        deltas: &HeldDeltas<'_>,
    ) -> GuardedReply {
        if self.is_input_passed() {
            return GuardedReply::Passed(respond.await);
        }
        let context = self.scope.beside_calls(self.toolbox());
        let checked = Checked::input(context, self.request.history.clone());
        let mut guards = pin!(first_block(&self.input_guards[self.passed_guards..], &checked));
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
    pub(super) async fn guard_output(&mut self, end: End) -> End {
        if self.output_guards.is_empty() {
            return end;
        }
        let (reason, content) = match end {
            End::Stopped(reason, content) => (reason, content),
            other => return other,
        };
        let answer = self.answer.as_ref().filter(|_| reason == StopReason::Answered);
        let value = answer.and_then(TypedAnswer::value);
        if content.is_empty() && value.is_none() {
            return End::Stopped(reason, content);
        }
        let checked = self.checked(&content);
        let blocked = match self.limits.within(first_block(&self.output_guards, &checked)).await {
            Ok(Some(None)) => return End::Stopped(reason, content),
            Ok(Some(Some(reason))) => {
                self.events.emit(|| EventKind::Blocked { reason: reason.clone() });
                End::Blocked(StopReason::OutputBlocked, reason)
            }
            Ok(None) => End::Blocked(StopReason::OutputBlocked, panicked()),
            Err(reason) => End::stopped(reason),
        };
        if let Some(before) = self.before_reply.take() {
            self.request.history = before;
        }
        blocked
    }

    /// Returns the answer as guards and validators get it.
    fn checked(&self, text: &str) -> Checked {
        let context = self.scope.beside_calls(self.toolbox());
        let value = self.answer.as_ref().and_then(TypedAnswer::value);
        let written = value.as_ref().map(ToString::to_string);
        let history = self.request.history.clone();
        Checked::answer(context, written.as_deref().unwrap_or(text), value, history)
    }

    /// Returns what the validators say against an answer, if one does.
    pub(super) async fn validate(&self, text: &str) -> Result<Option<String>, End> {
        let validators = &self.agent.settings.hooks.on_answer;
        if validators.is_empty() {
            return Ok(None);
        }
        let checked = self.checked(text);
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
    pub(super) async fn validated(&self, taken: Vec<ToolResult>) -> (Vec<ToolResult>, Option<End>) {
        let Some(answer) = self.answer.as_ref().filter(|answer| answer.is_given()) else {
            return (taken, None);
        };
        let (kind, fault, end) = match self.validate("").await {
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

    /// Returns the message that tells the model of an answer which was not taken.
    pub(super) fn reminder(&self, fault: &str) -> String {
        let again = match &self.answer {
            Some(answer) => format!("Give it again by calling the tool `{}`.", answer.name()),
            None => "Answer again.".to_owned(),
        };
        format!("Your answer was not taken: {fault}\n{again}")
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
