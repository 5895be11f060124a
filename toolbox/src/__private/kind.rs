//! The conversion of a tool's output into a result, chosen by autoref specialisation where its type
//! is known.
//!
//! An expansion writes `(&&&&kind_of(&value)).kind()`. Method lookup tries the receiver itself,
//! then with one `&` less: so the trait implemented for the most references is preferred where its
//! bounds hold. The types decide, and not their spelling: an alias is the type it stands for.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "a kind only carries a type; the value it finishes is spent"
)]

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::call::items::{Collected, JsonOf};
use crate::call::put_structured;
use crate::call::{IntoToolFailure, IntoToolResult, ToolResult};
use crate::call::{displayed, reported, serialized, structured, unquoted};
use crate::schema;

/// A function's return value, about to be split into success and error.
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    /// Returns the `Result` itself.
    #[inline]
    pub fn split(self) -> Result<T, E> {
        self.0
    }

    /// Returns the side that the value is on.
    #[inline]
    pub fn side(self) -> Side<Never, T, E> {
        self.0.map_or_else(Side::Failure, Side::Success)
    }
}

/// The rest: a value that is no `Result` is a success.
pub trait NotResult {
    /// The value's type.
    type Value;
    /// Returns the value as a success.
    fn split(self) -> Result<Self::Value, Infallible>;
    /// Returns the whole value.
    fn side(self) -> Side<Self::Value, Never, Infallible>;
}

impl<T> NotResult for Returned<T> {
    type Value = T;

    #[inline]
    fn split(self) -> Result<T, Infallible> {
        Ok(self.0)
    }

    #[inline]
    fn side(self) -> Side<T, Never, Infallible> {
        Side::Whole(self.0)
    }
}

/// A return value whose type has two arguments: of a `Result`, each side is reported at its own
/// type.
#[derive(Debug)]
#[allow(missing_docs, reason = "the sides of a `Result`, and a value that is none")]
pub enum Side<W, T, E> {
    Whole(W),
    Success(T),
    Failure(E),
}

/// The side that a value cannot be on. It converts to a result, so that this side is no error.
#[derive(Debug)]
pub enum Never {}

impl IntoToolResult for Never {
    fn into_tool_result(self) -> ToolResult {
        match self {}
    }
}

/// The type beside a function with `#[tool]`; it has the functions of [`NoTool`] as its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "not the name of a function with `#[tool]`",
    note = "write `#[tool]` above the function, and list it by its name: `tools![search]`",
    note = "tools from elsewhere are given to the box itself: `toolbox.register(value)`"
)]
pub trait ToolOfFunction {}

/// The methods that `tools![]` calls on its elements, for types that have none of them.
#[doc(hidden)]
pub trait NoTool {
    /// A name that no tool has.
    const NAME: &'static str = "";
    /// A location where no tool is.
    const ORIGIN: &'static str = "";
    /// Returns no tool.
    #[must_use]
    fn tool() -> crate::tool::Tool
    where
        Self: ToolOfFunction,
    {
        unreachable!("no type is `ToolOfFunction`")
    }
}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> NoTool for T {}

/// A type without a value.
#[derive(Debug)]
pub struct KindOf<T: ?Sized>(PhantomData<fn(&T)>);

impl<T, E> KindOf<Returned<Result<T, E>>> {
    /// Returns the type of success.
    #[must_use]
    pub fn success(&self) -> KindOf<T> {
        KindOf(PhantomData)
    }
}

/// The rest: the type of a value that is no `Result`.
pub trait NotResultKind {
    /// The type of success.
    type Success;
    /// Returns the type of success.
    fn success(&self) -> KindOf<Self::Success>;
}

impl<T> NotResultKind for KindOf<Returned<T>> {
    type Success = T;

    fn success(&self) -> KindOf<T> {
        KindOf(PhantomData)
    }
}

impl<T> KindOf<T> {
    /// Returns the type `T`.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "only expansions make one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Returns the return type `T` of a function.
#[must_use]
pub fn returned<T>() -> KindOf<Returned<T>> {
    KindOf(PhantomData)
}

/// Returns the type of a value.
#[inline]
#[must_use]
pub fn kind_of<T>(_value: &T) -> KindOf<T> {
    KindOf(PhantomData)
}

/// Values that can be written into a schema, as a default.
pub trait Json<T> {
    /// Returns the value as JSON.
    fn json(&self, value: &T) -> Option<Value>;
}

impl<T: Serialize> Json<T> for &KindOf<T> {
    fn json(&self, value: &T) -> Option<Value> {
        serde_json::to_value(value).ok()
    }
}

/// Values that cannot.
pub trait NoJson<T> {
    /// Returns nothing.
    fn json(&self, value: &T) -> Option<Value>;
}

impl<T> NoJson<T> for KindOf<T> {
    fn json(&self, _value: &T) -> Option<Value> {
        None
    }
}

/// Types that text is turned into, as a string literal in `default`, `examples` or `example`.
pub trait OfText<T> {
    /// Returns the value of the text.
    fn of_text(&self, text: &'static str) -> T;
}

impl<T: From<&'static str>> OfText<T> for &&KindOf<T> {
    fn of_text(&self, text: &'static str) -> T {
        text.into()
    }
}

/// Types around those, and those that borrow text under another name.
pub trait AroundText<T> {
    /// Returns the value of the text.
    fn of_text(&self, text: &'static str) -> T;
}

impl<T: From<&'static str>> AroundText<Option<T>> for &KindOf<Option<T>> {
    fn of_text(&self, text: &'static str) -> Option<T> {
        Some(text.into())
    }
}

impl AroundText<&'static Path> for &KindOf<&'static Path> {
    fn of_text(&self, text: &'static str) -> &'static Path {
        Path::new(text)
    }
}

/// All other types: the text stays text, and the compiler names the expected type.
pub trait StillText {
    /// Returns the text.
    fn of_text(&self, text: &'static str) -> &'static str;
}

impl<T> StillText for KindOf<T> {
    fn of_text(&self, text: &'static str) -> &'static str {
        text
    }
}

/// A type whose values can stand in an example.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` cannot be written as an example",
    label = "the model cannot read a `{Self}`",
    note = "add `#[derive(serde::Serialize)]` to `{Self}`, or leave the argument out of the example"
)]
pub trait ExampleValue {
    #[doc(hidden)]
    fn example(&self) -> Option<Value>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> ExampleValue for T {
    fn example(&self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}

/// A number that a range may end in.
#[diagnostic::on_unimplemented(
    message = "a range cannot end in a `{Self}`",
    label = "this is no number",
    note = "write numbers or constants of a number type: `range = 1..=50`"
)]
pub trait RangeEnd: Sized {
    #[doc(hidden)]
    fn number(self) -> Value;
}

macro_rules! range_ends {
    ($($type:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl RangeEnd for $type {
            fn number(self) -> Value {
                self.into()
            }
        }
    )*};
}

range_ends!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);

/// A result by itself.
#[derive(Debug)]
pub struct OwnResultKind;
/// JSON that fits a schema.
#[derive(Debug)]
pub struct StructuredKind;
/// A future, which nothing awaits.
#[derive(Debug)]
pub struct FutureKind;
/// JSON.
#[derive(Debug)]
pub struct SerializedKind;

/// Types that are results by themselves.
pub trait OwnResult<T> {
    /// Returns how the type becomes a result.
    fn kind(&self) -> OwnResultKind;
    /// Returns the schema of the result.
    fn schema(&self) -> Option<Value>;
}

impl<T: IntoToolResult> OwnResult<T> for &&&KindOf<T> {
    #[inline]
    fn kind(&self) -> OwnResultKind {
        OwnResultKind
    }

    fn schema(&self) -> Option<Value> {
        T::output_schema()
    }
}

/// Types that serialize and have a schema.
pub trait Structured<T> {
    /// Returns how the type becomes a result.
    fn kind(&self) -> StructuredKind;
    /// Returns the schema of the result.
    fn schema(&self) -> Option<Value>;
}

impl<T: Serialize + JsonSchema> Structured<T> for &&KindOf<T> {
    #[inline]
    fn kind(&self) -> StructuredKind {
        StructuredKind
    }

    fn schema(&self) -> Option<Value> {
        (!schema::is_text::<T>()).then(schema::for_output::<T>)
    }
}

/// Types that are futures: an `async fn` is awaited, what it returns is not.
pub trait Awaitable<T> {
    /// Returns the kind that no future passes.
    fn kind(&self) -> FutureKind;
    /// Returns the schema of the result: none.
    fn schema(&self) -> Option<Value>;
}

impl<T: Future> Awaitable<T> for &KindOf<T> {
    fn kind(&self) -> FutureKind {
        FutureKind
    }

    fn schema(&self) -> Option<Value> {
        None
    }
}

/// A kind whose futures are awaited; there is none.
///
/// The kind implements it and not the type, so that the compiler displays this message and not that
/// of [`ToolOutput`].
#[diagnostic::on_unimplemented(
    message = "the output of this tool is a future",
    label = "only the future of an `async fn` is awaited",
    note = "write `async fn`, and return what the future gives: `future.await`"
)]
pub trait AwaitedOutput<T> {}

/// A type that can be the output of a tool: anything that implements `Serialize`.
///
/// `Kind` selects the conversion into a result; the compiler displays the default only, which is
/// the one that can be missing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of a tool",
    label = "the model cannot read a `{Self}`",
    note = "`{Self}`, and each type in it, needs `#[derive(serde::Serialize)]`; or implement `toolbox::call::IntoToolResult` for it",
    note = "a tool may also return a `Result` of such a type, with any error that implements `Display`"
)]
pub trait ToolOutput<Kind = SerializedKind>: Sized {
    #[doc(hidden)]
    fn finish(kind: Kind, value: Self) -> ToolResult;

    /// Puts the value among the items of a stream.
    #[doc(hidden)]
    fn put(kind: Kind, value: Self, items: &mut Collected) {
        items.put(Self::finish(kind, value));
    }
}

#[diagnostic::do_not_recommend]
impl<T: IntoToolResult> ToolOutput<OwnResultKind> for T {
    #[inline]
    fn finish(_: OwnResultKind, value: T) -> ToolResult {
        value.into_tool_result()
    }

    #[inline]
    fn put(_: OwnResultKind, value: T, items: &mut Collected) {
        value.put_into(items);
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> ToolOutput<StructuredKind> for T {
    fn finish(_: StructuredKind, value: T) -> ToolResult {
        structured(&value)
    }

    fn put(_: StructuredKind, value: T, items: &mut Collected) {
        put_structured(&value, items);
    }
}

impl<T> ToolOutput<FutureKind> for T
where
    FutureKind: AwaitedOutput<T>,
{
    fn finish(_: FutureKind, _value: T) -> ToolResult {
        unreachable!("no future is awaited")
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> ToolOutput<SerializedKind> for T {
    fn finish(_: SerializedKind, value: T) -> ToolResult {
        whole(&value)
    }

    fn put(_: SerializedKind, value: T, items: &mut Collected) {
        items.put_json(&value, JsonOf::Any, |first| matches!(first, b'{' | b'['), whole);
    }
}

/// Returns the result of a value without a schema.
fn whole<T: Serialize>(value: &T) -> ToolResult {
    let finish = |json: String| match json.as_bytes().first() {
        Some(b'{' | b'[') => ToolResult::json(json),
        _ => ToolResult::new(unquoted(json)),
    };
    serialized(value).map_or_else(|failure| failure, finish)
}

/// All types: those that serialize pass, the others meet [`ToolOutput`]'s message.
pub trait Serialized<T> {
    /// Returns how the type becomes a result.
    fn kind(&self) -> SerializedKind;
    /// Returns the schema of the result: none.
    fn schema(&self) -> Option<Value>;
}

impl<T> Serialized<T> for KindOf<T> {
    #[inline]
    fn kind(&self) -> SerializedKind {
        SerializedKind
    }

    fn schema(&self) -> Option<Value> {
        None
    }
}

/// An error that is a failure by itself.
#[derive(Debug)]
pub struct FailingKind;
/// An error with sources.
#[derive(Debug)]
pub struct SourcedKind;
/// An error that can only be displayed.
#[derive(Debug)]
pub struct DisplayedKind;

/// Errors that write the text for the model themselves.
pub trait Failing<E> {
    /// Returns how the error becomes a failure.
    fn error(&self) -> FailingKind;
}

impl<E: IntoToolFailure> Failing<E> for &&KindOf<E> {
    fn error(&self) -> FailingKind {
        FailingKind
    }
}

/// Errors with sources.
pub trait Sourced<E> {
    /// Returns how the error becomes a failure.
    fn error(&self) -> SourcedKind;
}

impl<E: Error + Send + Sync + 'static> Sourced<E> for &KindOf<E> {
    fn error(&self) -> SourcedKind {
        SourcedKind
    }
}

/// A type that can be the error of a tool: anything that implements `Display`.
///
/// `Kind` selects the conversion into a failure; the compiler displays the default only, which is
/// the one that can be missing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "the model cannot read a `{Self}`",
    note = "implement `std::fmt::Display` for `{Self}`, or map it to an error that does: `.map_err(|error| ..)`"
)]
pub trait ToolFailure<Kind = DisplayedKind>: Sized {
    #[doc(hidden)]
    fn fail(kind: Kind, error: Self) -> ToolResult;
}

#[diagnostic::do_not_recommend]
impl<E: IntoToolFailure> ToolFailure<FailingKind> for E {
    fn fail(_: FailingKind, error: E) -> ToolResult {
        error.into_tool_failure()
    }
}

#[diagnostic::do_not_recommend]
impl<E: Error + Send + Sync + 'static> ToolFailure<SourcedKind> for E {
    fn fail(_: SourcedKind, error: E) -> ToolResult {
        reported(Arc::new(error))
    }
}

#[diagnostic::do_not_recommend]
impl<E: Display> ToolFailure<DisplayedKind> for E {
    fn fail(_: DisplayedKind, error: E) -> ToolResult {
        displayed(&error)
    }
}

/// All errors: those that display pass, the others meet [`ToolFailure`]'s message.
pub trait Displayed<E> {
    /// Returns how the error becomes a failure.
    fn error(&self) -> DisplayedKind;
}

impl<E> Displayed<E> for KindOf<E> {
    fn error(&self) -> DisplayedKind {
        DisplayedKind
    }
}
