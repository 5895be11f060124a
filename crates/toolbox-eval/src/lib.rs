//! Evals of tools: which calls a model makes on a request, how often they are the right ones, and
//! what a change of a description does to that.
//!
//! A [`Suite`] is data: requests, the calls that are expected, and what is expected of the answer.
//! An [`Eval`] runs it over any [`Model`](toolbox::model::Model), each case several times, and
//! returns a [`Report`] with pass rates and their confidence intervals. A [`Comparison`] says
//! whether one report is better than another.
//!
//! ```
//! use toolbox::testing::ScriptedModel;
//! use toolbox::{ToolBox, tool, tools};
//! use toolbox_eval::{Eval, Suite};
//!
//! /// Returns the weather in a city.
//! #[tool]
//! fn get_weather(city: &str) -> String {
//!     format!("rain in {city}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let suite = Suite::parse(
//!     r#"
//! name: weather
//! cases:
//!   - request: What is the weather in Oslo?
//!     calls: [{name: get_weather, arguments: {city: Oslo}}]
//!     answer: {contains: rain}
//! "#,
//! )?;
//! // In place of a real one, such as `OpenAi::from_env("gpt-5")?`.
//! let model = ScriptedModel::new().calls("get_weather", r#"{"city": "Oslo"}"#).text("It rains.");
//! let report = Eval::new(suite, model).toolbox(ToolBox::from(tools![get_weather])).run().await?;
//! report.assert_passes(1.0);
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | write cases | [`Suite`], [`Case`], [`ExpectedCall`], [`ArgumentMatcher`], [`ExpectedAnswer`] |
//! | run them | [`Eval`], [`EvalError`] |
//! | read what came of them, and fail a test | [`Report`], [`CaseReport`], [`RunReport`], [`Fault`] |
//! | give it to a machine or a browser | [`Report::to_json`], [`Report::to_junit`], [`Report::to_page`] |
//! | compare two boxes, descriptions or models | [`Comparison`] |
//! | have it on the command line | the module `cli` (feature `cli`) |

/// Compiles the code of the page with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/evals.md")]
mod evals_page {}

mod calls;
#[cfg(feature = "cli")]
pub mod cli;

mod comparison;
mod eval;
mod expectation;
mod judge;
mod matcher;
mod report;
mod run;
mod statistics;
mod suite;

pub use comparison::{Comparison, Difference};
pub use eval::{Eval, EvalError};
pub use matcher::{ArgumentMatcher, ArgumentMatchers, TextPattern};
pub use report::{CaseReport, Fault, FaultKind, MadeCall, Report, ReportError, RunReport};
pub use statistics::PassRate;
pub use suite::{
    Case, ExpectedAnswer, ExpectedCall, MAX_CASES, MAX_RUNS, Order, Suite, SuiteError, SuiteTool,
};
