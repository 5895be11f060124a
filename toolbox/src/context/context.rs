//! The context of a call.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call_taint::CallTaint;
use super::cancellation::CancellationToken;
use super::progress::{Progress, ProgressSink};
use super::rules::{InvalidRuleError, Rules, ToolRule};
use super::state::{State, StateMap};
use super::taint::Taint;
use crate::definition::ToolDefinition;

/// The context of a call: its id, and the values, limits and handles that the program passes with
/// it.
///
/// The program builds one and passes it to [`ToolBox::call_in`](crate::ToolBox::call_in); the tool
/// takes it as `&ToolContext`, with the id and name of its own call filled in. Values in it belong
/// to one call, so that calls of different users never see each other's. Cloning is cheap but for
/// the call's id.
///
/// ```
/// use toolbox::{tool, ToolBox, ToolCall, ToolContext};
/// use toolbox::context::Conversation;
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
    /// The line of the calling script.
    pub(crate) line: Option<u32>,
    pub(crate) tool: Option<Arc<ToolDefinition>>,
    pub(crate) values: Option<Arc<CallValues>>,
    /// State bound to the tool, then state of the box.
    pub(crate) bound: Option<Arc<StateMap>>,
    pub(crate) state: Option<Arc<StateMap>>,
    /// `true` if this very call was approved.
    pub(crate) approved: bool,
    /// `true` if a large result of this very call is kept by the box of its caller.
    pub(crate) whole: bool,
    /// What the call met, in the context of a call.
    pub(crate) taint: Option<CallTaint>,
}

/// The URI that is being read.
struct ResourceUri(String);

/// The values, limits and handles that the program passed with a call.
#[derive(Clone, Default)]
pub(crate) struct CallValues {
    values: StateMap,
    /// Values of other modules of this crate, by type; not visible to tools.
    extensions: StateMap,
    /// State for types that neither the call, nor the tool, nor its box has.
    fallback: Option<Arc<StateMap>>,
    cancellation: Option<CancellationToken>,
    deadline: Option<Instant>,
    /// Rules for the tools called from here down; they are only ever added to.
    rules: Option<Arc<Rules>>,
    progress: Option<ProgressSink>,
    /// The observer of the calls from here down.
    observer: Option<Arc<dyn Any + Send + Sync>>,
    /// The number of agents that run above this call.
    depth: u32,
    /// `true` if a call without its approval may be deferred until it is decided.
    deferrable: bool,
}

/// A context for handlers that do not read theirs.
pub(crate) static UNUSED_CONTEXT: ToolContext = ToolContext {
    call_id: String::new(),
    line: None,
    tool: None,
    values: None,
    bound: None,
    state: None,
    approved: false,
    whole: false,
    taint: None,
};

impl ToolContext {
    /// Returns a context without values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn values_mut(&mut self) -> &mut CallValues {
        Arc::make_mut(self.values.get_or_insert_default())
    }

    /// Adds a value, replacing another of its type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.values_mut().values.insert(Arc::new(value));
        self.leave_conversation();
        self
    }

    /// Finds the taint of the conversation anew, which a new value may be.
    fn leave_conversation(&mut self) {
        if let Some(call) = &mut self.taint {
            call.leave();
        }
    }

    /// Lets `token` cancel the call: it is answered at once, and the tool's future is dropped.
    #[must_use]
    pub fn with_cancellation(mut self, token: impl Into<CancellationToken>) -> Self {
        self.values_mut().cancellation = Some(token.into());
        self
    }

    /// Ends the call at `deadline` at the latest, even where the tool's own timeout would be
    /// longer.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        let earlier = self.deadline().map_or(deadline, |own| own.min(deadline));
        self.values_mut().deadline = Some(earlier);
        self
    }

    /// Passes the progress that tools report to `sink`.
    #[must_use]
    pub fn with_progress(mut self, sink: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.values_mut().progress = Some(Arc::new(sink));
        self
    }

    /// Forbids tools for this call and everything below it: calls that its tool makes in turn, and
    /// agents it starts.
    ///
    /// The name may hold `*` for any run of characters; `tag:write` names the tools with a tag.
    /// What is forbidden once stays so: nothing further down lifts it.
    ///
    /// # Panics
    ///
    /// If it names no tool, like `""` or `*`; [`ToolContext::try_with_blacklist`] takes names from
    /// outside the program.
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
        Arc::make_mut(self.values_mut().rules.get_or_insert_default())
            .blacklist(ToolRule::new(name));
        Ok(self)
    }

    /// Returns `true` if the rules of this context allow calls of a tool of that name; rules by
    /// tags say nothing of a name.
    #[must_use]
    pub fn permits(&self, name: &str) -> bool {
        self.rules().is_none_or(|rules| rules.permit(name))
    }

    /// Returns `true` if the rules of this context allow calls of a tool, by its name and its old
    /// ones.
    pub(crate) fn permits_tool(&self, tool: &ToolDefinition) -> bool {
        self.rules().is_none_or(|rules| rules.permit_tool(tool))
    }

    /// Returns the sink of reports of progress.
    pub(crate) fn progress_sink(&self) -> Option<&ProgressSink> {
        self.values.as_ref()?.progress.as_ref()
    }

    /// Returns the observer of the calls made under this context, as it was set.
    pub(super) fn set_observer(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.values.as_ref()?.observer.as_deref()
    }

    pub(super) fn setting_observer(mut self, observer: Arc<dyn Any + Send + Sync>) -> Self {
        self.values_mut().observer = Some(observer);
        self
    }

    /// Returns the number of agents that run above this call: zero for a call that no agent made.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.values.as_ref().map_or(0, |values| values.depth)
    }

    /// Sets the number of agents that run above, some of them perhaps in other processes. It never
    /// decreases.
    #[must_use]
    pub fn with_depth(mut self, depth: u32) -> Self {
        let own = self.depth();
        self.values_mut().depth = own.max(depth);
        self
    }

    /// Returns the id of the call, as the model sent it.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the line of the script at which the call stands, from 1, if a script makes it: see
    /// [`ToolCall::at_line`](crate::ToolCall::at_line).
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// Returns the name of the tool; empty outside of a call.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        self.tool.as_ref().map_or("", |definition| &definition.name)
    }

    /// Returns a value that the program passed with this call, by itself, behind an `Arc` or as a
    /// [`State`].
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let found = self.values.as_ref()?.values.find_ref()?;
        Some(self.own_taint(found).unwrap_or(found))
    }

    /// Returns the taint that the maker of the call passed.
    pub(super) fn conversation_taint(&self) -> Option<&Taint> {
        self.values.as_ref()?.values.find_ref()
    }

    /// Returns a value of the call, else of the tool, else of the box, else of the agent that makes
    /// the call.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        let passed = self.values.as_deref();
        let last = passed.and_then(|values| values.fallback.as_deref());
        let passed = passed.map(|passed| &passed.values);
        for values in [passed, self.bound.as_deref(), self.state.as_deref(), last] {
            if let Some(found) = values.and_then(StateMap::find::<T>) {
                return Some(self.own_state(&*found).unwrap_or_else(|| State::from(found)));
            }
        }
        None
    }

    /// Returns the state of the agent that makes the call.
    pub(super) fn fallback_state(&self) -> Option<&StateMap> {
        self.values.as_ref()?.fallback.as_deref()
    }

    /// Returns the token that cancels this call, for what the handler starts; a new one that nobody
    /// cancels, if the program set none.
    ///
    /// A handler need not look at it: a call that is cancelled is dropped where it waits. A call
    /// that ends by its timeout does not cancel the token.
    ///
    /// ```
    /// use toolbox::{tool, ToolContext};
    ///
    /// /// Counts in the background.
    /// #[tool]
    /// fn start(context: &ToolContext) {
    ///     let token = context.cancellation();
    ///     tokio::spawn(async move {
    ///         while !token.is_cancelled() {
    ///             tokio::task::yield_now().await;
    ///         }
    ///     });
    /// }
    /// ```
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.given_cancellation().cloned().unwrap_or_default()
    }

    /// Returns the token that the program set.
    pub(crate) fn given_cancellation(&self) -> Option<&CancellationToken> {
        self.values.as_ref()?.cancellation.as_ref()
    }

    /// Returns `true` if the call was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.given_cancellation().is_some_and(CancellationToken::is_cancelled)
    }

    /// Waits until the call is cancelled; for ever, if it has no token.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn cancelled(&self) {
        match self.given_cancellation() {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Returns the deadline of the call, if the program set one.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.values.as_ref()?.deadline
    }

    /// Returns the time until the deadline of the call.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(now()))
    }

    pub(crate) fn rules(&self) -> Option<&Arc<Rules>> {
        self.values.as_ref()?.rules.as_ref()
    }

    /// Returns the values for a call that is made with this context.
    ///
    /// A call that a tool makes in turn cannot wait for a decision: the run would make the call of
    /// that tool again.
    #[inline]
    pub(crate) fn values_below(&self) -> Option<Arc<CallValues>> {
        if self.tool.is_some() && self.is_deferrable() {
            return self.clone().without_deferral().values;
        }
        self.values.clone()
    }

    /// Returns the context of a call that replaces this one.
    pub(crate) fn in_its_place(&self) -> Self {
        Self { tool: None, ..self.clone() }
    }

    /// Returns the context of a call that cannot be deferred, since no run waits for it that could
    /// resume it.
    #[cold]
    pub(crate) fn without_deferral(mut self) -> Self {
        self.values_mut().deferrable = false;
        self
    }

    pub(crate) fn is_deferrable(&self) -> bool {
        self.values.as_ref().is_some_and(|values| values.deferrable)
    }

    /// Returns a value that another module of this crate added.
    pub(crate) fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.as_ref()?.extensions.get_ref()
    }

    pub(crate) fn with_extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.values_mut().extensions.insert(Arc::new(value));
        self
    }

    /// Returns the URI that is being read, in the function of a resource.
    #[must_use]
    pub fn resource_uri(&self) -> Option<&str> {
        self.extension::<ResourceUri>().map(|ResourceUri(uri)| uri.as_str())
    }

    pub(crate) fn with_resource_uri(self, uri: &str) -> Self {
        self.with_extension(ResourceUri(uri.to_owned()))
    }

    /// Returns the context without the extension of type `T`.
    pub(crate) fn without_extension<T: Send + Sync + 'static>(mut self) -> Self {
        if self.extension::<T>().is_some() {
            self.values_mut().extensions.remove::<T>();
        }
        self
    }

    /// Sets the state for types that neither the call, nor the tool, nor its box has, in place of
    /// that of an agent above, or before it.
    pub(crate) fn with_fallback(mut self, values: Option<&Arc<StateMap>>, inherits: bool) -> Self {
        let above = self.values_mut().fallback.take().filter(|_| inherits);
        self.values_mut().fallback = match (values, above) {
            (Some(own), Some(above)) => {
                let mut own = StateMap::clone(own);
                own.fill_from(&above);
                Some(Arc::new(own))
            }
            (own, above) => own.cloned().or(above),
        };
        self
    }

    pub(crate) fn with_deferral(mut self) -> Self {
        self.values_mut().deferrable = true;
        self
    }

    /// Adds a value that is shared with its other owners.
    pub(crate) fn with_shared<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.values_mut().values.insert(value);
        self.leave_conversation();
        self
    }

    /// Returns the context with the state of a box.
    pub(crate) fn with_state_of(mut self, state: Option<Arc<StateMap>>) -> Self {
        self.state = state;
        self
    }

    /// Adds rules to those of the context.
    pub(crate) fn with_rules(mut self, rules: &Rules) -> Self {
        Arc::make_mut(self.values_mut().rules.get_or_insert_default()).extend(rules);
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
