//! Tools as values: a definition, a handler, and settings.

mod builder;
mod closure;
mod handler;
pub(crate) mod layer;
mod tool;
mod toolset;
mod trust;

pub use builder::{ParamType, ToolBuilder};
pub use closure::{MakeToolError, MapFn, ToolFn, ToolInput};
pub use handler::ToolHandler;
pub use layer::Next;
pub use tool::{BoxedHandler, Origin, Tool};
pub(crate) use tool::{RepeatedTools, SyncHandler, ToolInner, made};
pub use toolset::{IntoTools, Toolset};

pub use crate::__private::{ToolFailure, ToolOutput};
pub use crate::arguments::argument::{LentArgument, ToolArgument};
