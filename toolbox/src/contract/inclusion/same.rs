//! Schemas that say the same in the same way.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::Value;

use super::facts::{Fact, same_json};
use crate::schema::Keywords as _;
use crate::schema::walk::is_annotation;
use crate::validate::JsonKinds;

/// Returns `true` for keywords that constrain no value where they stand: texts, and what
/// references lead to.
pub(in crate::contract) fn is_silent(keyword: &str) -> bool {
    is_annotation(keyword)
        || keyword.starts_with("x-")
        || matches!(
            keyword,
            "$schema"
                | "$defs"
                | "definitions"
                | "$anchor"
                | "$vocabulary"
                | "$dynamicAnchor"
                | "$id"
                | "id"
        )
}

/// Returns `true` if two schemas constrain in the same way, texts aside; what they refer to is
/// compared as well. Each schema costs a step of `fuel`; without any left, they are not the same.
pub(super) fn same<'a>(a: &Fact<'a>, b: &Fact<'a>, fuel: &Cell<u32>) -> bool {
    a.refs.draft == b.refs.draft && Comparison { assumed: HashSet::new(), fuel }.schemas(a, b)
}

struct Comparison<'f> {
    /// The pairs that are being compared: a pair that is met again is the same as long as nothing
    /// else differs.
    assumed: HashSet<(*const Value, *const Value)>,
    fuel: &'f Cell<u32>,
}

impl Comparison<'_> {
    fn schemas<'a>(&mut self, a: &Fact<'a>, b: &Fact<'a>) -> bool {
        let (Value::Object(left), Value::Object(right)) = (a.schema, b.schema) else {
            return a.schema == b.schema;
        };
        let Some(fuel) = self.fuel.get().checked_sub(1) else { return false };
        self.fuel.set(fuel);
        if !self.assumed.insert((std::ptr::from_ref(a.schema), std::ptr::from_ref(b.schema))) {
            return true;
        }
        let speaking = |map: &serde_json::Map<String, Value>| {
            map.keys().filter(|keyword| !is_silent(keyword)).count()
        };
        speaking(left) == speaking(right)
            && left.iter().filter(|(keyword, _)| !is_silent(keyword)).all(|(keyword, own)| {
                right
                    .keyword(keyword)
                    .is_some_and(|other| self.keyword(a, b, keyword, (own, other)))
            })
    }

    fn keyword<'a>(
        &mut self,
        a: &Fact<'a>,
        b: &Fact<'a>,
        keyword: &str,
        (own, other): (&'a Value, &'a Value),
    ) -> bool {
        let mut below = |own: &'a Value, other: &'a Value| {
            self.schemas(&a.below(own, keyword, ""), &b.below(other, keyword, ""))
        };
        match (keyword, own, other) {
            ("$ref", ..) => match (a.target(), b.target()) {
                (Some(a), Some(b)) => self.schemas(&a, &b),
                (None, None) => own == other,
                _ => false,
            },
            // What they lead to depends on the whole document.
            ("$dynamicRef" | "$recursiveRef" | "$recursiveAnchor", ..) => false,
            ("type", ..) => {
                let kinds = |fact: &Fact<'_>| fact.schema.as_object().map(JsonKinds::of_type);
                kinds(a) == kinds(b)
            }
            ("required" | "enum", Value::Array(own), Value::Array(other)) => {
                let within = |some: &[Value], all: &[Value]| {
                    some.iter().all(|one| all.iter().any(|other| same_json(one, other)))
                };
                within(own, other) && within(other, own)
            }
            (
                "properties" | "patternProperties" | "dependentSchemas",
                Value::Object(own),
                Value::Object(other),
            ) => {
                own.len() == other.len()
                    && own
                        .iter()
                        .all(|(name, own)| other.get(name).is_some_and(|other| below(own, other)))
            }
            (
                "allOf" | "anyOf" | "oneOf" | "prefixItems" | "items",
                Value::Array(own),
                Value::Array(other),
            ) => {
                own.len() == other.len()
                    && own.iter().zip(other).all(|(own, other)| below(own, other))
            }
            (
                "additionalItems"
                | "additionalProperties"
                | "contains"
                | "contentSchema"
                | "else"
                | "if"
                | "items"
                | "not"
                | "propertyNames"
                | "then"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                ..,
            ) => below(own, other),
            _ => same_json(own, other),
        }
    }
}
