//! Arguments that the program supplies.

use std::any::type_name;
use std::fmt;

use super::context::ToolContext;
use super::state::{Requirement, State};
use crate::call::ToolError;

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
    label = "no value of the call, the tool or the box makes this",
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

#[diagnostic::do_not_recommend]
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

/// The error of a call whose tool takes a [`State<T>`] that neither the call, the tool nor the box
/// holds.
///
/// It is the [source](crate::ToolResult::source) of the result. The text for the model names the
/// type without its modules. [`ToolBoxBuilder::build`](crate::ToolBoxBuilder::build) and
/// [`ToolBox::try_register`](crate::ToolBox::try_register) report the same before anything is
/// called.
///
/// ```
/// use toolbox::{tool, tools, State, ToolBox, ToolCall};
/// use toolbox::context::MissingStateError;
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

/// Returns a type's name without the modules: `Arc<Store>` for `alloc::sync::Arc<app::Store>`.
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

#[diagnostic::do_not_recommend]
impl<T: FromContext> FromContext for Option<T> {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(T::from_context(context).ok())
    }
}
