//! Cleaning of texts from servers for models and terminals.

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use crate::text::clean;

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

/// Cleans every text of a structured result in place.
pub(crate) fn clean_value(value: &mut Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => {
                if let Cow::Owned(cleaned) = clean(text) {
                    *text = cleaned;
                }
            }
            Value::Array(items) => pending.extend(items.iter_mut()),
            Value::Object(map) => pending.extend(map.values_mut()),
            _ => {}
        }
    }
}
