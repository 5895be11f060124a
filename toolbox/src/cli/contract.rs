//! `contract`: holds the tools against a file, or writes it.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::arguments::ContractCommand;
use super::outcome::{Exit, Outcome, exit_of};
use super::source::ToolSource;
use super::text::{counted, line};
use crate::contract::{Change, ChangeKind, Contract};

pub(super) fn contract(source: &ToolSource, wanted: &ContractCommand) -> Outcome {
    // The tools of a server that is not there would count as removed.
    let exit = exit_of(&source.problems);
    if exit != Exit::Fine {
        return Outcome::failed(exit, "not all tools are there, so nothing is compared or written");
    }
    let now = Contract::of(&source.toolbox);
    let (file, is_update) = match (&wanted.check, &wanted.update) {
        (_, Some(Some(file))) | (Some(file), Some(None)) => (file, true),
        (Some(file), None) => (file, false),
        (None, Some(None)) => {
            return Outcome::failed(Exit::Usage, "--update needs the file: --update FILE");
        }
        (None, None) => return Outcome::fine(now.to_string(), json!(now)),
    };
    let outcome = if is_update { updated(&now, file) } else { checked(&now, file) };
    outcome.unwrap_or_else(|reason| Outcome::failed(Exit::Config, reason))
}

fn checked(now: &Contract, file: &Path) -> Result<Outcome, String> {
    let Some(old) = Contract::read(file).map_err(|error| error.to_string())? else {
        let name = line(&file.display().to_string());
        return Err(format!("there is no contract {name}: `contract --update {name}` writes it"));
    };
    let changes = now.changes_since(&old);
    let mut text = listed(&changes, file);
    let Some(worst) = changes.iter().map(|change| change.kind).max() else {
        let tools = counted(now.len(), "tool");
        return Ok(Outcome::fine(format!("{tools}, as in the contract"), json!({"changes": []})));
    };
    let name = line(&file.display().to_string());
    let _ = writeln!(text, "to accept: contract --update {name}");
    let mut outcome = Outcome::fine(text, json!({"changes": changes, "kind": worst}));
    outcome.exit = match worst {
        ChangeKind::Wording => Exit::Wording,
        ChangeKind::Widening => Exit::Widening,
        ChangeKind::Breaking => Exit::Breaking,
    };
    Ok(outcome)
}

/// Writes the file; a damaged one is not replaced, since what it held is not known.
fn updated(now: &Contract, file: &Path) -> Result<Outcome, String> {
    let old = Contract::read(file).map_err(|error| error.to_string())?;
    let changes = old.map(|old| now.changes_since(&old)).unwrap_or_default();
    now.write(file).map_err(|error| error.to_string())?;
    let (mut text, tools) = (listed(&changes, file), counted(now.len(), "tool"));
    let _ = writeln!(text, "wrote {}: {tools}", line(&file.display().to_string()));
    Ok(Outcome::fine(text, json!({"file": file, "changes": changes})))
}

/// Returns the changes, each with its line in the file and in the one that `--update` writes.
fn listed(changes: &[Change], file: &Path) -> String {
    let mut text = String::new();
    for change in changes {
        let mut places = Vec::new();
        places.extend(change.old_line.map(|at| format!("{}:{at}", file.display())));
        places.extend(change.new_line.map(|at| format!("new line {at}")));
        let _ = writeln!(text, "{}", line(&format!("{change} ({})", places.join(", "))));
    }
    text
}
