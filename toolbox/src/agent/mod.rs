//! Agents: a model and a box, joined by a loop; and agents as tools of other agents.

mod agent;
mod builder;
mod event;
mod inherited;
mod jobs;
mod outcome;
mod paused;
mod repeat;
mod run;
mod run_scope;
mod settings;
mod step;
mod subagent;
mod trace;

pub use agent::Agent;
pub use builder::{AgentBuilder, BuildAgentError, IntoSubagent};
pub use event::{Event, EventKind, ToolFinished};
pub use jobs::{JobPolicy, LateJobs};
pub use outcome::{ExtractError, RunError, RunErrorKind, RunOutcome, StopReason};
pub use paused::{Paused, PendingCall};
pub use run::{Run, RunEvents};
pub use settings::{InfrastructurePolicy, MaxIterations};
