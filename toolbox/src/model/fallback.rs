//! A model that falls back on others.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Delta, Deltas, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse};
use crate::context::now;
use crate::future::BoxFuture;
use crate::sync::Mutex;

/// A model that asks others in order, until one replies.
///
/// - The next model is asked when one fails for a reason that [may
///   pass](super::ModelErrorKind::is_retryable): it cannot be reached, is overloaded, limits the
///   rate, does not answer in time, or answers with what is no reply. Other errors, such as a
///   request that is not accepted, end the request; [`fallback_on`](Self::fallback_on) decides
///   otherwise. A reply that is a refusal is a reply.
/// - A model that has sent a piece of its reply to a listener is the last one asked: the pieces of
///   two replies would be read as one. Where nobody listens to [deltas](Deltas), there are no such
///   pieces.
/// - With a [circuit breaker](Self::circuit_breaker), a model that fails again and again is asked
///   after the others for a while.
/// - Each model makes its own retries first, and has its own time limits: one that waits for ever
///   is never given up here.
///
/// [`ModelResponse::model`] says which one replied. If all fail, the error has the kind of the last
/// one, and the messages of all.
///
/// ```
/// use std::time::Duration;
/// use toolbox::model::{Fallback, Model};
///
/// fn resilient(first: impl Model, second: impl Model) -> Fallback {
///     Fallback::new(first).or(second).circuit_breaker(3, Duration::from_secs(30))
/// }
/// ```
pub struct Fallback {
    models: Vec<RankedModel>,
    decide: Arc<dyn Fn(&ModelError) -> bool + Send + Sync>,
    breaker: Option<Breaker>,
}

/// One of the models, with its recent failures.
struct RankedModel {
    model: Arc<dyn Model>,
    circuit: Mutex<Circuit>,
}

/// The setting of the circuit breaker.
#[derive(Clone, Copy)]
struct Breaker {
    failures: u32,
    rest: Duration,
}

/// The failures of a model since its last reply.
#[derive(Default)]
struct Circuit {
    failures: u32,
    open_until: Option<Instant>,
}

impl Fallback {
    /// Returns a model that asks `first`, and the others once they are [added](Self::or).
    pub fn new(first: impl Model) -> Self {
        let decide = |error: &ModelError| error.kind().is_retryable();
        Self { models: Vec::new(), decide: Arc::new(decide), breaker: None }.or(first)
    }

    /// Adds a model, which is asked when those before it have failed.
    #[must_use]
    pub fn or(mut self, next: impl Model) -> Self {
        self.models.push(RankedModel { model: Arc::new(next), circuit: Mutex::default() });
        self
    }

    /// Sets the errors after which the next model is asked. Default: those whose kind is
    /// [retryable](super::ModelErrorKind::is_retryable).
    #[must_use]
    pub fn fallback_on(
        mut self,
        decide: impl Fn(&ModelError) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.decide = Arc::new(decide);
        self
    }

    /// Asks a model after the others for the time of `rest`, once it has failed `failures` times in
    /// a row; for longer where its service asked for that. Default: no circuit breaker.
    ///
    /// When the time is over, one request tries the model again: a reply closes the circuit,
    /// another failure opens it for as long again. Only errors that make the next model be asked
    /// count.
    #[must_use]
    pub fn circuit_breaker(mut self, failures: u32, rest: Duration) -> Self {
        self.breaker = Some(Breaker { failures: failures.max(1), rest });
        self
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelResponse, ModelError> {
        let has_begun = AtomicBool::new(false);
        let pass = |delta: Delta| {
            has_begun.store(true, Ordering::Relaxed);
            deltas.send(delta);
        };
        let passed = if deltas.are_wanted() { Deltas::to(&pass) } else { Deltas::none() };
        let (mut in_turn, mut resting) = (self.models.iter(), VecDeque::new());
        let mut failures = Vec::new();
        loop {
            let candidate = match in_turn.next() {
                Some(candidate) if candidate.is_admitted(self.breaker) => candidate,
                Some(candidate) => {
                    resting.push_back(candidate);
                    continue;
                }
                None => match resting.pop_front() {
                    Some(candidate) => candidate,
                    None => {
                        return Err(ModelError::new(ModelErrorKind::Other, "there is no model"));
                    }
                },
            };
            let error = match candidate.model.respond(request, passed).await {
                Ok(mut response) => {
                    candidate.replied();
                    response.model.get_or_insert_with(|| candidate.model.name().to_owned());
                    return Ok(response);
                }
                Err(error) => error,
            };
            let falls_back = (self.decide)(&error);
            if falls_back {
                candidate.failed(self.breaker, &error);
            }
            let name = candidate.model.name();
            failures.push(format!("{name}: {error}"));
            let is_last = in_turn.len() == 0 && resting.is_empty();
            if !falls_back || is_last || has_begun.load(Ordering::Relaxed) {
                return Err(if failures.len() == 1 { error } else { joined(&failures, &error) });
            }
            tracing::warn!(model = name, %error, "a model failed, and the next one is asked");
        }
    }
}

/// Returns the error of several models, of the kind of the last one.
fn joined(failures: &[String], last: &ModelError) -> ModelError {
    let text = format!("each model that was asked failed: {}", failures.join("; "));
    let error = ModelError::new(last.kind(), text);
    match last.retry_after() {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    }
}

impl RankedModel {
    /// Returns `true` if the model is asked in its turn, and `false` if it is asked last.
    fn is_admitted(&self, breaker: Option<Breaker>) -> bool {
        let Some(breaker) = breaker else { return true };
        let mut circuit = self.circuit.lock();
        match circuit.open_until {
            None => true,
            Some(until) if until > now() => false,
            // One request tries; those that come meanwhile go to the others.
            Some(_) => {
                circuit.open_until = now().checked_add(breaker.rest);
                true
            }
        }
    }

    fn replied(&self) {
        *self.circuit.lock() = Circuit::default();
    }

    fn failed(&self, breaker: Option<Breaker>, error: &ModelError) {
        let Some(breaker) = breaker else { return };
        let mut circuit = self.circuit.lock();
        circuit.failures = circuit.failures.saturating_add(1);
        if circuit.failures >= breaker.failures {
            let rest = error.retry_after().map_or(breaker.rest, |wait| wait.max(breaker.rest));
            circuit.open_until = now().checked_add(rest);
        }
    }
}

#[diagnostic::do_not_recommend]
impl Model for Fallback {
    /// Returns the name of the first model.
    fn name(&self) -> &str {
        self.models.first().map_or("", |first| first.model.name())
    }

    fn provider(&self) -> &'static str {
        self.models.first().map_or("custom", |first| first.model.provider())
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(self.ask(request, deltas))
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.models.iter().map(|candidate| candidate.model.name())).finish()
    }
}
