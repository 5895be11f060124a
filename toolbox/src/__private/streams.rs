//! Streams that functions return, told from other types by autoref specialisation.

use std::marker::PhantomData;

#[cfg(feature = "stream")]
use futures_core::Stream;
use serde_json::Value;

use super::kind::{KindOf, Never, Returned, ToolOutput, returned};
use crate::call::ToolResult;

pub use crate::call::items::Collect;
#[cfg(feature = "stream")]
pub use crate::stream::{collect, fold, schema_of};
#[cfg(not(feature = "stream"))]
pub use without_feature::{collect, fold, schema_of};

/// The output of a function that collects a stream.
#[derive(Debug)]
pub struct Streamed<T>(pub T);

#[cfg(feature = "stream")]
impl<S: Stream> Streamed<S> {
    /// Returns the stream.
    #[inline]
    pub fn stream(self) -> S {
        self.0
    }
}

#[cfg(feature = "stream")]
impl<S: Stream> KindOf<Streamed<S>> {
    /// Returns the type of an item.
    #[must_use]
    pub fn items(&self) -> KindOf<Returned<S::Item>> {
        returned()
    }
}

/// Returns the type of a stream.
#[must_use]
pub fn streamed<T>() -> KindOf<Streamed<T>> {
    KindOf::new()
}

/// A function that folds items into a value.
#[diagnostic::on_unimplemented(
    message = "this cannot fold the items of a stream",
    label = "is no function of the value so far and an item",
    note = "write `fn add(sum: Sum, item: &Item) -> Sum`, of a `Sum` that has a `Default`"
)]
pub trait FoldFn<T, I> {
    /// Returns the value before the first item.
    fn start() -> T;
    /// Returns the value after an item.
    fn add(&self, sum: T, item: &I) -> T;
}

#[diagnostic::do_not_recommend]
impl<F, T, I> FoldFn<T, I> for F
where
    F: Fn(T, &I) -> T,
    T: Default,
{
    #[inline]
    fn start() -> T {
        T::default()
    }

    #[inline]
    fn add(&self, sum: T, item: &I) -> T {
        self(sum, item)
    }
}

/// A function that folds, with its types.
#[derive(Debug)]
pub struct Fold<F, T, I>(F, PhantomData<fn(T, &I) -> T>);

/// Returns a function that folds, with its types.
#[inline]
pub fn fold_of<T, I, F: FoldFn<T, I>>(fold: F) -> Fold<F, T, I> {
    Fold(fold, PhantomData)
}

// The bounds stand at the methods: else each method is an error of its own where one is not met.
impl<F, T, I> Fold<F, T, I> {
    /// Returns the value before the first item.
    #[inline]
    pub fn start(&self) -> T
    where
        F: FoldFn<T, I>,
    {
        F::start()
    }

    /// Returns the value after an item.
    #[inline]
    pub fn add(&self, sum: T, item: &I) -> T
    where
        F: FoldFn<T, I>,
    {
        self.0.add(sum, item)
    }

    /// Returns the type of the value.
    pub fn folded(&self) -> KindOf<Returned<T>> {
        returned()
    }
}

/// A type of which items are collected. No type is one: streams have methods of their own.
#[cfg_attr(
    feature = "stream",
    diagnostic::on_unimplemented(
        message = "`{Self}` is no stream",
        label = "nothing can be collected of this",
        note = "return `impl Stream<Item = ..>`, or take `collect` out of the attribute"
    )
)]
#[cfg_attr(
    not(feature = "stream"),
    diagnostic::on_unimplemented(
        message = "tools that stream need the feature `stream` of `llm-toolbox`",
        label = "this function returns a stream",
        note = "turn it on: `cargo add llm-toolbox --features stream`"
    )
)]
pub trait CollectedStream {}

/// The rest: a value that is no stream.
pub trait NoStream {
    /// The value's type.
    type Value;
    /// Returns a stream without items.
    fn stream(self) -> NoItems
    where
        Self::Value: CollectedStream;
}

impl<T> NoStream for Streamed<T> {
    type Value = T;

    fn stream(self) -> NoItems
    where
        T: CollectedStream,
    {
        unreachable!("no type is a `CollectedStream`")
    }
}

/// The rest: the type of a value that is no stream.
pub trait NoStreamKind {
    /// Returns the type of no item.
    fn items(&self) -> KindOf<Returned<Never>>;
}

impl<T> NoStreamKind for KindOf<Streamed<T>> {
    fn items(&self) -> KindOf<Returned<Never>> {
        returned()
    }
}

/// A stream without items, of which there is none.
#[derive(Debug)]
pub enum NoItems {}

#[cfg(feature = "stream")]
impl Stream for NoItems {
    type Item = Never;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Never>> {
        match *self {}
    }
}

#[cfg(not(feature = "stream"))]
mod without_feature {
    use serde_json::Value;

    use super::NoItems;
    use crate::__private::kind::Never;
    use crate::arguments::call::HandlerCall;
    use crate::call::ToolResult;
    use crate::call::items::{Collect, Collected};

    /// Collects nothing.
    #[allow(clippy::unused_async, reason = "the expansion awaits it")]
    pub async fn collect(
        _call: &HandlerCall<'_>,
        _collect: Collect,
        stream: NoItems,
        _put: impl Fn(Never, &mut Collected),
    ) -> ToolResult {
        match stream {}
    }

    /// Folds nothing.
    #[allow(clippy::unused_async, reason = "the expansion awaits it")]
    pub async fn fold<T>(
        _call: &HandlerCall<'_>,
        stream: NoItems,
        _start: T,
        _add: impl Fn(T, Never, &mut Collected) -> T,
        _finish: impl Fn(T) -> ToolResult,
    ) -> ToolResult {
        match stream {}
    }

    /// Returns no schema.
    #[must_use]
    pub fn schema_of(_collect: Collect, _item: Option<Value>) -> Option<Value> {
        None
    }
}

/// A stream that is not spelled as one.
#[cfg(feature = "stream")]
#[derive(Debug)]
pub struct StreamKind;

/// Types that are streams: one that the function's return type spells is collected, another is not.
#[cfg(feature = "stream")]
pub trait Streaming<T> {
    /// Returns the kind that no stream passes.
    fn kind(&self) -> StreamKind;
    /// Returns the schema of the result: none.
    fn schema(&self) -> Option<Value>;
}

#[cfg(feature = "stream")]
impl<T: Stream> Streaming<T> for &KindOf<T> {
    fn kind(&self) -> StreamKind {
        StreamKind
    }

    fn schema(&self) -> Option<Value> {
        None
    }
}

/// A kind whose streams are collected; there is none.
#[cfg(feature = "stream")]
#[diagnostic::on_unimplemented(
    message = "the output of this tool is a stream",
    label = "a stream of this name is not collected by itself",
    note = "say what is collected: `#[tool(collect = \"all\")]`, `\"lines\"` or `\"last\"`; or return `impl Stream<Item = ..>`"
)]
pub trait CollectedOutput<T> {}

#[cfg(feature = "stream")]
impl<T> ToolOutput<StreamKind> for T
where
    StreamKind: CollectedOutput<T>,
{
    fn finish(_: StreamKind, _value: T) -> ToolResult {
        unreachable!("no stream is collected")
    }
}
