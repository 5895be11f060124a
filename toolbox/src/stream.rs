//! Tools that stream: their items go out as they come, and the result is what was collected of
//! them.
//!
//! ```
//! use futures_util::stream::{self, Stream};
//! use serde_json::json;
//! use toolbox::{tool, tools, ToolBox, ToolCall};
//!
//! /// Counts down.
//! #[tool]
//! fn count_down(from: u32) -> impl Stream<Item = u32> {
//!     stream::iter((0..=from).rev())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let toolbox = ToolBox::from(tools![count_down]);
//! let result = toolbox.call(ToolCall::new("1", "count_down", r#"{"from": 2}"#)).await;
//! assert_eq!(result.structured_content(), Some(json!([2, 1, 0])));
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | stream from a function | [`tool`](macro@crate::tool), whose return type is an `impl Stream` |
//! | stream from a closure | [`Tool::from_stream`] |
//! | take items before the call ends | [`ToolContext::with_outputs`](crate::ToolContext::with_outputs), [`EventKind::ToolOutput`](crate::event::EventKind::ToolOutput) |
//! | choose what is collected | [`Collect`], `#[tool(collect = "last")]` |
//! | fold the items into a value | `#[tool(collect = add)]`, [`Tool::from_folded_stream`] |

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::arguments::call::HandlerCall;
/// ```
/// use futures_util::stream::{self, Stream};
/// use toolbox::{tool, tools, ToolBox, ToolCall};
///
/// /// Looks for primes; each item is the best answer so far.
/// #[tool(collect = "last")] // Collect::Last
/// fn largest_prime(below: u32) -> impl Stream<Item = u32> {
///     stream::iter((2..below).filter(|n| (2..*n).all(|other| n % other != 0)))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let toolbox = ToolBox::from(tools![largest_prime]);
/// let result = toolbox.call(ToolCall::new("1", "largest_prime", r#"{"below": 20}"#)).await;
/// assert_eq!(result.text(), "19");
/// # }
/// ```
pub use crate::call::items::Collect;
use crate::call::items::Collected;
use crate::call::{IntoToolResult, ToolResult};
use crate::context::ToolContext;
use crate::tool::{BoxedHandler, Tool, ToolInput, made};

/// The items that may come at once before others of the runtime have their turn.
const AT_ONCE: u32 = 32;

/// Collects the items of a stream: each goes out as it comes, and the result is what was collected.
///
/// A failure among the items ends the stream: it is the result, with what came before it.
#[doc(hidden)]
pub async fn collect<S: Stream>(
    call: &HandlerCall<'_>,
    collect: Collect,
    stream: S,
    put: impl Fn(S::Item, &mut Collected),
) -> ToolResult {
    let mut stream = pin!(stream);
    let mut items = Collected::new(collect, call.context.shows_outputs());
    let mut at_once = 0;
    loop {
        let Some(item) = next(stream.as_mut(), &mut at_once).await else {
            return items.end(call.has_output_schema());
        };
        put(item, &mut items);
        if let Some(item) = items.take_put()
            && let Err(failure) = pass_on(call.context, &mut items, item).await
        {
            return items.failed(failure);
        }
        if items.are_full() {
            return items.stopped();
        }
    }
}

/// Folds the items of a stream into a value: each goes out as it comes, and the result is that
/// value.
///
/// A failure among the items ends the stream: it is the result, with what came before it.
#[doc(hidden)]
pub async fn fold<S: Stream, T>(
    call: &HandlerCall<'_>,
    stream: S,
    start: T,
    add: impl Fn(T, S::Item, &mut Collected) -> T,
    finish: impl Fn(T) -> ToolResult,
) -> ToolResult {
    let mut stream = pin!(stream);
    let mut items = Collected::new(Collect::Last, call.context.shows_outputs());
    let (mut sum, mut at_once) = (start, 0);
    loop {
        let Some(item) = next(stream.as_mut(), &mut at_once).await else {
            items.keep_only(finish(sum));
            return items.end(call.has_output_schema());
        };
        sum = add(sum, item, &mut items);
        if let Some(item) = items.take_put()
            && let Err(failure) = pass_on(call.context, &mut items, item).await
        {
            items.keep_only(finish(sum));
            return items.failed(failure);
        }
        if items.are_full() {
            items.keep_only(finish(sum));
            return items.stopped();
        }
    }
}

/// Adds an item that was put, and puts it out where somebody takes it. Returns it if it is a
/// failure.
async fn pass_on(
    context: &ToolContext,
    items: &mut Collected,
    item: ToolResult,
) -> Result<(), ToolResult> {
    if item.is_error() {
        return Err(item);
    }
    if items.is_shown() {
        context.put_out(items.count(), item.content().to_vec()).await;
    }
    items.add(item);
    Ok(())
}

/// Waits for the next item, and lets others of the runtime have their turn after some that came at
/// once.
#[inline]
async fn next<S: Stream>(mut stream: Pin<&mut S>, at_once: &mut u32) -> Option<S::Item> {
    poll_fn(|task| {
        if *at_once == AT_ONCE {
            *at_once = 0;
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = stream.as_mut().poll_next(task);
        *at_once = if next.is_ready() { *at_once + 1 } else { 0 };
        next
    })
    .await
}

/// Returns the output schema of a stream, by that of its items.
#[doc(hidden)]
#[must_use]
pub fn schema_of(collect: Collect, item: Option<Value>) -> Option<Value> {
    let item = item?;
    if collect == Collect::Last {
        return Some(item);
    }
    let mut list = json!({"type": "array"});
    let mut item = item;
    // Definitions are found from the root.
    for key in ["$schema", "$defs"] {
        if let Some(value) = item.as_object_mut().and_then(|own| own.shift_remove(key)) {
            list[key] = value;
        }
    }
    list["items"] = item;
    Some(list)
}

/// A closure of a tool that streams. `Form` tells closures with and without the context apart.
///
/// ```
/// use futures_util::stream;
/// use serde_json::Value;
/// use toolbox::{Tool, ToolContext};
///
/// let who = Tool::from_stream("who", "Says who calls", |context: ToolContext, _: Value| {
///     stream::iter([context.tool_name().to_owned(), context.call_id().to_owned()])
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "this cannot be the function of a tool that streams",
    label = "takes or returns what such a tool cannot",
    note = "take one struct, and return a stream of `String`, `Result<String, E>` or another `toolbox::call::IntoToolResult`: `|args: Args| futures_util::stream::iter(..)`",
    note = "to use the context of the call, take it first: `|context: ToolContext, args: Args| ..`"
)]
pub trait StreamFn<Args, Form>: Send + Sync + 'static {
    #[doc(hidden)]
    type Item: IntoToolResult;
    #[doc(hidden)]
    fn stream(
        &self,
        context: &ToolContext,
        args: Args,
    ) -> impl Stream<Item = Self::Item> + Send + 'static;
}

/// Marks closures that take the context of the call.
#[derive(Debug)]
pub enum InContext {}

impl<Args, F, S> StreamFn<Args, ()> for F
where
    F: Fn(Args) -> S + Send + Sync + 'static,
    S: Stream<Item: IntoToolResult> + Send + 'static,
{
    type Item = S::Item;

    fn stream(&self, _context: &ToolContext, args: Args) -> impl Stream<Item = S::Item> + 'static {
        self(args)
    }
}

impl<Args, F, S> StreamFn<Args, InContext> for F
where
    F: Fn(ToolContext, Args) -> S + Send + Sync + 'static,
    S: Stream<Item: IntoToolResult> + Send + 'static,
{
    type Item = S::Item;

    fn stream(&self, context: &ToolContext, args: Args) -> impl Stream<Item = S::Item> + 'static {
        self(context.clone(), args)
    }
}

impl Tool {
    /// Returns a tool from a closure over one struct, whose fields are the arguments, that returns
    /// a stream.
    ///
    /// ```
    /// use futures_util::stream;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use toolbox::{Tool, ToolBox, ToolCall};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Spell {
    ///     word: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let spell = Tool::from_stream("spell", "Spells a word", |args: Spell| {
    ///     stream::iter(args.word.chars().map(|c| format!("{c} ")).collect::<Vec<_>>())
    /// });
    /// let call = ToolCall::new("1", "spell", r#"{"word":"ok"}"#);
    /// let result = ToolBox::from(spell).call(call).await;
    /// assert_eq!(result.text(), "o k ");
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have, or if `Args` is no type whose JSON is an object.
    #[track_caller]
    pub fn from_stream<Args, Form, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        Args: ToolInput + DeserializeOwned + Send,
        F: StreamFn<Args, Form>,
    {
        let function = Arc::new(function);
        let handler = BoxedHandler::Async(Arc::new(move |call| {
            let function = Arc::clone(&function);
            Box::pin(async move {
                let args = match call.read_whole() {
                    Ok(args) => args,
                    Err(refusal) => return refusal,
                };
                let stream = function.stream(call.context, args);
                collect(call, Collect::All, stream, IntoToolResult::put_into).await
            })
        }));
        let tool = made(Self::of_input::<Args>(name, description, handler));
        match schema_of(Collect::All, F::Item::output_schema()) {
            Some(schema) => tool.with_output_schema(schema),
            None => tool,
        }
    }

    /// Returns a tool as [`Tool::from_stream`] does, whose result is what `folding` makes of the
    /// items: it gets the value so far, at first the default of its type, and the next item.
    ///
    /// An item that is a failure ends the stream; the result is that failure, with the value so
    /// far.
    ///
    /// ```
    /// use futures_util::stream;
    /// use serde_json::Value;
    /// use toolbox::{Tool, ToolBox, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let lines = |_: Value| stream::iter(["one".to_owned(), "three".to_owned()]);
    /// let longest = |most: usize, line: &String| most.max(line.len());
    /// let tool = Tool::from_folded_stream("longest", "Finds the longest line", lines, longest);
    /// let result = ToolBox::from(tool).call(ToolCall::new("1", "longest", "{}")).await;
    /// assert_eq!(result.text(), "5");
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tool::from_stream`].
    #[track_caller]
    pub fn from_folded_stream<Args, Form, F, T>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
        folding: impl Fn(T, &F::Item) -> T + Send + Sync + 'static,
    ) -> Self
    where
        Args: ToolInput + DeserializeOwned + Send,
        F: StreamFn<Args, Form>,
        T: IntoToolResult + Default + Send,
    {
        let shared = Arc::new((function, folding));
        let handler = BoxedHandler::Async(Arc::new(move |call| {
            let shared = Arc::clone(&shared);
            Box::pin(async move {
                let args = match call.read_whole() {
                    Ok(args) => args,
                    Err(refusal) => return refusal,
                };
                let (function, folding) = &*shared;
                let stream = function.stream(call.context, args);
                let add = |sum, item: F::Item, items: &mut Collected| {
                    let sum = folding(sum, &item);
                    item.put_into(items);
                    sum
                };
                fold(call, stream, T::default(), add, IntoToolResult::into_tool_result).await
            })
        }));
        let tool = made(Self::of_input::<Args>(name, description, handler));
        match T::output_schema() {
            Some(schema) => tool.with_output_schema(schema),
            None => tool,
        }
    }
}
