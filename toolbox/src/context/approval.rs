//! Approval of calls before their tools run.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::context::ToolContext;
use crate::call::Arguments;
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;

/// A request for approval: a call whose arguments are valid.
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The context of the call: its id, the conversation.
    pub context: ToolContext,
    /// The arguments, as the model wrote them.
    pub arguments: Arguments,
    definition: Arc<ToolDefinition>,
}

impl ApprovalRequest {
    pub(crate) fn new(
        definition: Arc<ToolDefinition>,
        context: ToolContext,
        arguments: Arguments,
    ) -> Self {
        Self { context, arguments, definition }
    }

    /// Returns the tool's definition, as the model received it.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.definition.name
    }

    /// Returns `true` if the model has read text from untrusted sources: see
    /// [`Taint`](crate::context::Taint).
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.context.is_tainted()
    }
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("tool", &self.definition.name)
            .finish_non_exhaustive()
    }
}

/// The decision of an approver.
///
/// Serializes as `"approve"`, `{"deny": "reason"}`, `{"edit": "arguments"}`, `{"answer": "result"}`
/// or `"defer"`.
///
/// ```
/// use toolbox::call::Arguments;
/// use toolbox::context::{ApprovalRequest, Decision};
/// use toolbox::{tool, ToolBox, tools};
///
/// /// Sends money.
/// #[tool(approval)]
/// fn pay(cents: u64) -> u64 {
///     cents
/// }
///
/// let builder = ToolBox::builder().tools(tools![pay]).approver(|request: ApprovalRequest| async move {
///     match request.tool_name() {
///         "pay" => Decision::Edit(Arguments::from(r#"{"cents":100}"#)),
///         _ => Decision::Deny("ask me tomorrow".to_owned()),
///     }
/// });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// The call may run.
    Approve,
    /// The call may not run; the model receives the reason.
    Deny(String),
    /// The call may run with these arguments instead, which are checked like the model's.
    Edit(Arguments),
    /// The call does not run: this text is its result. So the program, a person or another service
    /// answers a call of which the box has the definition alone.
    Answer(String),
    /// The call of a paused run is made again, and the [questions](super::PendingQuestion) that it
    /// asked have these answers, in order. What has no answer is asked again.
    Reply(Vec<super::Answer>),
    /// No decision can be made now: the call does not run. An agent stops there, and resumes once
    /// there is a decision.
    Defer,
}

/// The approval that a tool needs before it runs.
#[derive(Clone, Default)]
pub(crate) enum Approval {
    #[default]
    None,
    /// Approval of the box's approver, if one of these conditions holds.
    If(Vec<Condition>),
    /// Approval of the box's approver.
    OfBox,
    /// Approval of the tool's own approver.
    Own(Arc<dyn Approver>),
}

/// A condition under which a tool needs approval.
#[derive(Clone)]
pub(crate) struct Condition {
    pub(crate) holds: Arc<dyn Fn(&ApprovalRequest) -> bool + Send + Sync>,
    /// Advice to the model where no approval can be given; may be empty.
    pub(crate) advice: &'static str,
}

impl Approval {
    /// Returns `true` if some call of the tool may need approval.
    pub(crate) fn is_needed(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// Decides on calls of tools that need approval: any async closure from an [`ApprovalRequest`] to a
/// [`Decision`].
///
/// ```
/// use toolbox::context::{ApprovalRequest, Decision};
/// use toolbox::ToolBox;
///
/// let toolbox = ToolBox::builder()
///     .approver(|request: ApprovalRequest| async move {
///         let reads = request.tool_name().starts_with("read_");
///         if reads { Decision::Approve } else { Decision::Defer }
///     })
///     .build()
///     .unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot decide on calls",
    label = "this is no approver",
    note = "an approver is an async closure: `|request: ApprovalRequest| async move {{ Decision::Approve }}`"
)]
pub trait Approver: Send + Sync + 'static {
    /// Decides on one call.
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Decision>;

    /// Returns the name under which its decisions are reported and recorded: of a person, a role,
    /// a rule. Default `approver`.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("approver")
    }
}

#[diagnostic::do_not_recommend]
impl<F, Fut> Approver for F
where
    F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Decision> {
        Box::pin(self(request))
    }
}

/// Decides by arguments that are read into a type first.
pub(crate) fn typed<T, F, Fut>(decide: F) -> impl Approver
where
    T: DeserializeOwned + Send + 'static,
    F: Fn(T, ApprovalRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Decision> + Send + 'static,
{
    let decide = Arc::new(decide);
    move |request: ApprovalRequest| {
        let decide = Arc::clone(&decide);
        async move {
            match request.arguments.parse::<T>() {
                Ok(arguments) => decide(arguments, request).await,
                // Arguments that the tool accepts and the approver cannot read are not approved.
                Err(error) => Decision::Deny(format!(
                    "the arguments cannot be judged by the rule of tool `{}`: {error}",
                    request.tool_name()
                )),
            }
        }
    }
}

/// The approver of calls for which neither the tool nor the box has one.
#[derive(Clone)]
struct FallbackApprover(Arc<dyn Approver>);

impl ToolContext {
    pub(crate) fn approver(&self) -> Option<&Arc<dyn Approver>> {
        self.extension().map(|FallbackApprover(approver)| approver)
    }

    pub(crate) fn with_shared_approver(self, approver: Arc<dyn Approver>) -> Self {
        self.with_extension(FallbackApprover(approver))
    }
}
