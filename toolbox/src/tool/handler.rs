//! Tools implemented as a type.

use std::sync::Arc;

use super::tool::{BoxedHandler, Origin, Tool, made};
use crate::arguments::signature::Signature;
use crate::call::ToolResult;
use crate::context::ToolContext;
use crate::definition::{InvalidNameError, ToolDefinition};

/// A tool implemented as a type: its definition, and the function that runs its calls.
///
/// ```
/// use serde_json::json;
/// use toolbox::{Tool, ToolContext, ToolDefinition, ToolResult};
/// use toolbox::tool::ToolHandler;
///
/// struct Echo;
///
/// impl ToolHandler for Echo {
///     fn definition(&self) -> ToolDefinition {
///         ToolDefinition::new("echo", "Repeats its arguments", json!({"type": "object"}))
///     }
///
///     async fn call(&self, _context: &ToolContext, arguments: &str) -> ToolResult {
///         ToolResult::new(arguments)
///     }
/// }
///
/// assert_eq!(Tool::from_handler(Echo).name(), "echo");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the handler of a tool",
    label = "this runs no calls",
    note = "implement `toolbox::tool::ToolHandler` for it; a closure becomes a tool with `Tool::from_fn`, a function with `#[tool]`"
)]
pub trait ToolHandler: Send + Sync + 'static {
    /// Returns the definition; called once, when the tool is made.
    fn definition(&self) -> ToolDefinition;

    /// Runs one call. `arguments` is a JSON object that fits the definition's schema, as the model
    /// wrote it.
    fn call(
        &self,
        context: &ToolContext,
        arguments: &str,
    ) -> impl Future<Output = ToolResult> + Send;
}

impl Tool {
    /// Returns the tool of a handler.
    ///
    /// # Panics
    ///
    /// If the definition's name is not one that tools may have; [`Tool::try_from_handler`] returns
    /// an error instead.
    #[track_caller]
    pub fn from_handler(handler: impl ToolHandler) -> Self {
        made(Self::try_from_handler(handler))
    }

    /// Returns the tool of a handler.
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the definition's name is not one that tools may have.
    #[track_caller]
    pub fn try_from_handler<H: ToolHandler>(handler: H) -> Result<Self, InvalidNameError> {
        let definition = handler.definition();
        let handler = Arc::new(handler);
        let signature = Signature::raw(definition.input_schema.clone());
        let handler = BoxedHandler::Async(Arc::new(move |call| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                match call.checked() {
                    Ok(text) => handler.call(call.context, text).await,
                    Err(refusal) => refusal,
                }
            })
        }));
        Self::from_parts(definition, handler, signature, Origin::here())
    }
}
