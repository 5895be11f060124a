//! Predicates over the context of a caller.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::ToolContext;
use crate::panics::forget_quietly;

type Predicate = dyn Fn(&ToolContext) -> bool + Send + Sync;

/// The predicates of a tool, all of which have to hold.
#[derive(Clone, Default)]
pub(crate) struct Availability(Vec<Arc<Predicate>>);

impl Availability {
    pub(crate) fn new(predicate: impl Fn(&ToolContext) -> bool + Send + Sync + 'static) -> Self {
        Self(vec![Arc::new(predicate)])
    }

    pub(crate) fn holds(&self, context: &ToolContext, tool: &str) -> bool {
        self.0.iter().all(|predicate| {
            catch_unwind(AssertUnwindSafe(|| predicate(context))).unwrap_or_else(|payload| {
                forget_quietly(payload);
                tracing::error!(tool, "the predicate of `available` panicked: the tool is hidden");
                false
            })
        })
    }

    /// Adds the predicates of another that are not among these.
    pub(crate) fn extend(&mut self, other: &Self) {
        for predicate in &other.0 {
            if !self.0.iter().any(|own| Arc::ptr_eq(own, predicate)) {
                self.0.push(Arc::clone(predicate));
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Availability").field(&self.0.len()).finish()
    }
}
