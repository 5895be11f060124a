//! The extension for tasks: calls that are answered at once, and go on while their client asks for
//! them.

mod pending;
mod respond;
mod table;
mod task;
mod time;

pub(super) use pending::PendingTask;
pub(super) use respond::{EXTENSION, respond};
pub(super) use table::{TaskSlot, Tasks};
pub(super) use task::{ServedTask, TaskEnd};
