//! Large results by handle: the model sees a part, and reads on where it wants to.
//!
//! A result that is larger than a model is to see (4 000 tokens by default) is kept in a
//! [`ResultStore`] as a whole. In its place the model gets a handle (`r1`, `r2`, … within its
//! conversation), the size, and a part that says most: the head and the tail of a text, the shape
//! of a JSON document, the header and some rows of a table. The tool `result_read` returns the rest
//! by lines, by bytes, by a search, or by a JSON pointer with slices.
//!
//! ```
//! use toolbox::results::MemoryResults;
//! use toolbox::{tool, tools, ToolBox, ToolCall};
//!
//! /// Reads the log.
//! #[tool]
//! fn read_log() -> String {
//!     (1..=20_000).map(|n| format!("{n} {}\n", if n == 12_345 { "disk full" } else { "ok" })).collect()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let toolbox = ToolBox::builder()
//!     .tools(tools![read_log])
//!     .keep_results(MemoryResults::new())
//!     .build()
//!     .unwrap();
//! let log = toolbox.call(ToolCall::new("1", "read_log", "{}")).await;
//! assert_eq!(log.handle(), Some("r1"));
//! assert!(log.text().len() < 8_000);
//!
//! let search = r#"{"handle": "r1", "search": "disk full"}"#;
//! let found = toolbox.call(ToolCall::new("2", "result_read", search)).await;
//! assert!(found.text().contains("12345: 12345 disk full"), "{found:?}");
//! # }
//! ```
//!
//! # Whose results
//!
//! A result belongs to the [`Principal`](crate::context::Principal) and the
//! [`Conversation`](crate::context::Conversation) of its call; the handle of another is not found.
//! Calls without either share one list. Where the original came from an untrusted source, reading
//! it
//! [taints](crate::context::Taint) as the original did.
//!
//! # Sizes
//!
//! | limit | default | set by |
//! |---|---|---|
//! | tokens of a result that are passed on whole | 4 000 | [`ToolBoxBuilder::max_result_tokens`](crate::ToolBoxBuilder::max_result_tokens), of one tool [`Tool::with_max_result_tokens`](crate::Tool::with_max_result_tokens) |
//! | tokens of what is shown of a larger one | a quarter of that, at most | |
//! | bytes of a result, its images and documents with it, beyond which it is kept | 256 KiB | [`ToolBoxBuilder::max_result_bytes`](crate::ToolBoxBuilder::max_result_bytes) |
//! | bytes that a [`MemoryResults`] holds, the oldest go first | 64 MiB | [`MemoryResults::max_bytes`] |
//!
//! Tokens are estimated, within a sixth for nine texts of ten; `docs/results.md` has the errors.

mod blocking;
mod builder;
mod keeper;
mod line_index;
mod memory;
mod pointer;
mod read;
mod reader;
mod resource;
mod sample;
mod shown;
#[cfg(feature = "_store")]
mod sqlite;
mod store;

pub use memory::MemoryResults;
#[cfg(any(feature = "cli", feature = "agent"))]
pub(crate) use reader::RESULT_READ;
pub use store::{KeptResult, Lookup, ResultOwner, ResultStore, ResultStoreError};
