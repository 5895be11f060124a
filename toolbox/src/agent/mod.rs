//! Agents: a model and a box, joined by a loop; and agents as tools of other agents.
//!
//! An [`Agent`] asks its model, makes the calls that the model wants, and asks again until there is
//! an answer or a limit is reached. The [`RunOutcome`] says why it stopped.
//!
//! ```
//! use toolbox::agent::{Agent, StopReason};
//! use toolbox::testing::ScriptedModel;
//! use toolbox::{tool, tools};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new().calls("add", r#"{"a": 2, "b": 3}"#).text("It is 5.");
//! let outcome = Agent::builder(model).tools(tools![add]).build()?.run("What is 2 + 3?").await?;
//! assert_eq!((outcome.content.as_str(), outcome.reason), ("It is 5.", StopReason::Answered));
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | build an agent | [`AgentBuilder`], [`BuildAgentError`], [`MaxIterations`], [`InfrastructurePolicy`], [`JobPolicy`] |
//! | run it, and read how it ended | [`Run`], [`RunOutcome`], [`StopReason`], [`RunError`], [`ExtractError`] |
//! | follow it while it works | [`RunEvents`], [`Event`], [`EventKind`] |
//! | keep its requests short | [`AgentBuilder::max_context_tokens`], [`ContextRule`], [`ContextLength`], [`Compactor`], [`ModelCompactor`], [`Summary`] |
//! | steer it, or pause it | [`RunHandle`] |
//! | let a person decide, and go on later | [`Paused`], [`PendingCall`] |
//! | let a model decide by a policy | [`ModelApprover`] |
//! | change the request of a step, check input and answers | [`PrepareStep`], [`StepRequest`], [`Guard`], [`Verdict`], [`IntoVerdict`], [`ValidateAnswer`], [`Checked`] |
//! | limit several runs together | [`SharedBudget`], [`UsageLimits`] |
//! | limit a principal by day and month, beyond the process | [`SpendingLimits`], [`SpendingLimit`], [`SpendingKind`], [`SpendingPeriod`], [`Spending`] |
//! | give a conversation to another | [`Handoff`] |
//! | use it as a tool of another | [`Agent::as_tool`], [`IntoSubagent`], [`tool_from_fn`] |

mod agent;
mod budget;
mod builder;
#[cfg(feature = "nats")]
mod carried;
mod handle;
mod handoff;
mod hooks;
mod jobs;
mod joined;
pub(crate) mod log;
mod model_approver;
mod outcome;
mod paused;
mod prompt;
mod repeat;
mod run;
mod run_scope;
mod settings;
pub(crate) mod spending;
mod step;
mod subagent;
mod taken;
mod trace;
mod window;

pub use crate::event::{Event, EventKind, StopReason, ToolFinished};
pub use agent::Agent;
pub use budget::{SharedBudget, UsageLimits};
pub use builder::{AgentBuilder, BuildAgentError, IntoSubagent};
#[cfg(feature = "nats")]
pub(crate) use carried::RemoteRun;
pub use handle::RunHandle;
pub use handoff::Handoff;
pub use hooks::{Checked, Guard, IntoVerdict, PrepareStep, StepRequest, ValidateAnswer, Verdict};
pub use jobs::{JobPolicy, LateJobs};
pub use model_approver::ModelApprover;
pub use outcome::{ExtractError, RunError, RunErrorKind, RunOutcome};
pub use paused::{Paused, PendingCall};
pub use run::{ResumeFrom, Run, RunEvents};
pub use settings::{InfrastructurePolicy, MaxIterations};
pub use spending::{Spending, SpendingKind, SpendingLimit, SpendingLimits, SpendingPeriod};
pub use subagent::tool_from_fn;
pub use window::{Compactor, ContextLength, ContextRule, ModelCompactor, Summary};
