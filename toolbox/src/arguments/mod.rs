//! Raw argument text to typed values: fast when it is right, complete when it is wrong.

pub(crate) mod about;
mod arena;
pub(crate) mod argument;
pub(crate) mod call;
pub(crate) mod cold;
pub(crate) mod describe;
pub(crate) mod reader;
pub(crate) mod shapes;
pub(crate) mod slot;
mod specimen;
pub(crate) mod unfit;

pub use cold::{ArgumentsError, Fault, FaultKind, Faults, Repair};
