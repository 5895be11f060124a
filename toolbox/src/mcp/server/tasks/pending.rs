//! A call that may become a task, and the task until it expires.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::table::TaskSlot;
use super::task::{ServedTask, TaskEnd, TaskState};
use crate::call::ToolResult;
use crate::context::{CancellationToken, Completion, Progress, ToolContext};
use crate::future::spawn;
use crate::mcp::server::caller::Caller;
use crate::mcp::server::channel::ClientChannel;
use crate::mcp::server::protocol::{ErrorCode, ProtocolError};
use crate::mcp::server::rounds::Rounds;

/// A call whose tool may go on in the background.
pub(in crate::mcp::server) struct PendingTask {
    slot: TaskSlot,
    ttl: Duration,
    state: Arc<TaskState>,
    cancellation: CancellationToken,
    channel: Option<Arc<ClientChannel>>,
    completions: UnboundedReceiver<Completion>,
}

/// A task whose job runs.
pub(in crate::mcp::server) struct StartedTask {
    task: Arc<ServedTask>,
    slot: TaskSlot,
    completions: UnboundedReceiver<Completion>,
}

impl PendingTask {
    /// Returns the context of a call that may become a task, and the task that it would be.
    pub(in crate::mcp::server) fn attach(
        context: ToolContext,
        slot: TaskSlot,
        ttl: Duration,
    ) -> (ToolContext, Self) {
        let (sender, completions) = unbounded_channel();
        let state = Arc::new(TaskState::default());
        let pending = Self {
            slot,
            ttl,
            state: Arc::clone(&state),
            cancellation: context.cancellation(),
            channel: context.get::<Caller>().map(|caller| Arc::clone(caller.channel())),
            completions,
        };
        let of_request = context.progress_sink().cloned();
        let context =
            context.with_completions_of_durable(sender).with_progress(move |report: Progress| {
                if let Some(message) = &report.message {
                    state.set_message(message);
                }
                if let Some(of_request) = &of_request {
                    of_request(report);
                }
            });
        (context, pending)
    }

    /// Returns the task if the call goes on in the background, by the first result of it.
    pub(in crate::mcp::server) fn started(self, result: &ToolResult) -> Option<StartedTask> {
        let Self { slot, ttl, state, cancellation, channel, completions } = self;
        // A job that was started elsewhere is not followed.
        let has_job = completions.sender_strong_count() > 0 || !completions.is_empty();
        let job = result.job().filter(|_| result.is_pending() && has_job)?;
        let rounds = channel.as_ref().and_then(|channel| channel.rounds().cloned());
        if let Some(channel) = channel {
            channel.silence();
        }
        state.set_message(&result.text());
        let task = Arc::new(ServedTask {
            id: job.as_str().into(),
            principal: slot.principal.clone(),
            ttl,
            created: SystemTime::now(),
            state,
            rounds: rounds.unwrap_or_else(|| Arc::new(Rounds::default())),
            cancellation,
        });
        slot.fill(&task);
        Some(StartedTask { task, slot, completions })
    }
}

impl StartedTask {
    /// Follows the job until the task expires, as a task of the runtime. `end` converts its result.
    pub(in crate::mcp::server) fn follow(
        mut self,
        end: Box<dyn FnOnce(&ToolResult) -> TaskEnd + Send>,
    ) -> Arc<ServedTask> {
        let task = Arc::clone(&self.task);
        spawn(Box::pin(async move {
            let mut expiry = pin!(tokio::time::sleep(self.task.ttl));
            tokio::select! {
                completion = self.completion() => {
                    let ended = completion.map_or_else(lost, |own| end(&own.result));
                    self.task.state.end(ended);
                    self.slot.changed(&self.task.id);
                    expiry.await;
                }
                () = &mut expiry => self.task.cancel(),
            }
            self.slot.clear(&self.task.id);
        }));
        task
    }

    /// Waits for the end of the job, and notifies of its questions meanwhile.
    async fn completion(&mut self) -> Option<Completion> {
        loop {
            tokio::select! {
                biased;
                completion = self.completions.recv() => match completion {
                    Some(completion) if completion.job.as_str() != &*self.task.id => {}
                    ended => return ended,
                },
                () = self.task.rounds.changed() => {
                    self.task.state.touch();
                    self.slot.changed(&self.task.id);
                }
            }
        }
    }
}

/// Returns the end of a task whose job told none.
fn lost() -> TaskEnd {
    TaskEnd::Failed(ProtocolError::new(ErrorCode::InternalError, "the end of the call is lost"))
}
