//! Queries on a schema: the target of a reference, the kinds of value it accepts.

use super::value::RECEIVED;
use crate::text::{list, names, quote};
use std::collections::HashSet;
use std::ops::{BitAnd, BitOr};

use serde_json::{Map, Value};

use super::json::{JsonKind, Node};
use super::number::is_integer;
use super::references::References;
use crate::schema::{Keywords as _, children, type_word};

/// The most sub-schemas that one query visits before it answers "any value".
const FUEL: u32 = 256;

/// A set of JSON types; integers and other numbers count as two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonKinds(u8);

impl JsonKinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOL: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const FRACTION: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(4 | 8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    pub(super) fn of(node: Node<'_>) -> Self {
        match node.kind() {
            JsonKind::Null => Self::NULL,
            JsonKind::Bool => Self::BOOL,
            JsonKind::String => Self::STRING,
            JsonKind::Array => Self::ARRAY,
            JsonKind::Object => Self::OBJECT,
            JsonKind::Number if is_integer(node.source()) => Self::INTEGER,
            JsonKind::Number => Self::FRACTION,
        }
    }

    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOL,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
            Value::Number(number) if is_integer(&number.to_string()) => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
        }
    }

    pub(super) fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOL,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            // In other letters it is the same, and a word that is no type takes any value.
            other => type_word(other).map_or(Self::ALL, Self::named),
        }
    }

    /// Returns the types that the keyword `type` names; all without it.
    pub(crate) fn of_type(schema: &Map<String, Value>) -> Self {
        match schema.keyword("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) if !names.is_empty() => names
                .iter()
                .filter_map(Value::as_str)
                .fold(Self::NONE, |kinds, name| kinds | Self::named(name)),
            _ => Self::ALL,
        }
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the kinds of these that are not among the others.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns a phrase such as "a string or null".
    pub(crate) fn phrase(self) -> String {
        self.words(|_, phrase| phrase)
    }

    /// Returns names such as "string or null".
    fn bare(self) -> String {
        self.words(|name, _| name)
    }

    fn words(self, word: impl Fn(&'static str, &'static str) -> &'static str) -> String {
        let all = [
            (Self::STRING, "string", "a string"),
            (Self::NUMBER, "number", "a number"),
            (Self::INTEGER, "integer", "an integer"),
            (Self::FRACTION, "fraction", "a fraction"),
            (Self::BOOL, "boolean", "`true` or `false`"),
            (Self::ARRAY, "array", "an array"),
            (Self::OBJECT, "object", "an object"),
            (Self::NULL, "null", "null"),
        ];
        if self == Self::ALL {
            return "any value".to_owned();
        }
        let mut left = self;
        let mut words = Vec::new();
        for (kinds, name, phrase) in all {
            if left & kinds == kinds {
                words.push(word(name, phrase));
                left = Self(left.0 & !kinds.0);
            }
        }
        match words.split_last() {
            None => "nothing".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, first)) => format!("{} or {last}", first.join(", ")),
        }
    }
}

impl BitOr for JsonKinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for JsonKinds {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Returns the schema behind a chain of references.
pub(super) fn target<'s>(schema: &'s Value, refs: &References<'s>) -> &'s Value {
    let mut schema = schema;
    for _ in 0..16 {
        match refs.target(schema) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

/// Returns the members of an array keyword.
pub(super) fn branches<'s>(schema: &'s Value, keyword: &str) -> &'s [Value] {
    schema.keyword(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the types of a schema that demands nothing else.
pub(super) fn only_types(schema: &Value) -> Option<JsonKinds> {
    let map = schema.as_object()?;
    let says_only_type = map.keys().all(|keyword| demands_at_most_type(keyword));
    says_only_type.then(|| JsonKinds::of_type(map))
}

fn demands_at_most_type(keyword: &str) -> bool {
    matches!(keyword, "type" | "format" | "description" | "title" | "default" | "examples")
}

/// Returns `true` for a schema without references, listed values, alternatives and conditions.
pub(super) fn is_plain(schema: &Map<String, Value>) -> bool {
    let bounds = |keyword: &str| {
        matches!(
            keyword,
            "minimum"
                | "maximum"
                | "minLength"
                | "maxLength"
                | "pattern"
                | "items"
                | "minItems"
                | "maxItems"
                | "properties"
                | "required"
                | "additionalProperties"
        )
    };
    schema.keys().all(|keyword| demands_at_most_type(keyword) || bounds(keyword))
}

/// Returns `true` for a schema that is a reference and nothing else.
pub(super) fn only_refers(schema: &Map<String, Value>) -> bool {
    schema.len() == 1 && schema.has_keyword("$ref")
}

/// Returns the kinds of value that a schema may accept; all kinds, if the query would be too long.
pub(super) fn kinds(schema: &Value, refs: &References<'_>) -> JsonKinds {
    kinds_within(schema, refs, &mut { FUEL }, 0)
}

fn kinds_within(schema: &Value, refs: &References<'_>, fuel: &mut u32, level: u32) -> JsonKinds {
    if *fuel == 0 || level > 32 {
        return JsonKinds::ALL;
    }
    *fuel -= 1;
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => return JsonKinds::NONE,
        _ => return JsonKinds::ALL,
    };
    let mut kinds = JsonKinds::of_type(map);
    if only_types(schema).is_some() {
        return kinds;
    }
    if let Some(value) = map.keyword("const") {
        kinds = kinds & JsonKinds::of_value(value);
    }
    if let Some(values) = map.keyword("enum").and_then(Value::as_array) {
        kinds = kinds
            & values.iter().fold(JsonKinds::NONE, |all, value| all | JsonKinds::of_value(value));
    }
    if let Some(next) = refs.target(schema) {
        kinds = kinds & kinds_within(next, refs, fuel, level + 1);
    }
    for next in branches(schema, "allOf") {
        kinds = kinds & kinds_within(next, refs, fuel, level + 1);
    }
    for keyword in ["anyOf", "oneOf"] {
        let any = branches(schema, keyword);
        if !any.is_empty() {
            kinds = kinds
                & any.iter().fold(JsonKinds::NONE, |all, next| {
                    all | kinds_within(next, refs, fuel, level + 1)
                });
        }
    }
    kinds
}

/// Returns every value a schema accepts, if they are listed one by one (`null` as a type counts).
pub(super) fn choices<'s>(schema: &'s Value, refs: &References<'s>) -> Option<Vec<&'s Value>> {
    choices_within(schema, refs, &mut { FUEL }, 0)
}

fn choices_within<'s>(
    schema: &'s Value,
    refs: &References<'s>,
    fuel: &mut u32,
    level: u32,
) -> Option<Vec<&'s Value>> {
    *fuel = fuel.checked_sub(1)?;
    let map = schema.as_object().filter(|_| level <= 32)?;
    if let Some(value) = map.keyword("const") {
        return Some(vec![value]);
    }
    if let Some(values) = map.keyword("enum").and_then(Value::as_array) {
        return Some(values.iter().collect());
    }
    if map.keyword("type").and_then(Value::as_str) == Some("null") {
        return Some(vec![&Value::Null]);
    }
    if let Some(next) = refs.target(schema) {
        return choices_within(next, refs, fuel, level + 1);
    }
    if let [only] = branches(schema, "allOf") {
        return choices_within(only, refs, fuel, level + 1);
    }
    let any = match branches(schema, "anyOf") {
        [] => branches(schema, "oneOf"),
        any => any,
    };
    if any.is_empty() {
        return None;
    }
    let mut all = Vec::new();
    for next in any {
        all.extend(choices_within(next, refs, fuel, level + 1)?);
    }
    Some(all)
}

/// Returns the strings a schema accepts, if every string it accepts is listed.
pub(super) fn listed_strings<'s>(schema: &'s Value, refs: &References<'s>) -> Option<Vec<&'s str>> {
    let strings = |values: Vec<&'s Value>| values.into_iter().filter_map(Value::as_str).collect();
    if let Some(values) = choices(schema, refs) {
        return Some(strings(values));
    }
    let schema = target(schema, refs);
    let any = match branches(schema, "anyOf") {
        [] => branches(schema, "oneOf"),
        any => any,
    };
    if any.is_empty() {
        return None;
    }
    let mut all = Vec::new();
    for next in any {
        match choices(next, refs) {
            Some(values) => all.extend::<Vec<&str>>(strings(values)),
            None if kinds(next, refs).meets(JsonKinds::STRING) => return None,
            None => {}
        }
    }
    Some(all)
}

/// Returns `true` if a value must never be displayed: `writeOnly`, `format: password`, here, in a
/// branch or below. A password in the place of the object that should hold it is a password still.
///
/// Each subschema is visited once, so a recursive type is secret only if a part of it is marked.
pub(super) fn is_secret(schema: &Value, refs: &References<'_>) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        let Some(map) = next.as_object().filter(|_| seen.insert(std::ptr::from_ref(next))) else {
            continue;
        };
        if says_secret(map) {
            return true;
        }
        open.extend(refs.targets(next));
        children(map, &mut |keyword, _, child| {
            // Definitions count where they are referenced, and `not` describes other values.
            if !matches!(keyword, "$defs" | "definitions" | "not") {
                open.push(child);
            }
        });
        // Of draft 7 and older; names alone are no schema.
        if let Some(Value::Object(dependencies)) = map.keyword("dependencies") {
            open.extend(dependencies.values());
        }
    }
    false
}

/// Returns `true` if a field of an object is marked as secret itself, not by what is below it.
pub(super) fn has_secret_field(schema: &Map<String, Value>, refs: &References<'_>) -> bool {
    let named = ["properties", "patternProperties"].into_iter().filter_map(|keyword| {
        let fields = schema.keyword(keyword)?.as_object()?;
        Some(fields.values())
    });
    let mut open: Vec<&Value> =
        named.flatten().chain(schema.keyword("additionalProperties")).collect();
    let mut seen = HashSet::new();
    while let Some(next) = open.pop() {
        let Some(map) = next.as_object().filter(|_| seen.insert(std::ptr::from_ref(next))) else {
            continue;
        };
        if says_secret(map) {
            return true;
        }
        open.extend(refs.targets(next));
        for keyword in ["allOf", "anyOf", "oneOf"] {
            open.extend(branches(next, keyword));
        }
    }
    false
}

/// Returns `true` if a schema itself marks its value as secret.
pub(super) fn says_secret(schema: &Map<String, Value>) -> bool {
    schema.keyword("format").and_then(Value::as_str) == Some("password")
        || schema.keyword("writeOnly").and_then(Value::as_bool) == Some(true)
}

/// Returns the names that an object schema allows, as a phrase: those declared, then the rules for
/// others; empty if it allows none.
pub(super) fn allowed_names<'s>(
    declared: impl Iterator<Item = &'s str>,
    patterns: impl Iterator<Item = &'s str>,
) -> String {
    let mut patterns = patterns.map(|pattern| format!("`{}`", quote(pattern, RECEIVED)));
    let rules = match list(&mut patterns) {
        rules if rules.is_empty() => None,
        rules => Some(format!("names that match {rules}")),
    };
    let declared = Some(names(declared)).filter(|names| !names.is_empty());
    declared.into_iter().chain(rules).collect::<Vec<_>>().join(", and ")
}

/// Returns the names that `propertyNames` allows, as a phrase.
pub(super) fn name_rule(schema: &Value, refs: &References<'_>) -> String {
    if let Some(listed) = listed_strings(schema, refs).filter(|listed| !listed.is_empty()) {
        return names(listed.into_iter());
    }
    let schema = target(schema, refs);
    let mut rules = Vec::new();
    if let Some(pattern) = schema.keyword("pattern").and_then(Value::as_str) {
        rules.push(format!("match `{}`", quote(pattern, RECEIVED)));
    }
    for (keyword, phrase) in [("minLength", "at least"), ("maxLength", "at most")] {
        if let Some(bound) = schema.keyword(keyword).and_then(Value::as_u64) {
            rules.push(format!(
                "have {phrase} {bound} character{}",
                if bound == 1 { "" } else { "s" }
            ));
        }
    }
    if let Some(format) = schema.keyword("format").and_then(Value::as_str) {
        rules.push(format!("have the format `{}`", quote(format, RECEIVED)));
    }
    match rules.as_slice() {
        [] => "names of another form".to_owned(),
        rules => format!("names that {}", rules.join(" and ")),
    }
}

/// Returns a short description, such as "string: Words to look for".
pub(super) fn describe(schema: &Value, refs: &References<'_>) -> String {
    let aim = target(schema, refs);
    let mut text = match choices(schema, refs) {
        Some(values) if values.len() > 1 => format!("one of {}", value_list(&values)),
        Some(values) if values.len() == 1 => value_list(&values),
        _ => match kinds(schema, refs) {
            JsonKinds::ARRAY => match aim.keyword("items").map(|items| kinds(items, refs)) {
                Some(items) if items != JsonKinds::ALL => format!("array of {}", items.bare()),
                _ => "array".to_owned(),
            },
            kinds => kinds.bare(),
        },
    };
    let words = schema
        .keyword("description")
        .or_else(|| aim.keyword("description"))
        .and_then(Value::as_str);
    if let Some(line) = words.and_then(|words| words.lines().map(str::trim).find(|l| !l.is_empty()))
    {
        text.push_str(": ");
        text.push_str(&quote(line, 120));
    }
    text
}

/// Returns the first few values as JSON, separated by commas.
pub(super) fn value_list(values: &[&Value]) -> String {
    list(&mut values.iter().map(|value| quote(&value.to_string(), 60)))
}
