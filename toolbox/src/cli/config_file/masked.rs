//! Problems of a configuration file for display, without the values that may be secret.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, parse_to_ast};

use crate::mcp::ConfigProblem;
use crate::mcp::config::strict;
use crate::text::clean;

/// The keys under which servers stand.
pub(super) const LISTS: [&str; 2] = ["mcp", "mcpServers"];

/// The keys of a server whose values are no secrets. An unknown key may be a misspelled `headers`.
const PLAIN: [&str; 8] =
    ["type", "command", "args", "cwd", "protocol", "timeout", "maxTotalTimeout", "connectTimeout"];

/// The spellings of the key of an address, the usual one first.
pub(super) const URL: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// The text of a file with a `*` for each character that may be of a secret; `None` if it cannot be
/// read.
pub(super) struct MaskedText(Option<String>);

impl MaskedText {
    pub(super) fn of(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let options =
            CollectOptions { comments: CommentCollectionStrategy::Separate, tokens: false };
        let Ok(parsed) = parse_to_ast(text, &options, &strict()) else { return Self(None) };
        let mut secrets = Vec::new();
        for comment in
            parsed.comments.iter().flat_map(|comments| comments.values().flat_map(|all| all.iter()))
        {
            secrets.push(comment.start()..comment.end());
        }
        if let Some(value) = &parsed.value {
            collect(value, &mut Vec::new(), &mut |literal| {
                // The quotes stay.
                secrets.push(literal.start() + 1..literal.end() - 1);
            });
        }
        secrets.sort_by_key(|range| range.start);
        // A comment is collected for the token before it and for the one after it.
        secrets.dedup();
        let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
        for range in secrets {
            masked.push_str(&text[at..range.start]);
            at = range.end;
            masked.extend(text[range].chars().map(|c| if c.is_control() { c } else { '*' }));
        }
        masked.push_str(&text[at..]);
        Self(Some(masked))
    }

    /// Formats a problem as `check` does.
    pub(super) fn problem(&self, problem: &ConfigProblem) -> String {
        match &self.0 {
            Some(text) => displayed(&problem.over(text)),
            None => clean(&problem.summary()).into_owned(),
        }
    }
}

/// Visits each string that may be a secret.
fn collect<'v, 't>(
    value: &'v Value<'t>,
    path: &mut Vec<&'v str>,
    visit: &mut impl FnMut(&'v Value<'t>),
) {
    match value {
        Value::StringLit(literal) if !is_plain(path, &literal.value) => visit(value),
        Value::Array(array) => {
            array.elements.iter().for_each(|element| collect(element, path, visit));
        }
        Value::Object(object) => of_object(object, path, visit),
        _ => {}
    }
}

fn of_object<'v, 't>(
    object: &'v Object<'t>,
    path: &mut Vec<&'v str>,
    visit: &mut impl FnMut(&'v Value<'t>),
) {
    for property in &object.properties {
        path.push(property.name.as_str());
        collect(&property.value, path, visit);
        path.pop();
    }
}

/// Returns whether the value under a path of keys is no secret.
fn is_plain(path: &[&str], value: &str) -> bool {
    match path {
        ["settings", _] | ["$schema"] => true,
        [list, _, key] if LISTS.contains(list) => {
            PLAIN.contains(key) || (URL.contains(key) && is_public(value))
        }
        _ => false,
    }
}

/// Returns whether an address has no part that may be secret. It may begin with a variable.
pub(super) fn is_public(url: &str) -> bool {
    let variable = url.strip_prefix("{env:").and_then(|rest| rest.split_once('}'));
    if let Some((name, rest)) = variable {
        return !name.contains(':') && !rest.contains(['?', '#', '@']);
    }
    reqwest::Url::parse(url).is_ok_and(|url| {
        let has_user = !url.username().is_empty() || url.password().is_some();
        !has_user && url.query().is_none() && url.fragment().is_none()
    })
}

/// Formats a problem as `check` does.
fn displayed(problem: &ConfigProblem) -> String {
    clean(&problem.to_string()).into_owned()
}
