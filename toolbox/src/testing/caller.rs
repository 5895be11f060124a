//! Calls of any tool, made from its schema.

use std::fmt;

use serde_json::{Map, Value, json};

use super::Generator;
use crate::arguments::call::HandlerCall;
use crate::call::{Arguments, FailureKind, ToolCall};
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::tool::Tool;

/// Makes arguments for any tool from its schema: valid ones and invalid ones.
///
/// The same seed makes the same arguments.
///
/// ```
/// use toolbox::testing::Caller;
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Divides one number by another.
/// #[tool]
/// fn divide(a: i64, b: i64) -> i64 {
///     a / b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # std::panic::set_hook(Box::new(|_| {}));
/// let findings = Caller::new(7).check(&ToolBox::from(tools![divide]), 100).await;
/// assert!(findings[0].to_string().starts_with("`divide` panicked when it was called with "));
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Caller {
    generator: Generator,
}

/// Arguments that do not fit a tool's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Invalid {
    /// The arguments.
    pub arguments: Arguments,
    /// The flaw of the arguments, such as `` without `city` ``.
    pub what: String,
}

/// A fault of a tool that a [`Caller`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// The tool panicked on arguments that fit its schema.
    Panicked {
        /// The name of the tool.
        tool: String,
        /// The arguments.
        arguments: Arguments,
    },
    /// The tool did not finish in time.
    TimedOut {
        /// The name of the tool.
        tool: String,
        /// The arguments.
        arguments: Arguments,
    },
    /// The tool accepted arguments that do not fit its schema.
    TookInvalid {
        /// The name of the tool.
        tool: String,
        /// The arguments, and their flaw.
        invalid: Invalid,
    },
    /// No valid arguments could be made from the schema.
    NoArguments {
        /// The name of the tool.
        tool: String,
    },
}

impl Caller {
    /// Returns a caller that makes the same arguments for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { generator: Generator::seeded(seed) }
    }

    /// Returns arguments that fit the tool's schema; `None` when none could be made in a hundred
    /// attempts.
    pub fn valid(&mut self, tool: &Tool) -> Option<Arguments> {
        let schema = &tool.definition().input_schema;
        (0..100)
            .map(|_| Arguments::from(self.generator.instance(schema)))
            .find(|arguments| takes(tool, arguments))
    }

    /// Returns arguments that do not fit, one for each kind of mistake: a missing value, a wrong
    /// type, a value out of bounds, an unknown name, a text that is no JSON object.
    pub fn invalid(&mut self, tool: &Tool) -> Vec<Invalid> {
        let schema = &tool.definition().input_schema;
        let whole = self.valid(tool).and_then(|arguments| arguments.parse().ok());
        let whole: Map<String, Value> = whole.unwrap_or_default();
        let mut cases = Cases { tool, cases: Vec::new() };
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let mut without = whole.clone();
            without.shift_remove(name);
            cases.add(&without.into(), format!("without `{name}`"));
            let mut with = |value: Value, what: String| {
                let mut other = whole.clone();
                other.insert(name.clone(), value);
                cases.add(&other.into(), what);
            };
            for value in
                [json!([[]]), json!({"zzz": {}}), json!("\u{1}zzz"), json!(true), json!(0.5)]
            {
                with(value.clone(), format!("`{name}` is {value}"));
            }
            for (keyword, step) in [("minimum", -1.0), ("maximum", 1.0)] {
                if let Some(bound) = property[keyword].as_f64() {
                    with(json!(bound + step), format!("`{name}` is beyond its {keyword}"));
                }
            }
            if let Some(most) = property["maxLength"].as_u64().filter(|most| *most < 10_000) {
                let long = "x".repeat(usize::try_from(most).unwrap_or_default() + 1);
                with(long.into(), format!("`{name}` is too long"));
            }
        }
        let mut more = whole.clone();
        more.insert("no_such_argument_zzz".to_owned(), json!(1));
        cases.add(&more.into(), "with an unknown argument".to_owned());
        let text = Value::from(whole).to_string();
        for (text, what) in [
            (text[..text.len() - 1].to_owned(), "cut off"),
            (format!("[{text}]"), "in a list"),
            (format!("{text}{text}"), "twice"),
            ("nonsense".to_owned(), "no JSON"),
            ("[".repeat(10_000), "nested 10 000 levels deep"),
        ] {
            cases.add_text(text, what.to_owned());
        }
        cases.cases
    }

    /// Calls every tool of a box `rounds` times with valid arguments, and once with each kind of
    /// invalid ones. Returns the faults.
    ///
    /// The tools do run, so their effects must be acceptable. Failures that a tool reports itself
    /// are fine.
    pub async fn check(&mut self, toolbox: &ToolBox, rounds: usize) -> Vec<Finding> {
        let mut findings = Vec::new();
        for tool in toolbox.tools() {
            let name = || tool.name().to_owned();
            for _ in 0..rounds {
                let Some(arguments) = self.valid(&tool) else {
                    findings.push(Finding::NoArguments { tool: name() });
                    break;
                };
                let call = ToolCall::new("check", tool.name(), arguments.clone());
                match toolbox.call(call).await.failure_kind() {
                    Some(FailureKind::Panicked) => {
                        findings.push(Finding::Panicked { tool: name(), arguments });
                    }
                    Some(FailureKind::TimedOut) => {
                        findings.push(Finding::TimedOut { tool: name(), arguments });
                    }
                    _ => {}
                }
            }
            for invalid in self.invalid(&tool) {
                let call = ToolCall::new("check", tool.name(), invalid.arguments.clone());
                let kind = toolbox.call(call).await.failure_kind();
                if kind != Some(FailureKind::InvalidArguments) {
                    findings.push(Finding::TookInvalid { tool: name(), invalid });
                }
            }
        }
        findings
    }
}

/// Returns `true` if a tool would run with these arguments.
fn takes(tool: &Tool, arguments: &Arguments) -> bool {
    let context = ToolContext::new();
    let signature = &tool.inner().signature;
    HandlerCall::new(&context, Some(tool.shared_definition()), arguments.as_str(), signature, 64)
        .checked()
        .is_ok()
}

/// A collector of invalid arguments, which keeps those that are really refused.
struct Cases<'a> {
    tool: &'a Tool,
    cases: Vec<Invalid>,
}

impl Cases<'_> {
    fn add(&mut self, arguments: &Value, what: String) {
        self.add_text(arguments.to_string(), what);
    }

    fn add_text(&mut self, text: String, what: String) {
        let arguments = Arguments::from(text);
        let known = self.cases.iter().any(|case| case.arguments == arguments);
        if !known && !takes(self.tool, &arguments) {
            self.cases.push(Invalid { arguments, what });
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked { tool, arguments } => {
                write!(f, "`{tool}` panicked when it was called with {arguments}")
            }
            Self::TimedOut { tool, arguments } => {
                write!(f, "`{tool}` did not end in time when it was called with {arguments}")
            }
            Self::TookInvalid { tool, invalid } => {
                write!(f, "`{tool}` took arguments {}: {}", invalid.what, invalid.arguments)
            }
            Self::NoArguments { tool } => write!(f, "no arguments that fit `{tool}` could be made"),
        }
    }
}
