//! The record of calls that must not be lost.

use std::sync::Arc;
use std::time::SystemTime;

use super::cancellation::CancellationToken;
use super::context::ToolContext;
use super::principal::Principal;
use crate::call::{Arguments, JobId, SharedError, ToolResult};
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;

/// Records calls before they run, and their results before anybody gets them.
pub(crate) trait CallRecorder: Send + Sync {
    /// Returns `true` if a call is to end though its caller is gone.
    fn calls_outlive_caller(&self) -> bool;

    /// Returns `true` if a call that starts a run of an agent is one record; `false` if that run
    /// keeps one of its own.
    fn records_runs(&self) -> bool {
        true
    }

    /// Records that a call is about to run. An error is the result of a call that does not run
    /// here: it was refused, or is left to others.
    fn begin(&self, call: CallToRecord) -> BoxFuture<'_, Result<Box<dyn OpenRecord>, ToolResult>>;

    /// Returns a recorded call, as long as it is kept.
    fn find(&self, _id: JobId) -> BoxFuture<'_, Option<KeptCall>> {
        Box::pin(async { None })
    }

    /// Takes a pause, which goes on once: returns `false` if it was taken, and not by the run of
    /// this key.
    fn take_pause<'a>(
        &'a self,
        _id: &'a str,
        _key: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, SharedError>> {
        Box::pin(async { Ok(true) })
    }

    /// Cancels a recorded call, wherever it runs.
    fn cancel(&self, _id: JobId) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A recorded call, as its recorder keeps it.
pub(crate) struct KeptCall {
    pub(crate) tool: String,
    pub(crate) principal: Option<Principal>,
    pub(crate) accepted: SystemTime,
    /// The time and the result of its end.
    pub(crate) end: Option<(SystemTime, ToolResult)>,
}

/// A call that is to be recorded: its arguments are valid, and it is approved if it had to be.
pub(crate) struct CallToRecord {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) context: ToolContext,
    pub(crate) arguments: Arguments,
    /// The id of a call whose caller does not wait for the result.
    pub(crate) job: Option<JobId>,
}

/// The record of a call without its result.
pub(crate) trait OpenRecord: Send + Sync {
    /// Returns the id of the call, if it is one of a journal.
    fn id(&self) -> Option<&JobId>;

    /// Returns the token that cancels the call from outside its process.
    fn cancellation(&self) -> Option<CancellationToken>;

    /// Records that a background call starts. An error is the result of a call that may not.
    fn start(&self) -> BoxFuture<'_, Result<(), ToolResult>>;

    /// Records the result, once.
    fn end<'a>(&'a self, result: &'a ToolResult) -> BoxFuture<'a, ()>;
}

/// The recorder of the calls made under a context.
#[derive(Clone)]
struct Recorder(Arc<dyn CallRecorder>);

/// Marks calls that the journal of their box records, whatever their tool is.
#[derive(Clone)]
struct Unattended;

impl ToolContext {
    /// Returns the recorder of the calls made with this context.
    pub(crate) fn recorder(&self) -> Option<&Arc<dyn CallRecorder>> {
        self.extension().map(|Recorder(recorder)| recorder)
    }

    pub(crate) fn with_recorder(self, recorder: Arc<dyn CallRecorder>) -> Self {
        self.with_extension(Recorder(recorder))
    }

    /// Returns the context of the handler of a recorded call: the calls that it makes are part of
    /// this one.
    pub(crate) fn without_recorder(self) -> Self {
        self.without_extension::<Recorder>().without_extension::<Unattended>()
    }

    /// Returns the context in which the journal of each call's box decides.
    pub(crate) fn with_calls_recorded_by_box(self) -> Self {
        self.without_extension::<Recorder>()
    }

    /// Lets the journal of the box record the calls made with this context, if it has one.
    pub(crate) fn unattended(self) -> Self {
        self.with_extension(Unattended)
    }

    pub(crate) fn is_unattended(&self) -> bool {
        self.extension::<Unattended>().is_some()
    }
}
