//! The principal that a call is made for.

use super::context::ToolContext;
use super::from_context::FromContext;
use crate::call::ToolError;

/// The principal a call is made for: a user, a team, a tenant.
///
/// Stored data belongs to a principal, and no principal sees that of another. The program names it
/// with each call ([`ToolContext::with`]) or for a whole box
/// ([`ToolBoxBuilder::state`](crate::ToolBoxBuilder::state)); a model cannot, for it is no
/// argument. A server that authenticates clients by a token derives it from that token
/// (`mcp::Service::bearer_token_of`, `mcp::Service::token_verifier`). Calls without a principal
/// share the default one.
///
/// ```
/// use toolbox::ToolContext;
/// use toolbox::context::Principal;
///
/// let context = ToolContext::new().with(Principal::new("user-17"));
/// assert_eq!(Principal::of(&context).as_str(), "user-17");
/// assert_eq!(Principal::of(&ToolContext::new()), Principal::default());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Principal(String);

impl Principal {
    /// Returns a principal by an id that the program chose, and that is unique to it.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the principal of a call.
    #[must_use]
    pub fn of(context: &ToolContext) -> Self {
        context.state::<Self>().map_or_else(Self::default, |own| (*own).clone())
    }

    /// Returns its id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[diagnostic::do_not_recommend]
impl FromContext for Principal {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(Self::of(context))
    }
}
