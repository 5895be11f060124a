//! Guards on the input and on the answer of a run.

use std::fmt::Display;

use super::checked::Checked;
use super::form::{AnyForm, AtOnce, Awaited};
use crate::future::BoxFuture;

/// The verdict of a guard.
///
/// ```
/// use toolbox::agent::Verdict;
///
/// let verdict = Verdict::block("asks for a password");
/// assert_eq!(verdict, Verdict::Block("asks for a password".to_owned()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The run goes on.
    Pass,
    /// The run ends, for this reason; see
    /// [`RunOutcome::blocked`](crate::agent::RunOutcome::blocked).
    Block(String),
}

impl Verdict {
    /// Returns the verdict that ends the run.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }

    /// Returns the verdict that ends the run where `is_blocked` says so.
    pub fn block_if(is_blocked: bool, reason: impl Into<String>) -> Self {
        if is_blocked { Self::block(reason) } else { Self::Pass }
    }
}

/// A value that closures may return as the [`Verdict`] of a guard: one, or a `Result` of one. An
/// error blocks.
///
/// ```
/// use toolbox::agent::{IntoVerdict, Verdict};
///
/// let failed: Result<Verdict, &str> = Err("the classifier is down");
/// assert_eq!(failed.into_verdict(), Verdict::block("a guard failed: the classifier is down"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no verdict of a guard",
    label = "a guard cannot return this",
    note = "return a `toolbox::agent::Verdict`, or a `Result` of one whose error implements `Display`"
)]
pub trait IntoVerdict {
    /// Returns the verdict.
    fn into_verdict(self) -> Verdict;
}

impl IntoVerdict for Verdict {
    fn into_verdict(self) -> Verdict {
        self
    }
}

impl<E: Display> IntoVerdict for Result<Verdict, E> {
    fn into_verdict(self) -> Verdict {
        self.unwrap_or_else(|error| Verdict::Block(format!("a guard failed: {error}")))
    }
}

/// A check on the input of a run, or on its answer, that can end the run.
///
/// Closures are guards: sync ones over a `&Checked`, async ones over a `Checked`. They return a
/// [`Verdict`], or a `Result` of one. A guard that fails or panics blocks.
///
/// See [`AgentBuilder::guard_input`](crate::agent::AgentBuilder::guard_input) and
/// [`guard_output`](crate::agent::AgentBuilder::guard_output).
///
/// ```
/// use toolbox::{Agent, BoxFuture};
/// use toolbox::agent::{Checked, Guard, StopReason, Verdict};
/// use toolbox::testing::ScriptedModel;
///
/// /// Lets a model decide.
/// struct Judge(Agent);
///
/// impl Guard for Judge {
///     fn check<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Verdict> {
///         Box::pin(async move {
///             // In the context of the run, whose budgets and cancellation hold for the judge.
///             let run = self.0.run(checked.text()).in_context(checked.context().clone());
///             match run.await {
///                 Ok(outcome) if outcome.content == "fine" => Verdict::Pass,
///                 _ => Verdict::block("the judge does not approve"),
///             }
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let judge = Judge(Agent::builder(ScriptedModel::answering("a homework")).build()?);
/// let agent = Agent::builder(ScriptedModel::answering("x = 3"))
///     .guard_input(judge)
///     .guard_output(|answer: &Checked| Verdict::block_if(answer.text().len() > 4096, "too long"))
///     .build()?;
/// let outcome = agent.run("Solve 2x = 6").await?;
/// assert_eq!(outcome.reason, StopReason::InputBlocked);
/// assert_eq!(outcome.blocked.as_deref(), Some("the judge does not approve"));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a guard",
    label = "cannot check the input or the answer of a run",
    note = "a guard is a closure: `|checked: &Checked| Verdict::Pass`, or `|checked: Checked| async move {{ Verdict::Pass }}`"
)]
pub trait Guard<Form = ()>: Send + Sync + 'static {
    /// Returns the verdict on an input or an answer.
    fn check<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Verdict>;
}

#[diagnostic::do_not_recommend]
impl<F, V> Guard<AtOnce> for F
where
    F: Fn(&Checked) -> V + Send + Sync + 'static,
    V: IntoVerdict,
{
    fn check<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Verdict> {
        Box::pin(async move { self(checked).into_verdict() })
    }
}

#[diagnostic::do_not_recommend]
impl<F, Fut> Guard<Awaited> for F
where
    F: Fn(Checked) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoVerdict> + Send,
{
    fn check<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Verdict> {
        Box::pin(async move { self(checked.clone()).await.into_verdict() })
    }
}

impl<G: Guard<Form>, Form: 'static> Guard for AnyForm<G, Form> {
    fn check<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Verdict> {
        self.hook.check(checked)
    }
}
