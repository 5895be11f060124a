//! Agents behind web front ends: AG-UI, and the UI message stream of the AI SDK.
//!
//! A [`WebAgent`] takes the body of a request, starts a run of its agent on the transcript in it,
//! and returns the events of the run as [`Frames`]: server-sent events for the answer. The HTTP
//! server is the program's own. A run that waits for an approval or an answer of a person is kept,
//! and goes on with the next request of its thread.
//!
//! ```
//! use toolbox::agent::Agent;
//! use toolbox::testing::ScriptedModel;
//! use toolbox::ToolContext;
//! use toolbox_web::{FrontEnd, WebAgent};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = Agent::builder(ScriptedModel::answering("Hello.")).build()?;
//! let web = WebAgent::new(agent);
//! let body = br#"{"id": "chat-1", "messages": [
//!     {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
//! ]}"#;
//! let mut frames = web.answer(FrontEnd::AiSdk, body, ToolContext::new())?;
//! assert_eq!(frames.next().await.unwrap(), "data: {\"type\":\"start\"}\n\n");
//! while let Some(frame) = frames.next().await {
//!     assert!(frame.starts_with("data: ") && frame.ends_with("\n\n"));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | answer requests of a front end | [`WebAgent`] |
//! | name the front end, and get the headers of an answer | [`FrontEnd`] |
//! | send the answer | [`Frames`] |
//! | refuse a request | [`RequestError`] |

/// Compiles the code of the page with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/web.md")]
mod web_page {}

mod ag_ui;
mod ai_sdk;
mod calls;
mod frames;
mod front_end;
mod offered;
mod paused;
mod piece;
mod request;
mod tracker;
mod web_agent;

pub use frames::Frames;
pub use front_end::FrontEnd;
pub use request::RequestError;
pub use web_agent::WebAgent;
