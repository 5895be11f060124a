//! The payloads of panics that were contained.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drops the payload of a panic, which may panic in turn.
pub(crate) fn forget_quietly(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}
