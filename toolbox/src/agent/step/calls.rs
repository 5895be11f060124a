//! The calls of one reply.

use std::collections::{BTreeMap, HashMap};

use super::ActiveRun;
use super::account::RunAccount;
use super::answer::TypedAnswer;
use super::conversation::RunConversation;
use super::end::End;
use super::guards::RunGuards;
use super::legs::Leg;
use super::logged::unlogged;
use super::read::made;
use super::results::highest_handle;
use crate::agent::log::RunLog;
use crate::agent::outcome::RunErrorKind;
use crate::agent::paused::{Paused, PausedTranscript};
use crate::agent::repeat::{RepeatAction, RepeatGuard, repeat_warning};
use crate::agent::settings::InfrastructurePolicy;
use crate::call::{Content, FailureKind, ToolCall, ToolResult};
use crate::dispatch::Batch;
use crate::event::{EventKind, Reporter, StopReason};
use crate::model::{ToolChoice, Unanswered};

/// The plan for the calls of a reply.
#[derive(Default)]
pub(super) struct CallPlan {
    /// Calls to make, each with `true` if it was approved already.
    pub(super) made: Vec<(ToolCall, bool)>,
    /// Results of calls that are not made.
    pub(super) results: Vec<ToolResult>,
    /// `true` if the model was warned of the repetition and repeats the call all the same.
    stop: bool,
}

impl CallPlan {
    /// Sorts out the calls that the model repeats, beside those that were refused before. Tools
    /// that `may_poll` are called as often as the model likes.
    fn new(
        calls: Vec<(ToolCall, bool)>,
        refused: Vec<ToolResult>,
        repeats: &RepeatGuard,
        may_poll: impl Fn(&ToolCall) -> bool,
        events: &Reporter,
    ) -> Self {
        let mut plan = Self { results: refused, ..Self::default() };
        for (call, approved) in calls {
            match repeats.action(&call) {
                RepeatAction::Run => plan.made.push((call, approved)),
                _ if may_poll(&call) => plan.made.push((call, approved)),
                RepeatAction::Warn(times) => {
                    events.emit(|| EventKind::Repeated { tool: call.name.clone(), times });
                    tracing::warn!(tool = call.name, times, "a model repeats a call");
                    plan.results.push(repeat_warning(&call, times));
                }
                RepeatAction::Stop => {
                    plan.stop = true;
                    let text = "not run: the run was stopped, because the model repeats this call";
                    let result = ToolResult::refusal(FailureKind::Cancelled, text);
                    plan.results.push(result.with_call_id(call.id));
                }
            }
        }
        if plan.stop {
            let text = "not run: the run was stopped, because the model repeats another call";
            plan.refuse_from(0, FailureKind::Cancelled, text);
        }
        plan
    }

    /// Refuses the calls to make from a position on.
    fn refuse_from(&mut self, at: usize, kind: FailureKind, text: &str) {
        self.results.extend(
            self.made
                .drain(at..)
                .map(|(call, _)| ToolResult::refusal(kind, text).with_call_id(call.id)),
        );
    }

    /// Takes the calls from the account of the run, and refuses those it has no more of.
    async fn charge(
        &mut self,
        account: &mut RunAccount,
        max_calls: usize,
        is_replaying: bool,
    ) -> Result<(), End> {
        // The gate refuses what is beyond the limit of one reply; that costs nothing.
        let wanted = self.made.len().min(max_calls);
        let granted = account.take_calls(wanted, is_replaying).await?;
        if granted < wanted {
            let text = "not run: the run has spent the calls it may make";
            self.refuse_from(granted, FailureKind::OverBudget, text);
        }
        Ok(())
    }
}

impl ActiveRun {
    /// Decides which calls of a reply are made.
    pub(super) async fn plan(&mut self, open: &Unanswered) -> Result<CallPlan, End> {
        let Self { leg, conversation, guards, account } = self;
        let mut calls = open.calls().cloned().map(|call| (call, false)).collect();
        let refused = conversation.refuse_beside_handoff(&mut calls);
        let may_poll = |call: &ToolCall| {
            let tool = conversation.toolbox().called(&made(call).name);
            tool.is_some_and(|tool| tool.inner().running.polling)
        };
        let mut plan = CallPlan::new(calls, refused, &guards.repeats, may_poll, &leg.events);
        let max_calls = leg.settings().max_calls_per_step;
        plan.charge(account, max_calls, conversation.is_replaying()).await?;
        Ok(plan)
    }

    /// Makes the calls of a reply, and adds their results to the transcript. Returns the end, if it
    /// is one.
    pub(super) async fn carry_out(
        &mut self,
        mut open: Unanswered,
        plan: CallPlan,
        done: Vec<ToolResult>,
        observations: Vec<Vec<Content>>,
    ) -> Option<End> {
        let Self { leg, conversation, guards, account } = self;
        let CallPlan { made, mut results, stop } = plan;
        if leg.events.is_on() {
            report_unmade(&leg.events, &open, &results);
        }
        // The transcript may hold them differently: edited, or repaired.
        let asked: Vec<_> = open.calls().map(|call| guards.repeats.key(call)).collect();
        let tried = made.iter().any(|(call, _)| conversation.is_answer(&call.name));
        let was_replaying = conversation.is_replaying();
        let mut recorded = conversation.logged_calls(&leg.events);
        let (made, logged) = match conversation.take_logged(leg, made, &mut recorded).await {
            Ok(parts) => parts,
            Err(end) => return Some(end),
        };
        if was_replaying {
            leg.number_above(highest_handle(&logged));
            account.budgets.charge_shared_calls(made.len() as u64);
        }
        conversation.take_late_rules();
        let (mut made, cut_off) = conversation.call_all(leg, guards, made).await;
        made.extend(logged);
        conversation.jobs.note(&made);
        results.extend(made);
        for result in &results {
            if let Some(arguments) = result.edited() {
                open.set_arguments(result.call_id(), arguments.clone());
            }
        }
        results.extend(done);
        let failed = infrastructure_failure(leg.settings().infrastructure, &open, &results);
        let handoff = conversation.accepted_handoff(&open, &results);
        if results.iter().any(ToolResult::is_deferred) {
            return Some(Box::pin(self.pause(open, results, observations)).await);
        }
        if !recorded.is_complete
            && let Err(end) = conversation.log_answered(&open, &results).await
        {
            return Some(end);
        }
        let prefix = &leg.settings().error_prefix;
        if !prefix.is_empty() {
            results = results.into_iter().map(|result| result.with_error_prefix(prefix)).collect();
        }
        let request = &mut conversation.request;
        request.history = open.answer(results);
        // A call was made as was asked for; to ask for more would never let the model answer.
        request.tool_choice = ToolChoice::Auto;
        for observation in observations {
            request.history.push_user(observation);
        }
        if let Some(step) = request.history.steps().next_back() {
            guards.repeats.note(asked.into_iter().zip(step.results()));
        }
        if cut_off.is_some() {
            return cut_off;
        }
        if let Some((tool, message)) = failed {
            return Some(End::Failed(RunErrorKind::Tool { tool, message }));
        }
        if stop {
            return Some(End::stopped(StopReason::Repeated));
        }
        if let Some(handoff) = handoff {
            return Some(End::HandedOver(Box::new(handoff)));
        }
        if conversation.answer.as_ref().is_some_and(TypedAnswer::is_given) {
            Box::pin(self.end_unless_followed()).await
        } else if tried {
            guards.answer_failed(leg.settings().max_answer_attempts, String::new())
        } else {
            None
        }
    }

    /// Ends the run with the answer that a call gave, unless something was learned since: then that
    /// is forgotten.
    async fn end_unless_followed(&mut self) -> Option<End> {
        if self.conversation.log.as_ref().is_some_and(RunLog::is_message) {
            self.conversation.forget_answer();
            return None;
        }
        match self.next_job().await {
            Ok(None) if self.is_last() => Some(End::stopped(StopReason::Answered)),
            Ok(None) => {
                self.conversation.forget_answer();
                None
            }
            Ok(Some(completion)) => {
                let observed = self.conversation.observe(completion, &self.leg.events).await;
                self.conversation.forget_answer();
                observed.err()
            }
            Err(reason) => Some(End::stopped(reason)),
        }
    }

    /// Stops the run until the pending calls are decided.
    async fn pause(
        &mut self,
        open: Unanswered,
        results: Vec<ToolResult>,
        mut observations: Vec<Vec<Content>>,
    ) -> End {
        while let Some(completion) = self.conversation.jobs.ready() {
            observations.push(self.conversation.observation(completion, &self.leg.events));
        }
        // A job that ends during the pause could report to nobody, so jobs that are waited for end
        // first.
        while let Ok(Some(completion)) = self.next_job().await {
            observations.push(self.conversation.observation(completion, &self.leg.events));
        }
        let (waiting, done): (Vec<_>, Vec<_>) =
            results.into_iter().partition(ToolResult::is_deferred);
        let scope = &mut self.conversation.scope;
        let mut questions = BTreeMap::new();
        for id in waiting.iter().map(ToolResult::call_id) {
            let mut asked = scope.desk.take_open(id);
            if asked.is_empty() {
                asked = scope.asked.remove(id).unwrap_or_default();
            }
            if !asked.is_empty() {
                questions.insert(id.to_owned(), asked);
            }
        }
        let mut answers = std::mem::take(&mut scope.answers);
        answers.retain(|id, _| waiting.iter().any(|result| result.call_id() == id));
        let nested = waiting
            .iter()
            .filter_map(|result| {
                let below = scope.nested.paused.take(result.call_id())?;
                Some((result.call_id().to_owned(), below))
            })
            .collect();
        let paused = self.paused(PausedTranscript::Calls(open));
        End::Paused(Box::new(Paused { done, nested, questions, answers, observations, ..paused }))
    }
}

impl RunConversation {
    /// Makes calls through the gate. Returns the end of the run beside the results, if an answer
    /// could not be validated in its time.
    async fn call_all(
        &self,
        leg: &Leg,
        guards: &RunGuards,
        calls: Vec<(ToolCall, bool)>,
    ) -> (Vec<ToolResult>, Option<End>) {
        let mut cut_off = None;
        let settings = leg.settings();
        let batch = Batch { parallel: settings.parallel, max_calls: settings.max_calls_per_step };
        let (answers, calls): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|(call, _)| self.is_answer(&call.name));
        let again = match settings.infrastructure {
            InfrastructurePolicy::Retry(times) => (times, calls.clone()),
            _ => (0, Vec::new()),
        };
        let toolbox = self.toolbox();
        let mut results = toolbox.batch(Some(&self.scope.context), calls, batch).await;
        for _ in 0..again.0 {
            if !self.make_again(&again.1, &mut results, batch).await {
                break;
            }
        }
        if let Some(answer) = &self.answer {
            let taken = answer.take(&unlogged(&self.scope.context), answers).await;
            let (taken, end) = guards.validated(leg, self, taken).await;
            results.extend(taken);
            cut_off = end;
        }
        (results, cut_off)
    }

    /// Makes the calls again that failed for a reason outside of them, and returns whether there
    /// were any.
    async fn make_again(
        &self,
        calls: &[(ToolCall, bool)],
        results: &mut [ToolResult],
        batch: Batch,
    ) -> bool {
        let toolbox = self.toolbox();
        let failed = results
            .iter()
            .filter(|result| result.failure_kind() == Some(FailureKind::Infrastructure));
        // It ran, so it was approved if it had to be; with other arguments perhaps.
        let again: Vec<(ToolCall, bool)> = failed
            .filter_map(|result| {
                let (call, _) = calls.iter().find(|(call, _)| call.id == result.call_id())?;
                let tool = toolbox.called(&call.name)?;
                let arguments = result.edited().unwrap_or(&call.arguments).clone();
                let call = ToolCall { arguments, ..call.clone() };
                tool.definition().annotations.is_idempotent().then_some((call, true))
            })
            .collect();
        if again.is_empty() {
            return false;
        }
        for result in toolbox.batch(Some(&self.scope.context), again, batch).await {
            if let Some(old) = results.iter_mut().find(|old| old.call_id() == result.call_id()) {
                let edited = old.edited().cloned();
                *old = match edited {
                    Some(arguments) => result.with_edited(arguments),
                    None => result,
                };
            }
        }
        true
    }
}

/// Emits events for calls that were never made.
fn report_unmade(events: &Reporter, open: &Unanswered, results: &[ToolResult]) {
    let results: HashMap<&str, &ToolResult> =
        results.iter().map(|result| (result.call_id(), result)).collect();
    for call in open.calls() {
        match results.get(call.id.as_str()) {
            Some(result) if result.is_deferred() => {
                events.emit_at(call.line, || EventKind::ApprovalDeferred {
                    call_id: result.call_id().to_owned(),
                    tool: call.name.clone(),
                });
            }
            Some(result) => events.unmade(call, result),
            None => {}
        }
    }
}

/// Returns the tool that failed for a reason outside of its call, and its message, where that ends
/// the run.
fn infrastructure_failure(
    policy: InfrastructurePolicy,
    open: &Unanswered,
    results: &[ToolResult],
) -> Option<(String, String)> {
    if policy != InfrastructurePolicy::Abort {
        return None;
    }
    let failed =
        results.iter().find(|result| result.failure_kind() == Some(FailureKind::Infrastructure))?;
    let tool = open.calls().find(|call| call.id == failed.call_id())?.name.clone();
    Some((tool, failed.text().into_owned()))
}
