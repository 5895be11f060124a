//! The command `toolbox eval`: a suite of cases over the tools of a configuration.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     toolbox::cli::program_with((), &[toolbox_eval::cli::command::<()>()])
//! }
//! ```

#![allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "the comments are the texts of `--help`, where no markup is shown"
)]

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use serde_json::json;
use toolbox::ToolBox;
use toolbox::cli::{ConfiguredTools, JoinedCommand, NamedModel, ProgramExtension};
use toolbox::model::Model;

use crate::comparison::Comparison;
use crate::eval::Eval;
use crate::report::Report;
use crate::suite::Suite;

/// The exit codes beside 0 and 1.
const USAGE: u8 = 2;
const CONFIG: u8 = 3;
const INTERRUPTED: u8 = 130;

/// Returns the command, for [`toolbox::cli::program_with`]; `E` is the extension of the program,
/// whose tools belong to the box, or `()`.
#[must_use]
pub const fn command<E: ProgramExtension + Default>() -> JoinedCommand {
    JoinedCommand::new(
        "eval",
        "Run requests over a model, and count how often it makes the calls that are expected",
        run::<E>,
    )
}

/// Runs the cases of a suite over a model and the tools of the configuration, or those of the
/// suite.
///
/// The tools run: a call that needs approval is refused. The exit code is 1 if the pass rate is
/// below `pass_at` of the suite.
#[derive(Debug, Parser)]
#[command(name = "toolbox eval", bin_name = "toolbox eval", max_term_width = 100)]
struct Line {
    /// The suite, in YAML or JSON
    file: PathBuf,
    /// The configuration with the servers [default: as for the other commands]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The model, in place of that of the suite: openai:MODEL, anthropic:MODEL, gemini:MODEL with
    /// the key in OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or the URL of a server with
    /// the chat completions of OpenAI, as http://127.0.0.1:11434/v1#MODEL, with a key in
    /// TOOLBOX_CHAT_KEY if it takes one
    #[arg(long, value_name = "MODEL")]
    model: Option<NamedModel>,
    /// The model that judges answers, in place of that of the suite
    #[arg(long, value_name = "MODEL")]
    judge: Option<NamedModel>,
    /// The number of runs of each case, in place of that of the suite
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: Option<u32>,
    /// The number of runs at once
    #[arg(long, value_name = "NUMBER", default_value = "4")]
    parallel: NonZeroUsize,
    /// Let the model find and call the tools through a gateway
    #[arg(long)]
    gateway: bool,
    /// Print the report as one line of JSON
    #[arg(long)]
    json: bool,
    /// Write the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the report as a page of HTML
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Compare with a report that --json printed, or with another suite, which is run as well; the
    /// exit code is 1 too if this one is worse
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

/// A message for standard error, and the exit code.
type Failure = (String, u8);

fn run<E: ProgramExtension + Default>(words: Vec<OsString>) -> ExitCode {
    let line = match Line::try_parse_from(words) {
        Ok(line) => line,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed((format!("the runtime cannot be started: {error}"), 1)),
    };
    let exit = match runtime.block_on(ended::<E>(&line)) {
        Ok(passes) => ExitCode::from(u8::from(!passes)),
        Err(failure) => failed(failure),
    };
    // A tool that blocks does not delay the exit.
    runtime.shutdown_background();
    exit
}

/// Runs the suites, writes the reports, and returns `true` if nothing is below its goal.
async fn ended<E: ProgramExtension + Default>(line: &Line) -> Result<bool, Failure> {
    let suite = suite_of(&line.file)?;
    let before = line.against.as_deref().map(Before::read).transpose()?;
    let needs_box = |suite: &Suite| suite.tools.is_empty();
    let other = match &before {
        Some(Before::Suite(suite)) => Some(suite),
        _ => None,
    };
    // Models are known before any server is started.
    let models = Models::of(line, &suite)?;
    let other_models = other.map(|suite| Models::of(line, suite)).transpose()?;
    let tools = if needs_box(&suite) || other.is_some_and(needs_box) {
        let tools = ConfiguredTools::connect(line.config.clone(), E::default()).await;
        let tools = tools.ok_or((String::new(), INTERRUPTED))?;
        tools.problems().into_iter().for_each(complain);
        Some(tools)
    } else {
        None
    };
    let toolbox = tools.as_ref().map(ConfiguredTools::toolbox);
    let reports = async {
        let other = match (before, other_models) {
            (Some(Before::Suite(suite)), Some(models)) => {
                Some(report_of(line, suite, models, toolbox).await?)
            }
            (Some(Before::Report(report)), _) => Some(report),
            _ => None,
        };
        Ok::<_, Failure>((report_of(line, suite, models, toolbox).await?, other))
    };
    let reports = tokio::select! {
        _ = tokio::signal::ctrl_c() => Err((String::new(), INTERRUPTED)),
        reports = reports => reports,
    };
    if let Some(tools) = tools {
        tools.close().await;
    }
    let (report, other) = reports?;
    written(line, &report, other.as_ref())
}

/// A report to compare with, or the suite of one.
enum Before {
    Suite(Suite),
    Report(Report),
}

impl Before {
    fn read(path: &Path) -> Result<Self, Failure> {
        let suite = match Suite::read(path) {
            Ok(suite) => return Ok(Self::Suite(suite)),
            Err(error) => error,
        };
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let printed = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
        // The report stands beside its comparison, if it was compared.
        let report = printed.get("report").unwrap_or(&printed).to_string();
        Report::parse(&report).map(Self::Report).map_err(|_| (suite.to_string(), CONFIG))
    }
}

/// The models of an eval.
struct Models {
    model: Arc<dyn Model>,
    judge: Option<Arc<dyn Model>>,
}

impl Models {
    fn of(line: &Line, suite: &Suite) -> Result<Self, Failure> {
        let model = named(line.model.as_ref(), suite.model.as_deref())?.ok_or_else(|| {
            let file = line.file.display();
            (format!("{file} names no model: add `model:` to it, or --model MODEL"), USAGE)
        })?;
        Ok(Self { model, judge: named(line.judge.as_ref(), suite.judge.as_deref())? })
    }
}

/// Returns the model of the command line, or that of a suite.
fn named(
    given: Option<&NamedModel>,
    of_suite: Option<&str>,
) -> Result<Option<Arc<dyn Model>>, Failure> {
    let named = match (given, of_suite) {
        (Some(given), _) => given.clone(),
        (None, Some(text)) => {
            text.parse().map_err(|error| (format!("the model {text:?}: {error}"), CONFIG))?
        }
        (None, None) => return Ok(None),
    };
    named.model().map(Some).map_err(|error| (error.to_string(), CONFIG))
}

fn suite_of(path: &Path) -> Result<Suite, Failure> {
    Suite::read(path).map_err(|error| (error.to_string(), CONFIG))
}

async fn report_of(
    line: &Line,
    suite: Suite,
    models: Models,
    configured: Option<&ToolBox>,
) -> Result<Report, Failure> {
    let gateway = line.gateway || suite.gateway;
    let runs = line.runs.unwrap_or(suite.runs);
    let of_suite = !suite.tools.is_empty();
    let mut eval = Eval::new(suite, models.model).runs(runs).gateway(gateway);
    eval = eval.parallel(line.parallel);
    if let (Some(toolbox), false) = (configured, of_suite) {
        eval = eval.toolbox(toolbox.clone());
    }
    if let Some(judge) = models.judge {
        eval = eval.judge(judge);
    }
    if std::io::stderr().is_terminal() {
        eval = eval.on_progress(|done, all| complain(&format!("{done} of {all} runs")));
    }
    eval.run().await.map_err(|error| (error.to_string(), CONFIG))
}

/// Prints and writes a report.
fn written(line: &Line, report: &Report, other: Option<&Report>) -> Result<bool, Failure> {
    let write = |path: &Option<PathBuf>, text: String| match path {
        None => Ok(()),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| (format!("{} cannot be written: {error}", path.display()), 1)),
    };
    write(&line.junit, report.to_junit())?;
    write(&line.page, report.to_page())?;
    let comparison = other.map(|other| Comparison::of(other, report));
    let is_worse = comparison.as_ref().is_some_and(Comparison::is_worse);
    match (&comparison, line.json) {
        (_, true) => print(&with_comparison(report, comparison.as_ref())),
        (None, false) => print(&report.to_string()),
        (Some(comparison), false) => print(&format!("{report}\n\n{comparison}")),
    }
    Ok(report.passes() && !is_worse)
}

/// Returns a report as JSON, with its comparison where there is one.
fn with_comparison(report: &Report, comparison: Option<&Comparison>) -> String {
    match comparison {
        None => report.to_json(),
        Some(comparison) => json!({"report": report, "comparison": comparison}).to_string(),
    }
}

#[allow(clippy::print_stdout, reason = "this is a command")]
fn print(text: &str) {
    println!("{text}");
}

#[allow(clippy::print_stderr, reason = "this is a command")]
fn complain(text: &str) {
    eprintln!("{text}");
}

fn failed((message, exit): Failure) -> ExitCode {
    // An interrupted command says nothing.
    if !message.is_empty() {
        complain(&format!("error: {message}"));
    }
    exit.into()
}
