//! The conversation of a run, handed from agent to agent.

use std::sync::Arc;

use super::begin::Leg;
use super::legs::AcceptedHandoff;
use super::read::made;
use super::{ActiveRun, RunLimits, TypedAnswer};
use crate::agent::budget::Budget;
use crate::agent::handoff::{HANDED_OVER, HandoffTarget};
use crate::agent::outcome::RunErrorKind;
use crate::agent::paused::{Paused, PausedHandoff};
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::event::EventKind;
use crate::model::Unanswered;

impl ActiveRun {
    /// Returns the target of a call that hands the conversation over, and the call as its tool gets
    /// it.
    fn handoff_target(&self, call: &ToolCall) -> Option<(ToolCall, Arc<HandoffTarget>)> {
        let call = made(call);
        let target = HandoffTarget::of(&self.toolbox().get(&call.name)?)?;
        Some((call.into_owned(), target))
    }

    /// Refuses, of the calls of one reply, the second that hands the conversation over, and an
    /// answer beside one.
    pub(super) fn refuse_beside_handoff(
        &self,
        calls: &mut Vec<(ToolCall, bool)>,
    ) -> Vec<ToolResult> {
        let is_handoff = |(call, _): &(ToolCall, bool)| {
            // One that is forbidden hands nothing over, and is refused by the gate.
            let permits =
                |name: &str| self.scope.context.permits(name) && self.toolbox().permits(name);
            self.handoff_target(call).is_some_and(|(made, _)| permits(&made.name))
        };
        let Some(first) = calls.iter().position(is_handoff) else { return Vec::new() };
        let mut refused = Vec::new();
        let mut at = 0;
        calls.retain(|entry| {
            let position = at;
            at += 1;
            let (call, _) = entry;
            let text = if self.is_answer(&call.name) {
                "not taken: a call beside it hands the conversation over"
            } else if position > first && is_handoff(entry) {
                "not run: another call of the same reply hands the conversation over"
            } else {
                return true;
            };
            let result = ToolResult::refusal(FailureKind::TooManyCalls, text);
            refused.push(result.with_call_id(call.id.clone()));
            false
        });
        refused
    }

    /// Returns the handoff among the calls of a reply that was not refused.
    pub(super) fn accepted_handoff(
        &self,
        open: &Unanswered,
        results: &[ToolResult],
    ) -> Option<AcceptedHandoff> {
        open.calls().find_map(|call| {
            let (made, target) = self.handoff_target(call)?;
            let result = results.iter().find(|result| result.call_id() == call.id)?;
            // An answer from outside and a layer may stand in for the tool, and hand over nothing.
            let is_done = !result.is_error() && result.text().contains(HANDED_OVER);
            is_done.then_some(AcceptedHandoff {
                target,
                tool: made.name,
                arguments: made.arguments,
            })
        })
    }

    /// Goes on as the agent that the conversation was handed to.
    pub(super) fn hand_over(&mut self, handoff: &AcceptedHandoff) {
        let to = handoff.target.agent.name().to_owned();
        tracing::debug!(from = self.name, to, "a conversation was handed over");
        self.events.emit(|| EventKind::HandedOver { to });
        let history = handoff.target.transcript(self.take_history(), &handoff.arguments);
        self.take_over(&handoff.target, &handoff.tool, self.limits.iterations);
        if self.window.task_positions(&history).is_empty() {
            self.window.start(&history);
        }
        self.request.history = history;
    }

    /// Goes on as the agent that had the conversation when the run paused.
    pub(super) fn follow(&mut self, paused: &Paused) -> Result<(), RunErrorKind> {
        if paused.agent != self.handed.began_as() {
            // Refused with the reason when it is resumed.
            return Ok(());
        }
        for handoff in &paused.handoffs {
            let tool = self.toolbox().get(&handoff.tool);
            let Some(target) = tool.and_then(|tool| HandoffTarget::of(&tool)) else {
                let tool = handoff.tool.clone();
                return Err(RunErrorKind::MissingHandoff {
                    tool,
                    paused: Box::new(paused.clone()),
                });
            };
            self.take_over(&target, &handoff.tool, handoff.began_at);
            self.limits.budgets.resume_handoff(handoff.spent);
        }
        Ok(())
    }

    /// Becomes the run of another agent: with its own settings, and what the run keeps.
    fn take_over(&mut self, target: &HandoffTarget, tool: &str, began_at: u32) {
        let agent = Arc::clone(&target.agent.inner);
        let settings = &agent.settings;
        let mut given = self.given.clone();
        // The agents before may have forbidden tools, set a deadline, or brought an approver.
        if let Some(rules) = self.scope.lasting.rules() {
            given = given.with_rules(rules);
        }
        if let Some(deadline) = self.limits.deadline {
            given = given.with_deadline(deadline);
        }
        if let Some(approver) = &self.agent.settings.approver {
            given = given.with_shared_approver(Arc::clone(approver));
        }
        let budget =
            Budget::new(settings.max_total_calls, settings.max_total_tokens, settings.max_cost);
        let limits = RunLimits {
            cancellation: self.limits.cancellation.take(),
            budgets: self.limits.budgets.and(budget, &settings.shared_budgets),
            ..self.limits
        };
        let toolbox = self.toolbox().clone();
        let mut handed = std::mem::take(&mut self.handed);
        handed.add(tool, began_at, toolbox);
        let next = Self::begin(Leg {
            name: agent.name.clone(),
            system: agent.system.clone().or_else(|| agent.task.clone()),
            given,
            above: self.above.clone(),
            handed,
            limits,
            sinks: self.events.sinks().to_vec(),
            before: Some(self.events.clone()),
            jobs: std::mem::take(&mut self.jobs),
            taint: self.scope.taint.clone(),
            asked_by_user: self.scope.asked_by_user && target.keeps_history(),
            log: self.log.take(),
            steering: Arc::clone(&self.steering),
            pauses: Arc::clone(&self.pauses),
            agent,
        });
        let before = std::mem::replace(self, next);
        self.answer =
            before.answer.map(|answer| TypedAnswer::new(answer.into_kind(), self.toolbox()));
        self.failed_answers = before.failed_answers;
        self.window.task = before.window.task;
        let guards_before = before.output_guards;
        self.output_guards.splice(..0, guards_before);
        self.passed_guards = before.passed_guards;
        let guards_before = before.input_guards;
        self.input_guards.splice(..0, guards_before);
        self.enter_step();
        self.report_again();
    }

    /// Returns the handoffs of the run until now, for its pause.
    pub(super) fn paused_handoffs(&self) -> Vec<PausedHandoff> {
        let spent = self.limits.budgets.spent_by_handoffs();
        let paused = self.handed.made.iter().zip(spent);
        let paused = paused.map(|(made, spent)| PausedHandoff {
            tool: made.tool.clone(),
            began_at: made.began_at,
            spent,
        });
        paused.collect()
    }
}
