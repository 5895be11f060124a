//! The settings of an agent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::budget::{SharedBudget, UNLIMITED};
use super::hooks::Hooks;
use super::jobs::JobPolicy;
use super::spending::SpendingLimits;
use super::window::ContextSettings;
use crate::context::Approver;
use crate::cost::{Money, Prices};
use crate::event::EventSink;
use crate::model::ToolChoice;

/// Handling of a run that reaches its limit of requests to the model.
///
/// ```
/// use toolbox::Agent;
/// use toolbox::agent::MaxIterations;
/// use toolbox::testing::ScriptedModel;
///
/// let agent = Agent::builder(ScriptedModel::new().text("done"))
///     .max_iterations(5)
///     .at_max_iterations(MaxIterations::Summarize)
///     .build()
///     .unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxIterations {
    /// It stops, with the model's last text as its content.
    #[default]
    Stop,
    /// The model is asked once more, without tools, to summarize; that counts as an iteration.
    Summarize,
    /// It is an error.
    Error,
}

/// Handling of a call whose tool failed for a reason outside the call
/// ([`FailureKind::Infrastructure`](crate::call::FailureKind::Infrastructure)).
///
/// ```
/// use toolbox::Agent;
/// use toolbox::agent::InfrastructurePolicy;
/// use toolbox::testing::ScriptedModel;
///
/// let agent = Agent::builder(ScriptedModel::new().text("done"))
///     .on_infrastructure_failure(InfrastructurePolicy::Retry(2))
///     .build()
///     .unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InfrastructurePolicy {
    /// The model gets the failure as a result, like any other.
    #[default]
    Report,
    /// It is made again, this many times at most, when its tool is read-only or idempotent; then
    /// the model gets the failure.
    Retry(u32),
    /// The run ends with an error, once the other calls of the step have their results.
    Abort,
}

/// The settings of an agent: limits, policies, options.
#[derive(Clone)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of the builder with a name of its own"
)]
pub(super) struct AgentSettings {
    pub(super) parallel: bool,
    pub(super) max_iterations: u32,
    pub(super) at_max_iterations: MaxIterations,
    pub(super) max_calls_per_step: usize,
    pub(super) max_result_tokens: Option<usize>,
    pub(super) max_total_calls: u64,
    pub(super) max_total_tokens: u64,
    pub(super) max_depth: u32,
    pub(super) recursion: bool,
    pub(super) repeat_limit: Option<u32>,
    pub(super) timeout: Option<Duration>,
    pub(super) jobs: JobPolicy,
    pub(super) infrastructure: InfrastructurePolicy,
    pub(super) error_prefix: String,
    pub(super) tool_choice: ToolChoice,
    pub(super) options: Map<String, Value>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) native_search: bool,
    pub(super) max_answer_attempts: u32,
    pub(super) inherits: bool,
    pub(super) context: ContextSettings,
    pub(super) hooks: Hooks,
    pub(super) shared_budgets: Vec<SharedBudget>,
    pub(super) spending: Vec<SpendingLimits>,
    pub(super) max_handoffs: u32,
    pub(super) sinks: Vec<EventSink>,
    pub(super) max_cost: Money,
    pub(super) prices: Option<Arc<dyn Prices>>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            parallel: true,
            max_iterations: 20,
            at_max_iterations: MaxIterations::Stop,
            max_calls_per_step: 64,
            max_result_tokens: None,
            max_total_calls: 1000,
            max_total_tokens: u64::MAX,
            max_depth: 8,
            recursion: false,
            repeat_limit: Some(4),
            timeout: None,
            jobs: JobPolicy::Wait,
            infrastructure: InfrastructurePolicy::Report,
            error_prefix: String::new(),
            tool_choice: ToolChoice::Auto,
            options: Map::new(),
            approver: None,
            native_search: false,
            max_answer_attempts: 3,
            inherits: false,
            context: ContextSettings::default(),
            hooks: Hooks::default(),
            shared_budgets: Vec::new(),
            spending: Vec::new(),
            max_handoffs: 10,
            sinks: Vec::new(),
            max_cost: UNLIMITED,
            prices: None,
        }
    }
}
