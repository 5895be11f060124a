//! Completion of the arguments of prompts and resource templates while a person types them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tool::{BoxedHandler, Origin, Tool};
use crate::arguments::signature::Signature;
use crate::call::{ToolError, ToolResult};
use crate::context::ToolContext;
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;

/// The maximum number of values in one answer, which the protocol sets.
const MAX_VALUES: usize = 100;

/// A request for values that complete an argument.
///
/// ```
/// use toolbox::tool::CompletionRequest;
///
/// fn cities(request: &CompletionRequest) -> Vec<String> {
///     match request.arguments.get("country").map(String::as_str) {
///         Some("Japan") => request.matching(["Tokyo", "Kyoto"]),
///         _ => request.matching(["Paris", "Porto"]),
///     }
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The name of the argument.
    pub argument: String,
    /// The text so far; may be empty.
    pub value: String,
    /// The other arguments that have values already.
    pub arguments: BTreeMap<String, String>,
    /// The context of the call: its principal, and the state of the box.
    pub context: ToolContext,
}

/// The arguments of the call by which a completer is run.
#[derive(Serialize, Deserialize)]
struct CompletionCall<'a> {
    argument: Cow<'a, str>,
    value: Cow<'a, str>,
    arguments: Cow<'a, BTreeMap<String, String>>,
}

impl CompletionRequest {
    /// Returns those of the candidates that the text so far may become: first those that begin with
    /// it, then those that contain it, in any case of letters.
    pub fn matching<T: AsRef<str>>(&self, candidates: impl IntoIterator<Item = T>) -> Vec<String> {
        let typed = self.value.to_lowercase();
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for candidate in candidates {
            let candidate = candidate.as_ref();
            match candidate.to_lowercase().find(&typed) {
                Some(0) => first.push(candidate.to_owned()),
                Some(_) => rest.push(candidate.to_owned()),
                None => {}
            }
        }
        first.extend(rest);
        first
    }

    /// Returns the text of the call by which a completer is run.
    pub(crate) fn call_text(&self) -> String {
        let call = CompletionCall {
            argument: Cow::Borrowed(&self.argument),
            value: Cow::Borrowed(&self.value),
            arguments: Cow::Borrowed(&self.arguments),
        };
        // Texts alone cannot fail to be written.
        serde_json::to_string(&call).unwrap_or_default()
    }
}

/// The values that complete an argument, best first.
///
/// ```
/// use serde_json::json;
/// use toolbox::tool::Suggestions;
///
/// let suggestions = Suggestions::from(vec!["Paris".to_owned()]);
/// assert_eq!(serde_json::to_value(suggestions)?["total"], 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Suggestions {
    /// The values, at most 100.
    pub values: Vec<String>,
    /// The number of values that there are in all, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// `true` if there are more than these.
    #[serde(default)]
    pub has_more: bool,
}

impl From<Vec<String>> for Suggestions {
    /// Keeps the first 100 values.
    fn from(mut values: Vec<String>) -> Self {
        let total = values.len();
        values.truncate(MAX_VALUES);
        Self { has_more: values.len() < total, values, total: Some(total) }
    }
}

/// A function that completes an argument: of a `&CompletionRequest`, or an async one of a
/// `CompletionRequest`.
///
/// It returns the values in the order they are proposed in: anything that iterates over texts, or a
/// `Result` of it with a [`ToolError`]. At most 100 are passed on. The parameter `M` tells the two
/// forms apart, and is always inferred.
///
/// ```
/// use toolbox::prompt;
/// use toolbox::tool::CompletionRequest;
///
/// fn languages(request: &CompletionRequest) -> Vec<String> {
///     request.matching(["Python", "Perl", "Rust"])
/// }
///
/// /// Asks for a translation of a program.
/// #[prompt]
/// fn translate(#[arg(complete = languages)] language: &str) -> String {
///     format!("Translate the program to {language}.")
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not complete an argument",
    label = "no function of a completion request",
    note = "write `fn(&CompletionRequest) -> Vec<String>`, or `async fn(CompletionRequest) -> Vec<String>`; both may return a `Result` with a `ToolError`"
)]
pub trait Completer<M>: Send + Sync + 'static {
    /// Returns the values for a request.
    fn complete(&self, request: CompletionRequest)
    -> BoxFuture<'_, Result<Vec<String>, ToolError>>;
}

/// Values that a completer may return.
///
/// ```
/// use toolbox::ToolError;
/// use toolbox::tool::{CompletionRequest, IntoSuggestions};
///
/// fn cities(request: &CompletionRequest) -> Result<Vec<&'static str>, ToolError> {
///     if request.value.is_empty() { Err("type a letter first".into()) } else { Ok(vec!["Paris"]) }
/// }
///
/// let request = CompletionRequest::default();
/// assert!(cities(&request).into_suggestions().is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of texts",
    label = "a completer cannot return this",
    note = "return `Vec<String>`, or a `Result<Vec<String>, ToolError>`"
)]
pub trait IntoSuggestions {
    /// Returns the values, best first.
    ///
    /// # Errors
    ///
    /// That of the completer.
    fn into_suggestions(self) -> Result<Vec<String>, ToolError>;
}

impl<T: Into<String>> IntoSuggestions for Vec<T> {
    fn into_suggestions(self) -> Result<Vec<String>, ToolError> {
        Ok(self.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<String>, E: Into<ToolError>> IntoSuggestions for Result<Vec<T>, E> {
    fn into_suggestions(self) -> Result<Vec<String>, ToolError> {
        self.map_err(Into::into)?.into_suggestions()
    }
}

#[diagnostic::do_not_recommend]
impl<F, T> Completer<fn(&CompletionRequest) -> T> for F
where
    F: Fn(&CompletionRequest) -> T + Send + Sync + 'static,
    T: IntoSuggestions,
{
    fn complete(
        &self,
        request: CompletionRequest,
    ) -> BoxFuture<'_, Result<Vec<String>, ToolError>> {
        Box::pin(async move { self(&request).into_suggestions() })
    }
}

#[diagnostic::do_not_recommend]
impl<F, Fut, T> Completer<fn(CompletionRequest) -> (Fut, T)> for F
where
    F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = T> + Send + 'static,
    T: IntoSuggestions,
{
    fn complete(
        &self,
        request: CompletionRequest,
    ) -> BoxFuture<'_, Result<Vec<String>, ToolError>> {
        let future = self(request);
        Box::pin(async move { future.await.into_suggestions() })
    }
}

/// The completers of the arguments of one prompt or template, each as a tool, so that the gate runs
/// them.
#[derive(Clone, Default)]
pub(crate) struct Completers(Arc<Vec<(String, Tool)>>);

impl Completers {
    /// Returns completers for the arguments of a schema whose values are listed in it.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        let mut all = Vec::new();
        let Value::Object(properties) = &schema["properties"] else { return Self::default() };
        for (name, property) in properties {
            let mut values = values_of(property, schema, &mut Vec::new());
            let mut seen = HashSet::new();
            values.retain(|value| seen.insert(value.clone()));
            if !values.is_empty() {
                let complete = move |request: &CompletionRequest| request.matching(&values[..]);
                all.push((name.clone(), completing(complete)));
            }
        }
        Self(Arc::new(all))
    }

    pub(crate) fn with<M>(self, argument: &str, completer: impl Completer<M>) -> Self {
        self.with_tool(argument, completing(completer))
    }

    pub(crate) fn with_tool(mut self, argument: &str, completer: Tool) -> Self {
        let all = Arc::make_mut(&mut self.0);
        all.retain(|(name, _)| name != argument);
        all.push((argument.to_owned(), completer));
        self
    }

    pub(crate) fn get(&self, argument: &str) -> Option<&Tool> {
        self.0.iter().find(|(name, _)| name == argument).map(|(_, completer)| completer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the texts that a property may be, if the schema lists them. A reference is followed
/// once, so a schema that refers to itself ends.
fn values_of<'s>(
    property: &'s Value,
    schema: &'s Value,
    followed: &mut Vec<&'s str>,
) -> Vec<String> {
    if let Some(reference) = property["$ref"].as_str() {
        let target = reference.strip_prefix('#').and_then(|path| schema.pointer(path));
        return match target {
            Some(target) if !followed.contains(&reference) => {
                followed.push(reference);
                values_of(target, schema, followed)
            }
            _ => Vec::new(),
        };
    }
    let texts = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(values) = property["enum"].as_array() {
        return values.iter().filter_map(texts).collect();
    }
    let forms = property["oneOf"].as_array().or_else(|| property["anyOf"].as_array());
    let mut values = Vec::new();
    for form in forms.map_or(&[][..], Vec::as_slice) {
        match &form["const"] {
            Value::Null => values.append(&mut values_of(form, schema, followed)),
            value => values.extend(texts(value)),
        }
    }
    values
}

/// Returns the tool that runs a completer.
pub(crate) fn completing<M>(completer: impl Completer<M>) -> Tool {
    let definition = ToolDefinition::new("completion", "Completes an argument.", json!({}));
    let completer = Arc::new(completer);
    let handler = BoxedHandler::Async(Arc::new(move |call| {
        let completer = Arc::clone(&completer);
        Box::pin(async move {
            let read = call.checked().map(serde_json::from_str::<CompletionCall>);
            let CompletionCall { argument, value, arguments } = match read {
                Ok(Ok(call)) => call,
                Ok(Err(error)) => return ToolResult::error(error.to_string()),
                Err(refusal) => return refusal,
            };
            let context = call.context.clone();
            let (argument, value) = (argument.into_owned(), value.into_owned());
            let arguments = arguments.into_owned();
            let request = CompletionRequest { argument, value, arguments, context };
            match completer.complete(request).await {
                Ok(values) => {
                    let suggestions = json!(Suggestions::from(values));
                    ToolResult::silent("completed").with_structured_content(suggestions)
                }
                Err(error) => error.into(),
            }
        })
    }));
    let signature = Signature::raw(definition.input_schema.clone());
    super::tool::made(Tool::from_parts(definition, handler, signature, Origin::here()))
}

impl From<&ToolResult> for Suggestions {
    fn from(result: &ToolResult) -> Self {
        let suggestions =
            result.structured_content().and_then(|value| Self::deserialize(value).ok());
        suggestions.unwrap_or_default()
    }
}
