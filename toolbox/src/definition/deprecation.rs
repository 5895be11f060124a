//! Tools, arguments and values that are deprecated.

use std::fmt;

use serde_json::Value;

use crate::schema::walk::{self, Object};
use crate::text;

/// The most schemas that are visited for the deprecated parts of one tool.
const MAX_VISITS: usize = 2_000;

/// The keyword of JSON Schema.
pub(super) const KEYWORD: &str = "deprecated";

/// Returns `true` if a schema is marked.
pub(super) fn is_deprecated(schema: &Value) -> bool {
    schema.as_object().is_some_and(is_marked)
}

fn is_marked(schema: &Object) -> bool {
    schema.get(KEYWORD).is_some_and(|is_so| *is_so == true)
}

/// An argument, a part of one, or a value of it that is deprecated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeprecatedPart {
    /// The path of the argument, such as `filters[].since`.
    pub(crate) path: String,
    /// The value, if only that is deprecated.
    pub(crate) value: Option<String>,
    /// What to use instead, or nothing.
    pub(crate) note: String,
}

impl DeprecatedPart {
    /// Returns the part that a schema marks, if it does.
    pub(crate) fn of(schema: &Object, path: &str) -> Option<Self> {
        if path.is_empty() || !is_marked(schema) {
            return None;
        }
        let value = schema.get("const").or_else(|| match walk::items(schema, "enum") {
            [only] => Some(only),
            _ => None,
        });
        let value = value.map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let note = text::deprecation_note(description).to_owned();
        Some(Self { path: path.to_owned(), value, note })
    }
}

/// `` argument `from` `` or `` value `old` of argument `mode` ``.
impl fmt::Display for DeprecatedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = &self.value {
            write!(f, "value `{value}` of ")?;
        }
        write!(f, "argument `{}`", self.path)
    }
}

/// Returns the deprecated parts of a schema of arguments.
pub(super) fn parts_of(root: &Value) -> Vec<DeprecatedPart> {
    let mut parts = Vec::new();
    Search { root, seen: Vec::new(), parts: &mut parts }.below(root, "");
    parts
}

/// A search for deprecated parts, which enters each definition once a path.
struct Search<'s> {
    root: &'s Value,
    seen: Vec<&'s Value>,
    parts: &'s mut Vec<DeprecatedPart>,
}

impl<'s> Search<'s> {
    fn at(&mut self, schema: &'s Value, path: &str) {
        let Value::Object(map) = schema else { return };
        if let Some(part) = DeprecatedPart::of(map, path)
            && !self.parts.contains(&part)
        {
            self.parts.push(part);
        }
        self.below(schema, path);
    }

    fn below(&mut self, schema: &'s Value, path: &str) {
        let Value::Object(map) = schema else { return };
        if self.seen.len() > MAX_VISITS
            || self.seen.iter().any(|known| std::ptr::eq(*known, schema))
        {
            return;
        }
        self.seen.push(schema);
        let target =
            walk::reference(map).and_then(|name| self.root.pointer(name.strip_prefix('#')?));
        if let Some(target) = target {
            self.at(target, path);
        }
        let mut children = Vec::new();
        walk::children(map, &mut |keyword, key, child| {
            let mut path = path.to_owned();
            match keyword {
                "$defs" | "definitions" => return,
                "properties" => text::push_key(&mut path, key),
                "items" | "prefixItems" | "additionalItems" | "contains" => path.push_str("[]"),
                "additionalProperties" | "patternProperties" => path.push_str("[\"*\"]"),
                _ => {}
            }
            children.push((child, path));
        });
        for (child, path) in children {
            self.at(child, &path);
        }
    }
}
