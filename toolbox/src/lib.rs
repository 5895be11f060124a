//! Ordinary Rust functions as tools that language models call.

extern crate self as toolbox;

mod arguments;
mod call;
mod cancel;
mod collection;
mod content;
mod context;
mod definition;
mod dispatch;
mod error;
mod job;
mod layer;
mod output;
mod result;
mod rules;
pub mod schema;
mod tool;

#[doc(hidden)]
pub mod __private;

pub use __private::{ToolFailure, ToolOutput};
pub use arguments::argument::{LentArgument, ToolArgument};
pub use arguments::{ArgumentsError, Fault, FaultKind, Faults, Repair};
pub use call::{Arguments, ToolCall};
pub use cancel::CancellationToken;
pub use collection::{
    BuildToolBoxError, DefinitionList, RegisterError, RegisterFault, ToolBox, ToolBoxBuilder,
};
pub use content::{Content, Media, Resource};
pub use context::{Conversation, FromContext, Requirement, State, ToolContext};
pub use definition::{InvalidNameError, MAX_NAME_LEN, ToolAnnotations, ToolDefinition, check_name};
pub use dispatch::{ApprovalRequest, Approver, Decision};
pub use error::{FailureKind, SharedError, ToolError};
pub use job::{Completion, JobId};
pub use layer::Next;
pub use output::{IntoToolFailure, IntoToolResult};
pub use result::ToolResult;
pub use rules::InvalidRuleError;
pub use tool::{
    BoxFuture, IntoTools, MapFn, Origin, ParamType, Tool, ToolBuilder, ToolFn, ToolHandler, Toolset,
};

#[cfg(feature = "macros")]
pub use toolbox_macros::{tool, toolset};

/// Lists the tools of several functions: `tools![search, weather::forecast]`.
///
/// Gives a `Vec<Tool>`. Two tools of one name are a compile error that shows both places.
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! tools {
    ($($tool:tt)*) => {
        $crate::__private::tools!($crate; $($tool)*)
    };
}
