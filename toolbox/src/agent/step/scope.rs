//! The context of the calls of a run.

use std::sync::Arc;

use crate::agent::agent::Inner;
use crate::agent::run_scope::Nested;
use crate::context::rules::Rules;
use crate::context::{Taint, ToolContext};

/// The context that each call of a run gets, and what is known of the conversation.
pub(super) struct CallScope {
    /// The context without the rules of the agent and its box.
    pub(super) base: ToolContext,
    /// The context of every call.
    pub(super) context: ToolContext,
    /// What the agent and its box forbade when they were last asked.
    pub(super) rules: Option<[Arc<Rules>; 2]>,
    /// Paused runs of agents below.
    pub(super) nested: Arc<Nested>,
    /// What is known of where the texts of the conversation come from.
    pub(super) taint: Taint,
    /// Whether a user asked for the run, and not a model above.
    pub(super) asked_by_user: bool,
}

impl CallScope {
    /// Adds to the context what the agent and its box forbid by now; returns whether that changed.
    pub(super) fn take_rules(&mut self, agent: &Inner) -> bool {
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
