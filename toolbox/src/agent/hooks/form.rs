//! The forms of closures that are hooks.

use std::marker::PhantomData;

/// Marks closures that return at once.
#[derive(Debug)]
pub enum AtOnce {}

/// Marks closures that return a future.
#[derive(Debug)]
pub enum Awaited {}

/// A hook of any form, as one of the default form.
pub(in crate::agent) struct AnyForm<H, Form> {
    pub(super) hook: H,
    form: PhantomData<fn() -> Form>,
}

impl<H, Form> AnyForm<H, Form> {
    pub(in crate::agent) fn new(hook: H) -> Self {
        Self { hook, form: PhantomData }
    }
}
