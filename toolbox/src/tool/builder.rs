//! Tools built step by step, with parameters named by JSON Schema's type words.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::tool::{BoxedHandler, Origin, Tool};
use crate::arguments::signature::Signature;
use crate::call::IntoToolResult;
use crate::definition::{InvalidNameError, ToolDefinition};

/// The type of a parameter: one of JSON Schema's six words.
///
/// ```
/// use toolbox::Tool;
/// use toolbox::tool::ParamType;
///
/// let tool = Tool::new("repeat", "Repeats a word")
///     .param("word", ParamType::String, "The word")
///     .param_opt("times", "integer", "How often; the name of a type does as well")
///     .call(|arguments| arguments["word"].to_string());
/// assert_eq!(tool.definition().input_schema["required"], serde_json::json!(["word"]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParamType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl ParamType {
    const ALL: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, own)| *own == self).map_or("string", |(word, _)| word)
    }
}

impl From<&str> for ParamType {
    /// Reads a type word.
    ///
    /// # Panics
    ///
    /// If it is none of the six; write [`ParamType::String`] and the like to have the compiler
    /// check it.
    #[track_caller]
    fn from(word: &str) -> Self {
        Self::ALL.iter().find(|(own, _)| *own == word).map_or_else(
            || panic!("`{word}` is no parameter type; use string, integer, number, boolean, array or object"),
            |(_, own)| *own,
        )
    }
}

/// A builder of a [`Tool`]: see [`Tool::new`]. It becomes a [`Tool`] with [`call`](Self::call).
#[must_use = "a tool is complete when it has its function: end with `.call(..)`"]
pub struct ToolBuilder {
    name: String,
    description: String,
    origin: Origin,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl ToolBuilder {
    pub(super) fn new(name: String, description: String, origin: Origin) -> Self {
        Self { name, description, origin, properties: Map::new(), required: Vec::new() }
    }

    /// Adds a parameter that the model must give.
    #[track_caller]
    pub fn param(
        mut self,
        name: impl Into<String>,
        kind: impl Into<ParamType>,
        description: impl Into<String>,
    ) -> Self {
        let name = name.into();
        self.required.push(Value::from(name.clone()));
        self.param_opt(name, kind, description)
    }

    /// Adds a parameter that the model may leave out; it then reads as null.
    #[track_caller]
    pub fn param_opt(
        mut self,
        name: impl Into<String>,
        kind: impl Into<ParamType>,
        description: impl Into<String>,
    ) -> Self {
        let mut schema = json!({ "type": kind.into().word() });
        let description = description.into();
        if !description.is_empty() {
            schema["description"] = Value::from(description);
        }
        self.properties.insert(name.into(), schema);
        self
    }

    /// Attaches the function, which gets the arguments as one JSON object: `args["missing"]` is
    /// null.
    ///
    /// # Panics
    ///
    /// If the tool's name is not one that tools may have; [`ToolBuilder::try_call`] returns an
    /// error instead.
    #[track_caller]
    pub fn call<R: IntoToolResult>(
        self,
        function: impl Fn(&Value) -> R + Send + Sync + 'static,
    ) -> Tool {
        super::made(self.try_call(function))
    }

    /// Attaches the function, like [`call`](Self::call).
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the tool's name is not one that tools may have.
    pub fn try_call<R: IntoToolResult>(
        self,
        function: impl Fn(&Value) -> R + Send + Sync + 'static,
    ) -> Result<Tool, InvalidNameError> {
        self.finish(BoxedHandler::Sync(Arc::new(move |call| match call.checked() {
            Ok(text) => match serde_json::from_str(text) {
                Ok(arguments) => function(&arguments).into_tool_result(),
                Err(error) => crate::call::ToolResult::error(error.to_string()),
            },
            Err(refusal) => refusal,
        })))
    }

    /// Attaches an async function, which gets the arguments as one JSON object: `args["missing"]`
    /// is null.
    ///
    /// # Panics
    ///
    /// If the tool's name is not one that tools may have.
    #[track_caller]
    pub fn call_async<F, Fut>(self, function: F) -> Tool
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        let function = Arc::new(function);
        super::made(self.finish(BoxedHandler::Async(Arc::new(move |call| {
            let function = Arc::clone(&function);
            Box::pin(async move {
                match call.checked().map(serde_json::from_str) {
                    Ok(Ok(arguments)) => function(arguments).await.into_tool_result(),
                    Ok(Err(error)) => crate::call::ToolResult::error(error.to_string()),
                    Err(refusal) => refusal,
                }
            })
        }))))
    }

    fn finish(self, handler: BoxedHandler) -> Result<Tool, InvalidNameError> {
        let mut schema = json!({ "type": "object", "properties": self.properties });
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema["additionalProperties"] = Value::Bool(false);
        let definition = ToolDefinition::new(self.name, self.description, schema);
        let signature = Signature::raw(definition.input_schema.clone());
        Tool::from_parts(definition, handler, signature, self.origin)
    }
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
