//! Prompts: messages that a person picks by name, made from typed arguments.
//!
//! A [`Prompt`] is a value like a [`Tool`](crate::Tool): `#[prompt]` makes it of a function, a box
//! holds it ([`ToolBox::prompts`](crate::ToolBox::prompts)), and its calls pass the gate of the
//! box. MCP clients offer prompts to people, for example as slash commands.
//!
//! ```
//! use serde_json::json;
//! use toolbox::{ToolBox, prompt, prompts};
//!
//! /// Asks for a review of some code.
//! #[prompt]
//! fn review(
//!     /// The code.
//!     code: &str,
//! ) -> String {
//!     format!("Review this code, the worst faults first:\n\n{code}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolbox::ToolError> {
//! let toolbox = ToolBox::new();
//! toolbox.prompts().register(prompts![review]);
//! let rendered = toolbox.prompts().get("review", json!({"code": "fn main() {}"})).await?;
//! assert!(rendered.text().ends_with("fn main() {}"));
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | make a prompt | [`prompt`](macro@crate::prompt), [`Prompt::from_tool`], [`PromptArgument`] |
//! | write its messages | [`PromptMessage`], [`IntoPromptMessages`] |
//! | hold and render prompts | [`Prompts`](crate::collection::Prompts), [`IntoPrompts`], [`RenderedPrompt`] |
//! | complete an argument while a person types | [`Completer`](crate::tool::Completer) |

mod message;
mod prompt;

pub(crate) use message::result_of;
pub use message::{IntoPromptMessages, PromptMessage, RenderedPrompt};
pub(crate) use prompt::tools_of;
pub use prompt::{IntoPrompts, Prompt, PromptArgument};
