//! What the program supplies to a call: identity, state, cancellation.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::cancel::CancellationToken;
use crate::definition::ToolDefinition;
use crate::error::ToolError;
use crate::job::Completion;

/// Values by their type; at most one of each.
#[derive(Clone, Default)]
pub(crate) struct Values(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Values {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.0.get(&TypeId::of::<T>())
    }

    pub(crate) fn holds(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
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
}

/// What the program gave with a call.
#[derive(Clone, Default)]
pub(crate) struct Given {
    values: Values,
    cancellation: Option<CancellationToken>,
    deadline: Option<Instant>,
    completions: Option<UnboundedSender<Completion>>,
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

    /// Returns a value that the program gave with this call.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.given.as_ref()?.values.get::<T>()?.downcast_ref()
    }

    /// Returns a value of the call, else of the tool, else of the box.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        let given = self.given.as_ref().map(|given| &given.values);
        [given, self.bound.as_deref(), self.state.as_deref()]
            .into_iter()
            .flatten()
            .find_map(|values| values.get::<T>())
            .and_then(|value| Arc::clone(value).downcast().ok())
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
        self.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns the context of a call that ended: it keeps no channel of completions open.
    pub(crate) fn without_completions(&self) -> Self {
        let mut own = self.clone();
        if own.completions().is_some() {
            own.given().completions = None;
        }
        own
    }

    pub(crate) fn completions(&self) -> Option<&UnboundedSender<Completion>> {
        self.given.as_ref()?.completions.as_ref()
    }
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
/// ([`ToolBoxBuilder::state`](crate::ToolBoxBuilder::state)). A tool that takes `State<T>` names its need: a box that
/// lacks it says so when it is built. Take `Option<State<T>>` where it may be missing. Cloning shares the value.
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
            ToolError::infrastructure(format!(
                "tool `{}` needs the state `{}`, which its box does not hold",
                context.tool_name(),
                type_name::<T>()
            ))
            .with_message(format!("tool `{}` is not available here", context.tool_name()))
        })
    }

    fn requirement() -> Option<Requirement> {
        Some(Requirement::of::<T>())
    }
}

impl<T: FromContext> FromContext for Option<T> {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(T::from_context(context).ok())
    }
}

/// A state that a tool needs: a type, and its name for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    id: TypeId,
    name: &'static str,
}

impl Requirement {
    /// Returns the need for a state of type `T`.
    #[must_use]
    pub fn of<T: Send + Sync + 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// Returns the name of the type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn is_met_by(&self, values: Option<&Values>) -> bool {
        values.is_some_and(|values| values.holds(self.id))
    }
}
