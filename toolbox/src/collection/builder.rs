//! The builder of a box with limits, state or an approver of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::error::RegisterError;
use super::settings::BoxSettings;
use super::toolbox::ToolBox;
use crate::call::ToolResult;
use crate::context::auditor::SharedAuditor;
use crate::context::availability::Availability;
use crate::context::keeper::ResultKeeper;
use crate::context::question::SharedAsker;
use crate::context::recorder::CallRecorder;
use crate::context::rules::ToolRule;
use crate::context::{Approver, Asker, InvalidRuleError, Requirement, StateMap, ToolContext};
use crate::event::{EventSink, Reporter};
use crate::prompt::{self, IntoPrompts};
use crate::resource::{self, IntoResources};
use crate::tool::{IntoTools, MapFn, Next, Tool};

/// Builds a [`ToolBox`]; [`build`](Self::build) checks that its tools fit together.
///
/// ```
/// use std::time::Duration;
/// use toolbox::{tool, tools, State, ToolBox};
///
/// struct Greeting(String);
///
/// /// Greets somebody by name.
/// #[tool]
/// fn greet(name: &str, greeting: State<Greeting>) -> String {
///     format!("{}, {name}!", greeting.0)
/// }
///
/// let toolbox = ToolBox::builder()
///     .tools(tools![greet])
///     .state(Greeting("Hello".into()))
///     .timeout(Duration::from_secs(10))
///     .max_concurrency(8)
///     .build()?;
///
/// let error = ToolBox::builder().tools(tools![greet]).build().unwrap_err();
/// assert!(error.to_string().contains("Greeting"));
/// # Ok::<(), toolbox::collection::BuildToolBoxError>(())
/// ```
///
/// A limit that is not set has its default of the [table of limits](ToolBox#limits).
#[derive(Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct ToolBoxBuilder {
    tools: Vec<Tool>,
    prompts: Vec<Tool>,
    resources: Vec<Tool>,
    settings: BoxSettings,
    state: StateMap,
    blacklist: Vec<String>,
    sinks: Vec<EventSink>,
}

impl ToolBoxBuilder {
    /// Adds a tool; the same as [`ToolBoxBuilder::tools`].
    pub fn tool(self, tool: impl IntoTools) -> Self {
        self.tools(tool)
    }

    /// Adds tools; of a [`Toolset`](crate::tool::Toolset), its prompts and resources as well.
    pub fn tools(mut self, tools: impl IntoTools) -> Self {
        let (tools, offers) = tools.into_tools_and_offers();
        self.tools.extend(tools);
        self.prompts.extend(offers.prompts);
        self.resources.extend(offers.resources);
        self
    }

    /// Adds prompts; see [`ToolBox::prompts`].
    pub fn prompts(mut self, prompts: impl IntoPrompts) -> Self {
        self.prompts.extend(prompt::tools_of(prompts));
        self
    }

    /// Adds resources; see [`ToolBox::resources`].
    pub fn resources(mut self, resources: impl IntoResources) -> Self {
        self.resources.extend(resource::tools_of(resources));
        self
    }

    /// Adds a tool of raw parts: a name, a description, a JSON Schema, and a function of the parsed
    /// arguments; see [`ToolBox::register_raw`].
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have.
    #[track_caller]
    pub fn raw_tool<Form>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: serde_json::Value,
        function: impl MapFn<Form>,
    ) -> Self {
        self.tools(Tool::from_map(name, description, input_schema, function))
    }

    /// Adds a state for the tools that take [`State<T>`](crate::State), one of each type.
    pub fn state<T: Send + Sync + 'static>(self, state: T) -> Self {
        self.shared_state(Arc::new(state))
    }

    /// Adds a state that the program shares with the box.
    pub fn shared_state<T: Send + Sync + 'static>(mut self, state: Arc<T>) -> Self {
        self.state.insert(state);
        self
    }

    /// Declares that the program passes a state of type `T` with each call
    /// ([`ToolContext::with`](crate::ToolContext::with)), so that the box need not hold one.
    pub fn call_state<T: Send + Sync + 'static>(mut self) -> Self {
        self.settings.call_state.push(Requirement::of::<T>());
        self
    }

    /// Forbids tools by name, as [`ToolBox::blacklist`] does.
    pub fn blacklist(mut self, name: impl Into<String>) -> Self {
        self.blacklist.push(name.into());
        self
    }

    /// Limits the time of a call whose tool has no timeout of its own. Default 60 seconds.
    ///
    /// A tool sets its own with `#[tool(timeout = "5m")]` or
    /// [`Tool::with_timeout`](crate::Tool::with_timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Lets calls run without a limit on their time, unless their tool has one.
    pub fn no_timeout(mut self) -> Self {
        self.settings.timeout = None;
        self
    }

    /// Limits the number of calls that run at once; the others wait. Default: no limit. Zero counts
    /// as one.
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.settings.concurrency = Some(Arc::new(Semaphore::new(calls.max(1))));
        self
    }

    /// Runs the calls of one batch concurrently, or one after another. Default: concurrently.
    pub fn parallel(mut self, parallel: bool) -> Self {
        self.settings.parallel = parallel;
        self
    }

    /// Limits the number of calls in one batch; the rest are refused. Default 1 024.
    pub fn max_batch_calls(mut self, calls: usize) -> Self {
        self.settings.batch_calls = calls;
        self
    }

    /// Limits the text of a call's arguments, in bytes; a longer text is refused unread. Default 1
    /// MiB.
    pub fn max_argument_bytes(mut self, bytes: usize) -> Self {
        self.settings.argument_bytes = bytes;
        self
    }

    /// Limits the nesting of arguments, in levels; the argument object itself is the first. Default
    /// and greatest: 64.
    ///
    /// Deeper text is read by recursion, so the limit cannot be lifted.
    pub fn max_argument_depth(mut self, levels: usize) -> Self {
        self.settings.argument_depth = levels.clamp(1, BoxSettings::MAX_DEPTH);
        self
    }

    /// Limits a result, in bytes. Default 256 KiB.
    ///
    /// Of longer texts the middle and the last ones are left out, and a line says how much. Parts
    /// that cannot be cut are never left out: if images, audio, documents, JSON values and
    /// structured results are too large by themselves, the call fails with
    /// [`FailureKind::ResultTooLarge`](crate::call::FailureKind::ResultTooLarge), and the text
    /// names this limit. A picture takes a third more than its bytes, since it is base64: tools
    /// with screenshots need some MiB.
    ///
    /// In `toolbox.jsonc` the key is `"maxResultBytes"`. Texts count their bytes, without the
    /// escapes of JSON; each part after the first counts what JSON writes around it; so do the
    /// structured form, the references and the text for the user. The line comes on top, unless the
    /// result would get longer by it.
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.settings.result_bytes = bytes;
        self
    }

    /// Limits the contents of a resource, in bytes as they are sent: bytes are base64, a third
    /// more. Default 8 MiB. Nothing is cut: reading a larger one fails.
    pub fn max_resource_bytes(mut self, bytes: usize) -> Self {
        self.settings.resource_bytes = bytes;
        self
    }

    /// Limits the tokens of a result that a model gets whole. Default 4 000, estimated.
    ///
    /// Holds where results are kept ([`keep_results`](Self::keep_results)): of a larger one, the
    /// model sees a part, and reads on by handle. A tool may have a limit of its own
    /// ([`Tool::with_max_result_tokens`](crate::Tool::with_max_result_tokens)). With `usize::MAX`
    /// only results beyond [`max_result_bytes`](Self::max_result_bytes) are kept, and parts and
    /// answers are as by default.
    pub fn max_result_tokens(mut self, tokens: usize) -> Self {
        self.settings.result_tokens = tokens;
        self
    }

    /// Runs the handlers of tools on another runtime than the one that waits for them.
    ///
    /// Timeouts then hold even while every worker of that runtime is blocked by a handler that
    /// never awaits. It costs a hop between two runtimes for each call; without it, tools run in
    /// place.
    pub fn handler_runtime(mut self, runtime: Handle) -> Self {
        self.settings.runtime = Some(runtime);
        self
    }

    /// Decides on calls of tools that need approval. Without an approver of the tool, the box or an
    /// agent they are refused; where an agent makes the call, its run pauses instead, and can be
    /// resumed with a decision.
    ///
    /// The approver is asked only if the arguments are valid, and decides if the call may run.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.settings.approver = Some(Arc::new(approver));
        self
    }

    /// Puts the questions of tools to a person ([`ToolContext::ask`](crate::ToolContext::ask))
    /// where the context of a call has no asker. Default: there is nobody to ask.
    pub fn asker(mut self, asker: impl Asker) -> Self {
        SharedAsker::new(Arc::new(asker)).store_in(&mut self.state);
        self
    }

    /// Adds to the result of a call whose tool is not found what was probably meant: the name
    /// within `functions.x` and the like, the tools that servers have under that name, or the
    /// nearest names of the tools that the caller may call. Default: on.
    ///
    /// If it is off, the text is `tool not found: <name>` and nothing else. A name is never
    /// corrected: the model calls again.
    pub fn suggest_tools(mut self, suggest: bool) -> Self {
        self.settings.suggest_tools = suggest;
        self
    }

    /// Makes tools available only where `predicate` returns `true` for the context of the caller,
    /// as [`Tool::available_if`] does for one.
    ///
    /// The rule is a name, with `*` for any run of characters, or a tag: `tag:write`. It holds for
    /// tools that come later too.
    ///
    /// ```
    /// use toolbox::context::Principal;
    /// use toolbox::{Tool, ToolBox, ToolContext};
    ///
    /// let write = Tool::new("write", "Writes").call(|_| "written").with_tags(["write"]);
    /// let toolbox = ToolBox::builder()
    ///     .available_if("tag:write", |context| context.get::<Principal>().is_some())?
    ///     .tools(write)
    ///     .build()?;
    /// assert_eq!(toolbox.definitions().len(), 0);
    /// let ada = ToolContext::new().with(Principal::new("ada"));
    /// assert_eq!(toolbox.definitions_in(&ada).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if the rule names no tool.
    pub fn available_if(
        mut self,
        rule: &str,
        predicate: impl Fn(&ToolContext) -> bool + Send + Sync + 'static,
    ) -> Result<Self, InvalidRuleError> {
        InvalidRuleError::check(rule)?;
        let condition = (ToolRule::new(rule), Availability::new(predicate));
        let own = self.settings.available.iter().cloned();
        self.settings.available = own.chain([condition]).collect();
        Ok(self)
    }

    /// Closes the schemas of all tools for `OpenAI`'s strict mode, as [`Tool::strict`] does for
    /// one. Default: off.
    pub fn strict(mut self, strict: bool) -> Self {
        self.settings.strict = strict;
        self
    }

    /// Allows calls of deferred tools by their own names, or only through a gateway that finds
    /// them. Default: by their names.
    ///
    /// If it is off, the result of such a call is `tool not found: <name>`.
    pub fn deferred_calls(mut self, direct: bool) -> Self {
        self.settings.deferred_calls = direct;
        self
    }

    /// Adds a layer around the calls of every tool of the box, including those registered later: it
    /// sees the arguments first and the result last.
    ///
    /// The layer added last is outermost, and all are outside of a tool's [own
    /// layers](Tool::layer). They run after the lists, the approval and the limits, within the
    /// timeout of the call. A call through a `search::Gateway` passes them once, as a call of the
    /// tool that it names. A box without layers pays nothing for them.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use toolbox::{tool, tools, ToolBox, ToolCall};
    ///
    /// /// Says a word.
    /// #[tool]
    /// fn say(word: &str) -> String {
    ///     word.to_owned()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let calls = Arc::new(AtomicUsize::new(0));
    /// let counter = Arc::clone(&calls);
    /// let toolbox = ToolBox::builder()
    ///     .layer(move |next: toolbox::tool::Next| {
    ///         counter.fetch_add(1, Ordering::Relaxed);
    ///         next.run()
    ///     })
    ///     .build()
    ///     .unwrap();
    /// toolbox.register(tools![say]);
    /// toolbox.call(ToolCall::new("1", "say", r#"{"word":"hi"}"#)).await;
    /// assert_eq!(calls.load(Ordering::Relaxed), 1);
    /// # }
    /// ```
    pub fn layer<F, Fut>(mut self, layer: F) -> Self
    where
        F: Fn(Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolResult> + Send + 'static,
    {
        self.settings.layers.push(layer);
        self
    }

    /// Reports the calls of the box, and of its prompts and resources, to a sink: those of an MCP
    /// server and of agents as well as the program's own, and the calls and runs that its tools
    /// start in their context. Several sinks may be added. Default: none, at no cost.
    pub fn events(mut self, sink: EventSink) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Records arguments and results in trace spans, without the arguments that a tool's schema
    /// marks as secret. Default: off.
    pub fn record_content(mut self, record: bool) -> Self {
        self.settings.record_content = record;
        self
    }

    /// Keeps results that are larger than the model is to see.
    #[allow(dead_code, reason = "the store is a module on top of this one")]
    pub(crate) fn keeper(mut self, keeper: Arc<dyn ResultKeeper>) -> Self {
        self.settings.keeper = Some(keeper);
        self
    }

    /// Records the calls of durable and background tools.
    pub(crate) fn recorder(mut self, recorder: Arc<dyn CallRecorder>) -> Self {
        self.settings.journal = Some(recorder);
        self
    }

    /// Records decisions and results of calls.
    #[allow(dead_code, reason = "the audit log is a module on top of this one")]
    pub(crate) fn auditor(mut self, auditor: SharedAuditor) -> Self {
        self.settings.auditor = Some(auditor);
        self
    }

    /// Returns the box.
    ///
    /// # Errors
    ///
    /// [`BuildToolBoxError`] names every pair of tools of one name with the locations of both,
    /// every state that is missing, and a blacklist rule that names no tool.
    pub fn build(mut self) -> Result<ToolBox, BuildToolBoxError> {
        self.settings.reporter = Reporter::of_box(&self.sinks);
        let state = (!self.state.is_empty()).then(|| Arc::new(self.state));
        let toolbox = ToolBox::from_shared(self.settings, state);
        toolbox.try_register(self.tools).map_err(BuildToolBoxError::Tools)?;
        if !self.prompts.is_empty() {
            let calls = toolbox.prompt_calls();
            calls.try_register(self.prompts).map_err(BuildToolBoxError::Tools)?;
        }
        if !self.resources.is_empty() {
            let calls = toolbox.resource_calls();
            calls.try_register(self.resources).map_err(BuildToolBoxError::Tools)?;
        }
        for rule in &self.blacklist {
            toolbox.try_blacklist(rule).map_err(BuildToolBoxError::Rule)?;
        }
        Ok(toolbox)
    }
}

impl fmt::Debug for ToolBoxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBoxBuilder").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// The error of building a box.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildToolBoxError {
    /// Two tools have one name, or a state is missing.
    Tools(RegisterError),
    /// A rule of the blacklist names no tool.
    Rule(crate::context::InvalidRuleError),
}

impl fmt::Display for BuildToolBoxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools(error) => error.fmt(f),
            Self::Rule(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BuildToolBoxError {}
