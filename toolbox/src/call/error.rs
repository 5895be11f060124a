//! Failures of calls: a sentence for the model; a kind, a stable code and the source for the
//! program.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::call::FaultKind;

/// An error as tools keep it: shared, so that results stay cheap to clone.
pub type SharedError = Arc<dyn Error + Send + Sync>;

/// The kind of failure of a call.
///
/// [`FailureKind::code`] gives each a stable text for logs and metrics.
///
/// ```
/// use toolbox::ToolResult;
/// use toolbox::call::FailureKind;
///
/// let failure = ToolResult::failure(FailureKind::Infrastructure, "the database is down");
/// assert_eq!(failure.failure_kind(), Some(FailureKind::Infrastructure));
/// assert!(failure.is_error());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// No tool of that name is in the box.
    NotFound,
    /// The tool is blacklisted, or an allow-list does not name it.
    Blacklisted,
    /// The tool needs approval, and it was not given.
    NotApproved,
    /// The arguments do not fit the schema; the code names the kind of fault.
    InvalidArguments,
    /// The tool ran and reported an error that the model can act on.
    Reported,
    /// The tool could not do its work for a reason outside the call: a database, a missing state.
    Infrastructure,
    /// The tool did not finish in time.
    TimedOut,
    /// The caller cancelled the call.
    Cancelled,
    /// The tool panicked.
    Panicked,
    /// The tool's output cannot be written as JSON.
    InvalidOutput,
    /// The result is larger than the box allows, and cannot be cut: an image, a document, JSON.
    ResultTooLarge,
    /// The batch held more calls than its limit.
    TooManyCalls,
    /// Another call of the batch has the same id.
    DuplicateId,
    /// The call waits for approval; it has not run, and may run later.
    Deferred,
    /// The run, or one above it, has made all calls that it may make.
    OverBudget,
    /// The limit of nested agents is reached, or this agent is running already.
    TooDeep,
    /// The process or the connection that ran the call was lost: it may have taken effect, or not.
    OutcomeUnknown,
    /// The call was not accepted, because too many others wait or are under way; nothing ran.
    Busy,
    /// The time of the call was over before it ran.
    Expired,
}

impl FailureKind {
    /// Returns the stable code of this kind, such as `tool.panicked`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "tool.not_found",
            Self::Blacklisted => "tool.blacklisted",
            Self::NotApproved => "tool.not_approved",
            Self::InvalidArguments => "args.invalid",
            Self::Reported => "tool.failed",
            Self::Infrastructure => "tool.infrastructure",
            Self::TimedOut => "tool.timed_out",
            Self::Cancelled => "call.cancelled",
            Self::Panicked => "tool.panicked",
            Self::InvalidOutput => "tool.invalid_output",
            Self::ResultTooLarge => "tool.result_too_large",
            Self::TooManyCalls => "turn.too_many_calls",
            Self::DuplicateId => "call.duplicate_id",
            Self::Deferred => "tool.deferred",
            Self::OverBudget => "run.over_budget",
            Self::TooDeep => "run.too_deep",
            Self::OutcomeUnknown => "call.outcome_unknown",
            Self::Busy => "call.busy",
            Self::Expired => "call.expired",
        }
    }

    /// Returns the kind and the code that `code` spells; an unknown one counts as reported by the
    /// tool.
    pub(crate) fn of_code(code: &str) -> (Self, &'static str) {
        if let Some(kind) = Self::ALL.iter().find(|kind| kind.code() == code) {
            return (*kind, kind.code());
        }
        match FaultKind::ALL.iter().find(|fault| fault.code() == code) {
            Some(fault) => (Self::InvalidArguments, fault.code()),
            None => (Self::Reported, Self::Reported.code()),
        }
    }

    pub(crate) const ALL: [Self; 19] = [
        Self::NotFound,
        Self::Blacklisted,
        Self::NotApproved,
        Self::InvalidArguments,
        Self::Reported,
        Self::Infrastructure,
        Self::TimedOut,
        Self::Cancelled,
        Self::Panicked,
        Self::InvalidOutput,
        Self::ResultTooLarge,
        Self::TooManyCalls,
        Self::DuplicateId,
        Self::Deferred,
        Self::OverBudget,
        Self::TooDeep,
        Self::OutcomeUnknown,
        Self::Busy,
        Self::Expired,
    ];
}

/// An error that a tool returns when a plain message is not enough.
///
/// Most tools return their own error type, or a `String`: that counts as
/// [reported](FailureKind::Reported), and its message goes to the model. Use this type to report
/// that the cause lies outside the call, so that a loop can retry or give up instead of letting the
/// model try other arguments.
///
/// ```
/// use toolbox::ToolError;
/// use toolbox::call::FailureKind;
///
/// let error = ToolError::reported("city not found: Atlantis");
/// assert_eq!(error.to_string(), "city not found: Atlantis");
///
/// let error = ToolError::infrastructure(std::io::Error::other("connection refused"));
/// assert_eq!(error.kind(), FailureKind::Infrastructure);
/// ```
#[derive(Debug, Clone)]
pub struct ToolError {
    kind: FailureKind,
    message: String,
    source: Option<SharedError>,
    data: Option<Value>,
}

impl ToolError {
    /// Returns an error that the model receives and can act on.
    pub fn reported(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Reported, message: message.into(), source: None, data: None }
    }

    /// Returns an error whose cause lies outside the call; its message and sources become the text.
    pub fn infrastructure(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source: SharedError = Arc::from(source.into());
        Self {
            kind: FailureKind::Infrastructure,
            message: chain(source.as_ref()),
            source: Some(source),
            data: None,
        }
    }

    /// Returns the same error with another text for the model; the source stays for logs.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds data for programs: a code, whether to try again, anything that serializes. The model
    /// reads the message alone.
    ///
    /// Programs find it in [`ToolResult::error_data`](crate::ToolResult::error_data) and in the
    /// events of agents, MCP clients in `structuredContent`. A value that cannot be written as JSON
    /// is left out, and so is one that does not fit into the limit of a result.
    ///
    /// ```
    /// use toolbox::{tool, tools, ToolBox, ToolCall, ToolError};
    ///
    /// /// Books a seat.
    /// #[tool]
    /// fn book(seat: u32) -> Result<String, ToolError> {
    ///     let data = serde_json::json!({"code": "taken", "retryable": false, "free": [seat + 1]});
    ///     Err(ToolError::reported(format!("seat {seat} is taken")).with_data(data))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let call = ToolCall::new("1", "book", r#"{"seat":7}"#);
    /// let result = ToolBox::from(tools![book]).call(call).await;
    /// assert_eq!(result.text(), "seat 7 is taken");
    /// assert_eq!(result.error_data().unwrap()["free"][0], 8);
    /// # }
    /// ```
    #[must_use]
    pub fn with_data(mut self, data: impl Serialize) -> Self {
        self.data = serde_json::to_value(data).ok();
        self
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Returns the data for programs.
    #[must_use]
    pub fn data(&self) -> Option<&Value> {
        self.data.as_ref()
    }

    pub(crate) fn from_parts(
        kind: FailureKind,
        message: String,
        source: Option<SharedError>,
        data: Option<Value>,
    ) -> Self {
        Self { kind, message, source, data }
    }

    /// Returns an error of a kind that the gate reports.
    pub(crate) fn of_kind(kind: FailureKind, message: impl Into<String>) -> Self {
        Self::from_parts(kind, message.into(), None, None)
    }

    pub(crate) fn shared_source(&self) -> Option<&SharedError> {
        self.source.as_ref()
    }

    pub(crate) fn into_parts(self) -> (FailureKind, String, Option<SharedError>, Option<Value>) {
        (self.kind, self.message, self.source, self.data)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::reported(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::reported(message)
    }
}

/// Joins an error with its sources by `: `, leaving out a source whose text the error above it
/// already ends with.
pub(crate) fn chain(error: &(dyn Error + '_)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text
}
