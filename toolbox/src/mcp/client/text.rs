//! Texts that servers wrote, made fit for models and terminals.

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use crate::text::clean;

/// Cleans the texts of a schema that a model reads, its `title`s and `description`s, in place.
///
/// Returns whether another text of it, such as a property's name or a choice, holds something unseen: such texts have a meaning
/// to the server and stay as they are.
pub(crate) fn clean_schema(schema: &mut Value) -> bool {
    let mut unseen = false;
    // Schemas nest no deeper than their reader allows, and the stack of this walk is its own.
    let mut pending = vec![(schema, false)];
    while let Some((value, is_prose)) = pending.pop() {
        match value {
            Value::String(text) => {
                if let Cow::Owned(cleaned) = clean(text) {
                    if is_prose {
                        *text = cleaned;
                    } else {
                        unseen = true;
                    }
                }
            }
            Value::Array(items) => pending.extend(items.iter_mut().map(|item| (item, false))),
            Value::Object(map) => {
                for (key, item) in map.iter_mut() {
                    unseen |= matches!(clean(key), Cow::Owned(_));
                    let is_prose = matches!(key.as_str(), "description" | "title" | "$comment");
                    pending.push((item, is_prose));
                }
            }
            _ => {}
        }
    }
    unseen
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

/// Cuts a text to at most `bytes`, at a character.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
