//! The outcome of a run in its log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::SpendingLimit;
use crate::agent::jobs::LateJobs;
use crate::agent::outcome::RunOutcome;
use crate::cost::Cost;
use crate::event::StopReason;
use crate::model::{History, Usage};

/// The outcome of a run in its log.
#[derive(Serialize, Deserialize)]
pub(crate) struct LoggedOutcome {
    content: String,
    reason: String,
    iterations: u32,
    usage: Usage,
    #[serde(default)]
    cost: Cost,
    history: History,
    answer: Option<Value>,
    #[serde(default)]
    agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<SpendingLimit>,
}

impl LoggedOutcome {
    pub(in crate::agent) fn of(outcome: &RunOutcome) -> Self {
        Self {
            content: outcome.content.clone(),
            reason: outcome.reason.code().to_owned(),
            iterations: outcome.iterations,
            usage: outcome.usage,
            cost: outcome.cost,
            history: outcome.history.clone(),
            answer: outcome.answer.clone(),
            agent: outcome.agent.clone(),
            blocked: outcome.blocked.clone(),
            limit: outcome.limit,
        }
    }

    pub(super) fn restore(self) -> Option<RunOutcome> {
        Some(RunOutcome {
            limit: self.limit,
            reason: StopReason::of_code(&self.reason)?,
            content: self.content,
            iterations: self.iterations,
            usage: self.usage,
            cost: self.cost,
            history: self.history,
            answer: self.answer,
            agent: self.agent,
            blocked: self.blocked,
            paused: None,
            jobs: LateJobs::default(),
        })
    }
}
