//! The context of a call: what the program supplies to it, and what holds for all calls below it.
//!
//! A program builds a [`ToolContext`] and gives it with a call; a tool takes it as `&ToolContext`.
//! A tool that needs one value takes [`State<T>`](State), or a type that implements
//! [`FromContext`].
//!
//! ```
//! use toolbox::context::Principal;
//! use toolbox::{tool, tools, ToolBox, ToolCall, ToolContext};
//!
//! /// Names the user that asks.
//! #[tool]
//! fn whoami(principal: Principal) -> String {
//!     principal.as_str().to_owned()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let context = ToolContext::new().with(Principal::new("ada"));
//! let call = ToolCall::new("1", "whoami", "{}");
//! let result = ToolBox::from(tools![whoami]).call_in(&context, call).await;
//! assert_eq!(result.text(), "ada");
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | give values, a deadline, rules with a call | [`ToolContext`] |
//! | take a value in a tool | [`State`], [`FromContext`], [`Requirement`], [`MissingStateError`] |
//! | say for whom and where a call is made | [`Principal`], [`Conversation`], [`CallingScript`] |
//! | tell the time of day, also in a test | [`Clock`] |
//! | cancel calls | [`CancellationToken`] |
//! | decide on calls before they run | [`Approver`], [`ApprovalRequest`], [`Decision`] |
//! | ask a person | [`ToolContext::ask`], [`Asker`], [`Question`], [`Answer`], [`AskError`], [`AskApproval`], [`PendingQuestion`] |
//! | hear of progress and of background jobs, take the items of tools that stream | [`Progress`], [`Completion`], [`OutputItem`] |
//! | know that a conversation holds text of others | [`Taint`] |
//! | link a call to a distributed trace | [`TraceContext`] |

pub(crate) mod approval;
pub(crate) mod ask;
mod ask_approval;
pub(crate) mod auditor;
pub(crate) mod availability;
mod call_mark;
pub(crate) mod call_taint;
mod calling_script;
pub(crate) mod cancellation;
mod carried;
mod clock;
mod completion;
mod context;
mod conversation;
mod from_context;
pub(crate) mod keeper;
pub(crate) mod observer;
mod outputs;
mod principal;
mod progress;
pub(crate) mod promotion;
pub(crate) mod question;
pub(crate) mod question_desk;
pub(crate) mod recorder;
pub(crate) mod rule_set;
pub(crate) mod rules;
mod state;
pub(crate) mod taint;
pub(crate) mod trace;

pub use approval::{ApprovalRequest, Approver, Decision};
pub use ask::{Ask, AskError};
pub use ask_approval::AskApproval;
pub use calling_script::CallingScript;
#[allow(unused_imports, reason = "for terminals")]
pub(crate) use calling_script::ScriptExcerpt;
pub use cancellation::CancellationToken;
pub(crate) use carried::{CarriedContext, CarriedRun, CarriedSpending};
pub use clock::Clock;
pub use completion::Completion;
pub use context::ToolContext;
pub(crate) use context::{UNUSED_CONTEXT, now};
pub use conversation::Conversation;
pub use from_context::{FromContext, MissingStateError};
pub use outputs::OutputItem;
pub(crate) use outputs::passing_on;
pub use principal::Principal;
pub use progress::Progress;
pub use question::{Answer, Asker, Question, QuestionForm};
pub use question_desk::PendingQuestion;
pub use rules::InvalidRuleError;
pub(crate) use state::StateMap;
pub use state::{Requirement, State};
pub use taint::{Taint, TaintSource};
pub use trace::TraceContext;
