//! The forms in which a method of a toolset may take `self`, decided by type.

use std::sync::Arc;

/// A type that a method of a toolset may take `self` as.
#[diagnostic::on_unimplemented(
    message = "a method of a toolset cannot take `self` as `{Self}`",
    label = "the methods of a toolset share one value, in an `Arc`",
    note = "take `&self`, or `self: Arc<Self>`"
)]
pub trait ToolReceiver<'set, S: ?Sized>: Sized {
    #[doc(hidden)]
    fn receive(set: &'set Arc<S>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'set, S: ?Sized> ToolReceiver<'set, S> for &'set S {
    #[inline]
    fn receive(set: &'set Arc<S>) -> Self {
        set
    }
}

#[diagnostic::do_not_recommend]
impl<'set, S: ?Sized> ToolReceiver<'set, S> for &'set Arc<S> {
    #[inline]
    fn receive(set: &'set Arc<S>) -> Self {
        set
    }
}

#[diagnostic::do_not_recommend]
impl<'set, S: ?Sized> ToolReceiver<'set, S> for Arc<S> {
    #[inline]
    fn receive(set: &'set Arc<S>) -> Self {
        Self::clone(set)
    }
}
