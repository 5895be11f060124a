//! The agents that a run goes through.

use std::sync::Arc;

use crate::agent::agent::AgentInner;
use crate::agent::handle::{PauseFlag, Steering};
use crate::agent::handoff::HandoffTarget;
use crate::agent::log::RunLog;
use crate::agent::paused::{PausedHandoff, Spent};
use crate::agent::run_scope::RunScope;
use crate::agent::settings::AgentSettings;
use crate::call::Arguments;
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::context::keeper::TranscriptResults;
use crate::event::{EventKind, Reporter};
use crate::model::Model;

/// The agent that has the conversation of a run, and what it was given. Nothing of it changes until
/// the conversation is handed over.
pub(super) struct Leg {
    pub(super) agent: Arc<AgentInner>,
    /// The name that events show.
    pub(super) name: String,
    /// The context that each agent of the run begins with.
    pub(super) given: ToolContext,
    /// The run above.
    pub(super) above: RunScope,
    pub(super) handed: HandedOver,
    pub(super) events: Reporter,
    pub(super) steering: Arc<Steering>,
    /// The wishes that the run pauses.
    pub(super) pauses: Arc<[PauseFlag]>,
}

impl Leg {
    pub(super) fn settings(&self) -> &AgentSettings {
        &self.agent.settings
    }

    pub(super) fn model(&self) -> &dyn Model {
        &*self.agent.model
    }

    /// Returns the results of the transcript.
    pub(super) fn results(&self) -> Option<&TranscriptResults> {
        self.given.extension()
    }

    /// Gives new results numbers above the highest of an earlier attempt.
    pub(super) fn number_above(&self, highest: Option<u64>) {
        if let (Some(own), Some(highest)) = (self.results(), highest) {
            own.0.number_above(highest);
        }
    }

    /// Lets events and the log name the step that begins.
    pub(super) fn enter_step(&self, step: u32, log: Option<&RunLog>) {
        self.events.enter_step(step);
        if let Some(log) = log {
            log.enter_step(step);
        }
    }

    pub(super) fn report_model_started(&self) {
        self.events.emit(|| EventKind::ModelStarted {
            model: self.model().name().to_owned(),
            provider: self.model().provider().to_owned(),
        });
    }
}

/// A handoff that was accepted.
pub(super) struct AcceptedHandoff {
    pub(super) target: Arc<HandoffTarget>,
    /// The name of its tool.
    pub(super) tool: String,
    pub(super) arguments: Arguments,
}

/// The agents that had the conversation of a run before the one that has it.
#[derive(Default)]
pub(super) struct HandedOver {
    /// The name that the run began under.
    began_as: String,
    made: Vec<MadeHandoff>,
    /// The number of handoffs that a run may make.
    most: u32,
}

struct MadeHandoff {
    tool: String,
    /// The number of requests before it.
    began_at: u32,
    /// The box of the agent that handed over.
    from: ToolBox,
}

impl HandedOver {
    pub(super) fn new(began_as: &str, most: u32) -> Self {
        Self { began_as: began_as.to_owned(), made: Vec::new(), most }
    }

    pub(super) fn add(&mut self, tool: &str, began_at: u32, from: ToolBox) {
        self.made.push(MadeHandoff { tool: tool.to_owned(), began_at, from });
    }

    pub(super) fn began_as(&self) -> &str {
        &self.began_as
    }

    /// Returns the number of requests before the current agent.
    pub(super) fn began_at(&self) -> u32 {
        self.made.last().map_or(0, |last| last.began_at)
    }

    /// Returns how often the conversation may still be handed over.
    pub(super) fn left(&self) -> u32 {
        let made = u32::try_from(self.made.len()).unwrap_or(u32::MAX);
        self.most.saturating_sub(made)
    }

    /// Returns the boxes of the agents before.
    pub(super) fn boxes(&self) -> impl Iterator<Item = &ToolBox> {
        self.made.iter().map(|made| &made.from)
    }

    /// Returns the handoffs for a pause, with what the agents from each on have spent.
    pub(super) fn paused(&self, spent: impl Iterator<Item = Spent>) -> Vec<PausedHandoff> {
        let paused = self.made.iter().zip(spent);
        let paused = paused.map(|(made, spent)| PausedHandoff {
            tool: made.tool.clone(),
            began_at: made.began_at,
            spent,
        });
        paused.collect()
    }
}
