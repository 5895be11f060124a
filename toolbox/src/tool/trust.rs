//! Approval that a tool needs, and the trust in its results.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::tool::Tool;
use crate::context::approval::{Approval, Condition, typed};
use crate::context::taint::ResultSource;
use crate::context::{ApprovalRequest, Decision};

impl Tool {
    /// Returns the tool so that it runs only after somebody's approval.
    ///
    /// The box's approver is asked ([`ToolBoxBuilder::approver`](crate::ToolBoxBuilder::approver)).
    /// A box with none refuses the call, and an agent stops until somebody has decided.
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
    /// `T` is read from the arguments by serde; it may name a few of them. What it cannot read is
    /// denied.
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

    /// Returns the tool so that a call of it runs only after somebody's approval, where `condition`
    /// says so.
    ///
    /// It is asked with arguments that are valid. Where it says yes, or panics, the call goes the
    /// way of [`needs_approval`](Self::needs_approval). Of several conditions one is enough, and a
    /// tool that always needs approval goes on to: an [approver of its own](Self::with_approver)
    /// can judge for itself.
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

    /// Returns the tool so that it needs approval once the model has read what others wrote: see
    /// [`Taint`](crate::context::Taint).
    ///
    /// For tools that reach somebody outside: what sends, posts, pays.
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

    /// Returns the tool as one whose results others wrote: pages, mails, the answers of a server.
    ///
    /// A conversation in which it answered is tainted: see [`Taint`](crate::context::Taint). In
    /// `#[tool]` it is the option `untrusted`.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.inner_mut().running.untrusted = true;
        self
    }

    /// Returns the tool as one whose results the program vouches for, whatever it was declared as.
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

    /// Returns the tool as one whose definition others wrote: a model that reads it has read what
    /// they say.
    ///
    /// A conversation in which it was shown is tainted, whether the model calls the tool or not:
    /// see [`Taint`](crate::context::Taint). Those of mounted MCP servers are such, unless the
    /// server is trusted or somebody approved of them in a lock file.
    #[must_use]
    pub fn with_untrusted_definition(mut self) -> Self {
        self.definition_mut().untrusted = true;
        self
    }

    /// Returns whether others write what the tool returns. An agent may say what its tools
    /// returned, those included that came to its box later.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        repeats_others(self, &mut Vec::new())
    }

    /// Returns what a conversation has to know of the tool, to judge its results.
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
    /// For tools that look things up, such as the search of a wiki. Not for a tool that repeats
    /// what it was told: the model could have it say any URL.
    #[must_use]
    pub fn showing_urls(mut self) -> Self {
        self.inner_mut().running.shows_urls = true;
        self
    }
}

/// Returns whether others write what `tool` returns, or what a tool below it returns.
fn repeats_others(tool: &Tool, seen: &mut Vec<usize>) -> bool {
    let running = &tool.inner().running;
    if running.untrusted {
        return true;
    }
    let Some(below) = running.repeats.as_ref().filter(|below| !seen.contains(&below.id())) else {
        return false;
    };
    seen.push(below.id());
    below.tools().iter().any(|tool| repeats_others(tool, seen))
}
