//! Reports of evals.

mod junit;
mod page;
mod text;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::statistics::PassRate;
use crate::suite::{Case, Suite};

/// The version of the JSON.
const VERSION: u32 = 1;

/// The outcome of an eval.
///
/// Its `Display` is the report as text: a line for each case, with the reasons of those that
/// failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Report {
    /// The version of the form of this report as JSON.
    toolbox_eval: u32,
    /// The name of the suite.
    pub suite: String,
    /// The name of the model, as its service knows it.
    pub model: String,
    /// The pass rate from which the suite passes.
    pub pass_at: f64,
    /// The share of all runs that passed; see [`PassRate::of_cases`].
    pub rate: PassRate,
    /// The cases, in the order of the suite.
    pub cases: Vec<CaseReport>,
}

/// The runs of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CaseReport {
    /// The name of the case.
    pub name: String,
    /// The message of the user.
    pub request: String,
    /// The share of its runs that passed; see [`PassRate::of_runs`].
    pub rate: PassRate,
    /// The runs.
    pub runs: Vec<RunReport>,
}

/// One run of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RunReport {
    /// The faults; none if the run passed.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// The calls of the model, in their order.
    #[serde(default)]
    pub calls: Vec<MadeCall>,
    /// The answer; empty where there was none.
    #[serde(default)]
    pub answer: String,
    /// The time that the run took, its judge included.
    #[serde(rename = "duration_ms", with = "milliseconds")]
    pub took: Duration,
    /// The tokens of the model's requests and replies, without those of the judge.
    #[serde(default)]
    pub tokens: u64,
}

/// A call of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MadeCall {
    /// The name of the tool; through a gateway, of the one that it was to call.
    pub name: String,
    /// The arguments as the model wrote them; text that is no JSON is a text.
    pub arguments: Value,
    /// The code of the failure, if the call failed, such as `args.missing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The repairs of its arguments before the tool ran, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
}

/// Something that was not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The sentence for people.
    pub message: String,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultKind {
    /// An expected call was not made.
    MissingCall,
    /// A call was made that may not be.
    UnexpectedCall,
    /// The tool was called with other arguments.
    WrongArguments,
    /// The tool was called with arguments that do not fit its schema, or may not be called.
    RefusedCall,
    /// A call was not made at its place.
    WrongOrder,
    /// The answer lacks what it should contain.
    WrongAnswer,
    /// The judge found the answer wrong.
    JudgedWrong,
    /// The judge gave no judgement.
    NoJudgement,
    /// The run stopped without an answer.
    Stopped,
    /// The run took too long.
    TimedOut,
    /// The model gave no reply.
    Model,
    /// A tool, or the run, panicked.
    Panicked,
}

impl FaultKind {
    /// Returns the stable code, such as `missing_call`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::MissingCall => "missing_call",
            Self::UnexpectedCall => "unexpected_call",
            Self::WrongArguments => "wrong_arguments",
            Self::RefusedCall => "refused_call",
            Self::WrongOrder => "wrong_order",
            Self::WrongAnswer => "wrong_answer",
            Self::JudgedWrong => "judged_wrong",
            Self::NoJudgement => "no_judgement",
            Self::Stopped => "stopped",
            Self::TimedOut => "timed_out",
            Self::Model => "model",
            Self::Panicked => "panicked",
        }
    }
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code(), self.message)
    }
}

impl RunReport {
    /// Returns `true` if all was as expected.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) fn failed(fault: Fault) -> Self {
        let (faults, calls) = (vec![fault], Vec::new());
        Self { faults, calls, answer: String::new(), took: Duration::ZERO, tokens: 0 }
    }
}

impl CaseReport {
    pub(crate) fn new(case: &Case, runs: Vec<RunReport>) -> Self {
        let count = |runs: usize| u32::try_from(runs).unwrap_or(u32::MAX);
        let passed = count(runs.iter().filter(|run| run.passed()).count());
        let rate = PassRate::of_runs(passed, count(runs.len()));
        Self { name: case.name.clone(), request: case.request.clone(), rate, runs }
    }

    /// Returns the faults of all runs, each once, with the number of runs that had it; the most
    /// frequent first.
    #[must_use]
    pub fn faults(&self) -> Vec<(&Fault, usize)> {
        let mut counted: Vec<(&Fault, usize)> = Vec::new();
        for fault in self.runs.iter().flat_map(|run| &run.faults) {
            match counted.iter_mut().find(|(own, _)| *own == fault) {
                Some((_, count)) => *count += 1,
                None => counted.push((fault, 1)),
            }
        }
        counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counted
    }
}

impl Report {
    pub(crate) fn new(suite: &Suite, model: &str, cases: Vec<CaseReport>) -> Self {
        let counts: Vec<_> = cases.iter().map(|case| (case.rate.passed, case.rate.runs)).collect();
        Self {
            toolbox_eval: VERSION,
            suite: suite.name.clone(),
            model: model.to_owned(),
            pass_at: suite.pass_at,
            rate: PassRate::of_cases(&counts),
            cases,
        }
    }

    /// Reads a report that [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    ///
    /// [`ReportError`] if the text is none.
    pub fn parse(text: &str) -> Result<Self, ReportError> {
        let report: Self =
            serde_json::from_str(text).map_err(|error| ReportError(error.to_string()))?;
        if report.toolbox_eval != VERSION {
            let why = format!("it is of version {}, not {VERSION}", report.toolbox_eval);
            return Err(ReportError(why));
        }
        Ok(report)
    }

    /// Returns `true` if the pass rate is that of the suite, [`pass_at`](Self::pass_at), or higher.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.rate.rate >= self.pass_at
    }

    /// Asserts that the pass rate is at least `rate`, from 0 to 1.
    ///
    /// # Panics
    ///
    /// If it is lower; the message has the cases that failed, with the reasons.
    #[track_caller]
    pub fn assert_passes(&self, rate: f64) {
        assert!(
            self.rate.rate >= rate,
            "the pass rate is below {}:\n{}",
            text::percent(rate),
            text::report(self, true)
        );
    }

    /// Returns the report as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the report as `JUnit` XML: a test for each case, which fails if its pass rate is below
    /// that of the suite.
    #[must_use]
    pub fn to_junit(&self) -> String {
        junit::report(self)
    }

    /// Returns the report as a page of HTML that needs nothing else, and runs no script.
    #[must_use]
    pub fn to_page(&self) -> String {
        page::report(self)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::report(self, false))
    }
}

/// The reason why a text is no report.
#[derive(Debug)]
pub struct ReportError(String);

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no report of an eval: {}", self.0)
    }
}

impl std::error::Error for ReportError {}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(took: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
