//! JSON Schemas of definitions, kept as text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeSeed;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::deprecation;
use crate::schema::walk;

/// The deepest value that is kept as text. Deeper text could not be read again.
const MAX_DEPTH: usize = 100;

/// A JSON Schema in a definition: shared by its clones, and kept as text until it is read as a
/// value.
///
/// It dereferences to a [`Value`], which is read from the text on first use and kept. Text takes a
/// tenth of the memory, so that a box may hold many tools of which few are called.
///
/// ```
/// use serde_json::json;
/// use toolbox::definition::Schema;
///
/// let schema = Schema::from(json!({"type": "object", "properties": {"host": {}}}));
/// assert_eq!(schema["type"], "object");
/// assert!(schema.is_object());
/// assert_eq!(schema, json!({"type": "object", "properties": {"host": {}}}));
/// ```
#[derive(Clone)]
pub struct Schema(Arc<SchemaInner>);

struct SchemaInner {
    /// The schema as text; empty if it is kept as a value.
    text: Box<str>,
    value: OnceLock<Value>,
    /// `true` if it marks a value as secret, once that was asked for.
    has_secrets: OnceLock<bool>,
    /// `true` if it mentions the keyword of deprecated parts, once that was asked for.
    mentions_deprecation: OnceLock<bool>,
    /// The names of the fields that may be null, once that was asked for.
    nullable: OnceLock<HashSet<Box<str>>>,
    /// The outputs that were held against it, up to [`FIRST_OUTPUTS`].
    held: AtomicU32,
}

impl Schema {
    /// Returns the schema as a value: borrowed if it is read already, and otherwise read for this
    /// use alone.
    pub(crate) fn read(&self) -> Cow<'_, Value> {
        match self.0.value.get() {
            Some(value) => Cow::Borrowed(value),
            None => Cow::Owned(self.0.parse()),
        }
    }

    /// Reads the schema piece by piece, from its text if it has one.
    #[allow(dead_code, reason = "for tool search")]
    pub(crate) fn read_with<'s>(&'s self, seed: impl DeserializeSeed<'s, Value = ()>) {
        // It was written from a value, and a seed that takes any value meets no error.
        let _ = match (self.0.value.get(), &*self.0.text) {
            (Some(value), "") => seed.deserialize(value),
            (_, text) => seed.deserialize(&mut serde_json::Deserializer::from_str(text)),
        };
    }
}

impl Schema {
    /// Returns `true` if a keyword of the schema, or a name in it, is that of deprecated parts.
    pub(crate) fn mentions_deprecation(&self) -> bool {
        *self.0.mentions_deprecation.get_or_init(|| self.mentions(deprecation::KEYWORD))
    }

    /// Returns `true` if a keyword of the schema, or a name in it, is `word`.
    fn mentions(&self, word: &str) -> bool {
        match (&*self.0.text, self.0.value.get()) {
            ("", Some(value)) => {
                let mut is_there = false;
                walk::each(value, &mut |map| is_there |= map.contains_key(word));
                is_there
            }
            (text, _) => {
                let mut rest = text;
                while let Some((before, after)) = rest.split_once(word) {
                    if before.ends_with('"') && after.starts_with('"') {
                        return true;
                    }
                    rest = after;
                }
                false
            }
        }
    }

    /// Returns `true` if the schema marks a value as secret, as `find` says the first time.
    pub(crate) fn has_secrets(&self, find: impl FnOnce(&Value) -> bool) -> bool {
        *self.0.has_secrets.get_or_init(|| find(&self.read()))
    }
}

/// The number of outputs of a tool that are held against its schema whatever they hold: what a type
/// writes in another form, it writes each time.
const FIRST_OUTPUTS: u32 = 16;

impl Schema {
    /// Returns `true` for the first outputs that are held against the schema.
    pub(crate) fn is_first_output(&self) -> bool {
        let held = &self.0.held;
        held.load(Ordering::Relaxed) < FIRST_OUTPUTS && {
            held.fetch_add(1, Ordering::Relaxed);
            true
        }
    }

    /// Returns the names of the fields that may be null, as `find` says the first time.
    pub(crate) fn nullable(
        &self,
        find: impl FnOnce(&Value) -> HashSet<Box<str>>,
    ) -> &HashSet<Box<str>> {
        self.0.nullable.get_or_init(|| find(&self.read()))
    }
}

impl SchemaInner {
    fn parse(&self) -> Value {
        // It was written from a value that can be read again.
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// Returns `true` if text of the value reads as the same value: it is not too deep, and no number
/// of it is rounded.
fn survives_as_text(value: &Value, depth: usize) -> bool {
    depth > 0
        && match value {
            Value::Number(number) => !number.is_f64(),
            Value::Array(items) => items.iter().all(|item| survives_as_text(item, depth - 1)),
            Value::Object(fields) => {
                fields.values().all(|field| survives_as_text(field, depth - 1))
            }
            _ => true,
        }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        let is_text = survives_as_text(&value, MAX_DEPTH);
        let text = if is_text { value.to_string().into() } else { Box::default() };
        let value = if is_text { OnceLock::new() } else { OnceLock::from(value) };
        let (has_secrets, mentions_deprecation) = (OnceLock::new(), OnceLock::new());
        let nullable = OnceLock::new();
        let held = AtomicU32::new(0);
        Self(Arc::new(SchemaInner {
            text,
            value,
            has_secrets,
            mentions_deprecation,
            nullable,
            held,
        }))
    }
}

impl From<Schema> for Value {
    fn from(schema: Schema) -> Self {
        schema.read().into_owned()
    }
}

/// `null`, until a schema takes its place.
impl Default for Schema {
    fn default() -> Self {
        Self::from(Value::Null)
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.value.get_or_init(|| self.0.parse())
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        let is_same_text = !self.0.text.is_empty() && self.0.text == other.0.text;
        Arc::ptr_eq(&self.0, &other.0) || is_same_text || self.read() == other.read()
    }
}

impl PartialEq<Value> for Schema {
    fn eq(&self, other: &Value) -> bool {
        *self.read() == *other
    }
}

impl PartialEq<Schema> for Value {
    fn eq(&self, other: &Schema) -> bool {
        other == self
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

/// The schema as JSON text.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.value.get() {
            Some(value) => value.fmt(f),
            None => f.write_str(&self.0.text),
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_reads_as_the_value_it_was_made_of() {
        let deep = (0..300).fold(json!({}), |inner, _| json!({"not": inner}));
        let values = [
            json!(null),
            json!(true),
            json!({"b": 1, "a": [{"c": "\u{7f}\"\\é"}]}),
            json!({"maximum": 0.300_000_000_000_000_04, "minimum": -1e300}),
            json!({"maximum": u64::MAX, "minimum": i64::MIN}),
            deep,
        ];
        for value in values {
            let schema = Schema::from(value.clone());
            assert_eq!(*schema.read(), value);
            assert_eq!(schema.to_string(), value.to_string());
            let text = serde_json::to_string(&schema).unwrap();
            assert_eq!(text, value.to_string(), "before it is read, or not at all");
            assert_eq!(*schema, value);
            assert_eq!(serde_json::to_string(&schema).unwrap(), text, "and after");
            assert_eq!(schema, Schema::from(value));
        }
        assert_ne!(Schema::from(json!({"a": 1})), Schema::from(json!({"a": 2})));
        assert_ne!(Schema::from(json!({"a": 1})), json!({"a": 2}));
    }
}
