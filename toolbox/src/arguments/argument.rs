//! Types of arguments in a tool's signature: values from the model, values from the program, and
//! references to both.
//!
//! The compiler decides which by trait, not by spelling: the marker (`FromModel`, `FromProgram`, …)
//! is inferred from the one implementation that applies.

use std::any::type_name;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use super::reader::{ArgumentReader, Nothing};
use super::slot::{LentSlot, OwnedSlot};
use crate::call::ToolError;
use crate::context::{FromContext, Requirement, ToolContext};
use crate::validate::ReadError;

/// Marks arguments that the model fills in.
#[derive(Debug)]
pub enum FromModel {}

/// Marks arguments that the program supplies.
#[derive(Debug)]
pub enum FromProgram {}

/// Marks the context itself.
#[derive(Debug)]
pub enum TheContext {}

/// Marks references to text, paths and slices, lent from the call.
#[derive(Debug)]
pub enum Lent {}

/// The failure to supply an argument that the call does not contain.
#[derive(Debug)]
pub enum Absent {
    /// The model must give it.
    Required,
    /// The program could not supply it.
    Unavailable(Box<ToolError>),
}

/// The source of one argument, as its type declares it.
#[derive(Debug)]
pub enum ArgumentOrigin {
    /// From the model, with this schema.
    Model {
        /// The schema that schemars wrote, not yet in normal form.
        schema: Schema,
        /// `true` if the type accepts a missing value.
        optional: bool,
        /// The name of the type, for messages.
        type_name: &'static str,
    },
    /// From the program, which may need a state for it.
    Program(Option<Requirement>),
}

/// A type that can be an argument of a tool, taken by value.
///
/// Implemented for everything that is `Deserialize + JsonSchema` (the model fills it in) and
/// everything that is [`FromContext`] (the program supplies it). There is nothing to implement here
/// by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "neither the model nor the program can supply a `{Self}`",
    note = "if the model fills it in: a type of your own, and each type in it, needs `#[derive(serde::Deserialize, schemars::JsonSchema)]`, of serde 1 and schemars 1",
    note = "if it is of another crate: enable `serde` there, and in `schemars` the feature for it: `chrono04`, `jiff02`, `uuid1`, `url2`, `rust_decimal1`, `bigdecimal04`, `semver1`, `bytes1`, `either1`, `smallvec1`; for others, such as `time`, take text or a type of your own around it",
    note = "if your program supplies it: take `State<..>` of a type that is `Send + Sync + 'static`, or implement `toolbox::FromContext` for `{Self}`"
)]
pub trait ToolArgument<'call, Source>: Sized {
    /// Returns the empty slot for one call.
    // A provided method, because the compiler explains a missing `Self: Trait` without quoting
    // where it is required.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    fn slot() -> OwnedSlot<Self, Source> {
        super::slot::owned()
    }
    #[doc(hidden)]
    fn read(reader: &mut ArgumentReader<'call>) -> Result<Self, ReadError>;
    #[doc(hidden)]
    fn absent(context: &'call ToolContext) -> Result<Self, Absent>;
    #[doc(hidden)]
    fn origin(schemas: &mut SchemaGenerator) -> ArgumentOrigin;
}

#[diagnostic::do_not_recommend]
impl<'call, T: Deserialize<'call> + JsonSchema> ToolArgument<'call, FromModel> for T {
    #[inline]
    fn read(reader: &mut ArgumentReader<'call>) -> Result<Self, ReadError> {
        T::deserialize(reader)
    }

    fn absent(_context: &'call ToolContext) -> Result<Self, Absent> {
        T::deserialize(Nothing).map_err(|_| Absent::Required)
    }

    fn origin(schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Model {
            schema: schemas.subschema_for::<T>(),
            optional: T::deserialize(Nothing).is_ok(),
            type_name: type_name::<T>(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<'call, T: FromContext> ToolArgument<'call, FromProgram> for T {
    fn read(_reader: &mut ArgumentReader<'call>) -> Result<Self, ReadError> {
        Err(not_from_the_model())
    }

    fn absent(context: &'call ToolContext) -> Result<Self, Absent> {
        T::from_context(context).map_err(|error| Absent::Unavailable(Box::new(error)))
    }

    fn origin(_schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Program(T::requirement())
    }
}

/// `&ToolContext` under another name, as in `type Context<'a> = &'a ToolContext`.
#[diagnostic::do_not_recommend]
impl<'call> ToolArgument<'call, TheContext> for &'call ToolContext {
    fn read(_reader: &mut ArgumentReader<'call>) -> Result<Self, ReadError> {
        Err(not_from_the_model())
    }

    fn absent(context: &'call ToolContext) -> Result<Self, Absent> {
        Ok(context)
    }

    fn origin(_schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Program(None)
    }
}

#[diagnostic::do_not_recommend]
impl<'call> ToolArgument<'call, TheContext> for ToolContext {
    fn read(_reader: &mut ArgumentReader<'call>) -> Result<Self, ReadError> {
        Err(not_from_the_model())
    }

    fn absent(context: &'call ToolContext) -> Result<Self, Absent> {
        Ok(context.clone())
    }

    fn origin(_schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Program(None)
    }
}

/// A type that can be an argument of a tool behind `&`.
///
/// Implemented for `str`, `Path`, slices, [`ToolContext`], and everything that can be an argument
/// by value. There is nothing to implement here by hand.
#[diagnostic::on_unimplemented(
    message = "`&{Self}` cannot be an argument of a tool",
    label = "neither the model nor the program can supply a `{Self}`",
    note = "if the model fills it in: a type of your own, and each type in it, needs `#[derive(serde::Deserialize, schemars::JsonSchema)]`, of serde 1 and schemars 1",
    note = "if it is of another crate: enable `serde` there, and in `schemars` the feature for it: `chrono04`, `jiff02`, `uuid1`, `url2`, `rust_decimal1`, `bigdecimal04`, `semver1`, `bytes1`, `either1`, `smallvec1`; for others, such as `time`, take text or a type of your own around it",
    note = "if your program supplies it: take `State<..>` of a type that is `Send + Sync + 'static`, or implement `toolbox::FromContext` for `{Self}`"
)]
pub trait LentArgument<'call, Source> {
    #[doc(hidden)]
    type Held: 'call;
    /// Returns the empty slot for one call.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    fn slot() -> LentSlot<'call, Self, Self::Held, Source>
    where
        Self: 'call,
    {
        super::slot::lent()
    }
    /// Returns the slot with the default that it lends if the model sends no value.
    #[doc(hidden)]
    fn or(
        slot: LentSlot<'call, Self, Self::Held, Source>,
        default: fn() -> &'call Self,
    ) -> LentSlot<'call, Self, Self::Held, Source>
    where
        Self: 'call,
    {
        slot.or(default)
    }
    #[doc(hidden)]
    fn read(reader: &mut ArgumentReader<'call>) -> Result<Self::Held, ReadError>;
    #[doc(hidden)]
    fn absent(context: &'call ToolContext) -> Result<Self::Held, Absent>;
    #[doc(hidden)]
    fn origin(schemas: &mut SchemaGenerator) -> ArgumentOrigin;
    #[doc(hidden)]
    fn lend(held: &Self::Held) -> &Self;
}

#[diagnostic::do_not_recommend]
impl<'call> LentArgument<'call, Lent> for str {
    type Held = &'call str;

    #[inline]
    fn read(reader: &mut ArgumentReader<'call>) -> Result<&'call str, ReadError> {
        Deserialize::deserialize(reader)
    }

    fn absent(_context: &'call ToolContext) -> Result<&'call str, Absent> {
        Err(Absent::Required)
    }

    fn origin(schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Model {
            schema: schemas.subschema_for::<str>(),
            optional: false,
            type_name: type_name::<str>(),
        }
    }

    #[inline]
    fn lend<'a>(held: &'a &'call str) -> &'a str {
        held
    }
}

#[diagnostic::do_not_recommend]
impl<'call> LentArgument<'call, Lent> for Path {
    type Held = &'call str;

    fn read(reader: &mut ArgumentReader<'call>) -> Result<&'call str, ReadError> {
        let start = reader.position();
        let text: &str = Deserialize::deserialize(reader)?;
        // No system call accepts a path with a NUL. The error here names the argument for the
        // model.
        if text.contains('\0') {
            return Err(ReadError::new("cannot contain a NUL character", start));
        }
        Ok(text)
    }

    fn absent(_context: &'call ToolContext) -> Result<&'call str, Absent> {
        Err(Absent::Required)
    }

    fn origin(schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Model {
            schema: schemas.subschema_for::<str>(),
            optional: false,
            type_name: type_name::<str>(),
        }
    }

    fn lend<'a>(held: &'a &'call str) -> &'a Path {
        Path::new(held)
    }
}

#[diagnostic::do_not_recommend]
impl<'call, T: Deserialize<'call> + JsonSchema + 'call> LentArgument<'call, Lent> for [T] {
    type Held = Vec<T>;

    fn read(reader: &mut ArgumentReader<'call>) -> Result<Vec<T>, ReadError> {
        Deserialize::deserialize(reader)
    }

    fn absent(_context: &'call ToolContext) -> Result<Vec<T>, Absent> {
        Err(Absent::Required)
    }

    fn origin(schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Model {
            schema: schemas.subschema_for::<[T]>(),
            optional: false,
            type_name: type_name::<[T]>(),
        }
    }

    fn lend(held: &Vec<T>) -> &[T] {
        held
    }
}

#[diagnostic::do_not_recommend]
impl<'call, T: Deserialize<'call> + JsonSchema + 'call> LentArgument<'call, FromModel> for T {
    type Held = T;

    fn read(reader: &mut ArgumentReader<'call>) -> Result<T, ReadError> {
        T::deserialize(reader)
    }

    fn absent(_context: &'call ToolContext) -> Result<T, Absent> {
        T::deserialize(Nothing).map_err(|_| Absent::Required)
    }

    fn origin(schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        <T as ToolArgument<'call, FromModel>>::origin(schemas)
    }

    fn lend(held: &T) -> &T {
        held
    }
}

#[diagnostic::do_not_recommend]
impl<'call, T: FromContext + 'call> LentArgument<'call, FromProgram> for T {
    type Held = T;

    fn read(_reader: &mut ArgumentReader<'call>) -> Result<T, ReadError> {
        Err(not_from_the_model())
    }

    fn absent(context: &'call ToolContext) -> Result<T, Absent> {
        T::from_context(context).map_err(|error| Absent::Unavailable(Box::new(error)))
    }

    fn origin(_schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Program(T::requirement())
    }

    fn lend(held: &T) -> &T {
        held
    }
}

#[diagnostic::do_not_recommend]
impl<'call> LentArgument<'call, TheContext> for ToolContext {
    type Held = &'call ToolContext;

    fn read(_reader: &mut ArgumentReader<'call>) -> Result<&'call ToolContext, ReadError> {
        Err(not_from_the_model())
    }

    fn absent(context: &'call ToolContext) -> Result<&'call ToolContext, Absent> {
        Ok(context)
    }

    fn origin(_schemas: &mut SchemaGenerator) -> ArgumentOrigin {
        ArgumentOrigin::Program(None)
    }

    fn lend<'a>(held: &'a &'call ToolContext) -> &'a ToolContext {
        held
    }
}

fn not_from_the_model() -> ReadError {
    ReadError::new("not an argument that the model can give", 0)
}
