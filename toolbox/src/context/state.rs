//! Values by their type, which a program supplies to tools.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use foldhash::fast::FixedState;

/// Values by their type; at most one of each.
#[derive(Clone, Default)]
pub(crate) struct StateMap(HashMap<TypeId, Arc<dyn Any + Send + Sync>, FixedState>);

impl StateMap {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.0.get(&TypeId::of::<T>())
    }

    /// Lends the value that was put in as a `T`.
    pub(super) fn get_ref<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.get::<T>()?.downcast_ref()
    }

    pub(crate) fn holds(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
    }

    /// Returns the value of type `T`, also where it was put in behind an `Arc` or as a [`State`].
    pub(super) fn find<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
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
    pub(super) fn find_ref<T: Send + Sync + 'static>(&self) -> Option<&T> {
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

    pub(super) fn remove<T: Send + Sync + 'static>(&mut self) {
        self.0.remove(&TypeId::of::<T>());
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

/// A value that the program supplies to a tool: a database, a client, the current user.
///
/// Found by its type among the values of the call, then of the tool
/// ([`Tool::with_state`](crate::Tool::with_state)), then of the box
/// ([`ToolBoxBuilder::state`](crate::ToolBoxBuilder::state)), then of the agent that makes the
/// call. A value that was given as an `Arc<T>` or a `State<T>` is found as a `T`. A tool that takes
/// `State<T>` declares its requirement: building a box or an agent without that state fails. Take
/// `Option<State<T>>` if it may be missing. Cloning shares the value.
///
/// ```
/// use toolbox::{tool, tools, State, ToolBox};
///
/// struct Library(Vec<String>);
///
/// /// Counts the books.
/// #[tool]
/// fn count(library: State<Library>) -> usize {
///     library.0.len()
/// }
///
/// assert_eq!(count(State::new(Library(vec!["Dune".to_owned()]))), 1);
/// let library = Library(Vec::new());
/// let toolbox = ToolBox::builder().tools(tools![count]).state(library).build().unwrap();
/// ```
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

/// A state that a tool needs: a type, and its name for messages.
///
/// ```
/// use toolbox::context::Requirement;
/// use toolbox::{FromContext, ToolContext, ToolError};
///
/// struct Database(String);
/// struct Table(String);
///
/// impl FromContext for Table {
///     fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
///         let database = context.state::<Database>().ok_or("there is no database")?;
///         Ok(Self(database.0.clone()))
///     }
///
///     fn requirement() -> Option<Requirement> {
///         Some(Requirement::of::<Database>()) // building a box without it fails
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The type itself, and the two other forms of a value of it.
    ids: [TypeId; 3],
    name: &'static str,
}

impl Requirement {
    /// Returns the requirement of a state of type `T`.
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

    pub(crate) fn is_met_by(&self, values: Option<&StateMap>) -> bool {
        values.is_some_and(|values| self.ids.iter().any(|id| values.holds(*id)))
    }

    /// Returns `true` if a value of one of the types `given` is one of this type.
    pub(crate) fn is_among(&self, given: &[Self]) -> bool {
        given.iter().any(|given| self.ids.contains(&given.ids[0]))
    }
}
