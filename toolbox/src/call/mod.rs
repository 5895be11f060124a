//! A call that a model asks for, and its result.
//!
//! A [`ToolCall`] is an id, a name and JSON text. What becomes of it is a [`ToolResult`] under the
//! same id: parts for the model, and for the program a kind of failure, a stable code and the error
//! below it.
//!
//! ```
//! use toolbox::call::FailureKind;
//! use toolbox::{ToolBox, ToolCall};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let result = ToolBox::new().call(ToolCall::new("call_1", "missing", "{}")).await;
//! assert_eq!(result.call_id(), "call_1");
//! assert_eq!(result.failure_kind(), Some(FailureKind::NotFound));
//! assert_eq!(result.text(), "tool not found: missing");
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | read a call, or make one | [`ToolCall`], [`Arguments`], [`AsArguments`] |
//! | read a result | [`ToolResult`], [`FailureKind`], [`JobId`] |
//! | return more than text | [`Content`], [`Media`], [`ResourceContents`], [`ResourceLink`], [`IntoToolResult`] |
//! | fail with a kind, a source or data | [`ToolError`], [`StructuredError`], [`IntoToolFailure`] |
//! | see what was wrong with arguments, and what was repaired | [`ArgumentsError`], [`Faults`], [`Fault`], [`Repair`] |
//! | refuse arguments by a check of one's own | [`Violations`], [`CheckResult`] |
//! | hint at a client how to show a part | [`ContentAnnotations`], [`Role`] |

mod carried;
mod content;
mod error;
mod fault;
pub(crate) mod items;
mod job;
mod output;
mod repair;
mod result;
mod tool_call;
mod violations;

pub(crate) use carried::{CarriedResult, CarriedResultRef};
pub(crate) use content::Attributes;
pub use content::{
    Content, ContentAnnotations, InvalidBase64Error, Media, RawBytes, ResourceContents,
    ResourceLink, Role, Text,
};
pub(crate) use error::chain;
pub use error::{FailureKind, SharedError, ToolError};
pub use fault::{ArgumentsError, Fault, FaultKind, Faults};
pub use job::JobId;
pub(crate) use job::new_id;
pub(crate) use output::put_structured;
pub use output::{IntoToolFailure, IntoToolResult, StructuredError};
pub(crate) use output::{displayed, reported, serialized, structured, unquoted};
pub use repair::Repair;
pub use result::ToolResult;
pub(crate) use result::{StoredResult, StoredResultRef};
pub(crate) use tool_call::line_or_none;
pub use tool_call::{Arguments, AsArguments, ToolCall};
pub use violations::{CheckResult, Violations};
