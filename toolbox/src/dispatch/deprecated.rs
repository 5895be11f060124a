//! Notes to the model on what is deprecated.

use super::admitted::OwnedCall;
use crate::call::{FailureKind, ToolResult};
use crate::validate::deprecated_parts;

impl OwnedCall {
    /// Returns `true` if the result may have to say that the tool, or a part of its arguments, is
    /// deprecated. One of another gate, such as a server's, says so already.
    pub(super) fn is_noted(&self) -> bool {
        let tool = self.tool.inner();
        tool.source.is_none() && !tool.running.relays && tool.definition.may_be_deprecated()
    }

    /// Adds one note on all that is deprecated to the result of a call that ran, or whose arguments
    /// are to be written anew.
    #[cold]
    pub(super) fn with_deprecations(&self, result: ToolResult) -> ToolResult {
        if !matches!(
            result.failure_kind(),
            None | Some(FailureKind::Reported | FailureKind::InvalidArguments)
        ) {
            return result;
        }
        let definition = self.tool.definition();
        let with_note = |what: String, note: &str| {
            if note.is_empty() {
                format!("{what} is deprecated")
            } else {
                format!("{what} is deprecated: {note}")
            }
        };
        let tool = definition.deprecated();
        let tool = tool.map(|note| with_note(format!("`{}`", definition.name), note));
        let parts = deprecated_parts(self.arguments.as_str(), &definition.input_schema.read());
        let parts = parts.iter().map(|part| with_note(part.to_string(), &part.note));
        let notes: Vec<String> = tool.into_iter().chain(parts).collect();
        if notes.is_empty() { result } else { result.with_note(notes.join("; ")) }
    }
}
