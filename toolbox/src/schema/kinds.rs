//! The kinds of JSON values that a schema accepts.

use std::collections::HashMap;

use serde_json::Value;

use super::walk::{self, Object};

/// Returns the word for a type, where it is written in other letters too; `None` for one that JSON
/// Schema does not have, such as `any`.
pub(crate) fn type_word(word: &str) -> Option<&'static str> {
    const WORDS: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    WORDS.into_iter().find(|known| known.eq_ignore_ascii_case(word))
}

/// A set of kinds of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(1 << 1);
    pub(crate) const NUMBER: Self = Self(1 << 2);
    pub(crate) const STRING: Self = Self(1 << 3);
    pub(crate) const ARRAY: Self = Self(1 << 4);
    pub(crate) const OBJECT: Self = Self(1 << 5);
    const ALL: Self = Self((1 << 6) - 1);

    /// Returns the kinds of values that `schema` accepts; `definitions` holds the targets of its
    /// references.
    ///
    /// A type that contains itself without an end has no value: its definition starts with no
    /// kinds. When in doubt, a schema accepts a kind.
    pub(crate) fn of(schema: &Value, definitions: Option<&Object>) -> Self {
        let mut known: HashMap<&str, Self> = HashMap::new();
        let no_definitions = Object::new();
        let definitions = definitions.unwrap_or(&no_definitions);
        loop {
            let mut changed = false;
            for (name, body) in definitions {
                let kinds = Self::read(body, &known, definitions);
                changed |= known.insert(name, kinds).unwrap_or(Self::NONE) != kinds;
            }
            if !changed {
                return Self::read(schema, &known, definitions);
            }
        }
    }

    fn read(schema: &Value, known: &HashMap<&str, Self>, definitions: &Object) -> Self {
        if walk::is_deeper(schema, walk::MAX_HEIGHT) {
            return Self::ALL;
        }
        let map = match schema {
            Value::Bool(false) => return Self::NONE,
            Value::Object(map) => map,
            _ => return Self::ALL,
        };
        let read = |schema: &Value| Self::read(schema, known, definitions);
        let union = |list: &Vec<Value>| list.iter().map(read).fold(Self::NONE, Self::or);
        let mut kinds = match map.get("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).map(Self::named).fold(Self::NONE, Self::or)
            }
            _ => Self::ALL,
        };
        if let Some(name) = walk::reference(map).and_then(walk::definition_name) {
            let defined = definitions.contains_key(&name);
            let target = known.get(name.as_str()).copied();
            kinds = kinds.and(if defined { target.unwrap_or(Self::NONE) } else { Self::ALL });
        }
        for (keyword, value) in map {
            kinds = kinds.and(match (keyword.as_str(), value) {
                ("const", value) => Self::of_value(value),
                ("enum", Value::Array(values)) => {
                    values.iter().map(Self::of_value).fold(Self::NONE, Self::or)
                }
                ("anyOf" | "oneOf", Value::Array(branches)) => union(branches),
                ("allOf", Value::Array(parts)) => parts.iter().map(read).fold(Self::ALL, Self::and),
                ("not", Value::Bool(true)) => Self::NONE,
                ("not", Value::Object(all)) if all.is_empty() => Self::NONE,
                _ => Self::ALL,
            });
        }
        let number = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
        let crossed = |least: &str, most: &str| {
            number(least).zip(number(most)).is_some_and(|(least, most)| least > most)
        };
        let excluded = number("minimum")
            .zip(number("exclusiveMaximum"))
            .is_some_and(|(least, most)| least >= most);
        let without = |kinds: Self, gone: bool, kind: Self| {
            if gone { Self(kinds.0 & !kind.0) } else { kinds }
        };
        kinds = without(kinds, crossed("minimum", "maximum") || excluded, Self::NUMBER);
        kinds = without(kinds, crossed("minLength", "maxLength"), Self::STRING);
        let least = number("minItems").unwrap_or(0.0);
        let item = |name: &str| map.get(name).is_some_and(|item| read(item) == Self::NONE);
        let mut listed = walk::items(map, "prefixItems").iter();
        let gone = crossed("minItems", "maxItems")
            || (least > 0.0 && (item("items") || listed.any(|item| read(item) == Self::NONE)));
        kinds = without(kinds, gone, Self::ARRAY);
        let properties = map.get("properties");
        let mut required =
            walk::items(map, "required").iter().filter_map(|name| properties?.get(name.as_str()?));
        let gone = crossed("minProperties", "maxProperties")
            || required.any(|property| read(property) == Self::NONE);
        without(kinds, gone, Self::OBJECT)
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" | "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    /// Returns the kind of a value.
    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns `true` if the two have a kind in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns `true` if all kinds are among these.
    pub(crate) const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}
