//! Tests of agents and tools, with no model and no network.
//!
//! ```
//! use toolbox::testing::{Caller, ScriptedModel, check};
//! use toolbox::{Agent, tool, tools};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i32, b: i32) -> i64 {
//!     i64::from(a) + i64::from(b)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new().calls("add", r#"{"a": 2, "b": 3}"#).text("5");
//! let outcome = Agent::builder(model).tools(tools![add]).build()?.run("2 + 3?").await?;
//! check(&outcome.history).calls("add", serde_json::json!({"a": 2})).returns("5").answers("5");
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | play a model from a script | [`ScriptedModel`] |
//! | record a real one, and play it without key or network | [`Recording`], [`RecordingFile`], [`PlayedModel`] |
//! | record an MCP server, and serve what was recorded | `SessionRecorder`, `RecordedServer` (feature `mcp-client`) |
//! | call a tool, and state what comes of it | [`call`](fn@call), [`call_in`], [`ResultCheck`] |
//! | play the person who is asked, or who approves | [`ScriptedPerson`], [`RecordingApprover`] |
//! | state what a transcript must hold | [`check`](fn@check), [`HistoryCheck`], [`rendered`] |
//! | keep the tools of a box in a file, and see which changes break callers | [`contract`](fn@contract), the module [`contract`](crate::contract) |
//! | call tools with arguments that fit their schemas, and with some that do not | [`Caller`], [`Finding`], [`Invalid`], [`Generator`] |

mod call;
mod caller;
mod check;
mod contract;
mod generate;
mod people;
mod recording;
mod script;
mod variable;

pub use call::{ResultCheck, call, call_in};
pub use caller::{Caller, Finding, Invalid};
pub use check::{HistoryCheck, check, rendered};
pub use contract::contract;
pub use generate::Generator;
pub use people::{RecordingApprover, ScriptedPerson};
pub use recording::{PlayedModel, Recording, RecordingError, RecordingFile, RecordingModel};
#[cfg(feature = "mcp-client")]
pub use recording::{RecordedServer, SessionRecorder};
pub use script::ScriptedModel;
