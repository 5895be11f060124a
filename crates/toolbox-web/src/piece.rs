//! The pieces of an answer: what both protocols say, before it is written in one of them.

use serde_json::Value;
use toolbox::agent::PendingCall;
use toolbox::model::Usage;

/// The kinds of texts that a model writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    Text,
    Reasoning,
}

/// A piece of an answer. The pieces of texts and calls come in order: begin, more, end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// The run began.
    Begin,
    /// The model is asked.
    Step,
    /// A text begins.
    TextBegin { kind: TextKind, id: String },
    /// More of a text.
    Text { kind: TextKind, id: String, delta: String },
    /// A text ends.
    TextEnd { kind: TextKind, id: String },
    /// A piece of a call.
    Call(CallPiece),
    /// The run ended.
    End(End),
}

/// A piece of a call. They come in this order; items and progress may be missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallPiece {
    /// A call begins, of the message `message`.
    Begin { id: String, tool: String, message: String },
    /// More of the arguments of a call.
    Arguments { id: String, delta: String },
    /// The arguments of a call are complete.
    Ready { id: String, tool: String, arguments: String },
    /// An item of a tool that streams.
    Item { id: String, index: u64, text: String },
    /// The progress of a tool.
    Progress { id: String, done: f64, total: Option<f64>, message: Option<String> },
    /// The result of a call, as the model gets it.
    Result { id: String, text: String, status: ResultStatus },
}

/// The kinds of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultStatus {
    Ok,
    Failed,
    /// The person at the front end denied the call.
    Denied,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The model answered, or stopped: `reason` in the words of the AI SDK.
    Answered { reason: &'static str, usage: Usage },
    /// Calls wait: those of `pending` for a person, others for the front end that offers their
    /// tools.
    Waiting { pending: Vec<PendingCall>, usage: Usage },
    /// The run was cancelled.
    Cancelled,
    /// The run stopped without an answer. The message holds nothing of a model's or a tool's.
    Failed { code: &'static str, message: String },
}

/// Returns the result as JSON if it is an object or a list, else as text.
pub(crate) fn value_of(text: String) -> Value {
    if text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str(&text)
    {
        return value;
    }
    Value::String(text)
}

/// Returns the id of the call of the agent itself that a pending call stands below.
pub(crate) fn top_call(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}
