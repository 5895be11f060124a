//! Slots that hold the arguments of one call until the tool's function takes them.

use std::marker::PhantomData;

use schemars::SchemaGenerator;

use super::argument::{Absent, ArgumentOrigin, LentArgument, ToolArgument};
use super::reader::ArgumentReader;
use crate::call::Violations;
use crate::context::ToolContext;
use crate::validate::ReadError;

/// A slot of any type, as the reader uses it.
pub trait Fill<'call> {
    #[doc(hidden)]
    fn read(&mut self, reader: &mut ArgumentReader<'call>) -> Result<(), ReadError>;
    #[doc(hidden)]
    fn absent(&mut self, context: &'call ToolContext) -> Result<(), Absent>;
    #[doc(hidden)]
    fn origin(&self, schemas: &mut SchemaGenerator) -> ArgumentOrigin;
    /// Runs the check of one's own on a value that was read.
    #[doc(hidden)]
    fn check(&self) -> Result<(), ReadError> {
        Ok(())
    }
}

/// A slot whose value can be looked at.
pub trait Peek {
    /// The type that the function takes, or takes by reference.
    type Value: ?Sized;

    /// Returns the value that was read or supplied.
    #[doc(hidden)]
    fn peek(&self) -> Option<&Self::Value>;
}

impl<T, Source> Peek for OwnedSlot<T, Source> {
    type Value = T;

    fn peek(&self) -> Option<&T> {
        self.value.as_ref()
    }
}

impl<'call, T: ?Sized + 'call, Held, Source> Peek for LentSlot<'call, T, Held, Source> {
    type Value = T;

    fn peek(&self) -> Option<&T> {
        match (&self.held, self.default) {
            (Some(held), _) => Some((self.lend)(held)),
            (None, default) => default.map(|default| default()),
        }
    }
}

/// A slot with a check of one's own, `#[arg(check = ..)]`.
#[derive(Debug)]
pub struct CheckedSlot<S, C> {
    /// The slot of the value.
    pub slot: S,
    check: C,
    /// `true` if the value is from the call, and no default.
    was_read: bool,
}

/// Returns a slot with a check.
#[must_use]
pub fn checked<S: Peek, C>(slot: S, check: C) -> CheckedSlot<S, C>
where
    C: Fn(&S::Value) -> Result<(), Violations>,
{
    CheckedSlot { slot, check, was_read: false }
}

impl<S: Peek, C> Peek for CheckedSlot<S, C> {
    type Value = S::Value;

    fn peek(&self) -> Option<&S::Value> {
        self.slot.peek()
    }
}

impl<'call, S, C> Fill<'call> for CheckedSlot<S, C>
where
    S: Fill<'call> + Peek,
    C: Fn(&S::Value) -> Result<(), Violations>,
{
    fn read(&mut self, reader: &mut ArgumentReader<'call>) -> Result<(), ReadError> {
        self.slot.read(reader)?;
        self.was_read = true;
        Ok(())
    }

    fn absent(&mut self, context: &'call ToolContext) -> Result<(), Absent> {
        self.slot.absent(context)
    }

    fn origin(&self, schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        self.slot.origin(schemas)
    }

    fn check(&self) -> Result<(), ReadError> {
        match self.slot.peek().filter(|_| self.was_read) {
            Some(value) => (self.check)(value).map_err(ReadError::violating),
            None => Ok(()),
        }
    }
}

/// A slot for an argument taken by value.
#[derive(Debug)]
pub struct OwnedSlot<T, Source> {
    value: Option<T>,
    default: Option<fn() -> T>,
    source: PhantomData<fn() -> Source>,
}

/// Returns an empty slot for an argument of type `T`.
#[must_use]
pub(crate) fn owned<'call, T: ToolArgument<'call, Source>, Source>() -> OwnedSlot<T, Source> {
    OwnedSlot { value: None, default: None, source: PhantomData }
}

impl<T, Source> OwnedSlot<T, Source> {
    /// Returns the slot with the default that it holds if the model sends no value.
    #[must_use]
    pub fn or(mut self, default: fn() -> T) -> Self {
        self.default = Some(default);
        self
    }

    /// Takes the value out.
    ///
    /// # Panics
    ///
    /// If the slot was not filled, which the expansion of `#[tool]` ensures.
    #[inline]
    pub fn take(&mut self) -> T {
        self.value.take().expect("a call reads its arguments before it takes them")
    }

    /// Takes the value of an argument with `#[arg(..)]` out.
    #[inline]
    pub fn take_described(&mut self) -> T {
        self.take()
    }
}

impl<'call, T: ToolArgument<'call, Source>, Source> Fill<'call> for OwnedSlot<T, Source> {
    #[inline]
    fn read(&mut self, reader: &mut ArgumentReader<'call>) -> Result<(), ReadError> {
        self.value = Some(T::read(reader)?);
        Ok(())
    }

    fn absent(&mut self, context: &'call ToolContext) -> Result<(), Absent> {
        self.value = Some(match self.default {
            Some(default) => default(),
            None => T::absent(context)?,
        });
        Ok(())
    }

    fn origin(&self, schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        T::origin(schemas)
    }
}

/// A slot for an argument behind `&`.
///
/// What it holds is a parameter and not `T::Held`: where a future keeps a slot, the compiler checks
/// that it is `Send` with each lifetime taken apart, and a bound on `T` would not hold for, say,
/// `&[&str]`.
pub struct LentSlot<'call, T: ?Sized + 'call, Held, Source> {
    held: Option<Held>,
    default: Option<fn() -> &'call T>,
    /// Kept here for `take` to need no bound: a type that is no argument is one error, where its
    /// slot is made.
    lend: fn(&Held) -> &T,
    source: PhantomData<fn() -> Source>,
}

impl<'call, T: ?Sized + 'call, Held, Source> std::fmt::Debug for LentSlot<'call, T, Held, Source> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LentSlot").field("filled", &self.held.is_some()).finish_non_exhaustive()
    }
}

/// Returns an empty slot for an argument of type `&T`.
#[must_use]
pub(crate) fn lent<'call, T: ?Sized + LentArgument<'call, Source> + 'call, Source>()
-> LentSlot<'call, T, T::Held, Source> {
    LentSlot { held: None, default: None, lend: T::lend, source: PhantomData }
}

impl<'call, T: ?Sized + 'call, Held, Source> LentSlot<'call, T, Held, Source> {
    /// Returns the slot with the default that it lends if the model sends no value.
    #[must_use]
    pub fn or(mut self, default: fn() -> &'call T) -> Self {
        self.default = Some(default);
        self
    }

    /// Lends the value.
    ///
    /// # Panics
    ///
    /// If the slot was not filled, which the expansion of `#[tool]` ensures.
    #[inline]
    pub fn take(&mut self) -> &T {
        match (&self.held, self.default) {
            (Some(held), _) => (self.lend)(held),
            (None, Some(default)) => default(),
            (None, None) => panic!("a call reads its arguments before it lends them"),
        }
    }

    /// Lends the value of an argument with `#[arg(..)]`.
    #[inline]
    pub fn take_described(&mut self) -> &T {
        self.take()
    }
}

impl<'call, T: ?Sized + LentArgument<'call, Source> + 'call, Source> Fill<'call>
    for LentSlot<'call, T, T::Held, Source>
{
    #[inline]
    fn read(&mut self, reader: &mut ArgumentReader<'call>) -> Result<(), ReadError> {
        self.held = Some(T::read(reader)?);
        Ok(())
    }

    fn absent(&mut self, context: &'call ToolContext) -> Result<(), Absent> {
        self.held = match self.default {
            Some(_) => None,
            None => Some(T::absent(context)?),
        };
        Ok(())
    }

    fn origin(&self, schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        T::origin(schemas)
    }
}
