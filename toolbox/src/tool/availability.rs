//! Tools that are available where their predicates hold.

use std::sync::Arc;

use super::Tool;
use crate::context::availability::Availability;
use crate::context::{StateMap, ToolContext};

impl Tool {
    /// Returns the tool so that it is there only where `predicate` returns `true` for the context
    /// of the caller.
    ///
    /// Elsewhere it is in no list that a model or a client receives, no search finds it, a call is
    /// answered as one of a tool that does not exist, and no message names it. The predicate is
    /// asked for each list and each call, with the values of the caller and the states of the tool
    /// and its box; without a context, as for [`ToolBox::call`](crate::ToolBox::call), with an
    /// empty one. It should be quick, and does not wait. A panic in it counts as `false`. Several
    /// predicates of one tool all have to hold.
    ///
    /// Clients are told of lists that changed when the box does, or when the program calls
    /// [`ToolBox::availability_changed`](crate::ToolBox::availability_changed). Names, schemas and
    /// the [contract](crate::testing::contract) of a box hold its tools whether available or not.
    ///
    /// ```
    /// use toolbox::context::Principal;
    /// use toolbox::{Tool, ToolBox, ToolCall, ToolContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let delete = Tool::new("delete", "Deletes all").call(|_| "deleted").available_if(|context| {
    ///     context.get::<Principal>().is_some_and(|user| user.as_str() == "root")
    /// });
    /// let toolbox = ToolBox::from(delete);
    /// let root = ToolContext::new().with(Principal::new("root"));
    /// assert_eq!(toolbox.definitions_in(&root).len(), 1);
    /// let guest = ToolContext::new().with(Principal::new("guest"));
    /// assert_eq!(toolbox.definitions_in(&guest).len(), 0);
    /// let result = toolbox.call_in(&guest, ToolCall::new("1", "delete", "{}")).await;
    /// assert_eq!(result.text(), "tool not found: delete");
    /// # }
    /// ```
    #[must_use]
    pub fn available_if(
        self,
        predicate: impl Fn(&ToolContext) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.available_like(&Availability::new(predicate))
    }

    /// Returns the tool with a predicate that it shares with others.
    pub(crate) fn available_like(mut self, other: &Availability) -> Self {
        self.inner_mut().running.available.extend(other);
        self
    }

    /// Returns `true` if some predicate says to whom the tool is available.
    pub(crate) fn is_conditional(&self) -> bool {
        !self.inner().running.available.is_empty()
    }

    /// Returns `true` if the tool is available to a caller, in a box with these states.
    pub(crate) fn is_available(
        &self,
        context: &ToolContext,
        state: Option<&Arc<StateMap>>,
    ) -> bool {
        let running = &self.inner().running;
        if running.available.is_empty() {
            return true;
        }
        let asked = ToolContext {
            call_id: String::new(),
            tool: Some(Arc::clone(self.shared_definition().arc())),
            bound: running.state.clone(),
            state: state.cloned(),
            ..context.clone()
        };
        running.available.holds(&asked, self.name())
    }
}
