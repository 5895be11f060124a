//! `show`: all details of one tool.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::outcome::{Outcome, Paint};
use super::parameters;
use super::source::{ToolSource, described};
use super::text::line;
use super::tools::unknown;
use crate::dialect::Dialect;
use crate::text::{clean, is_invisible};
use crate::tool::Tool;

pub(super) fn show(source: &ToolSource, name: &str, paint: Paint) -> Outcome {
    match source.tool(name) {
        Some(tool) => {
            let mut text = page(&tool, &source.program, paint);
            if tool.name() != name {
                text.insert_str(0, &format!("`{}` is now `{}`\n\n", line(name), line(tool.name())));
            }
            Outcome::fine(text, described(&tool))
        }
        None => unknown(source, name),
    }
}

/// Formats all details of a tool.
fn page(tool: &Tool, program: &str, paint: Paint) -> String {
    let definition = tool.definition();
    let mut text = paint.bold(&line(tool.name()));
    if let Some(title) = definition.display_title() {
        let _ = write!(text, "  {}", line(title));
    }
    let _ = writeln!(text, "\n\n{}", clean(definition.description.trim()));
    let _ = writeln!(text, "\n{}", paint.dim(&facts(tool).join("; ")));
    let arguments = parameters::described(&definition.input_schema, paint);
    if arguments.is_empty() {
        text.push_str("\nIt takes no arguments.\n");
    } else {
        let _ = write!(text, "\nArguments:\n{arguments}");
    }
    let _ = writeln!(text, "\n{}", commands(tool, program));
    text
}

/// Returns the server of a tool, its version, its old names, its end, its effects and its size.
fn facts(tool: &Tool) -> Vec<String> {
    let definition = tool.definition();
    let mut facts = Vec::new();
    if let Some(server) = tool.source() {
        let own = tool.name_at_source().filter(|own| format!("{server}_{own}") != tool.name());
        let own = own.map(|own| format!(", which calls it `{}`", line(own))).unwrap_or_default();
        facts.push(format!("from the server `{}`{own}", line(server)));
    }
    if let Some(version) = definition.version() {
        facts.push(format!("version {}", line(&version)));
    }
    if !definition.replaces.is_empty() {
        let old: Vec<_> =
            definition.replaces.iter().map(|old| format!("`{}`", line(old))).collect();
        facts.push(format!("replaces {}", old.join(", ")));
    }
    if let Some(note) = definition.deprecated() {
        let note = if note.is_empty() { String::new() } else { format!(": {}", line(note)) };
        facts.push(format!("deprecated{note}"));
    }
    let annotations = definition.annotations;
    let statements = [
        (annotations.read_only == Some(true), "it changes nothing"),
        (annotations.destructive == Some(true), "it may destroy something"),
        (annotations.idempotent == Some(true), "twice does no more than once"),
        (annotations.open_world == Some(true), "it reaches the outside"),
    ];
    facts.extend(statements.iter().filter(|(holds, _)| *holds).map(|(_, what)| (*what).to_owned()));
    let bytes = crate::dialect::lower(definition, Dialect::Anthropic).tool.to_string().len();
    facts.push(format!("{bytes} bytes in each request that has it"));
    facts
}

/// Returns the commands of the examples, or the form of a command with what is required.
fn commands(tool: &Tool, program: &str) -> String {
    let definition = tool.definition();
    let call = format!("{program} call {}", shell_word(tool.name()));
    let own = definition.input_schema["examples"].as_array().into_iter().flatten();
    let mut examples: Vec<&Value> = definition.examples.iter().collect();
    for example in own.filter(|example| example.is_object()) {
        if !examples.contains(&example) {
            examples.push(example);
        }
    }
    if examples.is_empty() {
        let required = parameters::required(&definition.input_schema);
        let required = required.iter().map(|name| format!(" {}", shell_word(&format!("{name}=…"))));
        return format!("To call it:\n  {call}{}", required.collect::<String>());
    }
    let examples =
        examples.iter().map(|example| format!("\n  {call} {}", shell_word(&ascii(example))));
    format!("For example:{}", examples.collect::<String>())
}

/// Formats a value as JSON, with the escapes of characters that nobody sees.
fn ascii(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        if is_invisible(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    text
}

/// Returns the beginning of a command of this program, as it was started.
pub(super) fn program(name: Option<&OsStr>, config: Option<&Path>) -> String {
    let name = name.map_or_else(|| "toolbox".into(), OsStr::to_string_lossy);
    let mut program = shell_word(&name);
    if let Some(config) = config {
        let _ = write!(program, " --config {}", shell_word(&config.to_string_lossy()));
    }
    program
}

/// Returns the words that a command line of this program begins with, for a shell.
pub(super) fn program_of(words: &[OsString]) -> String {
    match words {
        [] | [_] => program(words.first().map(OsString::as_os_str), None),
        words => words
            .iter()
            .map(|word| shell_word(&word.to_string_lossy()))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// Returns a word for a POSIX shell, in quotation marks where they are needed.
fn shell_word(text: &str) -> String {
    let text = line_of(text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,…".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Removes what nobody sees, and keeps the spaces.
fn line_of(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c) && *c != '\n').collect()
}
