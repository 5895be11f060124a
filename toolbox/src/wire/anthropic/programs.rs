//! Programs that the service runs, and that call tools: their container, and which calls are
//! theirs.

use std::collections::HashSet;

use serde_json::Value;

use super::request::{kind, written};
use super::response::CONTAINER;
use crate::dialect::Dialect;
use crate::model::{History, Part, Step};

/// The type of the service's own tool that runs programs, and its name.
pub(super) const CODE_EXECUTION: (&str, &str) = ("code_execution_20260120", "code_execution");

/// Returns the id of the container in which a program waits for the results that end a transcript.
///
/// The service refuses results of a program without it; otherwise it makes a new one.
pub(super) fn container<'a>(history: &'a History, runs: &HashSet<&str>) -> Option<&'a str> {
    history.steps().next_back().filter(|step| is_of_program(step, runs))?;
    let mut parts = history.steps().rev().flat_map(|step| step.reply().parts.iter().rev());
    parts.find_map(|part| part.echo(Dialect::Anthropic)?.get(CONTAINER)?.get("id")?.as_str())
}

/// Returns the ids of the runs of programs in a transcript, as far as they are sent.
pub(super) fn runs(history: &History) -> HashSet<&str> {
    let parts = history.steps().flat_map(written).filter(|part| matches!(part, Part::Other(_)));
    let blocks = parts.filter_map(|part| part.echo(Dialect::Anthropic));
    let runs = blocks.filter(|block| kind(block) == Some("server_tool_use"));
    runs.filter_map(|block| block.get("id")?.as_str()).collect()
}

/// Returns `true` if a program made one of the calls of a step: nothing but their results may stand
/// in the next message.
pub(super) fn is_of_program(step: &Step, runs: &HashSet<&str>) -> bool {
    step.reply().parts.iter().filter_map(program).any(|id| runs.contains(id))
}

/// Returns the id of the run of the program that made a call.
fn program(part: &Part) -> Option<&str> {
    let caller = caller(part)?;
    kind(caller)?.starts_with("code_execution").then_some(())?;
    caller.get("tool_id")?.as_str()
}

/// Returns the caller of a call, as the service named it.
fn caller(part: &Part) -> Option<&Value> {
    let Part::Call { .. } = part else { return None };
    part.echo(Dialect::Anthropic)?.get("caller").filter(|caller| caller.is_object())
}

/// Returns the caller of a call, unless that is a program which the transcript holds no more.
pub(super) fn known_caller<'a>(part: &'a Part, runs: &HashSet<&str>) -> Option<&'a Value> {
    caller(part).filter(|_| program(part).is_none_or(|id| runs.contains(id)))
}
