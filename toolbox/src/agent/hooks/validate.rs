//! Validators of answers.

use std::fmt::Display;

use super::checked::Checked;
use super::form::{AnyForm, AtOnce, Awaited};
use crate::future::BoxFuture;

/// A check on an answer whose error the model is told, so that it answers again.
///
/// Closures are validators: sync ones over a `&Checked`, async ones over a `Checked`. They return
/// a `Result<(), E>` whose error implements `Display`. Other than a [guard](super::Guard), a
/// validator does not end the run until the model has used up its
/// [tries](crate::agent::AgentBuilder::max_answer_attempts).
///
/// ```
/// use toolbox::agent::{Checked, ValidateAnswer};
/// use toolbox::{Agent, BoxFuture};
/// use toolbox::testing::ScriptedModel;
///
/// struct AtMost(usize);
///
/// impl ValidateAnswer for AtMost {
///     fn validate<'a>(&'a self, answer: &'a Checked) -> BoxFuture<'a, Result<(), String>> {
///         Box::pin(async move {
///             let words = answer.text().split_whitespace().count();
///             let most = self.0;
///             (words <= most).then_some(()).ok_or(format!("{words} words, and {most} may be"))
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new().text("It will rain all day long.").text("Rain.");
/// let agent = Agent::builder(model).validate_answer(AtMost(2)).build()?;
/// assert_eq!(agent.run("How is the weather?").await?.content, "Rain.");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a validator of answers",
    label = "cannot validate an answer",
    note = "a validator is a closure that returns a `Result<(), E>`: `|answer: &Checked| if answer.text().is_empty() {{ Err(\"empty\") }} else {{ Ok(()) }}`"
)]
pub trait ValidateAnswer<Form = ()>: Send + Sync + 'static {
    /// Checks an answer.
    ///
    /// # Errors
    ///
    /// What the model is told, as a text.
    fn validate<'a>(&'a self, answer: &'a Checked) -> BoxFuture<'a, Result<(), String>>;
}

#[diagnostic::do_not_recommend]
impl<F, E> ValidateAnswer<AtOnce> for F
where
    F: Fn(&Checked) -> Result<(), E> + Send + Sync + 'static,
    E: Display,
{
    fn validate<'a>(&'a self, answer: &'a Checked) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self(answer).map_err(|error| error.to_string()) })
    }
}

#[diagnostic::do_not_recommend]
impl<F, Fut, E> ValidateAnswer<Awaited> for F
where
    F: Fn(Checked) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), E>> + Send,
    E: Display,
{
    fn validate<'a>(&'a self, answer: &'a Checked) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self(answer.clone()).await.map_err(|error| error.to_string()) })
    }
}

impl<V: ValidateAnswer<Form>, Form: 'static> ValidateAnswer for AnyForm<V, Form> {
    fn validate<'a>(&'a self, answer: &'a Checked) -> BoxFuture<'a, Result<(), String>> {
        self.hook.validate(answer)
    }
}
