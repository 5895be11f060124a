//! Requirements of a schema that deserializing does not enforce.

use std::collections::HashSet;

use serde_json::Value;

use super::walk::{self, Object};

/// The checks that an argument needs besides deserializing, so that schema and behaviour agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Policing {
    /// `true` if the schema has a constraint that serde's derive does not enforce: a length, a
    /// range other than the integer type's own, a pattern, unique items, and so on. When in doubt
    /// it is `true`.
    pub(crate) constrained: bool,
    /// `true` if the schema holds an object with known properties, or a combinator: unknown
    /// properties are possible, and derived serde would drop them silently. Unions with null and
    /// lists of string choices do not count.
    pub(crate) shaped: bool,
}

impl Policing {
    /// Everything has to be checked.
    pub(crate) const ALL: Self = Self { constrained: true, shaped: true };

    /// Returns `true` if a deserialized value must be checked against the schema too; `unpoliced`
    /// is `true` if unknown properties may have been dropped.
    #[inline]
    pub(crate) fn must_check(self, unpoliced: bool) -> bool {
        self.constrained || (unpoliced && self.shaped)
    }

    /// Reads `schema` and each definition it reaches in `definitions`.
    ///
    /// Takes the schema before [`normalize`](super::normalize): a `minimum: 0` counts as the type's
    /// own only while `format` still says that the type is unsigned.
    pub(crate) fn of(schema: &Value, definitions: Option<&Object>) -> Self {
        if walk::is_deeper(schema, walk::MAX_HEIGHT) {
            return Self::ALL;
        }
        let mut policing = Self::default();
        let mut seen = HashSet::new();
        let mut pending = vec![schema];
        while let Some(next) = pending.pop() {
            let mut readable = !walk::is_deeper(next, walk::MAX_HEIGHT);
            if readable {
                policing.read(next, &mut |reference| {
                    let name = walk::definition_name(reference);
                    match name.and_then(|name| Some((definitions?.get(&name)?, name))) {
                        Some((body, name)) => pending.extend(seen.insert(name).then_some(body)),
                        None => readable &= reference == "#",
                    }
                });
            }
            if !readable {
                return Self::ALL;
            }
        }
        policing
    }

    fn read<'v>(&mut self, schema: &'v Value, refer: &mut dyn FnMut(&'v str)) {
        match schema {
            Value::Bool(false) => self.constrained = true,
            Value::Object(map) => {
                self.constrained |= is_constrained(map);
                self.shaped |= is_shaped(map);
                if let Some(reference) = walk::reference(map) {
                    refer(reference);
                }
                walk::children(map, &mut |keyword, _, child| match keyword {
                    // A closed object has a schema here that matches nothing.
                    "additionalProperties" | "unevaluatedProperties" if child.is_boolean() => {}
                    "$defs" | "definitions" => {}
                    _ => self.read(child, refer),
                });
            }
            _ => {}
        }
    }
}

fn is_constrained(map: &Object) -> bool {
    map.iter().any(|(keyword, value)| match keyword.as_str() {
        "minimum" => value.as_i64() != natural_minimum(map) || value.as_i64().is_none(),
        "maximum" => value.as_i64() != natural_maximum(map) || value.as_i64().is_none(),
        "minItems" | "maxItems" => !is_tuple(map),
        "uniqueItems" => value != false,
        "contains" | "dependencies" | "dependentRequired" | "dependentSchemas"
        | "exclusiveMaximum" | "exclusiveMinimum" | "if" | "maxContains" | "maxLength"
        | "maxProperties" | "minContains" | "minLength" | "minProperties" | "multipleOf"
        | "not" | "pattern" | "patternProperties" | "propertyNames" | "unevaluatedItems" => true,
        _ => false,
    })
}

fn natural_minimum(map: &Object) -> Option<i64> {
    match map.get("format")?.as_str()? {
        "uint" | "uint8" | "uint16" | "uint32" | "uint64" | "uint128" => Some(0),
        "int8" => Some(i8::MIN.into()),
        "int16" => Some(i16::MIN.into()),
        _ => None,
    }
}

fn natural_maximum(map: &Object) -> Option<i64> {
    match map.get("format")?.as_str()? {
        "uint8" => Some(u8::MAX.into()),
        "uint16" => Some(u16::MAX.into()),
        "int8" => Some(i8::MAX.into()),
        "int16" => Some(i16::MAX.into()),
        _ => None,
    }
}

/// Returns `true` if a schema is a tuple's. Serde enforces a tuple's length; that of `[T; N]` too,
/// but a bounded `Vec<T>` looks the same.
fn is_tuple(map: &Object) -> bool {
    let len = map.get("prefixItems").and_then(Value::as_array).map(|list| list.len() as u64);
    len.is_some()
        && map.get("minItems").and_then(Value::as_u64) == len
        && map.get("maxItems").and_then(Value::as_u64) == len
}

fn is_shaped(map: &Object) -> bool {
    map.iter().any(|(keyword, value)| match keyword.as_str() {
        "properties" | "allOf" | "not" | "if" | "dependentSchemas" => true,
        "additionalProperties" | "unevaluatedProperties" => value == false,
        "anyOf" | "oneOf" => value.as_array().is_some_and(|branches| {
            let counted = branches.iter().filter(|branch| !walk::is_null(branch));
            let plain = branches.iter().all(|branch| walk::choices(branch).is_some());
            !plain && counted.count() > 1
        }),
        _ => false,
    })
}
