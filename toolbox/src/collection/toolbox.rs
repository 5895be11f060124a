//! The box: a shared handle to an ordered collection of tools.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::builder::ToolBoxBuilder;
use super::error::{RegisterError, RegisterFault};
use super::notices::ResourceNotices;
use super::settings::BoxSettings;
use super::snapshot::Snapshot;
use crate::context::keeper::{ResultKeeper, ResultLimits};
use crate::context::rules::Rules;
use crate::context::{Requirement, StateMap};
use crate::event::EventSink;
use crate::sync::Mutex;
use crate::tool::{IntoTools, MapFn, RepeatedTools, Tool};

/// A collection of tools by name (also called a tool registry): declares them to a model and
/// dispatches its calls.
///
/// A box is a cheap handle: clones share the tools, and threads share the box. Readers take a
/// snapshot and never wait for a writer. Tools stay in the order they were registered; one that
/// replaces another takes its place, so the list that is sent to a model stays the same to the
/// byte.
///
/// ```
/// use toolbox::{tool, tools, ToolBox, ToolCall};
///
/// /// Greets somebody by name.
/// #[tool]
/// fn greet(name: &str) -> String {
///     format!("Hello, {name}!")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let toolbox = ToolBox::from(tools![greet]);
/// let result = toolbox.call(ToolCall::new("1", "greet", r#"{"name":"World"}"#)).await;
/// assert_eq!(result.text(), "Hello, World!");
/// assert!(!result.is_error());
/// # }
/// ```
///
/// # Limits
///
/// Each box has limits, which [`ToolBox::builder`] changes. A call that meets one fails, and its
/// text names the limit.
///
/// | limit | default | set by |
/// |---|---|---|
/// | time of a call | 60 s | [`timeout`](ToolBoxBuilder::timeout), `#[tool(timeout = "..")]` |
/// | arguments of a call | 1 MiB, 64 levels | [`max_argument_bytes`](ToolBoxBuilder::max_argument_bytes), [`max_argument_depth`](ToolBoxBuilder::max_argument_depth) |
/// | contents of a resource | 8 MiB | [`max_resource_bytes`](ToolBoxBuilder::max_resource_bytes) |
/// | result of a call | 256 KiB; texts are cut, what has no half (images, documents, JSON) fails; with `keep_results` (feature `results`) more than 4 000 tokens are kept by handle | [`max_result_bytes`](ToolBoxBuilder::max_result_bytes) |
/// | calls of one batch | 1 024 | [`max_batch_calls`](ToolBoxBuilder::max_batch_calls) |
/// | calls at once | none | [`max_concurrency`](ToolBoxBuilder::max_concurrency) |
#[derive(Clone)]
pub struct ToolBox {
    pub(crate) shared: Arc<BoxInner>,
}

pub(crate) struct BoxInner {
    pub(crate) current: ArcSwap<Snapshot>,
    writer: Mutex<()>,
    /// The generation, for tasks that wait for a change.
    changed: watch::Sender<u64>,
    pub(crate) settings: BoxSettings,
    pub(crate) state: Option<Arc<StateMap>>,
    /// The functions of prompts, as tools.
    prompts: OnceLock<ToolBox>,
    /// The functions that read resources, as tools.
    resources: OnceLock<ToolBox>,
    notices: OnceLock<ResourceNotices>,
}

impl ToolBox {
    /// Returns the limits beyond which results are kept elsewhere, in a box that keeps them.
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn kept_result_limits(&self) -> Option<ResultLimits> {
        self.shared.settings.keeper.as_ref()?;
        Some(self.shared.settings.result_limits())
    }

    /// Returns the keeper of results, in a box that has one.
    pub(crate) fn keeper(&self) -> Option<&Arc<dyn ResultKeeper>> {
        self.shared.settings.keeper.as_ref()
    }

    /// Returns the sinks of events of the box.
    pub(crate) fn sinks(&self) -> &[EventSink] {
        self.shared.settings.reporter.as_ref().map_or(&[], |reporter| reporter.sinks())
    }

    /// Returns `true` if the box has an asker.
    pub(crate) fn can_ask(&self) -> bool {
        self.shared.state.as_deref().is_some_and(StateMap::has_asker)
    }

    /// Returns an empty box with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::from_shared(BoxSettings::default(), None)
    }

    /// Starts a box with limits, state or an approver of its own.
    pub fn builder() -> ToolBoxBuilder {
        ToolBoxBuilder::default()
    }

    pub(super) fn from_shared(settings: BoxSettings, state: Option<Arc<StateMap>>) -> Self {
        let settings = settings.settled();
        Self {
            shared: Arc::new(BoxInner {
                current: ArcSwap::from_pointee(Snapshot::empty(&settings)),
                writer: Mutex::new(()),
                changed: watch::Sender::new(0),
                settings,
                state,
                prompts: OnceLock::new(),
                resources: OnceLock::new(),
                notices: OnceLock::new(),
            }),
        }
    }

    /// Returns the box of the functions of prompts.
    pub(super) fn prompt_calls(&self) -> &Self {
        let calls =
            || Self::from_shared(self.shared.settings.of_prompts(), self.shared.state.clone());
        self.shared.prompts.get_or_init(calls)
    }

    /// Returns the box of the functions that read resources.
    pub(super) fn resource_calls(&self) -> &Self {
        let calls =
            || Self::from_shared(self.shared.settings.of_resources(), self.shared.state.clone());
        self.shared.resources.get_or_init(calls)
    }

    /// Returns the box of the functions of prompts, if there ever was a prompt.
    pub(super) fn used_prompt_calls(&self) -> Option<&Self> {
        self.shared.prompts.get().filter(|calls| calls.generation() > 0)
    }

    /// Returns the box of the functions that read resources, if there ever was a resource.
    pub(super) fn used_resource_calls(&self) -> Option<&Self> {
        self.shared.resources.get().filter(|calls| calls.generation() > 0)
    }

    pub(super) fn resource_notices(&self) -> &ResourceNotices {
        self.shared.notices.get_or_init(ResourceNotices::default)
    }

    /// Returns this new box with the prompts and the resources of another, as `copy_prompts` and
    /// `copy_resources` return them, and with the notices of its resources.
    fn beside(
        self,
        other: &Self,
        copy_prompts: impl Fn(&Self) -> Self,
        copy_resources: impl Fn(&Self) -> Self,
    ) -> Self {
        if let Some(prompts) = other.used_prompt_calls() {
            self.shared.prompts.get_or_init(|| copy_prompts(prompts));
        }
        if let Some(resources) = other.used_resource_calls() {
            self.shared.resources.get_or_init(|| copy_resources(resources));
        }
        self.shared.notices.get_or_init(|| other.resource_notices().clone());
        self
    }

    /// Returns a handle that does not keep the box alive, for tools that call others of their own
    /// box.
    #[must_use]
    pub fn downgrade(&self) -> WeakToolBox {
        WeakToolBox(Arc::downgrade(&self.shared))
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.current.load_full()
    }

    /// Makes a change atomically: readers see all of it or nothing.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Snapshot) -> T) -> T {
        let _writer = self.shared.writer.lock();
        let mut next = self.successor();
        let value = change(&mut next);
        self.publish(next);
        value
    }

    fn successor(&self) -> Snapshot {
        self.shared.current.load().successor()
    }

    fn publish(&self, next: Snapshot) {
        let generation = next.generation();
        self.shared.current.store(Arc::new(next));
        self.shared.changed.send_replace(generation);
    }

    /// Adds tools; one whose name is taken replaces the other, at its position.
    ///
    /// Each call makes one new snapshot, so register many tools in one call. A replacement and a
    /// missing state are logged as warnings; [`ToolBox::try_register`] refuses them, and a name
    /// that differs from another only by case. The prompts and resources of a
    /// [`Toolset`](crate::tool::Toolset) are added to those of the box.
    pub fn register(&self, tools: impl IntoTools) {
        let (tools, offers) = tools.into_tools_and_offers();
        self.add_offers(offers);
        for tool in &tools {
            self.warn_of_missing_state(tool);
        }
        self.change(|next| {
            for tool in tools {
                next.put(tool);
            }
        });
    }

    /// Adds a tool of raw parts: a name, a description, a JSON Schema, and a function of the parsed
    /// arguments.
    ///
    /// The schema goes to the model as it is written. The function takes the arguments as a map and
    /// may be a closure, a `Box<dyn Fn ..>` or an `Arc<dyn Fn ..>`; see [`Tool::from_map`].
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use serde_json::{json, Value};
    /// use toolbox::ToolBox;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let registry = ToolBox::new();
    /// registry.register_raw(
    ///     "ping",
    ///     "Check if a host is reachable",
    ///     json!({
    ///         "type": "object",
    ///         "properties": {"host": {"type": "string"}},
    ///         "required": ["host"],
    ///     }),
    ///     Box::new(|args: &HashMap<String, Value>| {
    ///         let host = args["host"].as_str().unwrap_or("");
    ///         Ok::<_, String>(format!("{host} is reachable"))
    ///     }),
    /// );
    /// assert!(registry.has("ping"));
    /// assert_eq!(registry.execute("ping", r#"{"host":"a"}"#).await.unwrap(), "a is reachable");
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have; [`Tool::try_from_map`] takes names from outside
    /// the program.
    #[track_caller]
    pub fn register_raw<Form>(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: serde_json::Value,
        function: impl MapFn<Form>,
    ) {
        self.register(Tool::from_map(name, description, input_schema, function));
    }

    /// Adds tools; the same as [`ToolBox::register`] for an iterator.
    pub fn register_all(&self, tools: impl IntoIterator<Item = Tool>) {
        self.register(tools.into_iter().collect::<Vec<_>>());
    }

    fn warn_of_missing_state(&self, tool: &Tool) {
        if let Some(missing) = self.missing_state(tool).next() {
            tracing::warn!(
                tool = tool.name(),
                state = missing.type_name(),
                "the box lacks a state that the tool needs"
            );
        }
    }

    fn missing_state<'a>(&'a self, tool: &'a Tool) -> impl Iterator<Item = &'a Requirement> + 'a {
        let held = self.shared.state.as_deref();
        let given = &self.shared.settings.call_state;
        tool.requirements()
            .filter(move |requirement| !requirement.is_met_by(held) && !requirement.is_among(given))
    }

    /// Adds tools, or none of them.
    ///
    /// # Errors
    ///
    /// [`RegisterError`] names every tool whose name is taken, also in another case, with the
    /// locations of both, and every state that the box lacks.
    pub fn try_register(&self, tools: impl IntoTools) -> Result<(), RegisterError> {
        let (tools, offers) = tools.into_tools_and_offers();
        if self.shared.settings.journal.is_none() {
            let durable = tools.iter().filter(|tool| tool.inner().running.durable);
            let fault =
                |tool: &Tool| RegisterFault::MissingJournal { tool: tool.name().to_owned() };
            let faults: Vec<_> = durable.map(fault).collect();
            if !faults.is_empty() {
                return Err(RegisterError { faults });
            }
        }
        let added = self.try_add_offers(offers)?;
        self.register_given(tools, |_| false).inspect_err(|_| added.take_back(self))
    }

    /// Adds tools, or none of them; states for which `is_given` returns `true` need not be in the
    /// box.
    pub(crate) fn register_given(
        &self,
        tools: Vec<Tool>,
        is_given: impl Fn(&Requirement) -> bool,
    ) -> Result<(), RegisterError> {
        self.change(|next| {
            let mut trial = next.successor();
            let mut faults = Vec::new();
            for tool in tools {
                faults.extend(trial.clash(&tool).or_else(|| trial.old_name_clash(&tool)));
                faults.extend(self.lacks(&tool, &is_given));
                trial.put_quietly(tool);
            }
            if !faults.is_empty() {
                return Err(RegisterError { faults });
            }
            *next = trial;
            Ok(())
        })
    }

    fn lacks(&self, tool: &Tool, is_given: impl Fn(&Requirement) -> bool) -> Vec<RegisterFault> {
        let missing = self.missing_state(tool).filter(|requirement| !is_given(requirement));
        let fault = |requirement: &Requirement| RegisterFault::MissingState {
            tool: tool.name().to_owned(),
            state: requirement.type_name(),
        };
        missing.map(fault).collect()
    }

    /// Checks that the box has every state that the tools which `may_run` need, except those for
    /// which `is_given` returns `true`.
    pub(crate) fn check_states(
        &self,
        may_run: impl Fn(&Tool) -> bool,
        is_given: impl Fn(&Requirement) -> bool,
    ) -> Result<(), RegisterError> {
        let snapshot = self.snapshot();
        let tools = snapshot.tools().filter(|tool| may_run(tool));
        let faults: Vec<_> = tools.flat_map(|tool| self.lacks(tool, &is_given)).collect();
        if faults.is_empty() { Ok(()) } else { Err(RegisterError { faults }) }
    }

    /// Removes a tool, and returns it if it was there.
    ///
    /// Calls that run already are not affected; the blacklist does not change.
    #[allow(clippy::must_use_candidate, reason = "taking a tool out is enough")]
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        self.change(|next| next.take(name))
    }

    /// Removes tools and adds others, as one change. One that replaces another takes its position,
    /// without a warning.
    pub(crate) fn exchange(&self, is_gone: impl Fn(&Tool) -> bool, tools: Vec<Tool>) {
        if tools.is_empty() && !self.snapshot().tools().any(&is_gone) {
            return;
        }
        self.change(|next| {
            next.remove(&is_gone);
            for tool in tools {
                next.put_quietly(tool);
            }
        });
    }

    /// Copies all tools, prompts and resources of another box into this one; by name, the incoming
    /// ones win.
    ///
    /// The other box keeps its tools. Copies keep the state of the box they come from; its rules,
    /// limits, approver and layers are not copied.
    pub fn merge(&self, other: &ToolBox) {
        self.register(other.tools());
        if let Some(prompts) = other.used_prompt_calls() {
            self.prompt_calls().register(prompts.tools());
        }
        if let Some(resources) = other.used_resource_calls() {
            self.resource_calls().register(resources.tools());
        }
    }

    /// Returns a tool by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.shared.current.load().get(name).map(|entry| entry.tool.clone())
    }

    /// Returns the tool that a call by a name runs: also by an alias of a provider or an old name.
    #[allow(dead_code, reason = "for agents and servers")]
    pub(crate) fn called(&self, name: &str) -> Option<Tool> {
        self.shared.current.load().by_any_name(name).map(|entry| entry.tool.clone())
    }

    /// Returns the tool that a server has under a name; without a server, one that is of none.
    #[allow(dead_code, reason = "for clients and the page")]
    pub(crate) fn at_source(&self, server: Option<&str>, name: &str) -> Option<Tool> {
        let is_meant = |tool: &&Tool| {
            tool.source() == server && tool.name_at_source().unwrap_or(tool.name()) == name
        };
        self.snapshot().tools().find(is_meant).cloned()
    }

    /// Returns `true` if a tool of that name is in the box.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.shared.current.load().get(name).is_some()
    }

    /// Returns the number of tools in the box.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.current.load().len()
    }

    /// Returns `true` if the box has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names of all tools, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.snapshot().tools().map(|tool| tool.name().to_owned()).collect()
    }

    /// Returns the names that tools had before, each with the name of the tool that a call by it
    /// runs, in the order of the tools.
    ///
    /// No other list has them: see [`Tool::replaces`].
    ///
    /// ```
    /// use toolbox::{Tool, ToolBox};
    ///
    /// let toolbox = ToolBox::from(Tool::new("search", "Searches").call(|_| "").replaces(["find"]));
    /// assert_eq!(toolbox.names(), ["search"]);
    /// assert_eq!(toolbox.old_names(), [("find".to_owned(), "search".to_owned())]);
    /// ```
    #[must_use]
    pub fn old_names(&self) -> Vec<(String, String)> {
        self.snapshot().old_names()
    }

    /// Returns all tools, in order, each with the state of this box bound to it.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        let state = self.shared.state.as_deref();
        let bind = |tool: &Tool| match state {
            // A predicate may read any of them.
            Some(state) if tool.is_conditional() || tool.requirements().next().is_some() => {
                tool.clone().bound_to(state)
            }
            _ => tool.clone(),
        };
        self.snapshot().tools().map(bind).collect()
    }

    /// Returns the rules of the box.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(self.shared.current.load().rules())
    }

    /// Returns a number that grows with every change of the box.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.current.load().generation()
    }

    /// Waits until the box has another generation than `seen`, and returns it: at once, if it has
    /// one already.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let toolbox = toolbox::ToolBox::new();
    /// let seen = toolbox.generation();
    /// toolbox.blacklist("rm");
    /// assert!(toolbox.changed_since(seen).await > seen);
    /// # }
    /// ```
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn changed_since(&self, seen: u64) -> u64 {
        let mut generations = self.shared.changed.subscribe();
        // The sender is in the box itself, so it outlives the wait.
        generations.wait_for(|now| *now != seen).await.map_or(seen, |now| *now)
    }

    /// Returns a new box with the tools for which `keep` returns `true`, and with all prompts and
    /// resources, under the limits and rules of this one.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&Tool) -> bool) -> Self {
        self.with_tools(self.tools().into_iter().filter(keep).collect())
    }

    /// Returns a new box with every tool and prompt that is not forbidden under the name
    /// `<prefix>_<name>`, under the limits of this one; resources keep their URIs and rules.
    ///
    /// # Panics
    ///
    /// If such a name is not one that tools may have.
    #[must_use]
    #[track_caller]
    pub fn prefixed(&self, prefix: &str) -> Self {
        let snapshot = self.snapshot();
        // Rules name tools, so the tools that are forbidden by their old names are left out.
        let permitted = self.tools().into_iter().filter(|tool| snapshot.permits(tool.name()));
        let other = Self::from_shared(self.shared.settings.clone(), self.shared.state.clone());
        other.register_all(permitted.map(|tool| tool.prefixed(prefix)));
        other.beside(self, |prompts| prompts.prefixed(prefix), Self::copy)
    }

    /// Returns the state of the box.
    pub(crate) fn shared_state(&self) -> Option<Arc<StateMap>> {
        self.shared.state.clone()
    }

    /// Returns `true` if two handles refer to one box.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns a new box with the limits, the state and the layers of this one, for tools of
    /// `above` as well: they are as hidden as there, and the approver of `above` is used if there
    /// is no other.
    pub(crate) fn empty_below(&self, above: &Self) -> Self {
        let mut settings = self.shared.settings.clone();
        settings.deferred_calls &= above.shared.settings.deferred_calls;
        settings.approver = settings.approver.or_else(|| above.shared.settings.approver.clone());
        Self::from_shared(settings, self.shared.state.clone())
    }

    /// Returns a new box with the tools, prompts and resources of this one, whose results are
    /// neither limited nor kept elsewhere.
    #[allow(dead_code, reason = "for the program")]
    pub(crate) fn with_whole_results(&self) -> Self {
        let mut settings = self.shared.settings.clone();
        (settings.result_bytes, settings.resource_bytes) = (usize::MAX, usize::MAX);
        settings.keeper = None;
        let other = self.copied(settings, self.tools());
        other.beside(self, Self::with_whole_results, Self::with_whole_results)
    }

    /// Returns all tools with the state and the layers of this box, to be called in another.
    pub(crate) fn tools_with_layers(&self) -> Vec<Tool> {
        let layers = &self.shared.settings.layers;
        self.tools().into_iter().map(|tool| tool.within(layers)).collect()
    }

    /// Replaces all tools by these.
    pub(crate) fn replace_tools(&self, tools: Vec<Tool>) {
        self.change(|next| {
            next.clear();
            for tool in tools {
                next.put_quietly(tool);
            }
        });
    }

    /// Returns a new box of the same tools, settings and rules.
    fn copy(&self) -> Self {
        self.with_tools(self.tools())
    }

    fn with_tools(&self, tools: Vec<Tool>) -> Self {
        let other = self.copied(self.shared.settings.clone(), tools);
        other.beside(self, Self::copy, Self::copy)
    }

    /// Returns a new box with these settings and tools, and with the state and rules of this one.
    fn copied(&self, settings: BoxSettings, tools: Vec<Tool>) -> Self {
        let other = Self::from_shared(settings, self.shared.state.clone());
        let rules = Rules::clone(self.snapshot().rules());
        other.change(|next| {
            next.change_rules(|own| *own = rules);
            for tool in tools {
                next.put(tool);
            }
        });
        other
    }
}

/// A handle that does not keep its box alive, for values that the box itself holds.
///
/// ```
/// use toolbox::{Tool, ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let toolbox = ToolBox::new();
/// let own = toolbox.downgrade();
/// let count = move |_: &serde_json::Value| own.upgrade().map_or(0, |toolbox| toolbox.len());
/// toolbox.register(Tool::new("count", "Counts the tools").call(count));
/// assert_eq!(toolbox.call(ToolCall::new("1", "count", "{}")).await.text(), "1");
/// # }
/// ```
#[derive(Clone)]
pub struct WeakToolBox(std::sync::Weak<BoxInner>);

impl fmt::Debug for WeakToolBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakToolBox").finish_non_exhaustive()
    }
}

impl WeakToolBox {
    /// Returns the box, unless it is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<ToolBox> {
        Some(ToolBox { shared: self.0.upgrade()? })
    }
}

impl Default for ToolBox {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes a box of tools that are known at compile time.
///
/// # Panics
///
/// If two tools have one name, but for clones of one tool; the message names the locations of both.
/// [`ToolBox::try_register`] and [`ToolBoxBuilder::build`] return that as an error, for tools from
/// outside the program, and [`ToolBox::register`] lets the later one replace the other.
impl<T: IntoTools> From<T> for ToolBox {
    #[track_caller]
    fn from(tools: T) -> Self {
        let (tools, offers) = tools.into_tools_and_offers();
        let toolbox = Self::new();
        toolbox.add_offers(offers);
        for tool in &tools {
            toolbox.warn_of_missing_state(tool);
        }
        let clash = toolbox.change(|next| {
            let mut clash = None;
            for tool in tools {
                let taken = next.get(tool.name()).filter(|taken| !taken.tool.is_same(&tool));
                clash = clash.or(taken.map(|taken| RegisterFault::NameTaken {
                    name: tool.name().to_owned(),
                    taken: tool.name().to_owned(),
                    first: taken.tool.origin().clone(),
                    second: tool.origin().clone(),
                }));
                clash = clash.or_else(|| next.old_name_clash(&tool));
                next.put_quietly(tool);
            }
            clash
        });
        if let Some(clash) = clash {
            panic!("{clash}");
        }
        toolbox
    }
}

/// Makes a box like `From`, with the same panic.
impl FromIterator<Tool> for ToolBox {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = Tool>>(tools: I) -> Self {
        Self::from(tools.into_iter().collect::<Vec<_>>())
    }
}

impl IntoTools for &ToolBox {
    fn into_tools(self) -> Vec<Tool> {
        self.tools()
    }
}

impl RepeatedTools for ToolBox {
    fn id(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    fn tools(&self) -> Vec<Tool> {
        self.tools()
    }
}

impl fmt::Debug for ToolBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBox").field("tools", &self.names()).finish_non_exhaustive()
    }
}
