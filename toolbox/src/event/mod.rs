//! Events: one stream of what calls and runs of agents do, for those who watch.
//!
//! The gate and the agents report to the sinks of their box, their agent and their run. A sink is
//! inherited downwards: by the calls that tools make, by agents below, by background jobs.
//!
//! | to | see |
//! |---|---|
//! | watch all calls of a box | [`ToolBoxBuilder::events`](crate::ToolBoxBuilder::events) |
//! | receive events from a queue, or in a function | [`EventSink`], [`EventReceiver`] |
//! | add up tokens, money and calls | [`Ledger`], [`LedgerEntry`] |
//! | see the requests of the Model Context Protocol as well | [`EventSink::with_requests`], [`McpRequest`], [`McpSession`], [`McpPeer`], [`McpSide`] |
//! | read an event | [`Event`], [`EventKind`], [`ToolFinished`], [`DecisionKind`], [`AnswerStatus`], [`StopReason`] |

#[allow(clippy::module_inception, reason = "the module is named after its main type")]
mod event;
mod fields;
mod ledger;
mod reporter;
mod request;
mod sink;
mod stop;

pub use event::{AnswerStatus, DecisionKind, Event, EventKind, ToolFinished};
pub use ledger::{Ledger, LedgerEntry};
pub(crate) use reporter::{Reporter, charged, decided, shown_arguments};
pub use request::{McpPeer, McpRequest, McpSession, McpSide};
pub use sink::{EventReceiver, EventSink};
pub use stop::StopReason;
