//! The boxed future that traits of this crate return.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// A boxed future that can be sent to another thread, as handlers, models and approvers return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Spawns a task on the current runtime.
///
/// The type of the future is erased: each type that is spawned costs a program its own copy of the
/// runtime's code for tasks.
pub(crate) fn spawn(task: BoxFuture<'static, ()>) -> JoinHandle<()> {
    tokio::spawn(task)
}
