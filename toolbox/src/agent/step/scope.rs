//! The context of the calls of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::agent::AgentInner;
use crate::agent::log::LogScope;
use crate::agent::run_scope::NestedRuns;
use crate::collection::ToolBox;
use crate::context::keeper::ResultTokens;
use crate::context::question_desk::{GivenAnswer, QuestionDesk};
use crate::context::rules::{Rules, ToolRule};
use crate::context::{Answer, PendingQuestion, Taint, ToolContext};

/// The context of each call of a run, and the taint of the conversation.
pub(super) struct CallScope {
    /// The context without the rules of the agent and its box.
    pub(super) base: ToolContext,
    /// The context with them.
    pub(super) lasting: ToolContext,
    /// The context of the calls of the current step, which may forbid more.
    pub(super) context: ToolContext,
    /// The tools that were left out of the current step.
    pub(super) left_out: Vec<String>,
    /// `true` if results have another limit in the current step.
    limits_results: bool,
    /// The rules of the agent and its box when they were last read.
    rules: Option<[Arc<Rules>; 2]>,
    /// Paused runs of agents below.
    pub(super) nested: Arc<NestedRuns>,
    /// The questions of calls that nobody answers.
    pub(super) desk: Arc<QuestionDesk>,
    /// The questions of calls that still wait for their answers since the last pause.
    pub(super) asked: BTreeMap<String, Vec<PendingQuestion>>,
    /// The answers that calls were given since they were first made.
    pub(super) answers: BTreeMap<String, Vec<GivenAnswer>>,
    /// The taint of the conversation.
    pub(super) taint: Taint,
    /// `true` if a user asked for the run, and not a model above.
    pub(super) asked_by_user: bool,
}

impl CallScope {
    pub(super) fn new(
        context: ToolContext,
        nested: Arc<NestedRuns>,
        taint: Taint,
        asked_by_user: bool,
    ) -> Self {
        let desk = context.shared_question_desk().unwrap_or_default();
        Self {
            base: context.clone(),
            lasting: context.clone(),
            context,
            left_out: Vec::new(),
            limits_results: false,
            rules: None,
            nested,
            desk,
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            taint,
            asked_by_user,
        }
    }

    /// Takes the answers to the questions of a call; returns `false` if it asked none.
    pub(super) fn take_replies(&mut self, call_id: &str, replies: &[Answer]) -> bool {
        let Some(asked) = self.asked.remove(call_id) else { return false };
        let replies = asked.into_iter().zip(replies.iter().cloned());
        let given = self.answers.entry(call_id.to_owned()).or_default();
        given.extend(replies.map(|(question, answer)| question.answered(answer)));
        true
    }

    /// Provides all answers so far to the calls that are made again.
    pub(super) fn give_answers(&self) {
        for (call_id, given) in &self.answers {
            self.desk.give(call_id, given.clone());
        }
    }

    /// Begins a step: adds the current rules of the agent and its box to the context; returns
    /// `true` if what is forbidden changed.
    pub(super) fn take_rules(&mut self, agent: &AgentInner) -> bool {
        let rules = [agent.rules.load_full(), agent.toolbox.rules()];
        let known = self.rules.as_ref().is_some_and(|known| {
            known.iter().zip(&rules).all(|(known, rules)| Arc::ptr_eq(known, rules))
        });
        if known && self.left_out.is_empty() && !self.limits_results {
            return false;
        }
        if !known {
            let forbidding = rules.iter().filter(|rules| !rules.is_empty());
            self.lasting =
                forbidding.fold(self.base.clone(), |context, own| context.with_rules(own));
        }
        self.rules = Some(rules);
        self.left_out.clear();
        self.limits_results = false;
        self.context = self.lasting.clone();
        true
    }

    /// Forbids in the current step what a box forbids since it began.
    pub(super) fn take_late_rules(&mut self, toolbox: &ToolBox) {
        let rules = toolbox.rules();
        if !self.rules.as_ref().is_some_and(|[_, known]| Arc::ptr_eq(known, &rules)) {
            self.context = self.context.clone().with_rules(&rules);
        }
    }

    /// Forbids tools in the current step.
    pub(super) fn leave_out(&mut self, names: Vec<String>) {
        let mut rules = Rules::default();
        for name in &names {
            rules.blacklist(ToolRule::new(name));
        }
        self.context = self.context.clone().with_rules(&rules);
        self.left_out = names;
    }

    /// Sets the tokens of results that are passed on whole in the current step.
    pub(super) fn limit_results(&mut self, tokens: usize) {
        self.context = self.context.clone().with_extension(ResultTokens(tokens));
        self.limits_results = true;
    }

    /// Returns the context of what takes part in the run beside its calls: hooks, guards, the
    /// model. It has the states of the box, and no part in the log of the run.
    pub(super) fn beside_calls(&self, toolbox: &ToolBox) -> ToolContext {
        let context = self.context.clone().without_deferral().without_recorder();
        let context = context.without_completions().without_extension::<LogScope>();
        context.with_state_of(toolbox.shared_state())
    }
}
