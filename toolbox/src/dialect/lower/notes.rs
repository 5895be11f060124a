//! Keywords as notes in a description, where the schema must not have them.

use serde_json::Value;

/// The longest value of a keyword that is written as a note, in bytes.
const MAX_NOTE: usize = 300;

/// Returns `description` with a note after it.
pub(super) fn joined(description: &str, note: &str) -> String {
    let text = description.trim_end();
    if text.is_empty() {
        return note.to_owned();
    }
    if text.ends_with(['.', '!', '?', ':']) {
        let mut letters = note.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        return format!(
            "{text} {}{}",
            first.map(String::from).unwrap_or_default(),
            letters.as_str()
        );
    }
    format!("{text}; {note}")
}

/// Returns the note on a keyword, unless its value is too long.
pub(super) fn of(keyword: &str, value: &Value) -> Option<String> {
    let plural = |count: &Value, one: &str| {
        if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
    };
    let note = match (keyword, value) {
        ("default", value) => format!("default {value}"),
        ("minLength", count) => format!("at least {}", plural(count, "character")),
        ("maxLength", count) => format!("at most {}", plural(count, "character")),
        ("pattern", Value::String(pattern)) => format!("matches the regular expression {pattern}"),
        ("format", Value::String(format)) => format!("format {format}"),
        ("uniqueItems", Value::Bool(true)) => "no duplicates".to_owned(),
        ("examples", Value::Array(examples)) => {
            let examples: Vec<String> = examples.iter().map(Value::to_string).collect();
            format!("for example {}", examples.join(", "))
        }
        ("deprecated", Value::Bool(true)) => "deprecated".to_owned(),
        (keyword, value) => format!("{keyword}: {value}"),
    };
    (note.len() <= MAX_NOTE).then_some(note)
}
