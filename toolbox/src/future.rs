//! The boxed future that traits of this crate return.

use std::pin::Pin;

/// A boxed future that can be sent to another thread, as handlers, models and approvers return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
