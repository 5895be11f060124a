//! Tools from closures: typed, raw, and over a map.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tool::{BoxedHandler, Origin, Tool, made};
use crate::arguments::call::HandlerCall;
use crate::arguments::describe::{Times, unkeyed, whole};
use crate::arguments::signature::Signature;
use crate::call::{Arguments, IntoToolResult, ToolResult};
use crate::context::ToolContext;
use crate::definition::{InvalidNameError, ToolDefinition};

/// A function that can be a tool's: it takes its input, or the [`ToolContext`] and its input, and
/// is async or not.
///
/// The compiler infers which of the four forms it is; there is nothing to implement here by hand.
#[diagnostic::on_unimplemented(
    message = "this cannot be the function of a tool",
    label = "takes or returns what a tool cannot",
    note = "take one argument, or a `ToolContext` and one argument: `|args: Args| async move ..`",
    note = "the argument is a `{Input}` here",
    note = "return `String`, `Result<String, E>` or another `toolbox::call::IntoToolResult`, or a `Send` future of one"
)]
pub trait ToolFn<Input, Form>: Send + Sync + 'static {
    #[doc(hidden)]
    fn into_handler(self, read: ReadInput<Input>) -> BoxedHandler;
}

/// A struct whose fields are the arguments of a tool: anything that is
/// `DeserializeOwned + JsonSchema`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the arguments of a tool",
    label = "the model cannot fill in a `{Self}`",
    note = "`{Self}`, and each type in it, needs `#[derive(serde::Deserialize, schemars::JsonSchema)]`, of serde 1 and schemars 1"
)]
pub trait ToolInput: DeserializeOwned + JsonSchema + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + 'static> ToolInput for T {}

/// The error of making a tool of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MakeToolError {
    /// The name is not one that tools may have.
    Name(InvalidNameError),
    /// No model can supply the arguments, for the reason in the text.
    Arguments(String),
}

impl fmt::Display for MakeToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Arguments(mistake) => f.write_str(mistake),
        }
    }
}

impl Error for MakeToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Name(error) => Some(error),
            Self::Arguments(_) => None,
        }
    }
}

impl From<InvalidNameError> for MakeToolError {
    fn from(error: InvalidNameError) -> Self {
        Self::Name(error)
    }
}

type ReadInput<Input> = fn(&HandlerCall<'_>) -> Result<Input, ToolResult>;

/// Marks functions that return their output.
#[derive(Debug)]
pub enum Immediate {}

/// Marks functions that return a future of their output.
#[derive(Debug)]
pub enum Async {}

/// Marks functions that take the context and return their output.
#[derive(Debug)]
pub enum ImmediateInContext {}

/// Marks functions that take the context and return a future of their output.
#[derive(Debug)]
pub enum AsyncInContext {}

impl<I, F, R> ToolFn<I, Immediate> for F
where
    I: 'static,
    F: Fn(I) -> R + Send + Sync + 'static,
    R: IntoToolResult,
{
    fn into_handler(self, read: ReadInput<I>) -> BoxedHandler {
        BoxedHandler::Sync(Arc::new(move |call| match read(call) {
            Ok(input) => self(input).into_tool_result(),
            Err(refusal) => refusal,
        }))
    }
}

impl<I, F, R> ToolFn<I, ImmediateInContext> for F
where
    I: 'static,
    F: Fn(ToolContext, I) -> R + Send + Sync + 'static,
    R: IntoToolResult,
{
    fn into_handler(self, read: ReadInput<I>) -> BoxedHandler {
        BoxedHandler::Sync(Arc::new(move |call| match read(call) {
            Ok(input) => self(call.context.clone(), input).into_tool_result(),
            Err(refusal) => refusal,
        }))
    }
}

impl<I, F, R> ToolFn<I, Async> for F
where
    I: 'static,
    F: Fn(I) -> R + Send + Sync + 'static,
    R: Future<Output: IntoToolResult> + Send + 'static,
{
    fn into_handler(self, read: ReadInput<I>) -> BoxedHandler {
        BoxedHandler::Async(Arc::new(move |call| match read(call) {
            Ok(input) => {
                let output = self(input);
                Box::pin(async move { output.await.into_tool_result() })
            }
            Err(refusal) => Box::pin(std::future::ready(refusal)),
        }))
    }
}

impl<I, F, R> ToolFn<I, AsyncInContext> for F
where
    I: 'static,
    F: Fn(ToolContext, I) -> R + Send + Sync + 'static,
    R: Future<Output: IntoToolResult> + Send + 'static,
{
    fn into_handler(self, read: ReadInput<I>) -> BoxedHandler {
        BoxedHandler::Async(Arc::new(move |call| match read(call) {
            Ok(input) => {
                let output = self(call.context.clone(), input);
                Box::pin(async move { output.await.into_tool_result() })
            }
            Err(refusal) => Box::pin(std::future::ready(refusal)),
        }))
    }
}

/// A function over a parsed map of arguments, itself or behind a `Box` or an `Arc`.
#[diagnostic::on_unimplemented(
    message = "this cannot be the function of a tool over a map of arguments",
    label = "takes or returns what such a tool cannot",
    note = "take one argument, and return at once: `|arguments: &HashMap<String, serde_json::Value>| ..`",
    note = "return `String`, `Result<String, E>` or another `toolbox::call::IntoToolResult`; for async functions there is `Tool::from_fn`"
)]
pub trait MapFn<Form>: Send + Sync + 'static {
    #[doc(hidden)]
    fn run(&self, arguments: &HashMap<String, Value>) -> ToolResult;
}

#[diagnostic::do_not_recommend]
impl<F, R> MapFn<Immediate> for F
where
    F: Fn(&HashMap<String, Value>) -> R + Send + Sync + 'static,
    R: IntoToolResult,
{
    fn run(&self, arguments: &HashMap<String, Value>) -> ToolResult {
        self(arguments).into_tool_result()
    }
}

/// Marks functions behind an `Arc`.
#[derive(Debug)]
pub enum BehindArc {}

#[diagnostic::do_not_recommend]
impl<F, R> MapFn<BehindArc> for Arc<F>
where
    F: Fn(&HashMap<String, Value>) -> R + Send + Sync + ?Sized + 'static,
    R: IntoToolResult,
{
    fn run(&self, arguments: &HashMap<String, Value>) -> ToolResult {
        self(arguments).into_tool_result()
    }
}

impl Tool {
    /// Returns a tool from a closure over one struct, whose fields are the arguments.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use toolbox::Tool;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Add {
    ///     a: i64,
    ///     b: i64,
    /// }
    ///
    /// let add = Tool::from_fn("add", "Adds two numbers", |args: Add| async move { args.a + args.b });
    /// assert_eq!(add.definition().input_schema["required"], serde_json::json!(["a", "b"]));
    /// ```
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have, or if `Args` is no type whose JSON is an object,
    /// such as `u32` or `String`; [`Tool::try_from_fn`] takes names from outside the program.
    #[track_caller]
    pub fn from_fn<Args, Form, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        Args: ToolInput,
        F: ToolFn<Args, Form>,
    {
        made(Self::try_from_fn(name, description, function))
    }

    /// Returns a tool from a closure over one struct, like [`Tool::from_fn`].
    ///
    /// # Errors
    ///
    /// [`MakeToolError`] if the name is not one that tools may have, or if the arguments are no
    /// object.
    #[track_caller]
    pub fn try_from_fn<Args, Form, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Result<Self, MakeToolError>
    where
        Args: ToolInput,
        F: ToolFn<Args, Form>,
    {
        Self::of_input::<Args>(name, description, function.into_handler(|call| call.read_whole()))
    }

    /// Returns a tool whose handler reads all arguments into one struct.
    #[track_caller]
    pub(crate) fn of_input<Args: ToolInput>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: BoxedHandler,
    ) -> Result<Self, MakeToolError> {
        let origin = Origin::here();
        let (signature, mistake) = whole::<Args>(Times::AsText);
        let name = name.into();
        if let Some(mistake) = mistake.or_else(|| unkeyed::<Args>(&signature.schema)) {
            return Err(MakeToolError::Arguments(format!(
                "tool `{name}` at {origin} cannot be made: {mistake}"
            )));
        }
        let definition = ToolDefinition::new(name, description, signature.schema.clone());
        Ok(Self::from_parts(definition, handler, signature, origin)?)
    }

    /// Returns a tool from its raw parts: the function gets the text of the arguments just as the
    /// model wrote it.
    ///
    /// The text is checked against the schema first, so the function receives a JSON object that
    /// fits; `""` and `null` reach it as `{}`. The schema is sent to the model unchanged.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolbox::{Tool, ToolBox, ToolCall};
    /// use toolbox::call::Arguments;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let echo = Tool::raw("echo", "Repeats its arguments", json!({"type": "object"}), |args: Arguments| {
    ///     args.as_str().to_owned()
    /// });
    /// let toolbox = ToolBox::from(echo);
    /// let result = toolbox.call(ToolCall::new("1", "echo", r#"{"b":1, "a":1.0e2}"#)).await;
    /// assert_eq!(result.text(), r#"{"b":1, "a":1.0e2}"#);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have; [`Tool::try_raw`] takes names from outside the
    /// program.
    #[track_caller]
    pub fn raw<Form>(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        function: impl ToolFn<Arguments, Form>,
    ) -> Self {
        made(Self::try_raw(name, description, input_schema, function))
    }

    /// Returns a tool from its raw parts, like [`Tool::raw`].
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the name is not one that tools may have.
    #[track_caller]
    pub fn try_raw<Form>(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        function: impl ToolFn<Arguments, Form>,
    ) -> Result<Self, InvalidNameError> {
        let definition = ToolDefinition::new(name, description, input_schema);
        let signature = Signature::raw(definition.input_schema.clone());
        let handler = function.into_handler(|call| call.checked().map(Arguments::from));
        Self::from_parts(definition, handler, signature, Origin::here())
    }

    /// Returns a raw tool whose function gets the arguments as a parsed map, itself or behind a
    /// `Box` or an `Arc`.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Arc;
    /// use serde_json::{json, Value};
    /// use toolbox::Tool;
    ///
    /// let schema = json!({
    ///     "type": "object",
    ///     "properties": {"host": {"type": "string"}},
    ///     "required": ["host"],
    /// });
    /// let ping = Tool::from_map("ping", "Checks a host", schema, |args: &HashMap<String, Value>| {
    ///     let host = args["host"].as_str().unwrap_or("");
    ///     Ok::<_, String>(format!("{host} is reachable"))
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have.
    #[track_caller]
    pub fn from_map<Form>(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        function: impl MapFn<Form>,
    ) -> Self {
        made(Self::try_from_map(name, description, input_schema, function))
    }

    /// Returns a raw tool whose function gets a parsed map, like [`Tool::from_map`].
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the name is not one that tools may have.
    #[track_caller]
    pub fn try_from_map<Form>(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        function: impl MapFn<Form>,
    ) -> Result<Self, InvalidNameError> {
        let definition = ToolDefinition::new(name, description, input_schema);
        let signature = Signature::raw(definition.input_schema.clone());
        let handler = BoxedHandler::Sync(Arc::new(move |call| {
            match call.checked().map(serde_json::from_str) {
                Ok(Ok(arguments)) => function.run(&arguments),
                Ok(Err(error)) => ToolResult::error(error.to_string()),
                Err(refusal) => refusal,
            }
        }));
        Self::from_parts(definition, handler, signature, Origin::here())
    }
}
