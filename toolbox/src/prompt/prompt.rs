//! A prompt as a value.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::{Icon, InvalidNameError};
use crate::tool::{Completer, Completers, Origin, Tool};

/// A prompt that a person picks by name: a definition, and the function that writes its messages.
///
/// It comes from [`#[prompt]`](macro@crate::prompt), or from any tool whose result is to be read as
/// messages ([`Prompt::from_tool`]). Cloning shares everything.
///
/// ```
/// use toolbox::{prompt, prompts};
///
/// /// Greets somebody.
/// #[prompt(title = "Greeting")]
/// fn greet(name: &str) -> String {
///     format!("Greet {name} in verse.")
/// }
///
/// let greet = greet::prompt();
/// assert_eq!((greet.name(), greet.title()), ("greet", Some("Greeting")));
/// assert!(greet.arguments()[0].required);
/// ```
#[derive(Clone)]
pub struct Prompt {
    pub(crate) tool: Tool,
}

/// The part of a prompt that a tool lacks.
struct PromptFacet {
    arguments: Vec<PromptArgument>,
    completers: Completers,
}

/// An argument of a prompt. Clients pass text for each.
///
/// ```
/// use toolbox::prompt::PromptArgument;
///
/// let argument = PromptArgument::new("tone").with_description("Polite or blunt").required();
/// assert!(argument.required);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` if a call without it fails. Default `false`.
    #[serde(default)]
    pub required: bool,
}

impl PromptArgument {
    /// Returns an optional argument of a name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, required: false }
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Makes the argument required.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Reads the arguments of a schema.
    fn all(schema: &Value) -> Vec<Self> {
        let required = schema["required"].as_array();
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|own| own.as_str() == Some(name)))
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let argument = |(name, property): (&String, &Value)| Self {
            name: name.clone(),
            title: text(&property["title"]),
            description: text(&property["description"]),
            required: is_required(name),
        };
        let properties = schema["properties"].as_object();
        properties.map_or_else(Vec::new, |properties| properties.iter().map(argument).collect())
    }
}

impl Prompt {
    /// Returns a prompt whose messages are the parts of a tool's result: those of the user, but for
    /// those that the tool returned as a [`PromptMessage`](super::PromptMessage) of the assistant.
    ///
    /// The name, the texts, the state and the limits of the tool are those of the prompt; its
    /// arguments are the properties of its schema.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use toolbox::Tool;
    /// use toolbox::prompt::Prompt;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Topic {
    ///     /// The topic.
    ///     topic: String,
    /// }
    ///
    /// let explain = Tool::from_fn("explain", "Explains a topic", |Topic { topic }| async move {
    ///     format!("Explain {topic} to a child.")
    /// });
    /// let explain = Prompt::from_tool(explain);
    /// assert_eq!(explain.arguments()[0].description.as_deref(), Some("The topic."));
    /// ```
    #[must_use]
    pub fn from_tool(tool: Tool) -> Self {
        let arguments = PromptArgument::all(&tool.definition().input_schema);
        Self::with_arguments(tool, arguments)
    }

    /// Returns a prompt of a tool, with arguments that its schema does not describe.
    pub(crate) fn with_arguments(tool: Tool, arguments: Vec<PromptArgument>) -> Self {
        let completers = Completers::of_schema(&tool.definition().input_schema);
        let facet = PromptFacet { arguments, completers };
        Self { tool: tool.with_facet(Arc::new(facet)) }
    }

    /// Returns the prompt that a tool of a box of prompts is.
    pub(crate) fn of(tool: &Tool) -> Self {
        Self { tool: tool.clone() }
    }

    fn facet(&self) -> Option<&PromptFacet> {
        self.tool.facet()
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.tool.name()
    }

    /// Returns the name for people.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.tool.definition().title.as_deref()
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> &str {
        self.tool.description()
    }

    /// Returns the arguments, in order.
    #[must_use]
    pub fn arguments(&self) -> &[PromptArgument] {
        self.facet().map_or(&[], |facet| &facet.arguments)
    }

    /// Returns the icons that clients display beside it.
    #[must_use]
    pub fn icons(&self) -> &[Icon] {
        &self.tool.definition().icons
    }

    /// Returns the `_meta` that MCP clients get along with it.
    #[must_use]
    pub fn meta(&self) -> &Map<String, Value> {
        &self.tool.definition().meta
    }

    /// Returns the source location where the prompt was made.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.tool.origin()
    }

    /// Returns the server the prompt comes from, if it comes from one.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.tool.source()
    }

    pub(crate) fn completers(&self) -> Option<&Completers> {
        self.facet().map(|facet| &facet.completers)
    }

    fn map(self, change: impl FnOnce(Tool) -> Tool) -> Self {
        Self { tool: change(self.tool) }
    }

    /// Returns the prompt under another name.
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the name is not one that prompts may have.
    pub fn try_renamed(self, name: impl Into<String>) -> Result<Self, InvalidNameError> {
        Ok(Self { tool: self.tool.try_renamed(name)? })
    }

    /// Returns the prompt under the name `<prefix>_<name>`.
    ///
    /// # Panics
    ///
    /// If that is not a name that prompts may have.
    #[must_use]
    #[track_caller]
    pub fn prefixed(self, prefix: &str) -> Self {
        self.map(|tool| tool.prefixed(prefix))
    }

    /// Returns the prompt with a name for people.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        self.map(|tool| tool.with_title(title))
    }

    /// Adds an icon for MCP clients to display beside the prompt.
    #[must_use]
    pub fn with_icon(self, icon: Icon) -> Self {
        self.map(|tool| tool.with_icon(icon))
    }

    /// Adds an entry to the `_meta` that MCP clients get along with it.
    #[must_use]
    pub fn with_meta(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.map(|tool| tool.with_meta(key, value))
    }

    /// Limits the time of a call; otherwise the timeout of the box holds.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.map(|tool| tool.with_timeout(timeout))
    }

    /// Completes an argument by a function while a person types it. Without one, the values of an
    /// enum are proposed.
    ///
    /// ```
    /// use toolbox::prompt;
    /// use toolbox::tool::CompletionRequest;
    ///
    /// /// Summarizes a file.
    /// #[prompt]
    /// fn summarize(path: &str) -> String {
    ///     format!("Summarize {path}.")
    /// }
    ///
    /// let summarize = summarize::prompt()
    ///     .with_completer("path", |request: &CompletionRequest| request.matching(["a.rs", "b.rs"]));
    /// ```
    #[must_use]
    pub fn with_completer<M>(self, argument: &str, completer: impl Completer<M>) -> Self {
        let Some(facet) = self.facet() else { return self };
        let completers = facet.completers.clone().with(argument, completer);
        let facet = PromptFacet { arguments: facet.arguments.clone(), completers };
        Self { tool: self.tool.with_facet(Arc::new(facet)) }
    }

    /// Returns the prompt with the completer of an argument, made already.
    pub(crate) fn with_completing_tool(self, argument: &str, completer: Tool) -> Self {
        let Some(facet) = self.facet() else { return self };
        let completers = facet.completers.clone().with_tool(argument, completer);
        let facet = PromptFacet { arguments: facet.arguments.clone(), completers };
        Self { tool: self.tool.with_facet(Arc::new(facet)) }
    }
}

/// The definition in the form of the Model Context Protocol.
impl Serialize for Prompt {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct PromptDefinition<'a> {
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            title: Option<&'a str>,
            #[serde(skip_serializing_if = "str::is_empty")]
            description: &'a str,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            arguments: &'a [PromptArgument],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            icons: &'a [Icon],
            #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
            meta: &'a Map<String, Value>,
        }
        let definition = PromptDefinition {
            name: self.name(),
            title: self.title(),
            description: self.description(),
            arguments: self.arguments(),
            icons: self.icons(),
            meta: self.meta(),
        };
        definition.serialize(serializer)
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Types that can be registered as prompts: a prompt, or several.
///
/// ```
/// use toolbox::{ToolBox, prompt, prompts};
///
/// /// Says hello.
/// #[prompt]
/// fn hello() -> &'static str {
///     "Say hello."
/// }
///
/// let toolbox = ToolBox::new();
/// toolbox.prompts().register(prompts![hello]);
/// toolbox.prompts().register(hello::prompt().prefixed("my"));
/// assert_eq!(toolbox.prompts().names(), ["hello", "my_hello"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a prompt nor several",
    label = "a box cannot take this as prompts",
    note = "the prompt of a function `review` with `#[prompt]` is `review::prompt()`; several are `prompts![review, ..]`"
)]
pub trait IntoPrompts {
    /// Returns the prompts, in order.
    fn into_prompts(self) -> Vec<Prompt>;
}

impl IntoPrompts for Prompt {
    fn into_prompts(self) -> Vec<Prompt> {
        vec![self]
    }
}

impl IntoPrompts for Vec<Prompt> {
    fn into_prompts(self) -> Vec<Prompt> {
        self
    }
}

impl<const N: usize> IntoPrompts for [Prompt; N] {
    fn into_prompts(self) -> Vec<Prompt> {
        self.into()
    }
}

/// Returns the tools that prompts are.
pub(crate) fn tools_of(prompts: impl IntoPrompts) -> Vec<Tool> {
    prompts.into_prompts().into_iter().map(|prompt| prompt.tool).collect()
}
