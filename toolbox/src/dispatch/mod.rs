//! The gate: the one way to a tool, whoever calls.
//!
//! Each call passes, in this order: find the tool, ask the lists, bound and read the arguments, ask
//! for approval, wait for a place, run within its time and behind a wall against panics, fit the
//! result, trace. Whatever happens on the way is a [`ToolResult`] under the call's id.

mod admitted;
mod background;
mod batch;
mod gate;
mod permits;
mod reentrancy;
mod run;
mod supervise;
mod trace;

pub(crate) use admitted::Pass;
pub(crate) use batch::Batch;
pub(crate) use supervise::{Supervised, SupervisedEnd, forget_quietly};
