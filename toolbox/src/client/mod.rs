//! Typed clients of tools of MCP servers, which [`mcp_tools!`](macro@crate::mcp_tools) and
//! `toolbox client` write.
//!
//! A client calls a tool through the gate of the box where its server is mounted, under the names
//! that both have at the time of the call: rules, approvals, limits and events apply as to any
//! call.
//!
//! | to | see |
//! |---|---|
//! | write functions for the tools of a lock file | [`mcp_tools!`](macro@crate::mcp_tools) |
//! | read why a call gave no value | [`ClientError`] |
//! | call a tool with arguments made at run time | [`Request`] |

mod value;

use std::fmt;

use crate::call::{ToolCall, new_id};
use crate::collection::ToolBox;
use crate::context::ToolContext;

// What the functions are written with.
#[doc(hidden)]
pub use crate::call::ToolResult;
#[doc(hidden)]
pub use serde_json::{Map, Value};
#[doc(hidden)]
pub use std::collections::BTreeMap;
#[doc(hidden)]
pub use value::variant;
pub use value::{ArgumentValue, Fields, ResultMismatch, ResultValue};

/// An error of a call by a typed client.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The box has no such tool: its server is not mounted, or offers it no longer.
    NotMounted {
        /// The server's name.
        server: &'static str,
        /// The server's own name of the tool.
        tool: &'static str,
    },
    /// The call failed, or was refused.
    Failed(Box<ToolResult>),
    /// The result is not of the type that the pinned definition says.
    Unexpected {
        /// The result.
        result: Box<ToolResult>,
        /// The difference.
        source: ResultMismatch,
    },
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMounted { server, tool } => {
                write!(f, "no tool `{tool}` of a server `{server}` is in the box: mount the server")
            }
            Self::Failed(result) => f.write_str(&result.text()),
            Self::Unexpected { source, .. } => {
                write!(f, "the result is not what the tool's definition says: {source}")
            }
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unexpected { source, .. } => Some(source),
            Self::NotMounted { .. } | Self::Failed(_) => None,
        }
    }
}

/// A call of a tool of a server, by the names that both have there.
///
/// ```
/// use serde_json::json;
/// use toolbox::client::Request;
/// use toolbox::{Tool, ToolBox, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolbox::client::ClientError> {
/// // As a mounted server's: under another name in the box.
/// let sum = Tool::new("sum", "Adds").call(|arguments| arguments.to_string());
/// let sum = sum.with_unchecked_arguments();
/// let toolbox = ToolBox::from(sum.from_source("calculator"));
/// let request = Request::new("calculator", "sum").with("terms", vec![1_u64, 2]);
/// let result = request.call_untyped(&toolbox, &ToolContext::new()).await?;
/// assert_eq!(result.text(), r#"{"terms":[1,2]}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a request is made by `call`"]
pub struct Request {
    server: &'static str,
    tool: &'static str,
    arguments: Map<String, Value>,
}

impl Request {
    /// Returns a request without arguments.
    pub fn new(server: &'static str, tool: &'static str) -> Self {
        Self { server, tool, arguments: Map::new() }
    }

    /// Sets an argument: a value of Rust's own types, a list or a map of some, or JSON.
    pub fn with(mut self, argument: &'static str, value: impl ArgumentValue) -> Self {
        self.arguments.insert(argument.to_owned(), value.into_value());
        self
    }

    /// Sets arguments by their names.
    pub fn with_all(mut self, arguments: Map<String, Value>) -> Self {
        self.arguments.extend(arguments);
        self
    }

    /// Makes the call, and reads its result.
    ///
    /// # Errors
    ///
    /// [`ClientError`], of each kind.
    pub async fn call<T: ResultValue>(
        self,
        toolbox: &ToolBox,
        context: &ToolContext,
    ) -> Result<T, ClientError> {
        let result = self.call_untyped(toolbox, context).await?;
        let value = result.structured_content().unwrap_or_else(|| {
            let text = result.text();
            serde_json::from_str(&text).unwrap_or_else(|_| text.into())
        });
        T::of_value(value)
            .map_err(|source| ClientError::Unexpected { result: Box::new(result), source })
    }

    /// Makes the call, and returns its result.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; a result that is an error is [`ClientError::Failed`].
    pub async fn call_untyped(
        self,
        toolbox: &ToolBox,
        context: &ToolContext,
    ) -> Result<ToolResult, ClientError> {
        let Self { server, tool, arguments } = self;
        let found = toolbox.at_source(Some(server), tool);
        let found = found.ok_or(ClientError::NotMounted { server, tool })?;
        let call = ToolCall::new(new_id("client_"), found.name(), Value::Object(arguments));
        let result = toolbox.call_in(context, call).await;
        if result.is_error() { Err(ClientError::Failed(Box::new(result))) } else { Ok(result) }
    }
}
