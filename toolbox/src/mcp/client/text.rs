//! Cleaning of texts from servers for models and terminals.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use crate::text::cut;
pub(crate) use crate::text::{clean, clean_content};

/// The maximum length of a description, in bytes; the rest is cut.
const MAX_DESCRIPTION: usize = 32 * 1024;

/// Cleans a description and cuts it to the limit, which the model reads at its end. Returns what a
/// user is told of it.
pub(crate) fn clean_description(description: &mut String) -> Vec<String> {
    let mut findings = Vec::new();
    if let Cow::Owned(cleaned) = clean(description) {
        findings.push("its description held invisible characters".to_owned());
        *description = cleaned;
    }
    let end = cut(description, MAX_DESCRIPTION).len();
    if end < description.len() {
        let rest = description.len() - end;
        description.truncate(end);
        let _ = write!(description, "\n[cut: {rest} more bytes of this description]");
        findings.push(format!("its description was cut to {end} bytes"));
    }
    findings
}

/// Cleans the texts of a schema that a model reads, its `title`s and `description`s, in place.
///
/// Returns whether another text of it, such as a property's name or a choice, contains invisible
/// characters: such texts have a meaning to the server and stay unchanged.
pub(crate) fn clean_schema(schema: &mut Value) -> bool {
    let mut found = false;
    // The reader limits the depth of schemas, and this walk does not recurse.
    let mut pending = vec![(schema, false)];
    while let Some((value, is_prose)) = pending.pop() {
        match value {
            Value::String(text) => {
                if let Cow::Owned(cleaned) = clean(text) {
                    if is_prose {
                        *text = cleaned;
                    } else {
                        found = true;
                    }
                }
            }
            Value::Array(items) => pending.extend(items.iter_mut().map(|item| (item, false))),
            Value::Object(map) => {
                for (key, item) in map.iter_mut() {
                    found |= matches!(clean(key), Cow::Owned(_));
                    let is_prose = matches!(key.as_str(), "description" | "title" | "$comment");
                    pending.push((item, is_prose));
                }
            }
            _ => {}
        }
    }
    found
}

/// Cleans every text of a structured result in place, as data.
pub(crate) fn clean_value(value: &mut Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => {
                if let Cow::Owned(cleaned) = clean_content(text) {
                    *text = cleaned;
                }
            }
            Value::Array(items) => pending.extend(items.iter_mut()),
            Value::Object(map) => pending.extend(map.values_mut()),
            _ => {}
        }
    }
}
