//! The texts of a tool, by the field they stand in.

use super::schema;
use crate::definition::ToolDefinition;
use crate::text::cut;

/// A field of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Server,
    Title,
    Tags,
    /// The beginning of the description: all of it, unless it is long.
    Description,
    ArgumentName,
    ArgumentDescription,
    Values,
    /// The rest of a long description.
    Detail,
}

/// The number of fields.
pub(super) const FIELDS: usize = 9;

/// The maximum number of bytes read of one text. A description longer than that is a document, and
/// its end adds little.
const MAX_TEXT: usize = 16 * 1024;

/// The bytes of a description that are all about the tool; what stands behind the next end of a
/// sentence is notes, examples and formats.
pub(super) const MAX_SUMMARY: usize = 300;

/// The maximum number of values read of one argument, and of tags of one tool.
pub(super) const MAX_VALUES: usize = 100;

/// Returns the server and the tool of a qualified name: `github__create_issue`,
/// `mcp__github__create_issue`.
pub(super) fn qualified(name: &str) -> (Option<&str>, &str) {
    // Two bytes are found faster this way than with a prepared substring search.
    match name.as_bytes().windows(2).rposition(|pair| pair == b"__") {
        Some(at) if at > 0 && at + 2 < name.len() => (Some(&name[..at]), &name[at + 2..]),
        _ => (None, name),
    }
}

/// Calls `visit` with each text of a tool: those of its own in the order of [`Field`], then those
/// of its arguments.
pub(super) fn texts(
    definition: &ToolDefinition,
    server: Option<&str>,
    visit: &mut dyn FnMut(Field, &str),
) {
    let mut visit = |field, text: &str| visit(field, cut(text, MAX_TEXT));
    let (prefix, name) = qualified(&definition.name);
    visit(Field::Name, name);
    for server in prefix.into_iter().chain(server) {
        visit(Field::Server, server);
    }
    if let Some(title) = definition.display_title() {
        visit(Field::Title, title);
    }
    for tag in definition.tags.iter().chain(&definition.replaces).take(MAX_VALUES) {
        visit(Field::Tags, tag);
    }
    visit(Field::Description, &definition.description);
    schema::texts(&definition.input_schema, &mut visit);
}

/// Returns the beginning of a description, up to the end of a sentence, and the rest.
pub(super) fn summary(description: &str) -> (&str, &str) {
    let begin = cut(description, MAX_SUMMARY).len();
    if begin == description.len() {
        return (description, "");
    }
    let end = sentences(&description[begin..]).next().map_or(0, str::len);
    description.split_at(begin + end)
}

/// Returns the sentences of a text.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        for (at, c) in rest.char_indices() {
            // A full stop within a word or a number ends nothing.
            let spaced = || rest[at + 1..].chars().next().is_none_or(char::is_whitespace);
            let ends = match c {
                '.' | '!' | '?' | ';' => spaced(),
                _ => matches!(c, '\n' | '。' | '！' | '？' | '；'),
            };
            if ends {
                let sentence = &rest[..at];
                rest = &rest[at + c.len_utf8()..];
                return Some(sentence);
            }
        }
        Some(std::mem::take(&mut rest))
    })
}
