//! `list` and `search`.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Value, json};

use super::outcome::{Exit, Outcome, Paint, exit_of};
use super::source::{ToolSource, described};
use super::text::{counted, cut, line};
use crate::search::Catalog;
use crate::text::{clean, nearest_n};
use crate::tool::Tool;

/// The maximum length of a description beside a name, in characters.
const SUMMARY: usize = 100;

/// Lists the tools; with `old_names` also the names that they had before, each after its tool.
pub(super) fn list(source: &ToolSource, old_names: bool, paint: Paint) -> Outcome {
    let tools = source.tools();
    let mut value = json!({"tools": tools.iter().map(described).collect::<Vec<_>>()});
    let mut rows: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for tool in &tools {
        rows.push((tool.name(), about(tool)));
        for old in tool.definition().replaces.iter().filter(|_| old_names) {
            rows.push((old, format!("is now `{}`", tool.name()).into()));
            value["old_names"][old] = tool.name().into();
        }
    }
    let text = columns(rows.iter().map(|(name, about)| (*name, &**about)), paint);
    let mut outcome = Outcome::fine(text, value);
    outcome.exit = exit_of(&source.problems);
    if tools.is_empty() && outcome.exit == Exit::Fine {
        "there are no tools".clone_into(&mut outcome.complaint);
    }
    outcome
}

/// Returns the description of a tool, after a word where it is deprecated: its end may be cut.
fn about(tool: &Tool) -> Cow<'_, str> {
    match tool.definition().deprecated() {
        Some(_) => format!("(deprecated) {}", tool.description()).into(),
        None => tool.description().into(),
    }
}

pub(super) fn search(
    source: &ToolSource,
    query: &[String],
    regex: bool,
    limit: Option<u8>,
    paint: Paint,
) -> Outcome {
    let catalog = Catalog::new();
    for tool in source.tools() {
        match tool.source() {
            Some(server) => catalog.add_from(server, tool.definition().clone()),
            None => catalog.add(tool.definition().clone()),
        };
    }
    let query = query.join(" ");
    let search = if regex {
        match catalog.search_pattern(&query) {
            Ok(search) => search,
            Err(error) => return Outcome::failed(Exit::Usage, error.to_string()),
        }
    } else {
        catalog.search(&query)
    };
    let hits = search.ranking(source.ranking).limit(limit.map_or(source.limit, usize::from)).hits();
    let found = hits.iter().map(|hit| {
        let definition = &hit.definition;
        let mut value = json!({
            "name": definition.name,
            "description": definition.description,
            "schema": definition.input_schema,
            "score": hit.score,
        });
        if let Some(server) = &hit.server {
            value["server"] = json!(**server);
        }
        value
    });
    let value = json!({"tools": found.collect::<Vec<Value>>()});
    let pairs =
        hits.iter().map(|hit| (hit.definition.name.as_str(), hit.definition.description.as_str()));
    let mut outcome = Outcome::fine(columns(pairs, paint), value);
    if hits.is_empty() {
        outcome.exit = not_there(source);
        outcome.complaint = match catalog.len() {
            0 => "there are no tools".to_owned(),
            all => format!("nothing was found among {}; try other words", counted(all, "tool")),
        };
    }
    outcome
}

/// Returns the error for an unknown tool, with suggestions.
pub(super) fn unknown(source: &ToolSource, name: &str) -> Outcome {
    let tools = source.tools();
    let next = suggestions(name, tools.iter().map(Tool::name), "`list`");
    let why = if source.toolbox.has(name) { "may not be called" } else { "is not there" };
    missing(source, format!("the tool `{}` {why}: {next}", clean(name)))
}

/// Returns the names that may be meant, or the command that lists all.
pub(super) fn suggestions<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str>,
    list: &str,
) -> String {
    let near = nearest_n(name, names, 3);
    if near.is_empty() {
        return format!("{list} shows all there are");
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("`{}`", line(name))).collect();
    format!("did you mean {}?", quoted.join(" or "))
}

/// Returns the outcome for a name that nothing has; an unavailable server may have it.
pub(super) fn missing(source: &ToolSource, complaint: String) -> Outcome {
    Outcome::failed(not_there(source), complaint)
}

/// Returns the exit code for a missing name that an unavailable server may have.
fn not_there(source: &ToolSource) -> Exit {
    match exit_of(&source.problems) {
        Exit::Fine => Exit::Failed,
        other => other,
    }
}

/// Formats names with texts in aligned columns.
pub(super) fn columns<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>, paint: Paint) -> String {
    let rows: Vec<(String, String)> =
        rows.map(|(name, about)| (line(name), cut(&line(about), SUMMARY))).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(40);
    let mut text = String::new();
    for (name, about) in rows {
        let gap = width.saturating_sub(name.chars().count());
        let _ = writeln!(text, "{}{:gap$}  {about}", paint.bold(&name), "");
    }
    text
}
