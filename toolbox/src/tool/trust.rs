//! Approval that a tool needs, and the trust in its results.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::tool::{RepeatedTools, Tool};
use crate::context::approval::{Approval, Condition, typed};
use crate::context::taint::ResultSource;
use crate::context::{ApprovalRequest, Decision};

impl Tool {
    /// Returns the tool so that it runs only after approval.
    ///
    /// The box's approver is asked ([`ToolBoxBuilder::approver`](crate::ToolBoxBuilder::approver)).
    /// A box without an approver refuses the call, and an agent pauses until there is a decision.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        let approval = &mut self.inner_mut().running.approval;
        if !matches!(approval, Approval::Own(_)) {
            *approval = Approval::OfBox;
        }
        self
    }

    /// Returns the tool so that it runs only as a rule about its arguments decides.
    ///
    /// `T` is deserialized by serde from the arguments as the model wrote them; it may have only
    /// some of them, and takes a time as text. A call whose arguments it cannot read is denied.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolbox::context::Decision;
    /// use toolbox::tool;
    ///
    /// /// Sends money.
    /// #[tool]
    /// fn pay(to: &str, cents: u64) -> String {
    ///     format!("{to} got {cents}")
    /// }
    ///
    /// #[derive(Deserialize)]
    /// struct Payment {
    ///     cents: u64,
    /// }
    ///
    /// let tool = pay::tool().with_approval_rule(|payment: Payment, _request| async move {
    ///     if payment.cents <= 1_000 { Decision::Approve } else { Decision::Defer }
    /// });
    /// ```
    #[must_use]
    pub fn with_approval_rule<T, F, Fut>(self, rule: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(T, ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Decision> + Send + 'static,
    {
        self.with_approver(typed(rule))
    }

    /// Returns the tool so that a call of it runs only after approval, if `condition` returns
    /// `true`.
    ///
    /// It is called with valid arguments only. If it returns `true`, or panics, the call is handled
    /// as by [`needs_approval`](Self::needs_approval). One of several conditions is enough, and a
    /// tool that always needs approval still does: an [approver of its own](Self::with_approver)
    /// can decide by itself.
    ///
    /// ```
    /// use toolbox::{tool, ToolBox, ToolCall};
    ///
    /// /// Deletes a file.
    /// #[tool]
    /// fn delete(path: &str) -> String {
    ///     format!("deleted {path}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let tool = delete::tool().needs_approval_if(|request| !request.arguments.as_str().contains("/tmp/"));
    /// let toolbox = ToolBox::from(tool);
    /// let delete = async |path: &str| {
    ///     let arguments = format!(r#"{{"path":"{path}"}}"#);
    ///     toolbox.call(ToolCall::new("1", "delete", arguments)).await.into_text()
    /// };
    /// assert_eq!(delete("/tmp/a").await, "deleted /tmp/a");
    /// assert_eq!(
    ///     delete("/home/a").await,
    ///     "tool `delete` needs approval, and nobody here can give it",
    /// );
    /// # }
    /// ```
    #[must_use]
    pub fn needs_approval_if(
        self,
        condition: impl Fn(&ApprovalRequest) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with_condition(Condition { holds: Arc::new(condition), advice: "" })
    }

    /// Returns the tool so that it needs approval once the model has read untrusted text: see
    /// [`Taint`](crate::context::Taint).
    ///
    /// For tools with an effect outside: sending, posting, paying.
    #[must_use]
    pub fn needs_approval_while_tainted(self) -> Self {
        self.needs_approval_if(ApprovalRequest::is_tainted)
    }

    pub(crate) fn with_condition(mut self, condition: Condition) -> Self {
        let approval = &mut self.inner_mut().running.approval;
        match approval {
            Approval::None => *approval = Approval::If(vec![condition]),
            Approval::If(conditions) => conditions.push(condition),
            Approval::OfBox | Approval::Own(_) => {}
        }
        self
    }

    /// Returns the tool as one whose results come from untrusted sources: pages, mails, the answers
    /// of a server.
    ///
    /// A conversation that contains a result of it is tainted: see
    /// [`Taint`](crate::context::Taint). In `#[tool]` it is the option `untrusted`.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.inner_mut().running.untrusted = true;
        self
    }

    /// Returns the tool as one whose results the program trusts, whatever it was declared as.
    #[must_use]
    pub fn trusted(mut self) -> Self {
        if self.definition().untrusted {
            self.definition_mut().untrusted = false;
        }
        let running = &mut self.inner_mut().running;
        running.untrusted = false;
        running.repeats = None;
        self
    }

    /// Returns the tool as one whose definition comes from an untrusted source, which a model reads
    /// too.
    ///
    /// A conversation in which it is offered is tainted, even if the model does not call the tool:
    /// see [`Taint`](crate::context::Taint). Definitions of mounted MCP servers are untrusted,
    /// unless the server is trusted or they are approved in a lock file.
    #[must_use]
    pub fn with_untrusted_definition(mut self) -> Self {
        self.definition_mut().untrusted = true;
        self
    }

    /// Returns `true` if the tool's results come from untrusted sources. Those of an agent do if
    /// the results of one of its tools do, including tools added to its box later.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        repeats_others(self, &mut Vec::new())
    }

    /// Returns the facts about the tool by which a conversation judges its results.
    pub(crate) fn as_source(&self) -> ResultSource<'_> {
        let shows_urls = self.inner().running.shows_urls;
        ResultSource {
            definition: self.definition(),
            is_untrusted: self.is_untrusted(),
            shows_urls,
        }
    }

    /// Returns the tool so that a URL in its results counts as shown: `http_fetch` fetches it
    /// without approval even in a conversation that is [tainted](crate::context::Taint).
    ///
    /// For tools that look things up, such as the search of a wiki. Not for a tool that repeats its
    /// arguments: the model could have it return any URL.
    #[must_use]
    pub fn showing_urls(mut self) -> Self {
        self.inner_mut().running.shows_urls = true;
        self
    }
}

/// Returns `true` if the results of `tool`, or of a tool below it, come from untrusted sources.
fn repeats_others(tool: &Tool, seen: &mut Vec<usize>) -> bool {
    let running = &tool.inner().running;
    if running.untrusted {
        return true;
    }
    running.repeats.as_ref().is_some_and(|below| any_repeats_others(&**below, seen))
}

/// Returns `true` if the results of one of the tools come from untrusted sources, or of one of an
/// agent that takes a conversation over from theirs.
fn any_repeats_others(tools: &dyn RepeatedTools, seen: &mut Vec<usize>) -> bool {
    if seen.contains(&tools.id()) {
        return false;
    }
    seen.push(tools.id());
    tools.tools().iter().any(|tool| {
        let next = tool.inner().running.hands_over.as_ref();
        repeats_others(tool, seen)
            || next.is_some_and(|next| next.inherits || any_repeats_others(&*next.tools, seen))
    })
}
