//! The calls of one reply.

use std::collections::{BTreeMap, HashMap};

use super::logged::unlogged;
use super::results::highest_handle;
use super::{ActiveRun, End, TypedAnswer};
use crate::agent::log::RunLog;
use crate::agent::outcome::RunErrorKind;
use crate::agent::paused::{Decisions, Paused, PausedTranscript, decisions_below};
use crate::agent::repeat::{RepeatAction, repeat_warning};
use crate::agent::settings::InfrastructurePolicy;
use crate::call::{Content, FailureKind, ToolCall, ToolResult};
use crate::context::{Decision, Principal};
use crate::dispatch::Batch;
use crate::event::StopReason;
use crate::event::{EventKind, decided, shown_arguments};
use crate::model::{ToolChoice, Unanswered};
use crate::text::{QUOTED, quote};

/// The plan for the calls of a reply.
struct CallPlan {
    /// Calls to make, each with `true` if it was approved already.
    made: Vec<(ToolCall, bool)>,
    /// Results of calls that are not made.
    results: Vec<ToolResult>,
    /// `true` if the model was warned of the repetition and repeats the call all the same.
    stop: bool,
}

/// Returns the result of a call that is not decided on yet.
fn still_waiting(call: ToolCall) -> ToolResult {
    let text = format!("tool `{}` waits; it has not run", quote(&call.name, QUOTED));
    ToolResult::refusal(FailureKind::Deferred, text).with_call_id(call.id)
}

impl ActiveRun {
    /// Makes the calls of a reply, and adds their results to the transcript. Returns the end, if it
    /// is one.
    pub(super) async fn make_calls(&mut self, open: Unanswered) -> Option<End> {
        let calls = open.calls().cloned().map(|call| (call, false)).collect();
        let plan = self.plan(calls);
        self.carry_out(open, plan, Vec::new(), Vec::new()).await
    }

    /// Goes on with a run that waited for decisions.
    ///
    /// The pause must belong to an agent of this name and to the principal of the run.
    pub(super) async fn resume(&mut self, paused: Paused, decisions: &Decisions) -> Option<End> {
        let principal = Principal::of(&self.scope.base);
        if paused.agent != self.handed.began_as() || paused.principal != principal.as_str() {
            let paused = Box::new(paused);
            let agent = self.handed.began_as().to_owned();
            return Some(End::Failed(RunErrorKind::ForeignPause { agent, paused }));
        }
        self.limits.iterations = paused.iterations;
        // There are no calls before the guards have passed.
        self.passed_guards = match &paused.open {
            PausedTranscript::Calls(_) => self.input_guards.len(),
            PausedTranscript::Step(_) => paused.passed_guards.min(self.input_guards.len()),
        };
        self.before_reply = Some(paused.open.before().clone());
        self.enter_step();
        self.take_rules();
        self.leave_out(paused.left_out.clone());
        self.scope.asked_by_user &= !paused.begun_by_others;
        self.window.lowered = paused.lowered_limit;
        self.read_paused(&paused);
        let waiting: Vec<ToolCall> = paused.waiting().cloned().collect();
        self.limits.budgets.resume(paused.spent, paused.usage);
        let Paused {
            open,
            mut nested,
            questions,
            answers,
            done,
            observations,
            inputs,
            task,
            has_called,
            ..
        } = paused;
        (self.scope.asked, self.scope.answers) = (questions, answers);
        self.steering.put_first(inputs);
        let messages = open.before().messages();
        self.window.task = task.iter().filter_map(|at| messages.get(*at).cloned()).collect();
        if has_called {
            self.request.tool_choice = ToolChoice::Auto;
        }
        let mut open = match open {
            PausedTranscript::Calls(open) => open,
            PausedTranscript::Step(history) => {
                self.request.history = history;
                return None;
            }
        };
        let mut plan = CallPlan { made: Vec::new(), results: Vec::new(), stop: false };
        for mut call in waiting {
            if let Some(below) = nested.remove(&call.id) {
                self.scope
                    .nested
                    .resumed
                    .put(&call.id, (below, decisions_below(decisions, &call.id)));
                // An altered document must not stand in for a decision.
                let tool = self.toolbox().get(&call.name);
                let was_let_in = tool.is_some_and(|tool| tool.inner().running.starts_run);
                plan.made.push((call, was_let_in));
                continue;
            }
            if let Some(decision) = decisions.get(&call.id) {
                self.report_decision(&call, decision);
                if let Err(refusal) =
                    self.toolbox().audit_decision(&self.scope.context, &call, decision).await
                {
                    plan.results.push(refusal.with_call_id(call.id));
                    continue;
                }
            }
            match decisions.get(&call.id) {
                Some(Decision::Approve) => plan.made.push((call, true)),
                Some(Decision::Edit(arguments)) => {
                    open.set_arguments(&call.id, arguments.clone());
                    call.arguments = arguments.clone();
                    plan.made.push((call, true));
                }
                Some(Decision::Deny(reason)) => {
                    let refusal = ToolResult::refusal(FailureKind::NotApproved, reason);
                    plan.results.push(refusal.with_call_id(call.id));
                }
                Some(Decision::Answer(text)) => {
                    plan.results.push(self.result_from_outside(&call, text).await);
                }
                Some(Decision::Reply(replies)) if self.scope.take_replies(&call.id, replies) => {
                    // An approval is asked for again: an altered document must not stand in for it.
                    plan.made.push((call, false));
                }
                Some(Decision::Defer | Decision::Reply(_)) | None => {
                    plan.results.push(still_waiting(call));
                }
            }
        }
        self.scope.give_answers();
        self.carry_out(open, plan, done, observations).await
    }

    /// Returns the result of a call that was answered in place of its tool.
    async fn result_from_outside(&self, call: &ToolCall, text: &str) -> ToolResult {
        let mut result = ToolResult::new(text).with_call_id(call.id.clone());
        if let Some(tool) = self.toolbox().get(&call.name) {
            let settings = &self.toolbox().shared.settings;
            settings.bound(&tool, &self.scope.context, &mut result).await;
        }
        self.read_result(&self.known_boxes(), call, &result);
        result
    }

    /// Decides which calls are made.
    fn plan(&mut self, calls: Vec<(ToolCall, bool)>) -> CallPlan {
        let mut calls = calls;
        let results = self.refuse_beside_handoff(&mut calls);
        let mut plan = CallPlan { made: Vec::new(), results, stop: false };
        for (call, approved) in calls {
            match self.guard.action(&call) {
                RepeatAction::Run => plan.made.push((call, approved)),
                RepeatAction::Warn(times) => {
                    self.events.emit(|| EventKind::Repeated { tool: call.name.clone(), times });
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
            plan.results.extend(plan.made.drain(..).map(|(call, _)| {
                ToolResult::refusal(FailureKind::Cancelled, text).with_call_id(call.id)
            }));
        }
        // The gate refuses what is beyond the limit of one reply; that costs nothing.
        let wanted = plan.made.len().min(self.agent.settings.max_calls_per_step);
        // What the log has was charged to budgets that outlive the run when it was made.
        let granted = match &self.log {
            Some(log) if log.is_replaying() => self.limits.budgets.take_calls_again(wanted as u64),
            _ => self.limits.budgets.take_calls(wanted as u64),
        };
        let granted = usize::try_from(granted).unwrap_or(wanted);
        if granted == wanted {
            return plan;
        }
        self.limits.over_budget = true;
        plan.results.extend(plan.made.split_off(granted).into_iter().map(|(call, _)| {
            let text = "not run: the run has spent the calls it may make";
            ToolResult::refusal(FailureKind::OverBudget, text).with_call_id(call.id)
        }));
        plan
    }

    async fn carry_out(
        &mut self,
        mut open: Unanswered,
        plan: CallPlan,
        done: Vec<ToolResult>,
        observations: Vec<Vec<Content>>,
    ) -> Option<End> {
        let CallPlan { made, mut results, stop } = plan;
        if self.events.is_on() {
            self.report_unmade(&open, &results);
        }
        // The transcript may hold them differently: edited, or repaired.
        let asked: Vec<_> = open.calls().map(|call| self.guard.key(call)).collect();
        let tried = made.iter().any(|(call, _)| self.is_answer(&call.name));
        let was_replaying = self.log.as_ref().is_some_and(RunLog::is_replaying);
        let mut recorded = self.logged_calls();
        let (made, logged) = match self.take_logged(made, &mut recorded).await {
            Ok(parts) => parts,
            Err(end) => return Some(end),
        };
        if was_replaying {
            self.number_above(highest_handle(&logged));
            self.limits.budgets.charge_shared_calls(made.len() as u64);
        }
        let (mut made, cut_off) = self.call_all(made).await;
        made.extend(logged);
        self.jobs.note(&made);
        results.extend(made);
        for result in &results {
            if let Some(arguments) = result.edited() {
                open.set_arguments(result.call_id(), arguments.clone());
            }
        }
        results.extend(done);
        let failed = self.infrastructure_failure(&open, &results);
        let handoff = self.accepted_handoff(&open, &results);
        if results.iter().any(ToolResult::is_deferred) {
            return Some(self.pause(open, results, observations).await);
        }
        if !recorded.is_complete
            && let Err(end) = self.log_answered(&open, &results).await
        {
            return Some(end);
        }
        let prefix = &self.agent.settings.error_prefix;
        if !prefix.is_empty() {
            results = results.into_iter().map(|result| result.with_error_prefix(prefix)).collect();
        }
        self.request.history = open.answer(results);
        // A call was made as was asked for; to ask for more would never let the model answer.
        self.request.tool_choice = ToolChoice::Auto;
        for observation in observations {
            self.request.history.push_user(observation);
        }
        if let Some(step) = self.request.history.steps().next_back() {
            self.guard.note(asked.into_iter().zip(step.results()));
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
        if !self.answer.as_ref().is_some_and(TypedAnswer::is_given) {
            return if tried { self.answer_failed(String::new()) } else { None };
        }
        if self.log.as_ref().is_some_and(RunLog::is_message) {
            self.answer.iter().for_each(TypedAnswer::forget);
            return None;
        }
        match self.next_job().await {
            Ok(None) if self.is_last() => Some(End::stopped(StopReason::Answered)),
            Ok(None) => {
                self.answer.iter().for_each(TypedAnswer::forget);
                None
            }
            Ok(Some(completion)) => {
                let failed = self.observe(completion).await.err();
                self.answer.iter().for_each(TypedAnswer::forget);
                failed
            }
            Err(reason) => Some(End::stopped(reason)),
        }
    }

    /// Makes calls through the gate. Returns the end of the run beside the results, if an answer
    /// could not be validated in its time.
    async fn call_all(&self, calls: Vec<(ToolCall, bool)>) -> (Vec<ToolResult>, Option<End>) {
        let mut cut_off = None;
        let settings = &self.agent.settings;
        let batch = Batch { parallel: settings.parallel, max_calls: settings.max_calls_per_step };
        let (answers, calls): (Vec<_>, Vec<_>) = calls.into_iter().partition(|(call, _)| {
            self.answer.as_ref().is_some_and(|answer| answer.is_named(&call.name))
        });
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
            let (taken, end) = self.validated(taken).await;
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
                let tool = toolbox.get(&call.name)?;
                let arguments = result.edited().unwrap_or(&call.arguments).clone();
                let call = ToolCall::new(call.id.as_str(), call.name.as_str(), arguments);
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

    /// Emits the event for a decision with which the run goes on.
    fn report_decision(&self, call: &ToolCall, decision: &Decision) {
        let schema = || self.toolbox().get(&call.name).map(|tool| tool.shared_definition().clone());
        self.events.emit(|| {
            let schema = schema();
            decided(&call.name, call.id.clone(), "resumed", decision, |text| match &schema {
                Some(definition) => shown_arguments(&definition.input_schema, text),
                None => text.into(),
            })
        });
    }

    /// Emits events for calls that were never made.
    fn report_unmade(&self, open: &Unanswered, results: &[ToolResult]) {
        let results: HashMap<&str, &ToolResult> =
            results.iter().map(|result| (result.call_id(), result)).collect();
        for call in open.calls() {
            match results.get(call.id.as_str()) {
                Some(result) if result.is_deferred() => {
                    self.events.emit(|| EventKind::ApprovalDeferred {
                        call_id: result.call_id().to_owned(),
                        tool: call.name.clone(),
                    });
                }
                Some(result) => self.events.unmade(&call.name, result),
                None => {}
            }
        }
    }

    fn infrastructure_failure(
        &self,
        open: &Unanswered,
        results: &[ToolResult],
    ) -> Option<(String, String)> {
        if self.agent.settings.infrastructure != InfrastructurePolicy::Abort {
            return None;
        }
        let failed = results
            .iter()
            .find(|result| result.failure_kind() == Some(FailureKind::Infrastructure))?;
        let tool = open.calls().find(|call| call.id == failed.call_id())?.name.clone();
        Some((tool, failed.text().into_owned()))
    }

    /// Stops the run until the pending calls are decided.
    async fn pause(
        &mut self,
        open: Unanswered,
        results: Vec<ToolResult>,
        mut observations: Vec<Vec<Content>>,
    ) -> End {
        while let Some(completion) = self.jobs.ready() {
            observations.push(self.observation(completion));
        }
        // A job that ends during the pause could report to nobody, so jobs that are waited for end
        // first.
        while let Ok(Some(completion)) = self.next_job().await {
            observations.push(self.observation(completion));
        }
        let (waiting, done): (Vec<_>, Vec<_>) =
            results.into_iter().partition(ToolResult::is_deferred);
        let mut questions = BTreeMap::new();
        for id in waiting.iter().map(ToolResult::call_id) {
            let mut asked = self.scope.desk.take_open(id);
            if asked.is_empty() {
                asked = self.scope.asked.remove(id).unwrap_or_default();
            }
            if !asked.is_empty() {
                questions.insert(id.to_owned(), asked);
            }
        }
        let mut answers = std::mem::take(&mut self.scope.answers);
        answers.retain(|id, _| waiting.iter().any(|result| result.call_id() == id));
        let nested = waiting
            .iter()
            .filter_map(|result| {
                let below = self.scope.nested.paused.take(result.call_id())?;
                Some((result.call_id().to_owned(), below))
            })
            .collect();
        let paused = self.paused(PausedTranscript::Calls(open));
        End::Paused(Box::new(Paused { done, nested, questions, answers, observations, ..paused }))
    }
}
