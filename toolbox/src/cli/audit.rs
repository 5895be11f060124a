//! The audit log of `serve`, and its check.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{AuditArguments, AuditCommand};
use super::outcome::{Exit, Outcome};
use super::progress::Progress;
use crate::audit::{AuditCheck, AuditError, AuditLog};

/// Opens the log that a command line asks for.
pub(super) fn opened(wanted: &AuditArguments) -> Result<Option<AuditLog>, AuditError> {
    let Some(file) = &wanted.file else { return Ok(None) };
    let builder = AuditLog::builder(file).synchronous(wanted.synchronous);
    builder.arguments(wanted.arguments).open().map(Some)
}

pub(super) fn of_audit(command: AuditCommand) -> Outcome {
    match command {
        AuditCommand::Verify { files, head, from } => verify(&files, head, from),
    }
}

fn verify(files: &[PathBuf], head: Option<String>, from: u64) -> Outcome {
    let mut check = match files {
        [file] => AuditCheck::of_log(file),
        files => AuditCheck::of_files(files),
    };
    check = check.from(from);
    if let Some(head) = head {
        check = check.head(head);
    }
    let work = Progress::of_work("checking the log");
    let report = check.run();
    drop(work);
    let report = match report {
        Ok(report) => report,
        Err(AuditError::Broken(line)) => {
            let mut outcome = Outcome::failed(Exit::Failed, line.to_string());
            outcome.value["file"] = json!(line.file);
            outcome.value["line"] = json!(line.line);
            return outcome;
        }
        Err(error) => return Outcome::failed(Exit::Failed, error.to_string()),
    };
    let mut text = format!(
        "{} lines are whole, {} to {}\nhead {}",
        report.lines, report.first, report.last, report.head
    );
    if report.torn_bytes > 0 {
        text = format!(
            "{text}\nthe last line is torn after {} bytes: its process ended while it wrote, or writes still",
            report.torn_bytes
        );
    }
    let value = json!({
        "lines": report.lines,
        "first": report.first,
        "last": report.last,
        "head": report.head,
        "torn_bytes": report.torn_bytes,
    });
    Outcome::fine(text, value)
}
