//! A future that ends when it is done, cancelled, out of time, or panics.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use tokio::runtime::Handle;

use crate::cancel::CancellationToken;

/// How waiting ended.
pub(super) enum Ended<T> {
    Done(T),
    Cancelled,
    TimedOut,
    Panicked,
}

/// Waits for `future`, no longer than until the cancellation or the deadline. Without a tokio runtime, time is not bounded.
pub(super) async fn watched<F: Future>(
    future: F,
    cancellation: &CancellationToken,
    deadline: Option<Instant>,
) -> Ended<F::Output> {
    let mut future = pin!(future);
    let mut cancelled = pin!(cancellation.cancelled());
    let mut timer = match deadline {
        Some(deadline) if Handle::try_current().is_ok() => {
            // A runtime built without time panics here, and there is no way to ask it first.
            catch_unwind(|| Box::pin(tokio::time::sleep_until(deadline.into()))).ok()
        }
        _ => None,
    };
    poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => return Poll::Ready(Ended::Done(output)),
            Ok(Poll::Pending) => {}
            Err(payload) => {
                crate::dispatch::forget_quietly(payload);
                return Poll::Ready(Ended::Panicked);
            }
        }
        if cancelled.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ended::Cancelled);
        }
        match &mut timer {
            Some(timer) => timer.as_mut().poll(context).map(|()| Ended::TimedOut),
            None => Poll::Pending,
        }
    })
    .await
}
