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
use crate::call::{Content, FailureKind, IntoToolResult, ToolResult};
use crate::context::ToolContext;
use crate::tool::{BoxedHandler, Tool, ToolInput, made};

/// The most items of one call.
const MAX_ITEMS: u64 = 100_000;
/// The most bytes that are collected of one call.
const MAX_BYTES: usize = 16 << 20;
/// The items that may come at once before others of the runtime have their turn.
const AT_ONCE: u32 = 32;

/// The items that the result of a tool that streams is made of.
///
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Collect {
    /// All items: text joined as it comes, JSON as a list, other content one after the other.
    #[default]
    All,
    /// All items, each on a line of its own if they are text.
    Lines,
    /// The last item alone.
    Last,
}

/// Collects the items of a stream: each goes out as it comes, and the result is what was collected.
///
/// A failure among the items ends the stream: it is the result, with what came before it.
#[doc(hidden)]
pub async fn collect<S: Stream>(
    call: &HandlerCall<'_>,
    collect: Collect,
    stream: S,
    finish: impl Fn(S::Item) -> ToolResult,
) -> ToolResult {
    let context = call.context;
    let mut stream = pin!(stream);
    let mut collected = Collected { collect, ..Collected::default() };
    let is_shown = context.shows_outputs();
    let mut at_once = 0;
    loop {
        let Some(item) = next(stream.as_mut(), &mut at_once).await else {
            return collected.end(call.has_output_schema());
        };
        let item = finish(item);
        if item.is_error() {
            return collected.failed(item);
        }
        if is_shown {
            context.put_out(collected.count, item.content().to_vec()).await;
        }
        collected.add(item);
        if collected.count > MAX_ITEMS || collected.bytes > MAX_BYTES {
            return collected.stopped();
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
    add: impl Fn(T, S::Item) -> (T, ToolResult),
    finish: impl Fn(T) -> ToolResult,
) -> ToolResult {
    let context = call.context;
    let mut stream = pin!(stream);
    let mut folded = Collected { collect: Collect::Last, ..Collected::default() };
    let is_shown = context.shows_outputs();
    let (mut sum, mut at_once) = (start, 0);
    loop {
        let Some(item) = next(stream.as_mut(), &mut at_once).await else {
            folded.items = Items::Last(Box::new(finish(sum)));
            return folded.end(call.has_output_schema());
        };
        let item = {
            let (next, item) = add(sum, item);
            sum = next;
            item
        };
        if item.is_error() {
            folded.items = Items::Last(Box::new(finish(sum)));
            return folded.failed(item);
        }
        folded.is_untrusted |= item.is_untrusted();
        if is_shown {
            context.put_out(folded.count, item.content().to_vec()).await;
        }
        folded.count += 1;
        if folded.count > MAX_ITEMS {
            folded.items = Items::Last(Box::new(finish(sum)));
            return folded.stopped();
        }
    }
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

/// The items so far.
#[derive(Default)]
struct Collected {
    collect: Collect,
    items: Items,
    count: u64,
    bytes: usize,
    is_untrusted: bool,
    /// `true` if each item fits the output schema of its type.
    is_structured: bool,
}

#[derive(Default)]
enum Items {
    #[default]
    None,
    Text(String),
    /// A JSON list, without its end.
    Json(String),
    Parts(Vec<Content>),
    Last(Box<ToolResult>),
}

impl Collected {
    fn add(&mut self, item: ToolResult) {
        self.count += 1;
        self.is_untrusted |= item.is_untrusted();
        if self.collect == Collect::Last {
            self.items = Items::Last(Box::new(item));
            return;
        }
        self.bytes += item.content().iter().map(Content::len).sum::<usize>();
        let is_structured = item.structured_text().is_some();
        let is_json = is_structured || item.is_json();
        self.is_structured = is_structured && (self.count == 1 || self.is_structured);
        match (&mut self.items, item.content()) {
            (items @ Items::None, [Content::Text(text)]) if is_json => {
                *items = Items::Json(format!("[{}", &**text));
            }
            (items @ Items::None, [Content::Text(text)]) => {
                *items = Items::Text((**text).to_owned());
            }
            (Items::Json(json), [Content::Text(text)]) if is_json => {
                json.push(',');
                json.push_str(text);
            }
            (Items::Text(all), [Content::Text(text)]) if !is_json => {
                if self.collect == Collect::Lines {
                    all.push('\n');
                }
                all.push_str(text);
            }
            (items, parts) => {
                let parts = parts.to_vec();
                let mut all = std::mem::take(items).into_parts();
                all.extend(parts);
                *items = Items::Parts(all);
                self.is_structured = false;
            }
        }
    }

    /// Returns the result of a stream that ended.
    fn end(self, has_schema: bool) -> ToolResult {
        let mut result = match self.items {
            Items::None if self.collect == Collect::Last => {
                let text = "the tool's stream ended without an item";
                ToolResult::failure(FailureKind::InvalidOutput, text)
            }
            Items::None if has_schema => ToolResult::structured("[]".to_owned()),
            Items::None => ToolResult::new("the tool put out nothing"),
            Items::Text(text) => ToolResult::new(text),
            Items::Json(json) if self.is_structured => ToolResult::structured(json + "]"),
            Items::Json(json) => ToolResult::json(json + "]"),
            Items::Parts(parts) => parts.into(),
            Items::Last(item) => *item,
        };
        if self.is_untrusted {
            result.mark_as_untrusted();
        }
        result
    }

    /// Returns the result of a stream that ended with a failure.
    fn failed(self, failure: ToolResult) -> ToolResult {
        if self.count == 0 {
            return failure;
        }
        let text = format!("the stream ended after {}: {}", counted(self.count), failure.text());
        // First, so that no limit of a result cuts it.
        let mut parts = vec![Content::text(text)];
        parts.extend(self.items.into_parts());
        let mut failure = failure.with_parts(parts);
        if self.is_untrusted {
            failure.mark_as_untrusted();
        }
        failure
    }

    /// Returns the result of a stream that did not end.
    fn stopped(self) -> ToolResult {
        let text = format!(
            "it was stopped there, since at most {MAX_ITEMS} items and {} MiB are collected: ask for less",
            MAX_BYTES >> 20
        );
        self.failed(ToolResult::failure(FailureKind::ResultTooLarge, text))
    }
}

impl Items {
    fn into_parts(self) -> Vec<Content> {
        match self {
            Self::None => Vec::new(),
            Self::Text(text) => vec![Content::text(text)],
            Self::Json(json) => vec![Content::text(json + "]")],
            Self::Parts(parts) => parts,
            Self::Last(item) => item.content().to_vec(),
        }
    }
}

fn counted(items: u64) -> String {
    if items == 1 { "one item".to_owned() } else { format!("{items} items") }
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
                collect(call, Collect::All, stream, IntoToolResult::into_tool_result).await
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
                let add = |sum, item| (folding(sum, &item), item.into_tool_result());
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
