//! One call of a tool on another machine.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, StatusCode, Subject};

use super::calls::{CallMessage, NoAnswer, OpenCalls, WaitingCall};
use super::connection::Connection;
use super::payload::Payloads;
use super::random;
use super::wire::{
    Answer, CallHead, CallNote, ItemReport, Outcome, ProgressReport, stored_arguments,
    stored_result,
};
use crate::call::{Arguments, FailureKind, ToolResult};
use crate::collection::WeakToolBox;
use crate::context::{
    ApprovalRequest, Approver, CarriedContext, CarriedRun, CarriedSpending, Decision, Taint,
    ToolContext,
};
use crate::text::{QUOTED, quote};

/// The number of workers that are asked before a call is busy.
const ATTEMPTS: usize = 4;

/// The means of a box to make calls of a fleet.
pub(super) struct Caller {
    pub(super) connection: Connection,
    pub(super) calls: Arc<OpenCalls>,
    /// The subject below which calls are answered.
    pub(super) inbox: String,
    pub(super) payloads: Payloads,
}

/// One definition of a tool at the workers that offer it.
pub(super) struct RemoteTool {
    /// The subject of the calls of this definition.
    pub(super) subject: Subject,
    pub(super) is_idempotent: bool,
    /// The name at the workers, and the digest of the definition.
    #[cfg(feature = "durable")]
    pub(super) name_and_digest: (String, String),
    /// The limit on the time of a call, without that of its context.
    pub(super) timeout: Option<Duration>,
    /// The prefix of the names in the box, with the `_` after it.
    pub(super) prefix: Option<String>,
    /// The box that the tool is mounted in.
    pub(super) toolbox: WeakToolBox,
}

impl RemoteTool {
    /// Returns the approver of the box, or that of the run which makes a call.
    fn approver(&self, context: &ToolContext) -> Option<Arc<dyn Approver>> {
        let toolbox = self.toolbox.upgrade();
        let of_box = toolbox.and_then(|toolbox| toolbox.shared.settings.approver.clone());
        of_box.or_else(|| context.approver().cloned())
    }
}

/// The end of one attempt.
enum Attempt {
    Answered(ToolResult),
    /// Nothing ran, because this worker is busy.
    Busy,
    /// Nothing ran, because nobody offers the tool.
    Unoffered,
    /// Nothing ran, because the call has to be approved.
    Unapproved,
    /// The worker, or the connection to it, was lost.
    Lost(&'static str),
}

impl Caller {
    /// Makes a call.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the call at the worker.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &RemoteTool,
        context: &ToolContext,
        arguments: &str,
    ) -> ToolResult {
        let name = context.tool_name();
        let limit = self.connection.options.max_payload;
        if arguments.len() > limit {
            let size = arguments.len();
            return ToolResult::failure(
                FailureKind::InvalidArguments,
                format!(
                    "the arguments for `{name}` have {size} bytes, and a fleet takes at most {limit} (`FleetOptions::max_payload_bytes`)"
                ),
            );
        }
        if context.remaining().is_some_and(|left| left.is_zero()) {
            let text = format!("tool `{name}` was not run: the time of the call was over");
            return ToolResult::failure(FailureKind::Expired, text);
        }
        match self.attempts(tool, context, arguments, context.approved).await {
            Attempt::Answered(result) => return result,
            Attempt::Unoffered => return unoffered(name),
            Attempt::Lost(reason) => return lost(tool, name, reason),
            Attempt::Unapproved if !context.approved => {
                return self.approve(tool, context, arguments).await;
            }
            Attempt::Unapproved => {
                let text = format!("the workers do not take the approval of tool `{name}`");
                return ToolResult::failure(FailureKind::NotApproved, text);
            }
            Attempt::Busy => {}
        }
        ToolResult::failure(
            FailureKind::Busy,
            format!(
                "tool `{name}` was not run: the workers that offer it are busy; call it again later"
            ),
        )
    }

    /// Asks one worker after the other, until one is not busy.
    async fn attempts(
        self: &Arc<Self>,
        tool: &RemoteTool,
        context: &ToolContext,
        arguments: &str,
        approved: bool,
    ) -> Attempt {
        for _ in 0..ATTEMPTS {
            match self.attempt(tool, context, arguments, approved).await {
                Attempt::Busy => {}
                end => return end,
            }
        }
        Attempt::Busy
    }

    /// Makes a call once it is approved here, whose approval the worker requires.
    async fn approve(
        self: &Arc<Self>,
        tool: &RemoteTool,
        context: &ToolContext,
        arguments: &str,
    ) -> ToolResult {
        let name = context.tool_name();
        let (Some(approver), Some(definition)) = (tool.approver(context), &context.tool) else {
            let text = format!("tool `{name}` waits for approval; it has not run");
            return ToolResult::refusal(FailureKind::Deferred, text);
        };
        let own = Arguments::from(arguments);
        let request = ApprovalRequest::new(Arc::clone(definition), context.clone(), own);
        let edited = match approver.decide(request).await {
            Decision::Approve => None,
            Decision::Edit(edited) => Some(edited),
            Decision::Deny(reason) => {
                return ToolResult::refusal(FailureKind::NotApproved, reason);
            }
            Decision::Answer(text) => return ToolResult::new(text),
            Decision::Defer | Decision::Reply(_) => {
                let text = format!("tool `{name}` waits for approval; it has not run");
                return ToolResult::refusal(FailureKind::Deferred, text);
            }
        };
        let mut allowed = context.clone();
        allowed.approved = true;
        let arguments = edited.as_ref().map_or(arguments, Arguments::as_str);
        let result = Box::pin(self.call(tool, &allowed, arguments)).await;
        match &edited {
            Some(edited) => result.with_edited(edited.clone()),
            None => result,
        }
    }

    async fn attempt(
        self: &Arc<Self>,
        tool: &RemoteTool,
        context: &ToolContext,
        arguments: &str,
        approved: bool,
    ) -> Attempt {
        if !self.connection.is_connected() {
            return Attempt::Answered(unreachable(context.tool_name()));
        }
        let id = random::token();
        let head = CallHead { approved, ..head(&id, tool, context) };
        let mut sent = SentCall::new(self, id.clone());
        let is_inline = arguments.len() <= self.connection.inline();
        let (head, inline) = if is_inline {
            (head, arguments)
        } else {
            (CallHead { stored: Some(arguments.len()), ..head }, "")
        };
        let message = match head.message(inline) {
            Ok(message) => message,
            Err(reason) => return Attempt::Answered(not_carried(context.tool_name(), &reason)),
        };
        if !is_inline {
            let stored = stored_arguments(&id);
            sent.has_stored = true;
            let put = self.payloads.put(&self.connection, &stored, arguments.as_bytes()).await;
            if let Err(reason) = put {
                return Attempt::Answered(not_carried(context.tool_name(), &reason));
            }
        }
        let mut waiting = self.calls.open(self.connection.events.losses());
        let subject = tool.subject.clone();
        let reply = format!("{}.{}", self.inbox, waiting.token);
        sent.is_running = true;
        let published = self.connection.client.publish_with_reply(subject, reply, message.into());
        if let Err(error) = published.await {
            sent.is_running = false;
            return Attempt::Answered(not_carried(context.tool_name(), &error.to_string()));
        }
        let end = self.wait(&id, &mut waiting, context).await;
        // A worker that is silent may still run the call.
        sent.is_running = matches!(end, Attempt::Lost(_));
        end
    }

    /// Waits for the answer to a call that was sent.
    async fn wait(&self, id: &str, waiting: &mut WaitingCall, context: &ToolContext) -> Attempt {
        loop {
            let message = match waiting.next().await {
                CallMessage::OfWorker(message) => message,
                CallMessage::NoAnswer(NoAnswer::Lost) => {
                    return Attempt::Lost("the connection to the fleet was lost");
                }
                CallMessage::NoAnswer(NoAnswer::Silent) => {
                    return Attempt::Lost("the worker that ran it does not answer any more");
                }
            };
            if message.status == Some(StatusCode::NO_RESPONDERS) {
                return Attempt::Unoffered;
            }
            if let Some(end) = self.read(id, &message, context).await {
                return end;
            }
        }
    }

    /// Reads a message about a call; `None` if more are to come.
    async fn read(&self, id: &str, message: &Message, context: &ToolContext) -> Option<Attempt> {
        let unreadable = |reason: &str| {
            self.calls.discard();
            Some(Attempt::Answered(unreadable(context.tool_name(), reason)))
        };
        // The byte that says which message it is does not count.
        let (size, limit) = (message.payload.len(), self.connection.options.max_payload);
        if size > limit.saturating_add(1) {
            return unreadable(&too_large(size, limit));
        }
        match Answer::read(&message.payload) {
            Ok(Answer::Note(CallNote::Alive)) => None,
            Ok(Answer::Note(CallNote::Progress(report))) => {
                report_progress(context, report);
                None
            }
            Ok(Answer::Note(CallNote::Item(ItemReport { index, content }))) => {
                context.put_out(index, content).await;
                None
            }
            Ok(Answer::Note(CallNote::Busy)) => Some(Attempt::Busy),
            Ok(Answer::Note(CallNote::Gone)) => Some(Attempt::Unoffered),
            Ok(Answer::Note(CallNote::Unapproved)) => Some(Attempt::Unapproved),
            Ok(Answer::Done(outcome)) => Some(Attempt::Answered(concluded(context, *outcome))),
            Ok(Answer::Note(CallNote::Stored(size))) => {
                if size > limit {
                    return unreadable(&too_large(size, limit));
                }
                // The name is that of this call: a worker cannot point at what another stored.
                let name = stored_result(id);
                let stored = self.payloads.get(&self.connection, &name, limit).await;
                self.payloads.delete(&self.connection, &name).await;
                let read = stored.and_then(|stored| {
                    let outcome: Outcome<'_> =
                        serde_json::from_slice(&stored).map_err(|error| error.to_string())?;
                    Ok(concluded(context, outcome))
                });
                match read {
                    Ok(result) => Some(Attempt::Answered(result)),
                    Err(reason) => unreadable(&reason),
                }
            }
            Err(reason) => unreadable(&reason),
        }
    }
}

/// Returns the head of a call.
pub(super) fn head<'a>(id: &'a str, tool: &RemoteTool, context: &'a ToolContext) -> CallHead<'a> {
    let mut carried = CarriedContext::of(context);
    // The clocks of two machines differ, the time that is left does not.
    carried.deadline = None;
    if let Some(toolbox) = tool.toolbox.upgrade() {
        carried.denied.extend(toolbox.rules().blacklisted());
    }
    if let Some(prefix) = &tool.prefix {
        // A rule on names of this box is one on the worker's own names, too.
        let prefix = prefix.to_ascii_lowercase();
        let own = |name: &String| name.strip_prefix(&prefix).map(str::to_owned);
        let at_worker: Vec<String> = carried.denied.iter().filter_map(own).collect();
        carried.denied.extend(at_worker);
    }
    let left = context.remaining().into_iter().chain(tool.timeout).min();
    CallHead {
        id: Cow::Borrowed(id),
        call_id: Cow::Borrowed(context.call_id()),
        left_ms: left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        progress: context.shows_outputs(),
        approved: false,
        can_be_approved: context.is_deferrable() || tool.approver(context).is_some(),
        run: limits_of_run(context),
        stored: None,
        queued: None,
        context: carried,
    }
}

fn report_progress(context: &ToolContext, report: ProgressReport<'_>) {
    context.report_progress(report.done, report.total, report.message.unwrap_or_default());
}

/// Returns the result of a call, and marks its conversation as the call did.
fn concluded(context: &ToolContext, outcome: Outcome<'_>) -> ToolResult {
    if outcome.tainted
        && let Some(taint) = context.get::<Taint>()
    {
        taint.mark();
    }
    if let Some(spent) = outcome.spent {
        charge_run(context, spent);
    }
    let mut result = ToolResult::from(outcome.result);
    // Only the gate of this process is taken at its word.
    result.unmark();
    result
}

#[cfg(feature = "agent")]
fn limits_of_run(context: &ToolContext) -> Option<CarriedRun> {
    crate::agent::RemoteRun::limits(context)
}

#[cfg(feature = "agent")]
fn charge_run(context: &ToolContext, spent: CarriedSpending) {
    crate::agent::RemoteRun::charge(context, spent);
}

#[cfg(not(feature = "agent"))]
fn limits_of_run(_: &ToolContext) -> Option<CarriedRun> {
    None
}

#[cfg(not(feature = "agent"))]
fn charge_run(_: &ToolContext, _: CarriedSpending) {}

fn too_large(size: usize, limit: usize) -> String {
    format!(
        "it has {size} bytes, and a fleet takes at most {limit} (`FleetOptions::max_payload_bytes`)"
    )
}

fn unoffered(tool: &str) -> ToolResult {
    let text = format!(
        "tool `{tool}` cannot be called now: no worker of the fleet offers it; nothing ran"
    );
    ToolResult::failure(FailureKind::Infrastructure, text)
}

fn unreachable(tool: &str) -> ToolResult {
    let text = format!(
        "tool `{tool}` cannot be called now: there is no connection to its fleet; nothing ran"
    );
    ToolResult::failure(FailureKind::Infrastructure, text)
}

fn not_carried(tool: &str, reason: &str) -> ToolResult {
    let reason = quote(reason, 4 * QUOTED);
    let text = format!("the call of tool `{tool}` cannot be sent: {reason}; nothing ran");
    ToolResult::failure(FailureKind::Infrastructure, text)
}

fn unreadable(tool: &str, reason: &str) -> ToolResult {
    let reason = quote(reason, 4 * QUOTED);
    let text = format!("the answer of tool `{tool}` cannot be read: {reason}");
    ToolResult::failure(FailureKind::InvalidOutput, text)
}

fn lost(tool: &RemoteTool, name: &str, reason: &str) -> ToolResult {
    if tool.is_idempotent {
        let text = format!("tool `{name}` has no answer: {reason}; it is safe to call it again");
        return ToolResult::failure(FailureKind::Infrastructure, text);
    }
    let text = format!(
        "tool `{name}` has no answer: {reason}; it may have taken effect or not, so look before you call it again"
    );
    ToolResult::failure(FailureKind::OutcomeUnknown, text)
}

/// A call that is cancelled at its worker when it is dropped before its answer.
struct SentCall<'a> {
    caller: &'a Arc<Caller>,
    id: String,
    is_running: bool,
    /// `true` if its arguments are in the object store.
    has_stored: bool,
}

impl<'a> SentCall<'a> {
    fn new(caller: &'a Arc<Caller>, id: String) -> Self {
        Self { caller, id, is_running: false, has_stored: false }
    }
}

impl Drop for SentCall<'_> {
    fn drop(&mut self) {
        if !(self.is_running || self.has_stored) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (is_running, has_stored) = (self.is_running, self.has_stored);
        let (caller, id) = (Arc::clone(self.caller), std::mem::take(&mut self.id));
        runtime.spawn(async move {
            let connection = &caller.connection;
            if is_running {
                let subject = connection.subjects.cancel(&id);
                let _ = connection.client.publish(subject, Vec::new().into()).await;
            }
            if has_stored {
                caller.payloads.delete(connection, &stored_arguments(&id)).await;
            }
        });
    }
}
