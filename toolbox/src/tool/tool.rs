//! A tool as a value.

use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::builder::ToolBuilder;
use super::layer::{Layers, Next};
use crate::arguments::call::HandlerCall;
use crate::arguments::signature::Signature;
use crate::call::ToolResult;
use crate::context::approval::Approval;
use crate::context::availability::Availability;
use crate::context::{Approver, Requirement, StateMap, ToolContext};
use crate::definition::{
    Callers, CarriedTools, EXECUTE_TOOL, Grammar, Icon, InvalidNameError, Namespace,
    ToolAnnotations, ToolDefinition, check_name,
};
use crate::dialect::SharedDefinition;
use crate::future::BoxFuture;

/// A tool that a model can call: a definition and a handler.
///
/// A tool is a value. It comes from `#[tool]`, from a closure ([`Tool::from_fn`]), from the builder
/// ([`Tool::new`]), from raw parts ([`Tool::raw`]) or from a type of your own
/// ([`ToolHandler`](super::ToolHandler)); [`Tool::renamed`], [`Tool::with_timeout`] and the like
/// return a changed copy. Cloning shares everything.
///
/// ```
/// use std::time::Duration;
/// use toolbox::tool;
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let tool = add::tool().prefixed("math").with_timeout(Duration::from_secs(1));
/// assert_eq!(tool.name(), "math_add");
/// assert_eq!(add(2, 3), 5);
/// ```
#[derive(Clone)]
pub struct Tool {
    inner: Arc<ToolInner>,
}

#[derive(Clone)]
pub(crate) struct ToolInner {
    pub(crate) definition: SharedDefinition,
    pub(crate) signature: Arc<Signature>,
    pub(crate) handler: BoxedHandler,
    pub(crate) origin: Origin,
    pub(crate) requirements: Arc<[Requirement]>,
    pub(crate) source: Option<Arc<str>>,
    pub(crate) name_at_source: Option<Arc<str>>,
    pub(crate) running: RunSettings,
    /// The part of a prompt or a resource that a tool lacks, as a type of its module.
    facet: Option<Arc<dyn Any + Send + Sync>>,
}

impl ToolInner {
    /// Returns a call as the handler of the tool receives it.
    #[inline]
    pub(crate) fn handler_call<'call>(
        &'call self,
        context: &'call ToolContext,
        text: &'call str,
        depth: usize,
    ) -> HandlerCall<'call> {
        HandlerCall::new(context, Some(&self.definition), text, &self.signature, depth)
    }
}

/// The settings under which a tool runs.
#[derive(Clone, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of `#[tool]` with a name of its own"
)]
pub(crate) struct RunSettings {
    pub(crate) timeout: Option<Duration>,
    /// `true` if that is the timeout of an MCP server.
    pub(crate) has_server_timeout: bool,
    /// The tokens of a result that are passed on whole, where results are kept.
    pub(crate) result_tokens: Option<usize>,
    pub(crate) limit: Option<Arc<Semaphore>>,
    pub(crate) state: Option<Arc<StateMap>>,
    pub(crate) layers: Layers,
    pub(crate) blocking: bool,
    pub(crate) exclusive: bool,
    pub(crate) background: bool,
    /// `true` if the same call is made again and again to see a change.
    pub(crate) polling: bool,
    /// `true` if each call is recorded in a journal before it runs.
    pub(crate) durable: bool,
    pub(crate) approval: Approval,
    /// The predicates that say to whom the tool is available.
    pub(crate) available: Availability,
    /// `true` if its results come from untrusted sources.
    pub(crate) untrusted: bool,
    /// `true` if a URL in its results may be fetched like one that the user named.
    pub(crate) shows_urls: bool,
    /// `true` if its handler is this crate's and passes on results of the gate with their mark.
    pub(crate) relays: bool,
    /// `true` if each call is dispatched again as a call of the tool that it names.
    pub(crate) forwards: bool,
    /// `true` if a call starts a run, which may stop and be resumed with the run above it.
    pub(crate) starts_run: bool,
    /// `true` if it was given to one run, which agents below do not inherit it from.
    pub(crate) of_one_run: bool,
    /// The agent that a call hands the conversation of its run to.
    pub(crate) hands_over: Option<HandsOver>,
    /// The tools whose results a run that it starts may repeat.
    pub(crate) repeats: Option<Arc<dyn RepeatedTools>>,
}

impl RunSettings {
    /// Returns `true` if a call needs no task, thread, permit, approval or layer, and can run in
    /// place; its results are not marked as text of others.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !(self.blocking
            || self.exclusive
            || self.background
            || self.durable
            || self.untrusted
            || self.starts_run
            || self.repeats.is_some()
            || self.approval.is_needed())
            && self.limit.is_none()
            && self.layers.is_empty()
    }

    /// Returns `true` if each call is dispatched again as a call of the tool that it names, so that
    /// layers of the box see only that one.
    pub(crate) fn is_forwarded(&self) -> bool {
        self.forwards
    }
}

/// The agent that a call hands the conversation of its run to.
#[derive(Clone)]
pub(crate) struct HandsOver {
    /// The agent, as a type of the module of agents.
    pub(crate) to: Arc<dyn Any + Send + Sync>,
    /// Its tools, whose results the answer of the run may repeat.
    pub(crate) tools: Arc<dyn RepeatedTools>,
    /// `true` if it has other tools as well, which are not known before it runs.
    pub(crate) inherits: bool,
}

/// The tools whose results a tool may repeat, such as those of an agent.
pub(crate) trait RepeatedTools: Send + Sync {
    /// Identifies the collection, so that agents which have each other as tools are visited once.
    fn id(&self) -> usize;

    /// Returns the current tools.
    fn tools(&self) -> Vec<Tool>;
}

/// A handler behind an `Arc`. Public in name only: it appears in the hidden methods of public
/// traits.
#[derive(Clone)]
#[allow(unreachable_pub, missing_docs, reason = "cannot be named from outside")]
pub enum BoxedHandler {
    Sync(Arc<SyncHandler>),
    Async(Arc<AsyncHandler>),
}

/// A handler that answers where it is called.
pub(crate) type SyncHandler =
    dyn for<'call> Fn(&'call HandlerCall<'call>) -> ToolResult + Send + Sync;
/// A handler that answers when its future ends.
pub(crate) type AsyncHandler =
    dyn for<'call> Fn(&'call HandlerCall<'call>) -> BoxFuture<'call, ToolResult> + Send + Sync;

impl fmt::Debug for BoxedHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync(_) => "Sync",
            Self::Async(_) => "Async",
        })
    }
}

/// The source location where a tool was made, for errors about two tools of one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    file: &'static str,
    line: u32,
}

impl Origin {
    pub(crate) const fn new(file: &'static str, line: u32) -> Self {
        Self { file, line }
    }

    #[track_caller]
    pub(crate) fn here() -> Self {
        let caller = Location::caller();
        Self { file: caller.file(), line: caller.line() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Tool {
    /// Starts a tool without a macro and without a schema: name it, add parameters, end with
    /// [`call`](ToolBuilder::call).
    ///
    /// ```
    /// use toolbox::{Tool, ToolBox, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let search = Tool::new("search", "Searches the web")
    ///     .param("query", "string", "The search query")
    ///     .param_opt("limit", "integer", "How many hits (default 5)")
    ///     .call(|args| {
    ///         let query = args["query"].as_str().unwrap_or("");
    ///         let limit = args["limit"].as_u64().unwrap_or(5);
    ///         Ok::<_, String>(format!("{limit} hits for {query}"))
    ///     });
    /// let toolbox = ToolBox::from(search);
    /// let result = toolbox.call(ToolCall::new("1", "search", r#"{"query":"macros"}"#)).await;
    /// assert_eq!(result.text(), "5 hits for macros");
    /// # }
    /// ```
    ///
    /// A tool is complete when it has its function, and not before:
    ///
    /// ```compile_fail
    /// # use toolbox::{Tool, ToolBox};
    /// let toolbox = ToolBox::from(Tool::new("search", "Searches the web"));
    /// ```
    #[track_caller]
    #[allow(
        clippy::new_ret_no_self,
        reason = "the specification names it so: a tool begins with its name"
    )]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> ToolBuilder {
        ToolBuilder::new(name.into(), description.into(), Origin::here())
    }

    pub(crate) fn from_parts(
        definition: ToolDefinition,
        handler: BoxedHandler,
        signature: Signature,
        origin: Origin,
    ) -> Result<Self, InvalidNameError> {
        check_name(&definition.name)?;
        Ok(Self {
            inner: Arc::new(ToolInner {
                definition: definition.into(),
                signature: Arc::new(signature),
                handler,
                origin,
                requirements: Arc::from([]),
                source: None,
                name_at_source: None,
                running: RunSettings::default(),
                facet: None,
            }),
        })
    }

    /// Returns the name the model calls the tool by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.definition.name
    }

    /// Returns the description, as the model receives it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.inner.definition.description
    }

    /// Returns the definition, as the model receives it.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.inner.definition
    }

    /// Returns the source location where the tool was made.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.inner.origin
    }

    /// Returns the server the tool comes from, if it comes from one.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.inner.source.as_deref()
    }

    /// Returns the tool as one of a server, such as `github`: a search for the server finds it.
    #[must_use]
    pub fn from_source(mut self, server: impl Into<Arc<str>>) -> Self {
        self.inner_mut().source = Some(server.into());
        self
    }

    /// Returns the tool's name at its server, if it comes from one and the name is known. Renaming
    /// does not change it.
    #[must_use]
    pub fn name_at_source(&self) -> Option<&str> {
        self.inner.name_at_source.as_deref()
    }

    pub(crate) fn with_name_at_source(mut self, name: Arc<str>) -> Self {
        let is_envelope = &*name == EXECUTE_TOOL;
        self.inner_mut().name_at_source = Some(name);
        if is_envelope { self.carrying(CarriedTools::elsewhere()) } else { self }
    }

    /// Marks the calls of the tool as envelopes of calls of these tools, for those who only watch.
    pub(crate) fn carrying(mut self, tools: CarriedTools) -> Self {
        self.inner_mut().definition.make_mut().carried = Some(tools);
        self
    }

    pub(crate) fn shared_definition(&self) -> &SharedDefinition {
        &self.inner.definition
    }

    /// Returns the states that the tool needs and that are not bound to it yet.
    pub fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        let bound = self.inner.running.state.as_deref();
        self.inner.requirements.iter().filter(move |requirement| !requirement.is_met_by(bound))
    }

    /// Returns `true` if both are clones of one tool.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn inner(&self) -> &ToolInner {
        &self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut ToolInner {
        Arc::make_mut(&mut self.inner)
    }

    pub(super) fn definition_mut(&mut self) -> &mut ToolDefinition {
        self.inner_mut().definition.make_mut()
    }

    /// Returns the tool under another name.
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the name is not one that tools may have.
    pub fn try_renamed(mut self, name: impl Into<String>) -> Result<Self, InvalidNameError> {
        let name = name.into();
        check_name(&name)?;
        self.definition_mut().name = name;
        Ok(self)
    }

    /// Returns the tool under another name.
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have; [`Tool::try_renamed`] takes names from outside
    /// the program.
    #[must_use]
    #[track_caller]
    pub fn renamed(self, name: impl Into<String>) -> Self {
        made(self.try_renamed(name))
    }

    /// Returns the tool under the name `<prefix>_<name>`, with its old names prefixed as well.
    ///
    /// # Panics
    ///
    /// If that is not a name that tools may have.
    #[must_use]
    #[track_caller]
    pub fn prefixed(mut self, prefix: &str) -> Self {
        let prefixed = |name: &str| format!("{prefix}_{name}");
        if !self.definition().replaces.is_empty() {
            let old: Vec<String> =
                self.definition().replaces.iter().map(|old| prefixed(old)).collect();
            self = self.replaces(old);
        }
        let name = prefixed(self.name());
        self.renamed(name)
    }

    /// Returns the tool with these names that it had before, instead of others.
    ///
    /// A call by an old name runs the tool, and a part of its own at the end of the result tells
    /// the model the new name. Old names are in no list that a model receives, and
    /// [`ToolBox::old_names`](crate::ToolBox::old_names) lists them; a search finds the tool by
    /// them. A blacklist that has one forbids the tool; an allow-list has to have the
    /// tool's own name. An old name that is the name of another tool of the box, or an old name of
    /// one, is a [fault](crate::collection::RegisterFault::OldNameTaken); [`Tool::prefixed`]
    /// prefixes the old names as well.
    ///
    /// ```
    /// use toolbox::{Tool, ToolBox, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let search = Tool::new("search", "Searches").call(|_| "found").replaces(["find"]);
    /// let result = ToolBox::from(search).call(ToolCall::new("1", "find", "{}")).await;
    /// assert_eq!(result.text(), "found\n`find` is now `search`: call it by that name");
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If one is not a name that tools may have.
    #[must_use]
    #[track_caller]
    pub fn replaces<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        for name in &names {
            if let Err(error) = check_name(name) {
                panic!("{error}");
            }
        }
        self.definition_mut().replaces = names;
        self
    }

    /// Returns the tool with another description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        let definition = self.definition_mut();
        definition.description = description.into();
        definition.describe_deprecated();
        self
    }

    /// Returns the tool with a name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.definition_mut().title = Some(title.into());
        self
    }

    /// Returns the tool with a version, such as `2` or `1.4.0`; default none.
    ///
    /// It is no part of the name, and models see none of it. It is the `fastmcp.version` of the
    /// `_meta` that MCP clients get, as `FastMCP` writes it; of a mounted tool it is read from
    /// there. An empty text is no version.
    ///
    /// ```
    /// use toolbox::Tool;
    ///
    /// let tool = Tool::new("search", "Searches the web").call(|_| "found").with_version("2");
    /// assert_eq!(tool.definition().version().as_deref(), Some("2"));
    /// ```
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.definition_mut().set_version(version.into());
        self
    }

    /// Returns the tool so that it is deprecated; `note` says what to use instead, and may be
    /// empty.
    ///
    /// The model reads it at the end of the description, MCP clients as the `fastmcp.deprecated` of
    /// the `_meta`, and both as the `deprecated` of the schema. A call runs the tool, and a part of
    /// its own at the end of the result repeats the note. `#[deprecated]` on a function of
    /// `#[tool]`, on an argument, a field or a variant does the same for each.
    ///
    /// ```
    /// use toolbox::{Tool, ToolBox, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let find = Tool::new("find", "Searches.").call(|_| "found").deprecated("use `search`");
    /// assert_eq!(find.description(), "Searches. Deprecated: use `search`");
    /// assert_eq!(find.definition().deprecated(), Some("use `search`"));
    /// let result = ToolBox::from(find).call(ToolCall::new("1", "find", "{}")).await;
    /// assert_eq!(result.text(), "found\n`find` is deprecated: use `search`");
    /// # }
    /// ```
    #[must_use]
    pub fn deprecated(mut self, note: impl AsRef<str>) -> Self {
        self.definition_mut().deprecate(note.as_ref());
        self
    }

    /// Returns the tool with these annotations.
    #[must_use]
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition_mut().annotations = annotations;
        self
    }

    /// Returns the tool closed for `OpenAI`'s strict mode, which holds a model to the schema.
    ///
    /// For tools with foreign schemas; those of typed functions are strict wherever they can be.
    /// Objects are closed, optional properties are required and may be null, `oneOf` becomes
    /// `anyOf`, `allOf` is merged, a value of any shape is written as an object with its JSON text
    /// under `json_text`; what cannot be expressed is among the
    /// [losses](crate::dialect::Lowered::losses). Before a call, a null of an optional property is
    /// taken out and JSON text put in its place, so the tool gets what its own schema describes:
    /// null then always means "left out" for an optional property. Other providers are given the
    /// schema as it is, and what their models write is restored in the same way.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolbox::{Tool, ToolBox, ToolCall};
    /// use toolbox::call::Arguments;
    /// use toolbox::dialect::{Dialect, lower};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let schema = json!({
    ///     "type": "object",
    ///     "properties": {"query": {"type": "string"}, "filter": {"type": "object"}},
    /// });
    /// let find = Tool::raw("find", "Finds notes", schema, async |arguments: Arguments| arguments.to_string());
    /// assert!(!lower(find.definition(), Dialect::OpenAiChat).strict);
    /// let find = find.strict();
    /// assert!(lower(find.definition(), Dialect::OpenAiChat).strict);
    ///
    /// let arguments = r#"{"query":null,"filter":{"json_text":"{\"tag\":1}"}}"#;
    /// let result = ToolBox::from(find).call(ToolCall::new("1", "find", arguments)).await;
    /// assert_eq!(result.text(), r#"{"filter":{"tag":1}}"#);
    /// # }
    /// ```
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.definition_mut().strict = true;
        self
    }

    /// Returns the tool with other callers: programs that the model writes and its provider runs.
    ///
    /// ```
    /// use toolbox::Tool;
    /// use toolbox::definition::Callers;
    ///
    /// let rows = Tool::new("rows", "Returns rows as JSON").call(|_| "[]").with_callers(Callers::Both);
    /// assert!(rows.definition().callers.include_programs());
    /// ```
    #[must_use]
    pub fn with_callers(mut self, callers: Callers) -> Self {
        self.definition_mut().callers = callers;
        self
    }

    /// Returns the tool so that it takes a text of some form in place of JSON, where its provider
    /// knows such tools; see [`Grammar`].
    #[must_use]
    pub fn with_grammar(mut self, grammar: Grammar) -> Self {
        self.definition_mut().grammar = Some(grammar);
        self
    }

    /// Returns the tool within a namespace, where its provider knows namespaces; see [`Namespace`].
    #[must_use]
    pub fn in_namespace(mut self, namespace: Namespace) -> Self {
        self.definition_mut().namespace = Some(namespace);
        self
    }

    /// Returns the tool so that the model goes on without the result of a call, where its service
    /// knows how: `async` of `OpenAI` Responses.
    ///
    /// A [pending](crate::ToolResult::background) result, such as that of a
    /// [background](Self::background) call, is then not sent at all. The result can be sent in any
    /// later request, once it [replaces](crate::model::History::replace_result) the pending one.
    #[must_use]
    pub fn answered_later(mut self) -> Self {
        self.definition_mut().answered_later = true;
        self
    }

    /// Adds an icon for MCP clients to display beside the tool.
    #[must_use]
    pub fn with_icon(mut self, icon: Icon) -> Self {
        self.definition_mut().icons.push(icon);
        self
    }

    /// Adds an entry to the `_meta` of the definition that MCP clients get, such as
    /// `com.example/team`.
    ///
    /// ```
    /// use toolbox::Tool;
    /// use toolbox::definition::Icon;
    ///
    /// let tool = Tool::new("deploy", "Deploys a branch")
    ///     .call(|_| "deployed")
    ///     .with_icon(Icon::new("https://example.com/rocket.png").with_mime_type("image/png"))
    ///     .with_meta("com.example/team", "release");
    /// assert_eq!(tool.definition().meta["com.example/team"], "release");
    /// ```
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.definition_mut().meta.insert(key.into(), value.into());
        self
    }

    /// Sets the metadata of an MCP server for people and programs, which models do not receive.
    pub(crate) fn with_presentation(
        mut self,
        hint_title: Option<String>,
        icons: Vec<Icon>,
        meta: serde_json::Map<String, Value>,
    ) -> Self {
        let definition = self.definition_mut();
        (definition.hint_title, definition.icons, definition.meta) = (hint_title, icons, meta);
        self
    }

    /// Returns the tool with these tags instead of its own.
    #[must_use]
    pub fn with_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.definition_mut().tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the tool with the schema of its structured result.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        self.definition_mut().output_schema = Some(schema.into());
        self
    }

    /// Returns the tool so that it is left out of the list that is sent to the model; it can be
    /// called all the same.
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.definition_mut().deferred = true;
        self
    }

    /// Returns the tool so that it runs only as `approver` decides, whatever the box's own says.
    ///
    /// It is asked only if the arguments are valid.
    #[must_use]
    pub fn with_approver(mut self, approver: impl Approver) -> Self {
        self.inner_mut().running.approval = Approval::Own(Arc::new(approver));
        self
    }

    /// Returns the tool with a limit on the time of one call, instead of the box's.
    ///
    /// An async tool is dropped where it waits; a blocking one keeps running, and the result says
    /// so.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        let running = &mut self.inner_mut().running;
        running.timeout = Some(timeout);
        running.has_server_timeout = false;
        self
    }

    /// Returns the tool with the timeout of its MCP server.
    pub(crate) fn with_server_timeout(mut self, timeout: Duration) -> Self {
        let running = &mut self.inner_mut().running;
        running.timeout = Some(timeout);
        running.has_server_timeout = true;
        self
    }

    /// Returns the tool with a limit on the tokens of a result that a model gets whole, instead of
    /// the [box's](crate::ToolBoxBuilder::max_result_tokens). It holds where results are kept.
    #[must_use]
    pub fn with_max_result_tokens(mut self, tokens: usize) -> Self {
        self.inner_mut().running.result_tokens = Some(tokens);
        self
    }

    /// Returns the tool without a timeout of its own; the caller's deadline still applies.
    #[must_use]
    pub fn without_timeout(self) -> Self {
        self.with_timeout(Duration::MAX)
    }

    /// Marks the tool's handler, which is this crate's, as one that returns results of the gate to
    /// calls that it makes.
    pub(crate) fn relaying(mut self) -> Self {
        self.inner_mut().running.relays = true;
        self
    }

    /// Marks the tool as one whose calls are dispatched again, as calls of the tools that they
    /// name.
    pub(crate) fn forwarding(mut self) -> Self {
        self.inner_mut().running.forwards = true;
        self.relaying()
    }

    /// Marks the tool as one whose calls start a run of an agent.
    ///
    /// `with` are the tools whose results the run may repeat, where they are known beforehand.
    pub(crate) fn starting_a_run(mut self, with: Option<Arc<dyn RepeatedTools>>) -> Self {
        let running = &mut self.inner_mut().running;
        running.starts_run = true;
        running.relays = true;
        running.repeats = with;
        self
    }

    /// Marks the tool as one that is given to one run.
    #[allow(dead_code, reason = "agents are a module on top of this one")]
    pub(crate) fn of_one_run(mut self) -> Self {
        self.inner_mut().running.of_one_run = true;
        self
    }

    /// Marks the tool as one whose calls hand the conversation of their run to another agent.
    pub(crate) fn handing_over(mut self, to: HandsOver) -> Self {
        self.inner_mut().running.hands_over = Some(to);
        self
    }

    /// Returns the tool with a limit on how many of its calls run at once; the others wait their
    /// turn.
    ///
    /// Clones of the returned tool share the limit. Zero counts as one.
    #[must_use]
    pub fn with_max_concurrency(mut self, calls: usize) -> Self {
        self.inner_mut().running.limit = Some(Arc::new(Semaphore::new(calls.max(1))));
        self
    }

    /// Returns the tool with a state of its own, found before the box's.
    ///
    /// So tools with different states can be in one box.
    #[must_use]
    pub fn with_state<T: Send + Sync + 'static>(self, state: T) -> Self {
        let mut values = StateMap::default();
        values.insert(Arc::new(state));
        self.bound_to(&values)
    }

    /// Binds the values to the tool, under those it was bound to before.
    pub(crate) fn bound_to(mut self, values: &StateMap) -> Self {
        let state = &mut self.inner_mut().running.state;
        Arc::make_mut(state.get_or_insert_default()).fill_from(values);
        self
    }

    /// Returns the tool with the layers of a box around its own, for calls in another box.
    pub(crate) fn within(mut self, of_box: &Layers) -> Self {
        if !of_box.is_empty() && !self.inner().running.is_forwarded() {
            let layers = &mut self.inner_mut().running.layers;
            *layers = layers.iter().chain(&**of_box).cloned().collect();
        }
        self
    }

    /// Returns the tool so that it never runs beside another exclusive tool of its box.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.inner_mut().running.exclusive = true;
        self
    }

    /// Returns the tool so that its synchronous function runs on the thread pool for blocking work.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.inner_mut().running.blocking = true;
        self
    }

    /// Returns the tool so that a call is answered at once and goes on in the background, if the
    /// caller receives completions.
    ///
    /// The completion arrives on the channel passed with the call
    /// ([`ToolContext::with_completions`](crate::ToolContext::with_completions)); a caller without
    /// one waits.
    #[must_use]
    pub fn background(mut self) -> Self {
        self.inner_mut().running.background = true;
        self
    }

    /// Returns the tool so that models may make the same call again and again, to see whether
    /// something has changed: the [repeat limit](crate::agent::AgentBuilder::repeat_limit) of an
    /// agent does not hold for it.
    #[must_use]
    pub fn polling(mut self) -> Self {
        self.inner_mut().running.polling = true;
        self
    }

    /// Returns the tool so that each call is recorded in the journal of its box
    /// ([`ToolBoxBuilder::journal`](crate::ToolBoxBuilder::journal)) before it runs, and its result
    /// before the caller gets it.
    ///
    /// The call goes on if its caller is dropped. If its process dies, it ends as
    /// [`OutcomeUnknown`](crate::call::FailureKind::OutcomeUnknown), or runs again where the tool
    /// is [idempotent](crate::definition::ToolAnnotations::idempotent). A box without a journal
    /// refuses the tool when it is registered; in an agent's own box, without a journal, each call
    /// fails.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.inner_mut().running.durable = true;
        self
    }

    /// Returns the tool without a check of its arguments against its schema: its function gets any
    /// text, valid or not, within the box's limit of bytes.
    ///
    /// For tools that read the text themselves ([`Tool::raw`],
    /// [`ToolHandler`](super::ToolHandler)); typed arguments are always checked.
    #[must_use]
    pub fn with_unchecked_arguments(mut self) -> Self {
        Arc::make_mut(&mut self.inner_mut().signature).unchecked = true;
        self
    }

    /// Returns the tool with a layer around each of its calls: it sees the arguments first and the
    /// result last.
    ///
    /// The layer added last is outermost. A panic in it is contained like one of the tool's own.
    ///
    /// ```
    /// use toolbox::{tool, ToolBox, ToolCall};
    ///
    /// /// Says a word.
    /// #[tool]
    /// fn say(word: &str) -> String {
    ///     word.to_owned()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let loud = say::tool().layer(|next: toolbox::tool::Next| async move {
    ///     let result = next.run().await;
    ///     toolbox::ToolResult::new(result.text().to_uppercase())
    /// });
    /// let result = ToolBox::from(loud).call(ToolCall::new("1", "say", r#"{"word":"hi"}"#)).await;
    /// assert_eq!(result.text(), "HI");
    /// # }
    /// ```
    #[must_use]
    pub fn layer<F, Fut>(mut self, layer: F) -> Self
    where
        F: Fn(Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolResult> + Send + 'static,
    {
        self.inner_mut().running.layers.push(layer);
        self
    }

    /// Returns the part that makes the tool a prompt or a resource.
    pub(crate) fn facet<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.inner.facet.as_deref()?.downcast_ref()
    }

    pub(crate) fn with_facet(mut self, facet: Arc<dyn Any + Send + Sync>) -> Self {
        self.inner_mut().facet = Some(facet);
        self
    }

    /// Returns the tool under a name of any characters, such as a URI.
    pub(crate) fn named(mut self, name: String) -> Self {
        self.definition_mut().name = name;
        self
    }

    pub(crate) fn with_requirements(mut self, requirements: Vec<Requirement>) -> Self {
        self.inner_mut().requirements = Arc::from(requirements);
        self
    }

    pub(crate) fn with_examples(mut self, examples: Vec<Value>) -> Self {
        if !examples.is_empty() {
            self.definition_mut().examples = examples;
        }
        self
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name())
            .field("origin", &format_args!("{}", self.origin()))
            .finish_non_exhaustive()
    }
}

/// Unwraps a tool that the program itself defines.
#[track_caller]
pub(crate) fn made(tool: Result<Tool, impl fmt::Display>) -> Tool {
    match tool {
        Ok(tool) => tool,
        Err(error) => panic!("{error}"),
    }
}
