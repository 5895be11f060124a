//! `check`: checks of tools that need no call.

use std::cmp::Reverse;
use std::fmt::Write;

use jsonschema::error::ValidationErrorKind;
use serde_json::{Value, json};

use super::account::{Account, Size};
use super::arguments::CheckCommand;
use super::directory;
use super::outcome::{Exit, Outcome, Paint, exit_of};
use super::source::ToolSource;
use super::text::{counted, grouped, line};
use crate::definition::ToolDefinition;
use crate::mcp::{ServerState, ServerStatus, Servers};
use crate::page::notes;
use crate::tool::Tool;

pub(super) async fn check(source: &ToolSource, wanted: &CheckCommand, paint: Paint) -> Outcome {
    let tools = source.tools();
    let mut text = String::new();
    let mut servers = Vec::new();
    for status in source.servers.iter().flat_map(Servers::status) {
        let _ = writeln!(text, "{}", server_line(&status, paint));
        for notice in &status.notices {
            let _ = writeln!(text, "  note: {}", line(notice));
        }
        servers.push(server_value(&status));
    }
    if !servers.is_empty() {
        text.push('\n');
    }
    let (mut broken, mut unlisted) = (0, 0);
    let mut tool_values = Vec::new();
    // What costs most comes first.
    let mut sized: Vec<_> =
        tools.iter().map(|tool| (Size::of_tool(tool.definition()), tool)).collect();
    sized.sort_by_key(|(size, tool)| (Reverse(size.tokens), tool.name().to_owned()));
    for (size, tool) in sized {
        let faults = schema_faults(tool.definition());
        broken += usize::from(!faults.is_empty());
        tool_lines(&mut text, tool, size, &faults, paint);
        let mut value = tool_value(tool, size, &faults);
        if wanted.directory {
            let refusals = directory::faults(tool);
            for refusal in &refusals {
                let _ = writeln!(text, "  {}", paint.red(&format!("directory: {}", line(refusal))));
            }
            unlisted += usize::from(!refusals.is_empty());
            value["directory_faults"] = json!(refusals);
        }
        tool_values.push(value);
    }
    let account = Account::of(&tools, source.limit).await;
    account_lines(&mut text, &account);
    // The name that the tool has, unless somebody renamed it.
    let runs_commands = source.toolbox.has("shell_exec");
    let commands = if runs_commands { confinement(&mut text) } else { Value::Null };
    let value =
        json!({"servers": servers, "tools": tool_values, "account": account, "commands": commands});
    let mut outcome = Outcome::fine(text, value);
    outcome.exit = exit_of(&source.problems);
    if outcome.exit == Exit::Fine && broken > 0 {
        outcome.exit = Exit::Failed;
        outcome.complaint = match broken {
            1 => "one tool has a schema that is none".to_owned(),
            all => format!("{all} tools have schemas that are none"),
        };
    }
    if outcome.exit == Exit::Fine && unlisted > 0 {
        outcome.exit = Exit::Failed;
        outcome.complaint = match unlisted {
            1 => "a directory would refuse one tool".to_owned(),
            all => format!("a directory would refuse {all} tools"),
        };
    }
    let tokens = account.definitions.tokens;
    if outcome.exit == Exit::Fine
        && let Some(most) = wanted.max_tokens.filter(|most| tokens > *most)
    {
        outcome.exit = Exit::Failed;
        outcome.complaint = format!(
            "all definitions have about {} tokens, more than the {} of --max-tokens",
            grouped(tokens),
            grouped(most)
        );
    }
    outcome
}

/// Reports the guarantees that `shell_exec` has for its commands on this machine.
#[cfg(target_os = "linux")]
fn confinement(text: &mut String) -> Value {
    use crate::builtin::shell::Guarantees;

    text.push_str("\ncommands run by `shell_exec` on this machine:\n");
    match Guarantees::of_this_system() {
        Ok(guarantees) => {
            for row in guarantees.to_string().lines() {
                let _ = writeln!(text, "  {}", line(row));
            }
            json!(guarantees)
        }
        Err(error) => {
            let _ = writeln!(text, "  {}", line(&error.to_string()));
            json!({"error": error.to_string()})
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn confinement(_: &mut String) -> Value {
    Value::Null
}

/// Returns the faults in the schemas of a tool, by the meta-schema of their draft.
fn schema_faults(definition: &ToolDefinition) -> Vec<String> {
    let schemas =
        [("input", Some(&definition.input_schema)), ("output", definition.output_schema.as_ref())];
    let mut faults = Vec::new();
    for (which, schema) in schemas {
        let Some(schema) = schema else { continue };
        if let Err(error) = jsonschema::meta::validate(schema) {
            if let ValidationErrorKind::Referencing(_) = error.kind() {
                let what = "is none: its `$schema` names no draft that is known";
                faults.push(format!("the {which} schema {what}"));
                continue;
            }
            let path = error.instance_path().to_string();
            faults.push(format!("the {which} schema is none at `{path}`: {error}"));
        }
    }
    faults
}

fn server_line(status: &ServerStatus, paint: Paint) -> String {
    let mut text = paint.bold(&line(&status.name));
    match status.state {
        ServerState::Ready => {
            let _ = write!(text, ": {}", counted(status.tools.len(), "tool"));
            if let Some(version) = &status.protocol_version {
                let _ = write!(text, ", protocol {}", line(version));
            }
        }
        ServerState::Failed => {
            let why = status.error.as_deref().map(line).unwrap_or_default();
            let _ = write!(text, ": {}", paint.red(&format!("cannot be reached: {why}")));
        }
        _ => {
            let _ = write!(text, ": {}", status.state);
        }
    }
    let _ = write!(text, "  {}", paint.dim(&line(&json!(status.target).to_string())));
    text
}

fn server_value(status: &ServerStatus) -> Value {
    let withheld =
        status.withheld.iter().map(|tool| json!({"name": tool.name, "why": tool.detail}));
    json!({
        "name": status.name,
        "state": status.state.to_string(),
        "target": status.target,
        "protocol": status.protocol_version,
        "tools": status.tools.len(),
        "withheld": withheld.collect::<Vec<_>>(),
        "notices": status.notices,
        "error": status.error,
    })
}

/// Returns the name at the server if it differs from the end of the tool's name.
fn changed_name(tool: &Tool) -> Option<&str> {
    let own = tool.name_at_source()?;
    let plain = format!("{}_{own}", tool.source().unwrap_or_default());
    (plain != tool.name()).then_some(own)
}

fn tool_lines(text: &mut String, tool: &Tool, size: Size, faults: &[String], paint: Paint) {
    let Size { bytes, tokens } = size;
    let size = format!("{:>7} bytes ~{:>5} tokens", grouped(bytes), grouped(tokens));
    let _ = writeln!(text, "{size}  {}", paint.bold(&line(tool.name())));
    if let Some(own) = changed_name(tool) {
        let _ = writeln!(text, "  note: the server calls it `{}`", line(own));
    }
    for note in notes(tool) {
        let _ = writeln!(text, "  note: {}", line(&note));
    }
    for fault in faults {
        let _ = writeln!(text, "  {}", paint.red(&format!("fault: {}", line(fault))));
    }
}

fn tool_value(tool: &Tool, size: Size, faults: &[String]) -> Value {
    json!({
        "name": tool.name(),
        "server": tool.source(),
        "name_at_server": tool.name_at_source(),
        "renamed": changed_name(tool).is_some(),
        "bytes": size.bytes,
        "tokens": size.tokens,
        "schema_faults": faults,
        "remarks": notes(tool),
    })
}

fn account_lines(text: &mut String, account: &Account) {
    let Account { tools, definitions, gateway, reply, break_even_tools } = account;
    let Some(break_even) = break_even_tools else { return };
    let size = |size: &Size| {
        format!("{} bytes, about {} tokens", grouped(size.bytes), grouped(size.tokens))
    };
    let both = gateway.and(*reply);
    let _ = writeln!(text, "\nin the first request (tokens are estimated):");
    let _ = writeln!(text, "  all {tools} definitions      {}", size(definitions));
    let _ = writeln!(text, "  the gateway            {}", size(gateway));
    let _ = writeln!(text, "  gateway and one reply  {}", size(&both));
    let verdict = if tools >= break_even { "it is smaller here" } else { "list them all here" };
    let _ = writeln!(
        text,
        "the gateway is smaller from {break_even} tools of this size on: {verdict}; over whole tasks it saves tokens from about 20 on"
    );
}
