//! Calls of one's own tools, and what they came to.

use serde_json::Value;

use crate::call::{ArgumentsError, ToolCall, ToolResult};
use crate::collection::ToolBox;
use crate::context::ToolContext;

/// Calls a tool, as a model would, for a check of what it came to.
///
/// ```
/// use serde_json::json;
/// use toolbox::testing::call;
/// use toolbox::{ToolBox, tool, tools};
///
/// /// Divides.
/// #[tool]
/// fn divide(#[arg(range = 0..=1000)] a: i32, b: i32) -> Result<i32, String> {
///     a.checked_div(b).ok_or("there is nothing to divide by".into())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let toolbox = ToolBox::from(tools![divide]);
/// call(&toolbox, "divide", json!({"a": 9, "b": 3})).await.returns("3");
/// call(&toolbox, "divide", json!({"a": 9, "b": 0})).await.fails("tool.failed").says("nothing");
/// call(&toolbox, "divide", json!({"a": 9000}))
///     .await
///     .has_faults([("a", "args.out_of_range"), ("b", "args.missing")]);
/// # }
/// ```
pub async fn call(toolbox: &ToolBox, name: &str, arguments: Value) -> ResultCheck {
    call_in(&ToolContext::new(), toolbox, name, arguments).await
}

/// Calls a tool in a context: with a principal, a clock, a person who answers.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// use serde_json::json;
/// use toolbox::context::{Clock, Principal};
/// use toolbox::testing::{ScriptedPerson, call_in};
/// use toolbox::{ToolBox, ToolContext, tool, tools};
///
/// /// Says who asks, and when.
/// #[tool]
/// async fn whoami(clock: Clock, context: &ToolContext) -> Result<String, String> {
///     let since = clock.now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
///     let sure: bool = context.ask("Are you sure?").await.map_err(|error| error.to_string())?;
///     Ok(format!("{} at {}, sure: {sure}", Principal::of(context).as_str(), since.as_secs()))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let person = ScriptedPerson::new().answers(true);
/// let clock = Clock::fixed(UNIX_EPOCH + Duration::from_secs(60));
/// let context = ToolContext::new().with(Principal::new("ada")).with(clock);
/// let context = context.with_asker(person.clone());
/// call_in(&context, &ToolBox::from(tools![whoami]), "whoami", json!({}))
///     .await
///     .returns("ada at 60, sure: true");
/// assert_eq!(person.questions(), ["Are you sure?"]);
/// # }
/// ```
pub async fn call_in(
    context: &ToolContext,
    toolbox: &ToolBox,
    name: &str,
    arguments: Value,
) -> ResultCheck {
    let call = ToolCall::new("call_1", name, arguments.to_string());
    let asked = format!("`{name}` with {arguments}");
    ResultCheck { result: toolbox.call_in(context, call).await, asked }
}

/// A check of one result; see [`call`]. Each method panics with the call and all of its result.
#[derive(Debug, Clone)]
pub struct ResultCheck {
    result: ToolResult,
    asked: String,
}

#[allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "a check may end anywhere"
)]
impl ResultCheck {
    /// Asserts that the call succeeded with exactly this text.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn returns(self, text: &str) -> Self {
        if self.result.is_error() || self.result.text() != text {
            self.fail(&format!("not to {text:?}"));
        }
        self
    }

    /// Asserts that the call succeeded with this JSON, in any order of keys.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    #[allow(clippy::needless_pass_by_value, reason = "a check reads best with `json!` in it")]
    pub fn returns_json(self, value: Value) -> Self {
        let text = || serde_json::from_str(&self.result.text()).ok();
        let own = self.result.structured_content().or_else(text);
        if self.result.is_error() || own.as_ref() != Some(&value) {
            self.fail(&format!("not to {value}"));
        }
        self
    }

    /// Asserts that the text of the result, or of the failure, contains this.
    ///
    /// # Panics
    ///
    /// If it does not.
    #[track_caller]
    pub fn says(self, part: &str) -> Self {
        if !self.result.text().contains(part) {
            self.fail(&format!("and does not say {part:?}"));
        }
        self
    }

    /// Asserts that the call failed with this code, such as `args.missing` or `tool.failed`.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn fails(self, code: &str) -> Self {
        if self.result.code() != Some(code) {
            self.fail(&format!("not to {code}"));
        }
        self
    }

    /// Asserts that the arguments had these faults and no others, in any order: each the path of
    /// the value and the code of the fault.
    ///
    /// # Panics
    ///
    /// If they had others.
    #[track_caller]
    pub fn has_faults<'a>(self, faults: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let error = self.result.source().and_then(|error| error.downcast_ref::<ArgumentsError>());
        let own = error.into_iter().flat_map(|error| error.faults().iter());
        let mut own: Vec<(&str, &str)> =
            own.map(|fault| (fault.path.as_str(), fault.kind.code())).collect();
        let mut wanted: Vec<_> = faults.into_iter().collect();
        own.sort_unstable();
        wanted.sort_unstable();
        if own != wanted {
            self.fail(&format!("with the faults {own:?}, not {wanted:?}"));
        }
        self
    }

    /// Asserts that the arguments were read as they stand, without a repair.
    ///
    /// # Panics
    ///
    /// If they were repaired.
    #[track_caller]
    pub fn has_no_repairs(self) -> Self {
        let repairs: Vec<String> = self.result.repairs().iter().map(ToString::to_string).collect();
        if !repairs.is_empty() {
            self.fail(&format!("after repairs: {repairs:?}"));
        }
        self
    }

    /// Returns the result.
    pub fn into_result(self) -> ToolResult {
        self.result
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        let code = self.result.code().unwrap_or("success");
        panic!("{} came to {code}, {what}:\n{}", self.asked, self.result.text())
    }
}
