//! What the program supplies to a call: identity, state, cancellation.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::approval::Approver;
use crate::cancel::CancellationToken;
use crate::definition::ToolDefinition;
use crate::error::ToolError;
use crate::job::Completion;
use crate::rules::{InvalidRuleError, Rules};
use crate::watch::Watch;

/// Values by their type; at most one of each.
#[derive(Clone, Default)]
pub(crate) struct Values(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Values {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.0.get(&TypeId::of::<T>())
    }

    pub(crate) fn holds(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
    }

    /// Returns the value of type `T`, also where it was put in behind an `Arc` or as a [`State`].
    fn find<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        if self.0.is_empty() {
            return None;
        }
        if let Some(value) = self.get::<T>() {
            return Arc::clone(value).downcast().ok();
        }
        let shared = self.get::<Arc<T>>().and_then(|value| value.downcast_ref::<Arc<T>>());
        let state = || self.get::<State<T>>()?.downcast_ref::<State<T>>().map(|state| &state.0);
        shared.or_else(state).cloned()
    }

    /// Lends the value of type `T`, like [`Self::find`].
    fn find_ref<T: Send + Sync + 'static>(&self) -> Option<&T> {
        if self.0.is_empty() {
            return None;
        }
        if let Some(value) = self.get::<T>() {
            return value.downcast_ref();
        }
        let shared = self.get::<Arc<T>>().and_then(|value| value.downcast_ref::<Arc<T>>());
        let state = || self.get::<State<T>>()?.downcast_ref::<State<T>>().map(|state| &state.0);
        shared.or_else(state).map(AsRef::as_ref)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what `other` holds, unless a value of that type is here already.
    pub(crate) fn fill_from(&mut self, other: &Self) {
        for (id, value) in &other.0 {
            self.0.entry(*id).or_insert_with(|| Arc::clone(value));
        }
    }
}

/// What a tool is told about the call it serves, and what the program gives along with a call.
///
/// The program builds one and passes it to [`ToolBox::call_in`](crate::ToolBox::call_in); the tool takes it as
/// `&ToolContext`, with the id and name of its own call filled in. Values in it belong to one call, so that calls of
/// different users never see each other's. Cloning is cheap but for the call's id.
///
/// ```
/// use toolbox::{tool, Conversation, ToolBox, ToolCall, ToolContext};
///
/// /// Says where the conversation takes place.
/// #[tool]
/// fn place(context: &ToolContext) -> String {
///     context.get::<Conversation>().map_or("nowhere".into(), |place| place.channel.clone())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let toolbox = ToolBox::from(toolbox::tools![place]);
/// let context = ToolContext::new().with(Conversation::new("telegram", "42"));
/// let result = toolbox.call_in(&context, ToolCall::new("1", "place", "{}")).await;
/// assert_eq!(result.text(), "telegram");
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ToolContext {
    pub(crate) call_id: String,
    pub(crate) tool: Option<Arc<ToolDefinition>>,
    pub(crate) given: Option<Arc<Given>>,
    /// State bound to the tool, then state of the box.
    pub(crate) bound: Option<Arc<Values>>,
    pub(crate) state: Option<Arc<Values>>,
    /// Whether somebody gave their word for this very call.
    pub(crate) approved: bool,
}

/// What the program gave with a call.
#[derive(Clone, Default)]
pub(crate) struct Given {
    values: Values,
    /// For what neither the call, nor the tool, nor its box holds.
    fallback: Option<Arc<Values>>,
    cancellation: Option<CancellationToken>,
    deadline: Option<Instant>,
    completions: Option<UnboundedSender<Completion>>,
    /// What may not be called on the way down from here; only grows.
    rules: Option<Arc<Rules>>,
    progress: Option<ProgressSink>,
    watch: Option<Arc<dyn Watch>>,
    /// How many agents are at work above this call.
    depth: u32,
    /// Asked where neither the tool nor the box has an approver.
    approver: Option<Arc<dyn Approver>>,
    /// Whether a call that needs an approval which nobody here gives may wait for it.
    deferrable: bool,
}

type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// How far a call has come, as its tool says.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// How much is done, in a unit of the tool's own; grows from report to report.
    pub done: f64,
    /// How much there is to do, when the tool knows.
    pub total: Option<f64>,
    /// What is being done, in words.
    pub message: Option<String>,
}

impl ToolContext {
    /// Returns a context that gives nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn given(&mut self) -> &mut Given {
        Arc::make_mut(self.given.get_or_insert_default())
    }

    /// Adds a value, replacing another of its type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.given().values.insert(Arc::new(value));
        self
    }

    /// Lets `token` cancel the call: it is answered at once, and the tool's future is dropped.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.given().cancellation = Some(token);
        self
    }

    /// Ends the call at `deadline` at the latest, even where the tool's own timeout would be longer.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        let earlier = self.deadline().map_or(deadline, |own| own.min(deadline));
        self.given().deadline = Some(earlier);
        self
    }

    /// Takes the completions of background tools. Without it, a background tool is waited for like any other.
    #[must_use]
    pub fn with_completions(mut self, completions: UnboundedSender<Completion>) -> Self {
        self.given().completions = Some(completions);
        self
    }

    /// Hands what tools say of their progress to `sink`.
    #[must_use]
    pub fn with_progress(mut self, sink: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.given().progress = Some(Arc::new(sink));
        self
    }

    /// Forbids tools for this call and everything below it: calls that its tool makes in turn, and agents it starts.
    ///
    /// The name may hold `*` for any run of characters. What is forbidden once stays so: nothing further down lifts it.
    ///
    /// # Panics
    ///
    /// If it names no tool, like `""` or `*`; [`ToolContext::try_with_blacklist`] takes names from outside the program.
    #[must_use]
    #[track_caller]
    pub fn with_blacklist(self, name: &str) -> Self {
        match self.try_with_blacklist(name) {
            Ok(context) => context,
            Err(error) => panic!("{error}"),
        }
    }

    /// Forbids tools, like [`ToolContext::with_blacklist`].
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if it names no tool.
    pub fn try_with_blacklist(mut self, name: &str) -> Result<Self, InvalidRuleError> {
        InvalidRuleError::check(name)?;
        Arc::make_mut(self.given().rules.get_or_insert_default()).blacklist(name);
        Ok(self)
    }

    /// Returns whether a tool of that name may be called from here, as far as the program's context says.
    #[must_use]
    pub fn permits(&self, name: &str) -> bool {
        self.rules().is_none_or(|rules| rules.permit(name))
    }

    /// Says how far the call has come; nobody hears it where the caller does not listen.
    pub fn report_progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        let Some(sink) = self.given.as_ref().and_then(|given| given.progress.as_ref()) else {
            return;
        };
        let message = Some(message.into()).filter(|message| !message.is_empty());
        let (call_id, tool) = (self.call_id.clone(), self.tool_name().to_owned());
        sink(Progress { call_id, tool, done, total, message });
    }

    /// Returns how many agents are at work above this call: zero for a call that no agent made.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.given.as_ref().map_or(0, |given| given.depth)
    }

    /// Says that `depth` agents are at work above, some of them perhaps in other processes. It never gets less.
    #[must_use]
    pub fn with_depth(mut self, depth: u32) -> Self {
        let own = self.depth();
        self.given().depth = own.max(depth);
        self
    }

    /// Returns the id of the call, as the model gave it.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the name of the tool; empty outside of a call.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        self.tool.as_ref().map_or("", |definition| &definition.name)
    }

    /// Returns a value that the program gave with this call, as it is, behind an `Arc` or as a [`State`].
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.given.as_ref()?.values.find_ref()
    }

    /// Returns a value of the call, else of the tool, else of the box, else of the agent that makes the call.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        let given = self.given.as_deref();
        let last = given.and_then(|given| given.fallback.as_deref());
        [given.map(|given| &given.values), self.bound.as_deref(), self.state.as_deref(), last]
            .into_iter()
            .flatten()
            .find_map(Values::find)
            .map(State)
    }

    /// Returns the switch that cancels this call, if the program gave one.
    #[must_use]
    pub fn cancellation(&self) -> Option<&CancellationToken> {
        self.given.as_ref()?.cancellation.as_ref()
    }

    /// Returns whether the call was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation().is_some_and(CancellationToken::is_cancelled)
    }

    /// Waits until the call is cancelled; for ever, if nobody can.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn cancelled(&self) {
        match self.cancellation() {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Returns when the call ends at the latest, if the program said so.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.given.as_ref()?.deadline
    }

    /// Returns how much time the program left for the call.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(now()))
    }

    /// Returns the context of a call that ended: it keeps no channel of completions open.
    pub(crate) fn without_completions(&self) -> Self {
        let mut own = self.clone();
        if own.completions().is_some() {
            own.given().completions = None;
        }
        own
    }

    pub(crate) fn rules(&self) -> Option<&Arc<Rules>> {
        self.given.as_ref()?.rules.as_ref()
    }

    pub(crate) fn watch(&self) -> Option<&dyn Watch> {
        self.given.as_ref()?.watch.as_deref()
    }

    pub(crate) fn approver(&self) -> Option<&Arc<dyn Approver>> {
        self.given.as_ref()?.approver.as_ref()
    }

    /// Returns what a call made with this context is given.
    ///
    /// A call that a tool makes in turn cannot wait for a decision: the run would make the call of that tool again.
    #[inline]
    pub(crate) fn given_below(&self) -> Option<Arc<Given>> {
        if self.tool.is_some() && self.is_deferrable() {
            return self.without_deferral().given;
        }
        self.given.clone()
    }

    /// Returns what a call gets that is made in the place of this one.
    #[cfg(feature = "search")]
    pub(crate) fn in_its_place(&self) -> Self {
        Self { tool: None, ..self.clone() }
    }

    /// Returns the context of a call that nobody waits for, or nobody who could go on with it later.
    #[cold]
    pub(crate) fn without_deferral(&self) -> Self {
        let mut own = self.clone();
        own.given().deferrable = false;
        own
    }

    pub(crate) fn is_deferrable(&self) -> bool {
        self.given.as_ref().is_some_and(|given| given.deferrable)
    }

    pub(crate) fn completions(&self) -> Option<&UnboundedSender<Completion>> {
        self.given.as_ref()?.completions.as_ref()
    }
}

/// What a schedule keeps of the context it was created in.
#[cfg(feature = "schedule")]
impl ToolContext {
    /// Returns the names that may not be called from here, as they were given.
    pub(crate) fn denied(&self) -> Vec<String> {
        self.rules().map(|rules| rules.blacklisted()).unwrap_or_default()
    }

    pub(crate) fn with_denied(mut self, names: &[String]) -> Self {
        let rules = Arc::make_mut(self.given().rules.get_or_insert_default());
        for name in names {
            rules.blacklist(name);
        }
        self
    }
}

/// What an agent adds to the context of its calls.
#[cfg(feature = "agent")]
impl ToolContext {
    pub(crate) fn with_watch(mut self, watch: Arc<dyn Watch>) -> Self {
        self.given().watch = Some(watch);
        self
    }

    /// Sets the values for what neither the call, nor the tool, nor its box holds, in place of those of an agent above, or
    /// before them.
    pub(crate) fn with_fallback(mut self, values: Option<&Arc<Values>>, inherits: bool) -> Self {
        let above = self.given().fallback.take().filter(|_| inherits);
        self.given().fallback = match (values, above) {
            (Some(own), Some(above)) => {
                let mut own = Values::clone(own);
                own.fill_from(&above);
                Some(Arc::new(own))
            }
            (own, above) => own.cloned().or(above),
        };
        self
    }

    pub(crate) fn with_deferral(mut self) -> Self {
        self.given().deferrable = true;
        self
    }

    /// Adds a value that somebody else holds as well.
    pub(crate) fn with_shared<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.given().values.insert(value);
        self
    }

    pub(crate) fn with_shared_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.given().approver = Some(approver);
        self
    }

    /// Returns what an agent starts from that a call of this context starts: all that was given, and nothing of the call.
    pub(crate) fn for_agent_below(&self) -> Self {
        Self { given: self.given.clone(), ..Self::default() }
    }

    /// Adds rules to those that travel already.
    pub(crate) fn with_rules(mut self, rules: &Rules) -> Self {
        Arc::make_mut(self.given().rules.get_or_insert_default()).extend(rules);
        self
    }
}

/// Returns the time by the clock of the runtime, which a test may pause.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call_id", &self.call_id)
            .field("tool", &self.tool_name())
            .finish_non_exhaustive()
    }
}

/// Where a conversation takes place: the usual value given with a call.
///
/// ```
/// let place = toolbox::Conversation::new("telegram", "42");
/// assert_eq!((place.channel.as_str(), place.chat_id.as_str()), ("telegram", "42"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Conversation {
    /// Such as `telegram` or `cli`.
    pub channel: String,
    /// Which of the channel's conversations.
    pub chat_id: String,
}

impl Conversation {
    /// Returns a conversation from its channel and its id there.
    pub fn new(channel: impl Into<String>, chat_id: impl Into<String>) -> Self {
        Self { channel: channel.into(), chat_id: chat_id.into() }
    }
}

/// A value that the program supplies to a tool: a database, a client, the current user.
///
/// Found by its type among the values of the call, then of the tool
/// ([`Tool::with_state`](crate::Tool::with_state)), then of the box
/// ([`ToolBoxBuilder::state`](crate::ToolBoxBuilder::state)), then of the agent that makes the call. A value that was given as
/// an `Arc<T>` or a `State<T>` is found as a `T`. A tool that takes `State<T>` names its need: a box or an agent that lacks it
/// says so when it is built. Take `Option<State<T>>` where it may be missing. Cloning shares the value.
#[derive(Debug)]
pub struct State<T: ?Sized>(Arc<T>);

impl<T> State<T> {
    /// Returns a state that holds `value`, as a test passes it to a tool's function.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T: ?Sized> State<T> {
    /// Returns the shared value.
    #[must_use]
    pub fn into_inner(self) -> Arc<T> {
        self.0
    }
}

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> From<Arc<T>> for State<T> {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

/// A type of argument that the program supplies, and the model never sees.
///
/// Implement it to take such a value by its own name:
///
/// ```
/// use toolbox::{tool, FromContext, ToolContext, ToolError};
///
/// struct User(String);
///
/// impl FromContext for User {
///     fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
///         context.get::<String>().cloned().map(User).ok_or_else(|| "nobody is signed in".into())
///     }
/// }
///
/// /// Greets whoever is signed in.
/// #[tool]
/// fn greet(user: User) -> String {
///     format!("Hello, {}!", user.0)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be supplied by the program",
    note = "implement `toolbox::FromContext` for `{Self}`, or take `State<{Self}>`"
)]
pub trait FromContext: Sized {
    /// Returns the value for one call.
    ///
    /// # Errors
    ///
    /// A [`ToolError`] ends the call before the tool runs; its text goes to the model.
    fn from_context(context: &ToolContext) -> Result<Self, ToolError>;

    /// Returns the state that a box must hold for this to succeed, if it needs one.
    #[must_use]
    fn requirement() -> Option<Requirement> {
        None
    }
}

impl<T: Send + Sync + 'static> FromContext for State<T> {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        context.state().ok_or_else(|| {
            let error =
                MissingStateError { tool: context.tool_name().to_owned(), state: type_name::<T>() };
            let message = format!(
                "tool `{}` is not available here: the program supplies no `State<{}>`",
                error.tool,
                short_name(error.state)
            );
            ToolError::infrastructure(error).with_message(message)
        })
    }

    fn requirement() -> Option<Requirement> {
        Some(Requirement::of::<T>())
    }
}

/// The error of a call whose tool takes a [`State<T>`] that neither the call, the tool nor the box holds.
///
/// It is the [source](crate::ToolResult::source) of the result. The text for the model names the type without its modules.
/// [`ToolBoxBuilder::build`](crate::ToolBoxBuilder::build) and [`ToolBox::try_register`](crate::ToolBox::try_register) report
/// the same before anything is called.
///
/// ```
/// use toolbox::{tool, tools, MissingStateError, State, ToolBox, ToolCall};
///
/// struct Store;
///
/// /// Counts what is stored.
/// #[tool]
/// fn count(store: State<Store>) -> u32 {
///     0
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let result = ToolBox::from(tools![count]).call(ToolCall::new("1", "count", "{}")).await;
/// let error = result.source().and_then(|error| error.downcast_ref::<MissingStateError>()).unwrap();
/// assert!(error.type_name().ends_with("::Store"));
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingStateError {
    tool: String,
    state: &'static str,
}

impl MissingStateError {
    /// Returns the name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the full name of the type that the tool takes as `State<..>`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.state
    }
}

impl fmt::Display for MissingStateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tool `{}` needs the state `{}`: give it to the box with `ToolBox::builder().state(..)`, to the tool with \
             `with_state(..)` or to the call with `ToolContext::with(..)`",
            self.tool, self.state
        )
    }
}

impl std::error::Error for MissingStateError {}

/// A type's name without the modules: `Arc<Store>` for `alloc::sync::Arc<app::Store>`.
fn short_name(name: &str) -> String {
    let mut short = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = match behind.strip_prefix("::") {
            Some(behind) => behind,
            None => {
                short.push_str(word);
                behind
            }
        };
        if end == 0 {
            short.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    short
}

impl<T: FromContext> FromContext for Option<T> {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(T::from_context(context).ok())
    }
}

/// A state that a tool needs: a type, and its name for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The type itself, and the two forms in which a value of it may be given as well.
    ids: [TypeId; 3],
    name: &'static str,
}

impl Requirement {
    /// Returns the need for a state of type `T`.
    #[must_use]
    pub fn of<T: Send + Sync + 'static>() -> Self {
        let ids = [TypeId::of::<T>(), TypeId::of::<Arc<T>>(), TypeId::of::<State<T>>()];
        Self { ids, name: type_name::<T>() }
    }

    /// Returns the name of the type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn is_met_by(&self, values: Option<&Values>) -> bool {
        values.is_some_and(|values| self.ids.iter().any(|id| values.holds(*id)))
    }

    /// Returns whether a value of one of the types `given` is one of this type.
    pub(crate) fn is_among(&self, given: &[Self]) -> bool {
        given.iter().any(|given| self.ids.contains(&given.ids[0]))
    }
}
