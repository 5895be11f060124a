//! `approve`: shows what servers list that is not approved, and approves what was shown.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::outcome::{Exit, Outcome, Problem, exit_of};
use super::program::{Configured, no_server};
use super::source::ToolSource;
use super::text::{counted, line};
use crate::mcp::{ApproveError, ServerState, ServerStatus};

/// Shows the withheld definitions of a server, or of all; with the digest of what was shown,
/// approves them.
pub(super) fn approve(
    source: &ToolSource,
    configured: &Configured,
    name: Option<&str>,
    digest: Option<&str>,
) -> Outcome {
    let Some(file) = &configured.config.settings().lock_file else {
        let help =
            "name a file in the configuration: \"settings\": {\"lockFile\": \"toolbox.lock.json\"}";
        return Outcome::failed(Exit::Config, format!("there is no lock file: {help}"));
    };
    let Some(servers) = &source.servers else {
        return Outcome::failed(exit_of(&source.problems), "nothing was approved");
    };
    let statuses = servers.status();
    let known: Vec<&str> = statuses.iter().map(|status| &*status.name).collect();
    if let Some(name) = name.filter(|name| !known.contains(name)) {
        return Outcome::failed(Exit::Failed, no_server(name, &known));
    }
    let wanted = |status: &&ServerStatus| name.is_none_or(|name| name == status.name);
    let mut outcome = match (name, digest) {
        (Some(name), Some(digest)) => match servers.approve(name, digest) {
            Ok(()) => {
                let tools = servers.status().iter().find(wanted).map_or(0, |now| now.tools.len());
                let value = json!({"file": file, "approved": [{"server": name, "tools": tools}]});
                Outcome::fine(format!("approved of {} of {name}", counted(tools, "tool")), value)
            }
            Err(error @ ApproveError::Changed(_)) => {
                let mut shown = shown(statuses.iter().filter(wanted));
                shown.complaint = format!("error: {error}");
                shown.exit = Exit::Failed;
                shown
            }
            Err(error) => return Outcome::failed(Exit::Failed, error.to_string()),
        },
        _ => shown(statuses.iter().filter(wanted)),
    };
    let left_out = |problem: &Problem| {
        problem.kind == "server" && name.is_none_or(|name| problem.server.as_deref() == Some(name))
    };
    if source.problems.iter().any(left_out) {
        outcome.exit = Exit::Unreachable;
    }
    outcome
}

/// Shows the definitions that are not approved, each server with the command that approves them.
fn shown<'a>(statuses: impl Iterator<Item = &'a ServerStatus>) -> Outcome {
    let (mut text, mut values, mut waits) = (String::new(), Vec::new(), false);
    for status in statuses.filter(|status| status.state == ServerState::Ready) {
        let name = line(&status.name);
        let unapproved = status.withheld.iter().filter(|tool| tool.definition.is_some());
        let unapproved: Vec<_> = unapproved.collect();
        let digest = status.digest.as_deref().unwrap_or_default();
        if unapproved.is_empty() {
            let _ = writeln!(text, "{name}: all that it lists is approved");
        } else {
            waits = true;
            for tool in &unapproved {
                let (own, detail) = (line(&tool.name), line(&tool.detail));
                let _ = writeln!(text, "{name}: {own} is {}: {detail}", tool.reason);
                let definition = tool.definition.as_ref().map(pretty).unwrap_or_default();
                for row in definition.lines() {
                    let _ = writeln!(text, "  {}", line(row));
                }
            }
            let _ = writeln!(text, "to approve: toolbox approve {name} --digest {digest}");
        }
        let withheld = unapproved.iter().map(|tool| {
            json!({"name": tool.name, "reason": tool.reason.to_string(), "definition": tool.definition})
        });
        values.push(json!({"server": status.name, "digest": digest, "withheld": withheld.collect::<Vec<_>>()}));
    }
    let mut outcome = Outcome::fine(text, json!({"shown": values, "approved": []}));
    if waits {
        outcome.exit = Exit::Failed;
    }
    outcome
}

fn pretty(definition: &Value) -> String {
    serde_json::to_string_pretty(definition).unwrap_or_default()
}
