//! Checks on transcripts.

use serde_json::Value;

use crate::call::{ToolCall, ToolResult};
use crate::model::{History, Message};

/// Checks a transcript from its beginning: each method searches behind the match of the last one,
/// and panics with the whole transcript if it finds nothing.
///
/// ```
/// use serde_json::json;
/// use toolbox::agent::Agent;
/// use toolbox::testing::{ScriptedModel, check};
/// use toolbox::{tool, tools};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new()
///     .calls("add", r#"{"a": 2}"#)
///     .calls("add", r#"{"a": 2, "b": 3}"#)
///     .text("5");
/// let outcome = Agent::builder(model).tools(tools![add]).build()?.run("2 + 3?").await?;
/// check(&outcome.history)
///     .calls("add", json!({"a": 2}))
///     .fails("args.missing")
///     .calls("add", json!({"b": 3})) // names what matters; the call may have more
///     .returns("5")
///     .answers("5");
/// # Ok(())
/// # }
/// ```
#[must_use = "a check looks at nothing until it is told what for"]
pub fn check(history: &History) -> HistoryCheck<'_> {
    let mut moments = Vec::new();
    for message in history.messages() {
        match message {
            Message::User(_) => {}
            Message::Step(step) => {
                let text = step.reply().content();
                if !text.is_empty() {
                    moments.push(Moment::Said(text.into_owned()));
                }
                moments.extend(step.calls().map(|(call, result)| Moment::Called(call, result)));
            }
        }
    }
    HistoryCheck { history, moments, at: 0, last: None }
}

/// A check of a transcript, at some position in it; see [`check`].
#[derive(Debug)]
pub struct HistoryCheck<'a> {
    history: &'a History,
    moments: Vec<Moment<'a>>,
    at: usize,
    last: Option<&'a ToolResult>,
}

#[derive(Debug)]
enum Moment<'a> {
    Said(String),
    Called(&'a ToolCall, &'a ToolResult),
}

#[allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "a check may end anywhere"
)]
impl<'a> HistoryCheck<'a> {
    /// Moves to the next call of a tool whose arguments contain `arguments`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[track_caller]
    #[allow(clippy::needless_pass_by_value, reason = "a check reads best with `json!` in it")]
    pub fn calls(mut self, name: &str, arguments: Value) -> Self {
        let found = self.moments[self.at..].iter().position(|moment| match moment {
            Moment::Called(call, _) => {
                call.name == name
                    && call.arguments.parse().is_ok_and(|own: Value| holds(&own, &arguments))
            }
            Moment::Said(_) => false,
        });
        let Some(found) = found else {
            self.fail(&format!("no call of `{name}` with {arguments}"));
        };
        let at = self.at + found;
        if let Moment::Called(_, result) = self.moments[at] {
            self.last = Some(result);
        }
        self.at = at + 1;
        self
    }

    /// Asserts that the last call found succeeded with exactly this text.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn returns(self, text: &str) -> Self {
        let result = self.result();
        if result.is_error() || result.text() != text {
            self.fail(&format!("the call came to {:?}, not to {text:?}", result.text()));
        }
        self
    }

    /// Asserts that the last call found failed with this code, such as `args.missing`.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn fails(self, code: &str) -> Self {
        let result = self.result();
        if result.code() != Some(code) {
            let came = result.code().unwrap_or("no failure");
            self.fail(&format!("the call came to {came} ({:?}), not to {code}", result.text()));
        }
        self
    }

    /// Asserts that a later text of the model contains this.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn says(mut self, text: &str) -> Self {
        let found = self.moments[self.at..]
            .iter()
            .position(|moment| matches!(moment, Moment::Said(said) if said.contains(text)));
        match found {
            Some(found) => self.at += found + 1,
            None => self.fail(&format!("the model does not say {text:?}")),
        }
        self
    }

    /// Asserts that the transcript ends with exactly this answer.
    ///
    /// # Panics
    ///
    /// If it does not.
    #[track_caller]
    pub fn answers(self, text: &str) {
        if !matches!(self.moments.last(), Some(Moment::Said(said)) if said == text) {
            self.fail(&format!("the answer is not {text:?}"));
        }
    }

    /// Asserts that there is no further call of a tool.
    ///
    /// # Panics
    ///
    /// If one is.
    #[track_caller]
    pub fn never_calls(self, name: &str) -> Self {
        let again = self.moments[self.at..]
            .iter()
            .any(|moment| matches!(moment, Moment::Called(call, _) if call.name == name));
        if again {
            self.fail(&format!("`{name}` is called"));
        }
        self
    }

    #[track_caller]
    fn result(&self) -> &'a ToolResult {
        match self.last {
            Some(result) => result,
            None => self.fail("no call was looked for before its result"),
        }
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        panic!("{what}, in this transcript:\n{}", rendered(self.history))
    }
}

/// Returns `true` if `own` contains everything in `wanted`: keys of objects at any depth, other
/// values exactly.
fn holds(own: &Value, wanted: &Value) -> bool {
    match (own, wanted) {
        (Value::Object(own), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| own.get(key).is_some_and(|own| holds(own, wanted)))
        }
        (own, wanted) => own == wanted,
    }
}

/// Returns a transcript as text for people, one line a message or call; good for snapshots.
#[must_use]
pub fn rendered(history: &History) -> String {
    history.to_text()
}
