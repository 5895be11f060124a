//! A tool as a value: its definition, its handler, and how it may run.
//!
//! Most tools come from [`#[tool]`](macro@crate::tool). The types here make tools without a macro,
//! take them by traits, and put code around their calls.
//!
//! ```
//! use toolbox::tool::Next;
//! use toolbox::{Tool, ToolBox};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let shout = Tool::new("shout", "Says a word").param("word", "string", "The word").call(|args| {
//!     args["word"].as_str().unwrap_or_default().to_owned()
//! });
//! let shout = shout.layer(|next: Next| async move {
//!     let result = next.run().await;
//!     toolbox::ToolResult::new(result.text().to_uppercase())
//! });
//! let toolbox = ToolBox::from(shout);
//! assert_eq!(toolbox.execute("shout", r#"{"word": "hi"}"#).await.as_deref(), Ok("HI"));
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | make a tool | [`Tool`], [`ToolBuilder`], [`ParamType`], [`ToolFn`], [`ToolInput`], [`MapFn`], [`MakeToolError`] |
//! | implement a tool by a type | [`ToolHandler`] |
//! | give several tools at once | [`Toolset`], [`IntoTools`] |
//! | put code around calls | [`Next`] |
//! | complete arguments of prompts and resources | [`Completer`], [`CompletionRequest`], [`IntoSuggestions`], [`Suggestions`] |
//! | say to whom a tool is available | [`Tool::available_if`] |
//! | see where a tool was made | [`Origin`] |
//! | read which types may be arguments and outputs | [`ToolArgument`], [`LentArgument`], [`ToolOutput`], [`ToolFailure`] |

mod availability;
mod builder;
mod closure;
mod completer;
mod handler;
pub(crate) mod layer;
mod tool;
mod toolset;
mod trust;

pub use builder::{ParamType, ToolBuilder};
pub use closure::{MakeToolError, MapFn, ToolFn, ToolInput};
pub use completer::{Completer, CompletionRequest, IntoSuggestions, Suggestions};
pub(crate) use completer::{Completers, completing};
pub use handler::ToolHandler;
pub use layer::Next;
pub use tool::{BoxedHandler, Origin, Tool};
pub(crate) use tool::{HandsOver, RepeatedTools, SyncHandler, ToolInner, made};
#[doc(hidden)]
pub use toolset::SetOffers;
pub use toolset::{IntoTools, Toolset};

pub use crate::__private::{ToolFailure, ToolOutput};
pub use crate::arguments::argument::{LentArgument, ToolArgument};
