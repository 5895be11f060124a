//! The context of the calls of a run.

use std::sync::Arc;

use crate::agent::agent::AgentInner;
use crate::agent::run_scope::NestedRuns;
use crate::context::rules::Rules;
use crate::context::{Taint, ToolContext};

/// The context of each call of a run, and the taint of the conversation.
pub(super) struct CallScope {
    /// The context without the rules of the agent and its box.
    pub(super) base: ToolContext,
    /// The context of every call.
    pub(super) context: ToolContext,
    /// The rules of the agent and its box when they were last read.
    pub(super) rules: Option<[Arc<Rules>; 2]>,
    /// Paused runs of agents below.
    pub(super) nested: Arc<NestedRuns>,
    /// The taint of the conversation.
    pub(super) taint: Taint,
    /// `true` if a user asked for the run, and not a model above.
    pub(super) asked_by_user: bool,
}

impl CallScope {
    /// Adds the current rules of the agent and its box to the context; returns `true` if they
    /// changed.
    pub(super) fn take_rules(&mut self, agent: &AgentInner) -> bool {
        let rules = [agent.rules.load_full(), agent.toolbox.rules()];
        let known = self.rules.as_ref().is_some_and(|known| {
            known.iter().zip(&rules).all(|(known, rules)| Arc::ptr_eq(known, rules))
        });
        if !known {
            let forbidding = rules.iter().filter(|rules| !rules.is_empty());
            self.context =
                forbidding.fold(self.base.clone(), |context, own| context.with_rules(own));
        }
        self.rules = Some(rules);
        !known
    }
}
