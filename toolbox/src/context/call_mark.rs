//! The mark of a call that met text of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The mark of a call that met text of others. It is set with those of the calls that it is a part
/// of.
#[derive(Debug)]
pub(crate) struct CallMark {
    is_set: AtomicBool,
    /// The mark of the call whose handler makes this one.
    above: Option<Arc<CallMark>>,
}

impl CallMark {
    pub(super) fn below(above: Option<Arc<Self>>) -> Self {
        Self { is_set: AtomicBool::new(false), above }
    }

    pub(super) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    pub(super) fn set(&self) {
        let mut next = Some(self);
        while let Some(mark) = next {
            mark.is_set.store(true, Ordering::Release);
            next = mark.above.as_deref();
        }
    }
}
