//! The audit log: one line for each decision on a call and each result, in a chain that shows what
//! was changed later.
//!
//! Each line is a JSON object with its number, its time, the principal and the conversation, the
//! tool, a SHA-256 digest of the arguments, who decided, the outcome and its code. It holds the
//! hash of the line before and its own, so [`verify`] names the first line that was altered,
//! removed or inserted. Who can write the file can also write all of it anew: keep the
//! [head](AuditReport::head) of the chain elsewhere.
//!
//! ```
//! use toolbox::audit::{self, AuditLog};
//! use toolbox::{tool, tools, ToolBox, ToolCall};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("audit.jsonl");
//! let log = AuditLog::builder(&path).synchronous(true).open()?;
//! let toolbox = ToolBox::builder().tools(tools![add]).audit(&log).build()?;
//! toolbox.call(ToolCall::new("c1", "add", r#"{"a": 2, "b": 3}"#)).await;
//!
//! let report = audit::verify_log(&path)?;
//! assert_eq!((report.lines, report.torn_bytes), (1, 0));
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | write a log | [`AuditLog`], [`AuditLogBuilder`], [`ToolBoxBuilder::audit`](crate::ToolBoxBuilder::audit) |
//! | check one | [`verify_log`], [`verify`], [`AuditCheck`], [`AuditReport`], [`BrokenLine`], [`ChainBreak`] |
//! | know what went wrong | [`AuditError`] |

mod error;
mod file;
mod line;
mod lock;
mod verify;
mod writer;

pub use error::{AuditError, BrokenLine, ChainBreak};
pub use verify::{AuditCheck, AuditReport, verify, verify_log};

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::file::AuditFile;
use self::line::{AuditEntry, AuditedCall, AuditedDecision, AuditedResult, digest};
use self::writer::{AuditWriter, MakeEntry};
use crate::call::{Arguments, FailureKind, ToolResult};
use crate::collection::ToolBoxBuilder;
use crate::context::auditor::{AuditedStep, CallAuditor};
use crate::context::{Conversation, Decision, Principal, ToolContext};
use crate::event::DecisionKind;
use crate::future::BoxFuture;
use crate::validate::shown;

/// The code of a call whose decision or result could not be recorded.
const NOT_RECORDED: &str = "audit.not_recorded";

/// An audit log in a file, which one process writes at a time.
///
/// Clones are the same log. By default a call does not wait for it: lines go to a queue of 4 096,
/// and one that finds it full, or the disk, is dropped and [counted](Self::dropped); the next line
/// that is written says how many are missing. With
/// [`synchronous`](AuditLogBuilder::synchronous), a result is handed on when its line is on the
/// disk.
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::audit::AuditLog;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("audit.jsonl");
/// let log = AuditLog::builder(path).synchronous(true).max_bytes(1 << 30).open()?;
/// let toolbox = ToolBox::builder().audit(&log).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AuditLog {
    writer: Arc<AuditWriter>,
    options: AuditOptions,
}

#[derive(Debug, Clone, Copy)]
struct AuditOptions {
    synchronous: bool,
    arguments: bool,
    max_bytes: u64,
}

/// Opens an [`AuditLog`] with options of its own.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `open`"]
pub struct AuditLogBuilder {
    path: PathBuf,
    options: AuditOptions,
}

impl AuditLogBuilder {
    /// Hands a result on only when its line is on the disk, and runs a call that needs a decision
    /// only when the line of that is. Default: a call does not wait.
    ///
    /// A call whose line cannot be written fails with the code `audit.not_recorded`; its text says
    /// whether the tool ran.
    pub fn synchronous(mut self, synchronous: bool) -> Self {
        self.options.synchronous = synchronous;
        self
    }

    /// Writes arguments as well as their digests, without the values that the tool's schema marks
    /// as secret. Default: digests alone.
    pub fn arguments(mut self, arguments: bool) -> Self {
        self.options.arguments = arguments;
        self
    }

    /// Sets the size at which a new file begins, in bytes. The full one gets the number of its last
    /// line as a suffix. Default 64 MiB.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.options.max_bytes = bytes;
        self
    }

    /// Opens the log, and goes on where its last line ends. A line that was torn when its process
    /// ended is cut off, and the log says so.
    ///
    /// # Errors
    ///
    /// [`AuditError::Locked`] while another process has it, [`AuditError::Altered`] if its last
    /// line was altered, [`AuditError::Incomplete`] if lines are missing at its end that the lock
    /// file remembers, [`AuditError::Io`].
    pub fn open(self) -> Result<AuditLog, AuditError> {
        let file = AuditFile::open(&self.path, self.options.max_bytes)?;
        let writer = Arc::new(AuditWriter::start(file)?);
        Ok(AuditLog { writer, options: self.options })
    }
}

impl AuditLog {
    /// Opens a log with the default options.
    ///
    /// # Errors
    ///
    /// As for [`AuditLogBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, AuditError> {
        Self::builder(path).open()
    }

    /// Starts a log with options of its own. The folder has to exist; a file of the same name and
    /// `.lock` is made beside it, which remembers where the log ended when a file was begun, put
    /// aside or closed.
    pub fn builder(path: impl AsRef<Path>) -> AuditLogBuilder {
        let options = AuditOptions { synchronous: false, arguments: false, max_bytes: 64 << 20 };
        AuditLogBuilder { path: path.as_ref().to_owned(), options }
    }

    /// Returns the number of lines that were lost.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.writer.dropped()
    }

    /// Waits until all lines so far are on the disk.
    ///
    /// # Errors
    ///
    /// [`AuditError::Io`] if the disk refuses.
    pub async fn flush(&self) -> Result<(), AuditError> {
        self.writer.write(None).await.map_err(|error| AuditError::Io(io::Error::other(error)))
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("options", &self.options).finish_non_exhaustive()
    }
}

impl ToolBoxBuilder {
    /// Records each decision and each result in an audit log: of all calls of the box, of its
    /// prompts and resources, refused ones among them.
    pub fn audit(self, log: &AuditLog) -> Self {
        self.auditor(Arc::new(log.clone()))
    }
}

impl CallAuditor for AuditLog {
    fn record(
        &self,
        context: &ToolContext,
        tool: &str,
        arguments: &Arguments,
        step: AuditedStep<'_>,
    ) -> BoxFuture<'static, Result<(), ToolResult>> {
        let ran = !matches!(step, AuditedStep::Decision { .. });
        let entry = self.entry(context, tool, arguments, &step);
        if !self.options.synchronous {
            self.writer.put(entry);
            return Box::pin(std::future::ready(Ok(())));
        }
        let (writer, tool) = (Arc::clone(&self.writer), tool.to_owned());
        Box::pin(async move {
            writer.write(Some(entry)).await.map_err(|error| not_recorded(&tool, ran, &error))
        })
    }

    fn note(
        &self,
        context: &ToolContext,
        tool: &str,
        arguments: &Arguments,
        step: AuditedStep<'_>,
    ) {
        self.writer.put(self.entry(context, tool, arguments, &step));
    }
}

fn not_recorded(tool: &str, ended: bool, error: &str) -> ToolResult {
    tracing::error!(tool, error, "a call is not in the audit log");
    let text = if ended {
        format!(
            "the call of tool `{tool}` ended, and its result is withheld: the audit log cannot be written"
        )
    } else {
        format!("tool `{tool}` has not run: the audit log cannot be written")
    };
    ToolResult::refusal(FailureKind::Infrastructure, text).with_code(NOT_RECORDED)
}

impl AuditLog {
    /// Returns what makes the content of a line: digests are computed by the thread that writes.
    fn entry(
        &self,
        context: &ToolContext,
        tool: &str,
        arguments: &Arguments,
        step: &AuditedStep<'_>,
    ) -> MakeEntry {
        let call = AuditedCall {
            tool: tool.to_owned(),
            call_id: context.call_id().to_owned(),
            principal: context.state::<Principal>().map(|own| own.as_str().to_owned()),
            conversation: context.state::<Conversation>().map(|place| (*place).clone()),
            arguments_sha256: String::new(),
            arguments: None,
        };
        let with_arguments = self.options.arguments;
        let definition = context.tool.clone();
        let arguments = arguments.as_str().to_owned();
        let finish = move |mut call: AuditedCall| {
            let shown = shown(definition.as_deref(), &arguments).unwrap_or(arguments);
            call.arguments_sha256 = digest(shown.as_bytes());
            call.arguments = with_arguments.then_some(shown);
            call
        };
        match step {
            AuditedStep::Decision { by, decision } => {
                let (decision, reason) = match decision {
                    Decision::Approve => (DecisionKind::Approved, None),
                    Decision::Deny(reason) => (DecisionKind::Denied, Some(reason.clone())),
                    Decision::Edit(_) => (DecisionKind::Edited, None),
                    Decision::Answer(_) | Decision::Reply(_) => (DecisionKind::Answered, None),
                    Decision::Defer => (DecisionKind::Deferred, None),
                };
                let by = (*by).to_owned();
                Box::new(move || {
                    let call = finish(call);
                    AuditEntry::Decision(AuditedDecision { call, by, decision, reason })
                })
            }
            AuditedStep::Result { result, took } => {
                let end = ended(call, result, *took);
                Box::new(move || {
                    AuditEntry::Result(AuditedResult { call: finish(end.call), ..end })
                })
            }
            AuditedStep::Job { result, took } => {
                let end = ended(call, result, *took);
                Box::new(move || AuditEntry::Job(AuditedResult { call: finish(end.call), ..end }))
            }
        }
    }
}

fn ended(call: AuditedCall, result: &ToolResult, took: Duration) -> AuditedResult {
    let outcome = match result {
        result if result.is_error() => "failed",
        result if result.is_pending() => "pending",
        _ => "ok",
    };
    AuditedResult {
        call,
        outcome,
        code: result.code(),
        job: result.job().map(|job| job.as_str().to_owned()),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }
}
