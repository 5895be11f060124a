//! Calls and runs that outlive their process: a journal in one `SQLite` file.
//!
//! A call that a [`Journal`] accepted gets exactly one final state, whatever dies: done, failed,
//! cancelled, [outcome unknown](CallState::OutcomeUnknown) or expired. A tool that is declared
//! idempotent runs at least once. **Any other runs at most once**: if its process dies in the
//! middle, the call ends as "outcome unknown", with a sentence that tells the model to look before
//! it tries again.
//!
//! ```
//! use toolbox::durable::Journal;
//! use toolbox::{tool, tools, ToolBox, ToolCall};
//!
//! /// Sends an invoice.
//! #[tool(durable)]
//! fn send_invoice(customer: u32) -> String {
//!     format!("sent to {customer}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("toolbox-journal-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let journal = Journal::open(folder.join("agent.db"))?;
//! let toolbox = ToolBox::builder().tools(tools![send_invoice]).journal(&journal).build()?;
//! let result = toolbox.call(ToolCall::new("1", "send_invoice", r#"{"customer": 7}"#)).await;
//! let kept = journal.get(result.job().unwrap()).await?.unwrap();
//! assert_eq!(kept.result, Some(result));
//! # drop((journal, toolbox));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | open a journal | [`Journal`], [`JournalBuilder`] |
//! | record the calls of a box | [`Tool::durable`](crate::Tool::durable), [`ToolBoxBuilder::journal`](crate::ToolBoxBuilder::journal) |
//! | accept calls for later, and run them | [`ToolBox::submit`](crate::ToolBox::submit), [`Worker`] |
//! | read what became of calls | [`Journal::wait`], [`Journal::calls`], [`RecordedCall`], [`CallState`], [`CallFilter`] |
//! | keep a run of an agent, and go on with it | [`Run::durable`](crate::agent::Run::durable), [`Agent::resume`](crate::agent::Agent::resume) |
//! | list runs, and decide on the calls of a paused one | [`Journal::runs`], [`RecordedRun`], [`RecordedRunState`], [`Journal::decide`] |
//! | bring results to a conversation once | [`Journal::undelivered`], [`Journal::confirm_delivery`] |
//! | check a file | [`Journal::check`], [`JournalCheck`] |
//! | write an engine of your own | [`Backlog`], [`NewCall`], [`Claim`], [`CallEnd`], [`Hold`], [`Recovered`], [`PLACE`] |

mod alive;
mod backlog;
mod check;
mod journal;
#[cfg_attr(not(feature = "nats"), allow(dead_code, reason = "a fleet uses it"))]
mod outbox;
mod recorder;
mod results;
mod rows;
mod runs;
mod spending;
mod sqlite;
mod unreadable;
mod worker;

pub use backlog::{
    Backlog, CallEnd, CallFilter, CallState, Claim, Hold, NewCall, PLACE, RecordedCall, Recovered,
};
pub use check::JournalCheck;
pub use journal::{Journal, JournalBuilder};
#[cfg(feature = "nats")]
pub(crate) use outbox::Outbox;
pub use runs::{RecordedRun, RecordedRunState};
pub use unreadable::UnreadableCall;
pub use worker::Worker;
