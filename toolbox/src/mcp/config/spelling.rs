//! Spellings of variables and folders that a shell or another program would expand. The file knows
//! `{env:NAME}` alone, so each is named with what to write instead.

use super::variables::is_name;

/// A part of a string that another program would replace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ForeignSpelling {
    /// The part, without the default of a variable, which may be secret.
    pub(crate) part: String,
    /// The advice: what to write instead.
    pub(crate) instead: String,
}

/// Returns the first part of a string that another program would replace: `${NAME}`, `$ENV{NAME}`,
/// `$env:NAME` and `$NAME`; in one that may be a path, `%NAME%` and a leading `~`, too.
pub(crate) fn foreign(text: &str, may_be_path: bool) -> Option<ForeignSpelling> {
    let dollar = text.match_indices('$').find_map(|(at, _)| after_dollar(text, at));
    dollar.or_else(|| {
        let path = may_be_path.then(|| in_percents(text).or_else(|| leading_tilde(text)));
        path.flatten()
    })
}

/// Returns the variable of this file in place of a value that a program asks its user for.
pub(crate) fn variable_of_input(id: &str) -> String {
    let letter = |c: char| if is_name_part(c) { c.to_ascii_uppercase() } else { '_' };
    let name: String = id.chars().map(letter).collect();
    if is_name(&name) { name } else { format!("INPUT_{name}") }
}

fn after_dollar(text: &str, at: usize) -> Option<ForeignSpelling> {
    let rest = &text[at + 1..];
    if let Some((inner, _)) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        return in_braces(inner);
    }
    // As in Perl and in PowerShell.
    let word = rest.get(..4).map(str::to_ascii_lowercase);
    let inner = rest.get(4..).unwrap_or_default();
    match word.as_deref() {
        Some("env{") => {
            let (name, _) = inner.split_once('}')?;
            is_name(name).then(|| variable(format!("$ENV{{{name}}}"), name))
        }
        Some("env:") => {
            let name = name_at(inner);
            is_name(name).then(|| variable(format!("$env:{name}"), name))
        }
        _ => {
            let name = name_at(rest);
            let is_variable =
                is_name(name) && name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase());
            (is_variable && stands_alone(text, at, at + 1 + name.len()))
                .then(|| variable(format!("${name}"), name))
        }
    }
}

fn in_braces(inner: &str) -> Option<ForeignSpelling> {
    let shown = inner.split(":-").next().unwrap_or_default();
    if is_name(shown) {
        return Some(match shown {
            "userHome" => variable("${userHome}".to_owned(), "HOME"),
            "workspaceFolder" | "workspaceRoot" => ForeignSpelling {
                part: format!("${{{shown}}}"),
                instead: "write the folder itself".to_owned(),
            },
            name => variable(format!("${{{name}}}"), name),
        });
    }
    let part = format!("${{{shown}}}");
    let spelling = match shown.split_once([':', '.']) {
        // This one is read.
        Some(("env", name)) if is_name(name) && shown.starts_with("env:") => return None,
        Some(("env", name)) if is_name(name) => variable(part, name),
        Some(("input", id)) => ForeignSpelling {
            part,
            instead: format!(
                "write {{env:{}}}, and set it where toolbox is started",
                variable_of_input(id)
            ),
        },
        Some((word, _)) if is_name(word) => {
            ForeignSpelling { part, instead: "write the value itself".to_owned() }
        }
        _ => return None,
    };
    Some(spelling)
}

/// Returns the first `%NAME%`.
fn in_percents(text: &str) -> Option<ForeignSpelling> {
    text.match_indices('%').find_map(|(at, _)| {
        let name = name_at(&text[at + 1..]);
        let end = at + 1 + name.len();
        let is_closed = text[end..].starts_with('%') && stands_alone(text, at, end + 1);
        (is_closed && is_name(name)).then(|| variable(format!("%{name}%"), name))
    })
}

fn leading_tilde(text: &str) -> Option<ForeignSpelling> {
    let rest = text.strip_prefix('~')?;
    (rest.is_empty() || rest.starts_with(['/', '\\'])).then(|| ForeignSpelling {
        part: "~".to_owned(),
        instead: "write the folder in full, or {env:HOME}".to_owned(),
    })
}

fn variable(part: String, name: &str) -> ForeignSpelling {
    ForeignSpelling { part, instead: format!("write {{env:{name}}}") }
}

/// Returns whether a part of a text has no letter beside it, as one of a password may have.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    text[..start].chars().next_back().is_none_or(is_boundary)
        && text[end..].chars().next().is_none_or(is_boundary)
}

/// Returns the longest name of a variable at the start of a text.
fn name_at(text: &str) -> &str {
    &text[..text.find(|c| !is_name_part(c)).unwrap_or(text.len())]
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace() || "/\\:=,;\"'".contains(c)
}
