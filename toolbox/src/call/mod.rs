//! Calls of tools, and their results.

mod content;
mod error;
mod fault;
mod job;
mod output;
mod repair;
mod result;
mod tool_call;

pub(crate) use content::Attributes;
pub use content::{
    Audience, Content, ContentAnnotations, InvalidBase64Error, Media, RawBytes, Resource,
    ResourceLink, Text,
};
pub(crate) use error::chain;
pub use error::{FailureKind, SharedError, ToolError};
pub use fault::{ArgumentsError, Fault, FaultKind, Faults};
pub use job::JobId;
pub use output::{IntoToolFailure, IntoToolResult, StructuredError};
pub(crate) use output::{displayed, reported, serialized, unquoted};
pub use repair::Repair;
pub use result::ToolResult;
pub use tool_call::{Arguments, AsArguments, ToolCall};
