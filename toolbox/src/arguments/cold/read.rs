//! Keywords that the checker does not read, and what follows: a schema with one of them may refuse more than the checker sees.
//!
//! A fault that is found is a fault whatever else the schema says. What follows from the *absence* of faults (`not`, the one of
//! `oneOf`, names that nothing accounts for) holds only where all of the schema is read.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::schema::referenced;
use crate::schema::children;

/// The way in which the references of a schema are to be read, by what stands at its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As in draft 2020-12, which is also what holds where no draft is named.
    Plain,
    /// As up to draft 7: beside a `$ref`, nothing else counts.
    RefsAlone,
    /// A part has an identifier of its own, so what a reference in it means is not looked for.
    Rebased,
    /// The schema is written in a language that is not known here. Nothing is refused.
    Unknown,
}

impl Reading {
    pub(super) fn of(root: &Value) -> Self {
        let Some(map) = root.as_object() else { return Self::Plain };
        let draft = map.get("$schema").and_then(Value::as_str).map(|uri| {
            let uri = uri.trim_end_matches('#');
            let uri = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"));
            uri.and_then(|uri| uri.strip_prefix("json-schema.org/"))
        });
        let alone = match draft {
            None | Some(Some("draft/2019-09/schema" | "draft/2020-12/schema" | "schema")) => false,
            Some(Some(
                "draft-03/schema" | "draft-04/schema" | "draft-06/schema" | "draft-07/schema",
            )) => true,
            Some(_) => return Self::Unknown,
        };
        if is_rebased(map) {
            Self::Rebased
        } else if alone {
            Self::RefsAlone
        } else {
            Self::Plain
        }
    }
}

/// Whether a part of a schema has an identifier of its own.
fn is_rebased(root: &Map<String, Value>) -> bool {
    let mut open: Vec<&Value> = Vec::new();
    children(root, &mut |_, _, child| open.push(child));
    while let Some(next) = open.pop() {
        let Some(map) = next.as_object() else { continue };
        if ["$id", "id"].iter().any(|name| map.get(*name).is_some_and(Value::is_string)) {
            return true;
        }
        children(map, &mut |_, _, child| open.push(child));
    }
    false
}

/// Keywords that are not read and that put further schemas in place.
const APPLIES: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// Whether a schema has keywords that put further schemas in place, which are not read.
pub(super) fn applies_unread(schema: &Map<String, Value>) -> bool {
    APPLIES.iter().any(|keyword| schema.contains_key(*keyword))
}

/// Whether a schema and all that it refers to hold no keyword that is not read, or not in this form.
pub(super) fn is_read(schema: &Value, root: &Value, reading: Reading) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        let Some(map) = next.as_object().filter(|map| seen.insert(std::ptr::from_ref(*map))) else {
            continue;
        };
        if applies_unread(map)
            || map.contains_key("unevaluatedItems")
            || map.get("unevaluatedProperties").is_some_and(|rest| !rest.is_boolean())
            || !is_pattern_read(map)
        {
            return false;
        }
        if map.contains_key("$ref") {
            match referenced(next, root).filter(|_| reading != Reading::Rebased) {
                Some(target) => open.push(target),
                None => return false,
            }
        }
        children(map, &mut |_, _, child| open.push(child));
    }
    true
}

/// Whether the patterns of a schema can be enforced.
fn is_pattern_read(map: &Map<String, Value>) -> bool {
    let names = map.get("patternProperties").and_then(Value::as_object);
    let mut patterns = map
        .get("pattern")
        .and_then(Value::as_str)
        .into_iter()
        .chain(names.into_iter().flatten().map(|(pattern, _)| pattern.as_str()));
    #[cfg(feature = "pattern")]
    return patterns.all(|pattern| regex_lite::Regex::new(pattern).is_ok());
    #[cfg(not(feature = "pattern"))]
    patterns.next().is_none()
}
