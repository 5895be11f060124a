//! Suites of cases, as files write them.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toolbox::{Tool, ToolBox};

use crate::matcher::{ArgumentMatchers, TextPattern};

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// The most cases of a suite.
pub const MAX_CASES: usize = 10_000;
/// The most runs of a case.
pub const MAX_RUNS: u32 = 100;
/// The length of a name that is made of a request, in characters.
const NAME: usize = 60;

/// A list of cases, and how they are run.
///
/// [`Suite::parse`] reads one from YAML or JSON. A key that is not known is an error.
///
/// ```
/// use toolbox_eval::Suite;
///
/// let suite = Suite::parse(
///     r#"
/// name: weather
/// runs: 5
/// cases:
///   - request: What is the weather in Oslo?
///     calls:
///       - name: get_weather
///         arguments: {city: {contains: oslo}}
///   - request: Thank you!
///     no_calls: true
/// "#,
/// )?;
/// assert_eq!(suite.cases.len(), 2);
///
/// let error = Suite::parse("name: x\ncases: []\nrnus: 5\n").unwrap_err();
/// assert!(error.to_string().contains("line 3"), "{error}");
/// # Ok::<(), toolbox_eval::SuiteError>(())
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Suite {
    /// The name, for reports.
    pub name: String,
    /// The name of the model, as `toolbox eval --model` takes it. The library does not read it.
    #[serde(default)]
    pub model: Option<String>,
    /// The name of the model that judges answers, in the same form. The library does not read it.
    #[serde(default)]
    pub judge: Option<String>,
    /// The instructions that stand before each request.
    #[serde(default)]
    pub system: Option<String>,
    /// The number of times that each case is run, from 1 to 100. Default 1.
    #[serde(default = "one_run")]
    pub runs: u32,
    /// The pass rate from which the suite passes, from 0 to 1. Default 1.
    #[serde(default = "all_pass")]
    pub pass_at: f64,
    /// The time that a run may take, in seconds. Default 60.
    #[serde(default = "one_minute")]
    pub time_limit: u64,
    /// `true` if the tools are deferred, and found and called through a
    /// [`Gateway`](toolbox::search::Gateway). Default `false`.
    #[serde(default)]
    pub gateway: bool,
    /// The tools of the suite itself. Default: none; they are those of the program.
    #[serde(default)]
    pub tools: Vec<SuiteTool>,
    /// The cases, at least one.
    pub cases: Vec<Case>,
}

/// A tool that a suite defines: it has a fixed result, and does nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SuiteTool {
    /// The name.
    pub name: String,
    /// The description that the model reads.
    pub description: String,
    /// The JSON Schema of the arguments. Default: an object with any members.
    #[serde(default = "any_object")]
    pub input_schema: Value,
    /// The result of each call. Default `"ok"`.
    #[serde(default = "ok")]
    pub result: Value,
}

/// A request, and what is expected of the run that answers it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Case {
    /// The name, unique in its suite. Default: the beginning of the request.
    #[serde(default)]
    pub name: String,
    /// The message of the user.
    pub request: String,
    /// The calls that are expected. Default: any calls may be made.
    #[serde(default)]
    pub calls: Vec<ExpectedCall>,
    /// The order of these calls. Default [`Order::Any`].
    #[serde(default)]
    pub order: Order,
    /// `true` if no call may be made. Default `false`.
    #[serde(default)]
    pub no_calls: bool,
    /// The expectation of the answer. Default: any answer.
    #[serde(default)]
    pub answer: Option<ExpectedAnswer>,
}

/// A call that is expected.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExpectedCall {
    /// The name of the tool. Through a gateway it is that of the tool that was found.
    pub name: String,
    /// A matcher for each argument that matters; others may have any value. Default: none.
    #[serde(default)]
    pub arguments: ArgumentMatchers,
}

/// The order in which calls are expected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum Order {
    /// `any order`: each expected call was made; others may stand before, between and behind.
    #[default]
    #[serde(rename = "any order")]
    Any,
    /// `in order`: as for any order, and in this order.
    #[serde(rename = "in order")]
    InOrder,
    /// `exact`: these calls in this order, and no other.
    #[serde(rename = "exact")]
    Exact,
}

/// An expectation of an answer. All parts must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExpectedAnswer {
    /// The texts that the answer contains, case ignored: one, or a list.
    #[serde(default, deserialize_with = "one_or_many")]
    pub contains: Vec<String>,
    /// A regular expression that matches in the answer.
    #[serde(default)]
    pub regex: Option<TextPattern>,
    /// The rubric by which a model judges the answer.
    #[serde(default)]
    pub judge: Option<String>,
}

impl Suite {
    /// Reads a suite from YAML or JSON.
    ///
    /// # Errors
    ///
    /// [`SuiteError`], with line and column where the text is no suite.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        let text = text.trim_start_matches('\u{feff}');
        let mut suite: Self = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| SuiteError::new(error.to_string()))?
        } else {
            serde_saphyr::from_str(text).map_err(|error| SuiteError::of_yaml(&error))?
        };
        suite.complete()?;
        Ok(suite)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`SuiteError`] if it cannot be read, or is no suite; its message begins with the path.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SuiteError> {
        let path = path.as_ref();
        let named = |error: SuiteError| SuiteError { path: Some(path.to_owned()), ..error };
        let unread = |error: std::io::Error| SuiteError::new(format!("cannot be read: {error}"));
        let bytes = std::fs::metadata(path).map_err(unread).map_err(named)?.len();
        if bytes > MAX_BYTES {
            let why = format!("has {bytes} bytes, more than {MAX_BYTES}");
            return Err(named(SuiteError::new(why)));
        }
        let text = std::fs::read_to_string(path).map_err(unread).map_err(named)?;
        Self::parse(&text).map_err(named)
    }

    /// Returns a box of the suite's own tools.
    ///
    /// # Errors
    ///
    /// [`SuiteError`] if a name is not one that tools may have, or two tools have the same.
    pub fn toolbox(&self) -> Result<ToolBox, SuiteError> {
        let toolbox = ToolBox::new();
        for own in &self.tools {
            let tool = own.tool()?;
            toolbox.try_register(tool).map_err(|error| SuiteError::new(error.to_string()))?;
        }
        Ok(toolbox)
    }

    /// Names the cases that have no name, and checks what the types do not.
    fn complete(&mut self) -> Result<(), SuiteError> {
        let fault = match () {
            () if self.cases.is_empty() => "the suite has no case".to_owned(),
            () if self.cases.len() > MAX_CASES => {
                format!("the suite has {} cases, more than {MAX_CASES}", self.cases.len())
            }
            () if !(1..=MAX_RUNS).contains(&self.runs) => {
                format!("`runs` is {}, not from 1 to {MAX_RUNS}", self.runs)
            }
            () if !(0.0..=1.0).contains(&self.pass_at) => {
                format!("`pass_at` is {}, not from 0 to 1", self.pass_at)
            }
            () if self.time_limit == 0 => "`time_limit` is 0 seconds".to_owned(),
            () => String::new(),
        };
        if !fault.is_empty() {
            return Err(SuiteError::new(fault));
        }
        let mut names = std::collections::HashSet::new();
        for case in &mut self.cases {
            if case.name.is_empty() {
                case.name = case.request.chars().take(NAME).collect();
            }
            case.check()?;
            if !names.insert(case.name.clone()) {
                let why = format!("two cases have the name {:?}: give each a `name`", case.name);
                return Err(SuiteError::new(why));
            }
        }
        self.toolbox().map(drop)
    }
}

impl Case {
    fn check(&self) -> Result<(), SuiteError> {
        let fails = |why: &str| Err(SuiteError::new(format!("the case {:?} {why}", self.name)));
        let answer = self.answer.as_ref();
        let expects_answer = answer.is_some_and(|answer| {
            !answer.contains.is_empty() || answer.regex.is_some() || answer.judge.is_some()
        });
        match self {
            Self { no_calls: true, calls, .. } if !calls.is_empty() => {
                fails("has both `calls` and `no_calls`")
            }
            Self { calls, no_calls: false, .. } if calls.is_empty() && !expects_answer => {
                fails("expects nothing: give it `calls`, `no_calls` or `answer`")
            }
            _ => Ok(()),
        }
    }
}

impl SuiteTool {
    fn tool(&self) -> Result<Tool, SuiteError> {
        let result = match &self.result {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let (name, description) = (self.name.clone(), self.description.clone());
        let run = move |_: toolbox::call::Arguments| result.clone();
        Tool::try_raw(name, description, self.input_schema.clone(), run)
            .map_err(|error| SuiteError::new(error.to_string()))
    }
}

/// The reason why a suite cannot be read.
#[derive(Debug)]
pub struct SuiteError {
    path: Option<PathBuf>,
    message: String,
}

impl SuiteError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { path: None, message: message.into() }
    }

    fn of_yaml(error: &serde_saphyr::Error) -> Self {
        let message = error.without_snippet().to_string();
        Self::new(message.lines().next().unwrap_or_default())
    }
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for SuiteError {}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "`contains` takes a text or a list of texts")]
    enum Texts {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    })
}

fn one_run() -> u32 {
    1
}

fn all_pass() -> f64 {
    1.0
}

fn one_minute() -> u64 {
    60
}

fn any_object() -> Value {
    serde_json::json!({"type": "object"})
}

fn ok() -> Value {
    Value::from("ok")
}
