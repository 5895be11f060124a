//! The conversation of a run, handed from agent to agent.

use std::sync::Arc;

use super::ActiveRun;
use super::answer::TypedAnswer;
use super::begin::{KeptConversation, LegStart};
use super::conversation::RunConversation;
use super::legs::AcceptedHandoff;
use super::read::made;
use crate::agent::handoff::{HANDED_OVER, HandoffTarget};
use crate::agent::outcome::RunErrorKind;
use crate::agent::paused::Paused;
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::event::EventKind;
use crate::model::Unanswered;

impl RunConversation {
    /// Returns the target of a call that hands the conversation over, and the call as its tool gets
    /// it.
    fn handoff_target(&self, call: &ToolCall) -> Option<(ToolCall, Arc<HandoffTarget>)> {
        let mut call = made(call).into_owned();
        let tool = self.toolbox().called(&call.name)?;
        let target = HandoffTarget::of(&tool)?;
        // Called by an old name, it is the same tool.
        tool.name().clone_into(&mut call.name);
        Some((call, target))
    }

    /// Refuses, of the calls of one reply, the second that hands the conversation over, and an
    /// answer beside one.
    pub(super) fn refuse_beside_handoff(
        &self,
        calls: &mut Vec<(ToolCall, bool)>,
    ) -> Vec<ToolResult> {
        if calls.len() < 2 {
            return Vec::new();
        }
        let is_handoff = |(call, _): &(ToolCall, bool)| {
            // One that is forbidden hands nothing over, and is refused by the gate.
            let permits = |name: &str| self.toolbox().may_call(name, &self.scope.context);
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
}

impl ActiveRun {
    /// Goes on as the agent that the conversation was handed to.
    pub(super) fn hand_over(&mut self, handoff: &AcceptedHandoff) {
        let to = handoff.target.agent.name().to_owned();
        tracing::debug!(from = self.leg.name, to, "a conversation was handed over");
        self.leg.events.emit(|| EventKind::HandedOver { to });
        let history = self.conversation.take_history();
        let history = handoff.target.transcript(history, &handoff.arguments);
        self.take_over(&handoff.target, &handoff.tool, self.account.iterations);
        let RunConversation { request, window, .. } = &mut self.conversation;
        if window.task_positions(&history).is_empty() {
            window.start(&history);
        }
        request.history = history;
    }

    /// Goes on as the agent that had the conversation when the run paused.
    pub(super) fn follow(&mut self, paused: &Paused) -> Result<(), RunErrorKind> {
        if paused.agent != self.leg.handed.began_as() {
            // Refused with the reason when it is resumed.
            return Ok(());
        }
        for handoff in &paused.handoffs {
            let tool = self.conversation.toolbox().get(&handoff.tool);
            let Some(target) = tool.and_then(|tool| HandoffTarget::of(&tool)) else {
                let tool = handoff.tool.clone();
                return Err(RunErrorKind::MissingHandoff {
                    tool,
                    paused: Box::new(paused.clone()),
                });
            };
            self.take_over(&target, &handoff.tool, handoff.began_at);
            self.account.budgets.resume_handoff(handoff.spent);
        }
        Ok(())
    }

    /// Becomes the run of another agent: with its own settings, and what the run keeps.
    fn take_over(&mut self, target: &HandoffTarget, tool: &str, began_at: u32) {
        let Self { leg, conversation, guards, account } = self;
        let agent = Arc::clone(&target.agent.inner);
        let mut given = leg.given.clone();
        // The agents before may have forbidden tools, set a deadline, or brought an approver.
        if let Some(rules) = conversation.scope.lasting.rules() {
            given = given.with_rules(rules);
        }
        if let Some(deadline) = guards.limits.deadline {
            given = given.with_deadline(deadline);
        }
        if let Some(approver) = &leg.settings().approver {
            given = given.with_shared_approver(Arc::clone(approver));
        }
        account.hand_over(&agent.settings, &given);
        let mut handed = std::mem::take(&mut leg.handed);
        handed.add(tool, began_at, conversation.toolbox().clone());
        let next = LegStart {
            name: agent.name.clone(),
            system: agent.system.clone().or_else(|| agent.task.clone()),
            given,
            above: leg.above.clone(),
            handed,
            sinks: leg.events.sinks().to_vec(),
            before: Some(leg.events.clone()),
            steering: Arc::clone(&leg.steering),
            pauses: Arc::clone(&leg.pauses),
            kept: KeptConversation {
                answer: conversation.answer.take().map(TypedAnswer::into_kind),
                task: std::mem::take(&mut conversation.window.task),
                taint: conversation.scope.taint.clone(),
                asked_by_user: conversation.scope.asked_by_user && target.keeps_history(),
                jobs: std::mem::take(&mut conversation.jobs),
                log: conversation.log.take(),
                tools: Arc::clone(&conversation.tools),
            },
            agent,
        };
        (*leg, *conversation) = next.begin(guards, account);
        leg.enter_step(account.iterations, conversation.log.as_ref());
        conversation.report_again(&leg.events);
    }
}
