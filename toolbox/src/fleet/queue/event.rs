//! The messages to the loop of a relay.

use super::mark::Mark;
use crate::call::JobId;
use crate::durable::{CallEnd, RecordedCall};
use crate::fleet::subjects::QueueKey;

/// A message to the loop of a relay.
pub(super) enum Event {
    /// Calls were handed over, each with its ticket; they are not published yet.
    HandedOver(Vec<(RecordedCall, Mark, u64)>),
    /// The batch is over; the flag is `true` if there may be more at once.
    BatchOver(bool),
    /// A call was published, at this position; or it is not known whether.
    Published(JobId, Option<u64>),
    /// The queue refused a call, which waits in the journal again.
    GivenBack(JobId),
    /// A pass of the watch of a place has shown a mark and its revision.
    Marked(QueueKey, Mark, u64, u64),
    /// A call has a result.
    Result(QueueKey, Vec<u8>, u64),
    /// The watch of a place begins a pass: the server may have lost what it had.
    Began(String),
    /// A pass of the watch of a place has shown what there is.
    Current(String, u64),
    /// The end of a call was written, or could not be yet.
    Ended(JobId, Option<CallEnd>),
    /// The message of a call is in the queue, or not.
    Looked(JobId, Result<bool, String>),
    /// A call was marked.
    Remarked(JobId, Option<(Mark, u64)>),
}
