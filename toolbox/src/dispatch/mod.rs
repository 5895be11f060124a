//! The gate: every call of a tool passes through it.
//!
//! Each call passes these steps in order: look up the tool, check the blacklist and the allow-list,
//! bound and read the arguments, ask for approval, wait for permits, record it where that is asked
//! for, run within the timeout with panics contained, fit the result, trace. Every outcome is a
//! [`ToolResult`] under the call's id.

mod admitted;
mod as_tools;
mod background;
mod batch;
mod check;
mod deprecated;
mod gate;
mod in_place;
mod permits;
mod prompts;
mod recorded;
mod reentrancy;
mod resources;
mod run;
mod supervise;
mod trace;
mod unknown;

pub(crate) use admitted::Pass;
pub(crate) use batch::Batch;
pub(crate) use supervise::{Supervised, SupervisedEnd};
