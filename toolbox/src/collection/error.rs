//! Errors of registering tools in a box.

use std::fmt;

use crate::tool::Origin;

/// The error of registering tools: every fault at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterError {
    pub(super) faults: Vec<RegisterFault>,
}

impl RegisterError {
    /// Returns every fault, in the order of the tools.
    #[must_use]
    pub fn faults(&self) -> &[RegisterFault] {
        &self.faults
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for RegisterError {}

/// A fault of one tool that is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterFault {
    /// A tool of that name is in the box already, or is registered twice.
    NameTaken {
        /// The name of the rejected tool.
        name: String,
        /// The name of the registered tool, which may differ in case.
        taken: String,
        /// The location where the registered tool was made.
        first: Origin,
        /// The location where the rejected tool was made.
        second: Origin,
    },
    /// A name that a tool had before is the name of another, or an old name of one.
    OldNameTaken {
        /// The name that both claim.
        old: String,
        /// The name of the registered tool.
        taken: String,
        /// The name of the rejected tool.
        name: String,
        /// The location where the registered tool was made.
        first: Origin,
        /// The location where the rejected tool was made.
        second: Origin,
    },
    /// The box holds no state of a type that the tool needs.
    MissingState {
        /// The tool's name.
        tool: String,
        /// The name of the type.
        state: &'static str,
    },
    /// The tool is durable, and the box has no journal.
    MissingJournal {
        /// The tool's name.
        tool: String,
    },
}

impl fmt::Display for RegisterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken { name, taken, first, second } if name == taken => {
                write!(f, "two tools are named `{name}`: one made at {first}, one at {second}")
            }
            Self::NameTaken { name, taken, first, second } => write!(
                f,
                "the tools `{taken}`, made at {first}, and `{name}`, made at {second}, differ only by case"
            ),
            Self::OldNameTaken { old, taken, name, first, second } => write!(
                f,
                "the tools `{taken}`, made at {first}, and `{name}`, made at {second}, both claim the name `{old}`: take it out of `replaces`"
            ),
            Self::MissingState { tool, state } => write!(
                f,
                "tool `{tool}` needs the state `{state}`: give it to the box with `ToolBox::builder().state(..)`, to the agent with `AgentBuilder::state(..)` or to the tool with `with_state(..)`, or say `.call_state::<..>()` when each call brings its own"
            ),
            Self::MissingJournal { tool } => write!(
                f,
                "tool `{tool}` is durable: give its box a journal with `ToolBox::builder().journal(..)` (feature `durable`)"
            ),
        }
    }
}
