//! Supervision of a future: contains its panics, bounds its time, and lets its caller cancel it.

use std::any::Any;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

use crate::call::{FailureKind, ToolResult};
use crate::context::question::OpenTime;
use crate::context::{CancellationToken, ToolContext};
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;
use crate::panics::forget_quietly;
use crate::tool::ToolInner;

/// The shortest time by which a timeout is put off.
const MIN_RENEWAL: Duration = Duration::from_millis(100);

/// The end of a supervised future.
pub(crate) enum SupervisedEnd<T> {
    Done(T),
    Cancelled,
    TimedOut,
    Panicked(Box<dyn Any + Send>),
}

/// A future whose panics are contained, and which ends at a cancellation or when its time is over.
///
/// The timer and the cancellation are set up when the future first waits: one that never waits pays
/// for neither. Without a tokio runtime, time is not bounded.
pub(crate) struct Supervised<'a, T> {
    future: Option<BoxFuture<'a, T>>,
    /// `true` if the future was polled just before, and waits.
    is_polled: bool,
    cancellation: Option<&'a CancellationToken>,
    timeout: Option<Duration>,
    /// The context whose questions to a person put the timeout off.
    asking: Option<&'a ToolContext>,
    limits: Option<ActiveLimits<'a>>,
}

struct ActiveLimits<'a> {
    timer: Option<Timer<'a>>,
    cancelled: Option<BoxFuture<'a, ()>>,
}

impl<'a, T> Supervised<'a, T> {
    pub(crate) fn new(
        future: BoxFuture<'a, T>,
        cancellation: Option<&'a CancellationToken>,
        timeout: Option<Duration>,
    ) -> Self {
        let future = Some(future);
        Self { future, is_polled: false, cancellation, timeout, asking: None, limits: None }
    }
}

impl<T> Future for Supervised<'_, T> {
    type Output = SupervisedEnd<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SupervisedEnd<T>> {
        let this = &mut *self;
        let Some(future) = &mut this.future else { return Poll::Pending };
        let poll = || future.as_mut().poll(context);
        let poll = if take(&mut this.is_polled) {
            Ok(Poll::Pending)
        } else {
            catch_unwind(AssertUnwindSafe(poll))
        };
        match poll {
            Ok(Poll::Ready(output)) => return Poll::Ready(SupervisedEnd::Done(output)),
            Ok(Poll::Pending) => {}
            Err(payload) => return Poll::Ready(SupervisedEnd::Panicked(payload)),
        }
        let (cancellation, timeout, asking) = (this.cancellation, this.timeout, this.asking);
        let limits =
            this.limits.get_or_insert_with(|| ActiveLimits::new(cancellation, timeout, asking));
        limits.poll(context)
    }
}

impl<T> Drop for Supervised<'_, T> {
    fn drop(&mut self) {
        // Dropping the future may panic too; that is contained in the same way.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(self.future.take()))) {
            forget_quietly(payload);
        }
    }
}

impl<'a> ActiveLimits<'a> {
    fn new(
        cancellation: Option<&'a CancellationToken>,
        timeout: Option<Duration>,
        asking: Option<&'a ToolContext>,
    ) -> Self {
        let cancelled =
            cancellation.map(|token| -> BoxFuture<'a, ()> { Box::pin(token.cancelled()) });
        Self { timer: timeout.and_then(|timeout| Timer::start(timeout, asking)), cancelled }
    }

    fn poll<T>(&mut self, context: &mut Context<'_>) -> Poll<SupervisedEnd<T>> {
        if let Some(cancelled) = &mut self.cancelled
            && cancelled.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(SupervisedEnd::Cancelled);
        }
        match &mut self.timer {
            Some(timer) => timer.poll(context).map(|()| SupervisedEnd::TimedOut),
            None => Poll::Pending,
        }
    }
}

/// A limit on the time of a call, and its source.
#[derive(Clone, Copy)]
pub(super) struct Timeout {
    pub(super) limit: Duration,
    pub(super) set_by: TimeoutSource,
}

#[derive(Clone, Copy)]
pub(super) enum TimeoutSource {
    Tool,
    Server,
    ToolBox,
    Deadline,
}

impl Timeout {
    /// Returns the time until the deadline of a call, if it has one.
    pub(super) fn until_deadline(context: &ToolContext) -> Option<Self> {
        context.remaining().map(|limit| Self { limit, set_by: TimeoutSource::Deadline })
    }

    /// Returns the tool's own timeout, or the box's if the tool has none.
    #[inline]
    pub(super) fn of_tool(tool: &ToolInner, of_box: Option<Duration>) -> Option<Self> {
        match tool.running.timeout {
            Some(limit) if tool.running.has_server_timeout => {
                Some(Self { limit, set_by: TimeoutSource::Server })
            }
            Some(limit) => Some(Self { limit, set_by: TimeoutSource::Tool }),
            None => of_box.map(|limit| Self { limit, set_by: TimeoutSource::ToolBox }),
        }
    }
}

impl TimeoutSource {
    /// Returns the name of the limit and the way to raise it.
    fn explanation(self) -> &'static str {
        match self {
            Self::Tool => ", its own timeout (`#[tool(timeout = \"..\")]` or `Tool::with_timeout`)",
            Self::Server => {
                ", the timeout of its server's tools (`\"timeout\"` in toolbox.jsonc, or `\"maxTotalTimeout\"`, up to which progress extends it)"
            }
            Self::ToolBox => {
                ", the timeout of all tools (`ToolBoxBuilder::timeout`, or `#[tool(timeout = \"..\")]` for one)"
            }
            Self::Deadline => {
                ", the time that was left to the call (`ToolContext::with_deadline`, `AgentBuilder::timeout`)"
            }
        }
    }
}

/// A supervised step of a call, whose every end is a result.
pub(super) struct SupervisedCall<'a> {
    inner: Supervised<'a, ToolResult>,
    tool: &'a ToolDefinition,
    timeout: Option<Timeout>,
    /// `true` if the work may go on after it was given up.
    detached: bool,
    /// `true` if the result is a handler's and not the gate's.
    pub(super) of_handler: bool,
    /// Resolves when the call asks something that nobody answers.
    asked: Option<BoxFuture<'a, ()>>,
}

impl<'a> SupervisedCall<'a> {
    pub(super) fn new(
        step: BoxFuture<'a, ToolResult>,
        tool: &'a ToolInner,
        context: &'a ToolContext,
        timeout: Option<Timeout>,
    ) -> Self {
        let time = timeout.map(|timeout| timeout.limit);
        let mut inner = Supervised::new(step, context.given_cancellation(), time);
        // A deadline is a point in time, whoever is waited for.
        if timeout.is_some_and(|timeout| !matches!(timeout.set_by, TimeoutSource::Deadline)) {
            inner.asking = Some(context);
        }
        let asked = context.until_question_is_open();
        let tool = &tool.definition;
        Self { inner, tool, timeout, detached: false, of_handler: false, asked }
    }

    /// Marks the result as that of a handler or a layer, and not of the gate.
    pub(super) fn of_handler(mut self) -> Self {
        self.of_handler = true;
        self
    }

    /// Supervises a step that was polled just before and waits, without polling it again at once.
    pub(super) fn polled(mut self) -> Self {
        self.inner.is_polled = true;
        self
    }

    /// Marks the work as running elsewhere, where it may go on after it was given up.
    pub(super) fn detached(mut self) -> Self {
        self.detached = true;
        self
    }
}

impl Future for SupervisedCall<'_> {
    type Output = ToolResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ToolResult> {
        let tool = self.tool;
        let Poll::Ready(ended) = Pin::new(&mut self.inner).poll(context) else {
            let asked = self.asked.as_mut().map(|asked| asked.as_mut().poll(context));
            return match asked {
                Some(Poll::Ready(())) => Poll::Ready(unanswered(&tool.name)),
                _ => Poll::Pending,
            };
        };
        Poll::Ready(match ended {
            SupervisedEnd::Done(mut result) => {
                if self.of_handler {
                    result.unmark();
                }
                result
            }
            SupervisedEnd::Cancelled => cancelled(&tool.name),
            SupervisedEnd::TimedOut => ToolResult::refusal(
                FailureKind::TimedOut,
                timed_out(tool, self.timeout, self.detached),
            ),
            SupervisedEnd::Panicked(payload) => panicked(&tool.name, payload),
        })
    }
}

/// A timer that is put off by the time for which questions to a person are open.
struct Timer<'a> {
    sleep: Pin<Box<Sleep>>,
    open_time: Option<&'a OpenTime>,
    /// The open time that is accounted for.
    accounted: Duration,
    deadline: Option<Instant>,
}

impl<'a> Timer<'a> {
    /// Starts a timer; `None` without a tokio runtime, where time is not bounded.
    fn start(timeout: Duration, asking: Option<&'a ToolContext>) -> Option<Self> {
        Handle::try_current().ok()?;
        // A runtime built without time panics here, and it cannot be asked first.
        let sleep = catch_unwind(|| Box::pin(tokio::time::sleep(timeout))).ok()?;
        let open_time = asking.and_then(ToolContext::open_time);
        Some(Self {
            sleep,
            open_time,
            accounted: open_time.map_or(Duration::ZERO, OpenTime::total),
            deadline: asking.and_then(ToolContext::deadline).map(Instant::from_std),
        })
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.sleep.as_mut().poll(context).is_ready() {
            let total = self.open_time.map_or(Duration::ZERO, OpenTime::total);
            let more = total.saturating_sub(self.accounted);
            let now = Instant::now();
            if more.is_zero() || self.deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(());
            }
            self.accounted = total;
            // A question that was just put is not looked at again at once.
            let next = now + more.max(MIN_RENEWAL);
            self.sleep.as_mut().reset(self.deadline.map_or(next, |deadline| next.min(deadline)));
        }
        Poll::Pending
    }
}

fn timed_out(tool: &ToolDefinition, timeout: Option<Timeout>, detached: bool) -> String {
    let limit = timeout.map(|timeout| timeout.limit).unwrap_or_default();
    let idempotent = tool.annotations.is_idempotent();
    let tool = &*tool.name;
    let mut text = format!("tool `{tool}` did not finish within {limit:?}");
    if let Some(timeout) = timeout {
        text.push_str(timeout.set_by.explanation());
    }
    if detached {
        text.push_str("; it may still be running");
    } else if !idempotent {
        text.push_str("; whether it took effect is unknown");
    }
    tracing::warn!(tool, timeout = ?limit, "a tool did not finish in time");
    text
}

pub(super) fn cancelled(tool: &str) -> ToolResult {
    ToolResult::refusal(FailureKind::Cancelled, format!("the call of tool `{tool}` was cancelled"))
}

/// Returns the result of a call that panicked. The message goes to the log: it may hold what the
/// model must not see.
#[cold]
pub(super) fn panicked(tool: &str, payload: Box<dyn Any + Send>) -> ToolResult {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a payload that is no text");
    tracing::error!(tool, panic = message, "a tool panicked");
    forget_quietly(payload);
    ToolResult::refusal(FailureKind::Panicked, format!("tool `{tool}` panicked"))
}

fn unanswered(tool: &str) -> ToolResult {
    let text = format!("tool `{tool}` waits for an answer, and is called again with it");
    ToolResult::refusal(FailureKind::Deferred, text)
}
