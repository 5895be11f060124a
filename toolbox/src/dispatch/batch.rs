//! All calls of one model response.

use std::collections::HashSet;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::admitted::{Pass, answer};
use super::reentrancy::HeldLimits;
use super::supervise::panicked;
use super::trace;
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::text::{QUOTED, quote};

/// The settings of a batch of calls.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// `true` to run the calls concurrently, `false` to run them one after another.
    pub(crate) parallel: bool,
    /// The most calls that are made; further ones are refused.
    pub(crate) max_calls: usize,
}

fn unapproved(calls: impl IntoIterator<Item: Into<ToolCall>>) -> Vec<(ToolCall, bool)> {
    calls.into_iter().map(|call| (call.into(), false)).collect()
}

impl ToolBox {
    /// Makes all calls of a model response, given as values or by reference, and returns their
    /// results in the order of the calls: one for each.
    ///
    /// The calls run concurrently as tasks of the current tokio runtime, within the limits of the
    /// box; without a runtime, or where [`parallel`](crate::ToolBoxBuilder::parallel) is off, one
    /// after another. One that fails, hangs or panics does not touch the others. Of two calls with
    /// one id the second is refused, and so are the calls beyond
    /// [`max_batch_calls`](crate::ToolBoxBuilder::max_batch_calls).
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops all calls that still wait.
    pub async fn call_all(
        &self,
        calls: impl IntoIterator<Item: Into<ToolCall>>,
    ) -> Vec<ToolResult> {
        self.batch(None, unapproved(calls), self.own_batch()).await
    }

    /// Makes all calls of a model response in a context of the program.
    ///
    /// # Cancellation
    ///
    /// As for [`ToolBox::call_all`].
    pub async fn call_all_in(
        &self,
        context: &ToolContext,
        calls: impl IntoIterator<Item: Into<ToolCall>>,
    ) -> Vec<ToolResult> {
        self.batch(Some(context), unapproved(calls), self.own_batch()).await
    }

    fn own_batch(&self) -> Batch {
        let settings = &self.shared.settings;
        Batch { parallel: settings.parallel, max_calls: settings.batch_calls }
    }

    /// Makes calls, each with a flag that is `true` if it was approved already.
    pub(crate) async fn batch(
        &self,
        context: Option<&ToolContext>,
        calls: Vec<(ToolCall, bool)>,
        batch: Batch,
    ) -> Vec<ToolResult> {
        let mut ids = HashSet::with_capacity(calls.len());
        let mut results: Vec<Option<ToolResult>> = Vec::with_capacity(calls.len());
        let mut admitted = Vec::with_capacity(calls.len().min(batch.max_calls));
        let mut twins = Vec::new();
        for (index, (call, approved)) in calls.into_iter().enumerate() {
            results.push(None);
            if !call.id.is_empty() && !ids.insert(call.id.clone()) {
                twins.push((index, call));
            } else if index >= batch.max_calls {
                let text =
                    format!("too many calls at once: only the first {} ran", batch.max_calls);
                let result = ToolResult::refusal(FailureKind::TooManyCalls, text);
                results[index] = Some(self.refuse_in_batch(call, context, result).await);
            } else {
                admitted.push((index, call, approved));
            }
        }
        for (index, mut call) in twins {
            let shown = quote(&call.id, QUOTED);
            let text = format!("two calls have the id \"{shown}\"; this one did not run");
            let result = ToolResult::refusal(FailureKind::DuplicateId, text);
            call.id = id_of_its_own(&call.id, index, &mut ids);
            results[index] = Some(self.refuse_in_batch(call, context, result).await);
        }
        if batch.parallel && admitted.len() > 1 && Handle::try_current().is_ok() {
            self.beside_each_other(context, admitted, &mut results).await;
        } else {
            for (index, call, approved) in admitted {
                results[index] =
                    Some(self.dispatch(context, call, Pass { approved, ..Pass::default() }).await);
            }
        }
        results.into_iter().flatten().collect()
    }

    async fn beside_each_other(
        &self,
        context: Option<&ToolContext>,
        calls: Vec<(usize, ToolCall, bool)>,
        results: &mut [Option<ToolResult>],
    ) {
        let held = HeldLimits::current();
        let mut tasks = JoinSet::new();
        let mut tasks_by_id = Vec::new();
        for (index, call, approved) in calls {
            let (toolbox, context) = (self.clone(), context.cloned());
            let (id, name) = (call.id.clone(), call.name.clone());
            let pass = Pass { approved, ..Pass::default() };
            let run = trace::carried(async move {
                (index, toolbox.dispatch(context.as_ref(), call, pass).await)
            });
            // Few calls are made under a limit; the others need no scope.
            let task = if held.is_empty() {
                tasks.spawn(run)
            } else {
                tasks.spawn(held.clone().scope(run))
            };
            tasks_by_id.push((task.id(), index, id, name));
        }
        while let Some(ended) = tasks.join_next().await {
            match ended {
                Ok((index, result)) => results[index] = Some(result),
                // Panics of tools end in the gate. If the gate itself panics, the call is answered
                // all the same.
                Err(error) => {
                    let entry = tasks_by_id.iter().find(|(task, ..)| *task == error.id());
                    if let Some((_, index, id, name)) = entry {
                        let result = match error.try_into_panic() {
                            Ok(payload) => panicked(name, payload),
                            Err(_) => super::supervise::cancelled(name),
                        };
                        results[*index] = Some(answer(id.clone(), result));
                    }
                }
            }
        }
    }
}

/// Returns an id that no call of the batch has: two results of one id would break the transcript.
#[cold]
fn id_of_its_own(id: &str, index: usize, taken: &mut HashSet<String>) -> String {
    let mut own = format!("{id}#{}", index + 1);
    while !taken.insert(own.clone()) {
        own.push('\'');
    }
    own
}
