//! A run that goes on after a pause.

use super::ActiveRun;
use super::calls::CallPlan;
use super::conversation::RunConversation;
use super::end::End;
use super::legs::Leg;
use crate::agent::outcome::RunErrorKind;
use crate::agent::paused::{Decisions, Paused, PausedTranscript, decisions_below};
use crate::agent::taken::take;
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::context::{Decision, Principal};
use crate::event::{decided, shown_arguments};
use crate::model::ToolChoice;
use crate::text::{QUOTED, quote};

/// Returns the result of a call that is not decided on yet.
fn still_waiting(call: ToolCall) -> ToolResult {
    let text = format!("tool `{}` waits; it has not run", quote(&call.name, QUOTED));
    ToolResult::refusal(FailureKind::Deferred, text).with_call_id(call.id)
}

impl ActiveRun {
    /// Goes on with a run that waited for decisions.
    ///
    /// The pause must belong to an agent of this name and to the principal of the run.
    pub(super) async fn resume(&mut self, paused: Paused, decisions: &Decisions) -> Option<End> {
        let Self { leg, conversation, guards, account } = self;
        let principal = Principal::of(&conversation.scope.base);
        if paused.agent != leg.handed.began_as() || paused.principal != principal.as_str() {
            let paused = Box::new(paused);
            let agent = leg.handed.began_as().to_owned();
            return Some(End::Failed(RunErrorKind::ForeignPause { agent, paused }));
        }
        // A run with a log took it as that began.
        if conversation.log.is_none()
            && let Some(journal) = &conversation.toolbox().shared.settings.journal
            && let Err(kind) = take(&**journal, None, &leg.given, &paused, decisions).await
        {
            return Some(End::Failed(kind));
        }
        account.resume(&paused);
        match &paused.open {
            // There are no calls before the guards have passed.
            PausedTranscript::Calls(_) => guards.pass_input(),
            PausedTranscript::Step(_) => guards.set_passed_input(paused.passed_guards),
        }
        leg.enter_step(account.iterations, conversation.log.as_ref());
        conversation.take_rules(&leg.agent);
        conversation.resume(leg, &paused);
        let waiting: Vec<ToolCall> = paused.waiting().cloned().collect();
        let Paused { open, mut nested, questions, answers, done, observations, inputs, .. } =
            paused;
        let scope = &mut conversation.scope;
        (scope.asked, scope.answers) = (questions, answers);
        leg.steering.put_first(inputs);
        let mut open = match open {
            PausedTranscript::Calls(open) => open,
            PausedTranscript::Step(history) => {
                conversation.request.history = history;
                return None;
            }
        };
        let mut plan = CallPlan::default();
        for mut call in waiting {
            if let Some(below) = nested.remove(&call.id) {
                let below = (below, decisions_below(decisions, &call.id));
                conversation.scope.nested.resumed.put(&call.id, below);
                // An altered document must not stand in for a decision.
                let tool = conversation.toolbox().called(&call.name);
                let was_let_in = tool.is_some_and(|tool| tool.inner().running.starts_run);
                plan.made.push((call, was_let_in));
                continue;
            }
            if let Some(decision) = decisions.get(&call.id)
                && let Err(refusal) = conversation.take_decision(leg, &call, decision).await
            {
                plan.results.push(refusal.with_call_id(call.id));
                continue;
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
                    plan.results.push(conversation.result_from_outside(leg, &call, text).await);
                }
                Some(Decision::Reply(replies))
                    if conversation.scope.take_replies(&call.id, replies) =>
                {
                    // An approval is asked for again: an altered document must not stand in for it.
                    plan.made.push((call, false));
                }
                Some(Decision::Defer | Decision::Reply(_)) | None => {
                    plan.results.push(still_waiting(call));
                }
            }
        }
        conversation.scope.give_answers();
        self.carry_out(open, plan, done, observations).await
    }
}

impl RunConversation {
    /// Goes on as a pause has it, but for what is decided on each call.
    fn resume(&mut self, leg: &Leg, paused: &Paused) {
        self.before_reply = Some(paused.open.before().clone());
        self.leave_out(paused.left_out.clone());
        self.scope.asked_by_user &= !paused.begun_by_others;
        self.read_paused(leg, paused);
        let messages = paused.open.before().messages();
        let task = paused.task.iter().filter_map(|at| messages.get(*at).cloned());
        self.window.task = task.collect();
        self.window.lowered = paused.lowered_limit;
        if paused.has_called {
            self.request.tool_choice = ToolChoice::Auto;
        }
    }

    /// Reports and records a decision with which the run goes on.
    async fn take_decision(
        &self,
        leg: &Leg,
        call: &ToolCall,
        decision: &Decision,
    ) -> Result<(), ToolResult> {
        let toolbox = self.toolbox();
        leg.events.emit_at(call.line, || {
            let schema = toolbox.called(&call.name).map(|tool| tool.shared_definition().clone());
            decided(&call.name, call.id.clone(), "resumed", decision, |text| {
                shown_arguments(schema.as_deref(), text)
            })
        });
        toolbox.audit_decision(&self.scope.context, call, decision).await
    }

    /// Returns the result of a call that was answered in place of its tool.
    async fn result_from_outside(&self, leg: &Leg, call: &ToolCall, text: &str) -> ToolResult {
        let mut result = ToolResult::new(text).with_call_id(call.id.clone());
        if let Some(tool) = self.toolbox().called(&call.name) {
            let shared = &self.toolbox().shared;
            shared.bound(&tool, &self.scope.context, &mut result).await;
        }
        self.read_result(&self.known_boxes(leg), call, &result);
        result
    }
}
