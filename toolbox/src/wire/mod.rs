//! The formats of the model services, both ways: requests out, replies and streams in. Pure: no
//! I/O, no clock, no agent.
//!
//! Every format is a module of the same shape: `request` writes the body of a request, `response`
//! reads a whole reply, `stream` reads one piece by piece, and `history` reads a transcript that
//! another program wrote in that form. [`Format`] is that shape as a trait, for code that works
//! with any of them.
//!
//! A loop over them, with whatever sends bytes; `cargo run -p toolbox-examples --example own_loop`
//! is one with streams over a socket:
//!
//! ```
//! use toolbox::model::{History, ModelRequest, Replied};
//! use toolbox::wire::{Format, OpenAiResponses};
//! use toolbox::ToolBox;
//!
//! type BoxError = Box<dyn std::error::Error>;
//!
//! async fn answer(toolbox: &ToolBox, question: &str) -> Result<String, BoxError> {
//!     let mut history = History::from(question);
//!     loop {
//!         let request = ModelRequest::new(history).with_tools(toolbox);
//!         let body = send(OpenAiResponses::body(&request, "gpt-4.1", false)).await?;
//!         let response = OpenAiResponses::response(&body)?;
//!         history = match request.history.reply(response.reply) {
//!             Replied::Calls(open) => {
//!                 let results = toolbox.call_all(open.calls()).await;
//!                 open.answer(results)
//!             }
//!             Replied::Answer(history) => {
//!                 return Ok(history.last_reply().map(|reply| reply.content().into_owned()).unwrap_or_default());
//!             }
//!             _ => return Err("the reply was cut off".into()),
//!         };
//!     }
//! }
//!
//! async fn send(body: String) -> std::io::Result<String> {
//!     todo!("posts the body, and returns that of the reply")
//! }
//! ```

mod anthropic;
mod ended;
mod events;
mod failure;
mod format;
mod gemini;
mod gemini_interactions;
mod lenient;
mod offered;
mod openai;
mod openai_chat;
mod openai_responses;
mod pieces;
mod turns;

pub use anthropic::{Anthropic, AnthropicStream};
pub use events::Events;
pub use format::{Format, ResponseStream, Transcript, WireError};
pub use gemini::{Gemini, GeminiStream};
pub use gemini_interactions::{GeminiInteractions, GeminiInteractionsStream};
pub use openai_chat::{OpenAiChat, OpenAiChatStream};
pub use openai_responses::{OpenAiResponses, OpenAiResponsesStream};
