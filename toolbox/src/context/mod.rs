//! The context of a call: the values that the program supplies to it, and the settings that apply
//! to all calls below it.

pub(crate) mod approval;
mod cancellation;
mod completion;
mod context;
mod conversation;
mod from_context;
pub(crate) mod observer;
mod principal;
mod progress;
pub(crate) mod promotion;
pub(crate) mod rules;
mod state;
pub(crate) mod taint;

pub use approval::{ApprovalRequest, Approver, Decision};
pub use cancellation::CancellationToken;
pub use completion::Completion;
pub use context::ToolContext;
pub(crate) use context::now;
pub use conversation::Conversation;
pub use from_context::{FromContext, MissingStateError};
pub use principal::Principal;
pub use progress::Progress;
pub use rules::InvalidRuleError;
pub(crate) use state::StateMap;
pub use state::{Requirement, State};
pub use taint::Taint;
