//! Requests to a model.

use serde::Serialize;
use serde_json::{Map, Value};

use super::History;
use crate::context::ToolContext;
use crate::dialect::Definitions;

/// One request to a model: instructions, transcript, tools and options.
///
/// ```
/// use toolbox::model::{History, ModelRequest, ToolChoice};
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let request = ModelRequest::new(History::from("What is 2 + 3?"))
///     .with_system("Answer in one word.")
///     .with_tools(&ToolBox::from(tools![add]))
///     .with_tool_choice(ToolChoice::Required)
///     .with_option("temperature", 0.2);
/// assert_eq!(request.tools.len(), 1);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Instructions that stand before the transcript.
    pub system: Option<String>,
    /// The conversation so far; no call in it is unanswered.
    pub history: History,
    /// The tools the model may call.
    pub tools: Definitions,
    /// The choice of tools that the model has. Default: the model decides.
    pub tool_choice: ToolChoice,
    /// `true` if the model may make several calls in one reply. Default: `true`.
    pub parallel_tool_calls: bool,
    /// More tools, which the model finds by a search. Formats of services without a tool search of
    /// their own leave it out.
    pub search: Option<ToolSearch>,
    /// Options of the service, such as `temperature`; added to the request as they are, under names
    /// that every [`wire`](crate::wire) form explains.
    pub options: Map<String, Value>,
    /// The context of the run that makes the request: its principal, its conversation and its
    /// states, for models that wrap others. Nothing of it is sent to the service.
    pub context: ToolContext,
}

impl ModelRequest {
    /// Returns a request for what comes next in a transcript, without tools.
    #[must_use]
    pub fn new(history: History) -> Self {
        Self {
            system: None,
            history,
            tools: Definitions::default(),
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: true,
            search: None,
            options: Map::new(),
            context: ToolContext::new(),
        }
    }

    /// Returns the request with instructions before the transcript.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Returns the request with tools that may be called.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Definitions>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Returns the request with another choice of tools.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Returns the request so that the model makes several calls in one reply, or one at most.
    #[must_use]
    pub fn with_parallel_tool_calls(mut self, parallel: bool) -> Self {
        self.parallel_tool_calls = parallel;
        self
    }

    /// Returns the request with tools that the model finds by a search, where its service knows
    /// how.
    #[must_use]
    pub fn with_search(mut self, search: ToolSearch) -> Self {
        self.search = Some(search);
        self
    }

    /// Returns the request with an option of the service.
    #[must_use]
    pub fn with_option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Returns the request with the context of the run that makes it.
    #[must_use]
    pub fn with_context(mut self, context: ToolContext) -> Self {
        self.context = context;
        self
    }
}

/// Tools that a model finds by a search which the program runs, and does not know before.
///
/// If a service supports that, the model's input does not contain them: it receives each when a
/// search refers to it, and then calls it by its own name. It works while the search tool is among
/// the [tools](ModelRequest::tools); a request without it is written without tool search.
///
/// ```
/// use toolbox::model::{History, ModelRequest, ToolSearch};
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Lists the issues of a repository.
/// #[tool]
/// fn list_issues(repository: &str) -> Vec<String> {
///     vec![format!("an issue of {repository}")]
/// }
///
/// let later = ToolBox::from(tools![list_issues]).definitions();
/// let search = ToolSearch::new("search_tools", later);
/// let request = ModelRequest::new(History::from("What is open?")).with_search(search);
/// assert!(request.search.is_some());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolSearch {
    /// The name of the tool that searches. The [references](crate::ToolResult::references) of its
    /// results name the tools that were found.
    pub tool: String,
    /// The tools that can be found.
    pub deferred: Definitions,
}

impl ToolSearch {
    /// Returns tools that are found by the tool of a name.
    ///
    /// `OpenAI` Responses calls its one search by no name at all; such a call is read as one of
    /// `toolbox_search_bm25`, the search tool of the `search::Gateway`.
    #[must_use]
    pub fn new(tool: impl Into<String>, deferred: impl Into<Definitions>) -> Self {
        Self { tool: tool.into(), deferred: deferred.into() }
    }
}

/// The choice of tools that a model has in a request.
///
/// ```
/// use toolbox::model::{History, ModelRequest, ToolChoice};
///
/// let request = ModelRequest::new(History::from("What is the weather?"));
/// assert_eq!(request.tool_choice, ToolChoice::Auto);
/// let request = request.with_tool_choice(ToolChoice::Tool("weather".to_owned()));
/// assert_eq!(request.tool_choice, ToolChoice::Tool("weather".to_owned()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model may not call any tool.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool.
    Tool(String),
}
