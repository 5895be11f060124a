//! The end of a background job.

use tokio::sync::mpsc::UnboundedSender;

use super::context::ToolContext;
use crate::call::{JobId, ToolResult};

/// The end of a background job: its result, and the context of the call that started it.
///
/// Sent exactly once for each pending result, whether the job succeeded, failed, panicked or was
/// cancelled.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion {
    /// The job that ended.
    pub job: JobId,
    /// The context of the call that started it: the call's id, the tool's name, the conversation.
    pub context: ToolContext,
    /// The result, under the id of the call that started the job.
    pub result: ToolResult,
}

/// The channel on which the completions of background tools arrive.
#[derive(Clone)]
struct Completions {
    sender: UnboundedSender<Completion>,
    /// `true` if durable tools are background tools as well.
    of_durable: bool,
}

impl ToolContext {
    /// Sends the completions of background tools to `completions`. Without it, callers wait for a
    /// background tool like any other.
    #[must_use]
    pub fn with_completions(self, completions: UnboundedSender<Completion>) -> Self {
        self.with_extension(Completions { sender: completions, of_durable: false })
    }

    /// Sends the completions of background and of durable tools to `completions`.
    pub(crate) fn with_completions_of_durable(
        self,
        completions: UnboundedSender<Completion>,
    ) -> Self {
        self.with_extension(Completions { sender: completions, of_durable: true })
    }

    pub(crate) fn completions(&self) -> Option<&UnboundedSender<Completion>> {
        self.extension().map(|Completions { sender, .. }| sender)
    }

    /// Returns `true` if durable tools complete like background tools.
    pub(crate) fn completes_durable(&self) -> bool {
        self.extension::<Completions>().is_some_and(|own| own.of_durable)
    }

    /// Returns the context without its channel of completions, which a stored completion must not
    /// keep open.
    pub(crate) fn without_completions(self) -> Self {
        self.without_extension::<Completions>()
    }
}
