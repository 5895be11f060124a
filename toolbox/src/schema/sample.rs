//! Random JSON for the tests of the core: arbitrary values, and instances of a schema.
//!
//! An instance from here is valid, so that a test can show that a changed schema still accepts it.
//! `testing::Generator` is for tests of tools: its values are near a schema, and not all fit it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::walk;

/// A small generator with a seed (xorshift64*), so that a failing case can be named.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap() % limit
    }

    /// Returns a value that `schema` accepts, if its keywords are supported here; only declared
    /// properties.
    pub(crate) fn instance(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        let Value::Object(map) = schema else { return json!(7) };
        let mut whole = match map.get("type").unwrap_or(&Value::Null) {
            Value::Array(kinds) => {
                let at = self.below(kinds.len());
                self.typed(&kinds[at], map, root, depth)
            }
            kind => self.typed(kind, map, root, depth),
        };
        if let Some(constant) = map.get("const") {
            return constant.clone();
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            return values[self.below(values.len())].clone();
        }
        let mut parts: Vec<&Value> = Vec::new();
        if let Some(reference) = walk::reference(map) {
            parts.push(match walk::definition_name(reference) {
                Some(name) => &root["$defs"][name],
                None => root,
            });
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                let last = branches.len() - 1;
                parts.push(&branches[if depth > 6 { last } else { self.below(branches.len()) }]);
            }
        }
        for part in parts {
            let part = self.instance(part, root, depth + 1);
            match (&mut whole, part) {
                (Value::Object(whole), Value::Object(part)) => whole.extend(part),
                (whole, part) => *whole = part,
            }
        }
        whole
    }

    fn typed(
        &mut self,
        kind: &Value,
        map: &Map<String, Value>,
        root: &Value,
        depth: usize,
    ) -> Value {
        match kind.as_str() {
            Some("integer") => map.get("minimum").cloned().unwrap_or(json!(self.below(9))),
            Some("number") => json!(1.5),
            Some("string") => json!(["a", "b"][self.below(2)]),
            Some("boolean") => json!(self.below(2) == 0),
            Some("array") => {
                let mut items = Vec::new();
                if let Some(Value::Array(listed)) = map.get("prefixItems") {
                    items.extend(listed.iter().map(|item| self.instance(item, root, depth + 1)));
                }
                let count = map.get("minItems").and_then(Value::as_u64).unwrap_or(1);
                while let Some(item) = map.get("items")
                    && (items.len() as u64) < count
                    && depth < 8
                {
                    items.push(self.instance(item, root, depth + 1));
                }
                Value::Array(items)
            }
            Some("object") => {
                let mut members = Map::new();
                let required = map.get("required").cloned().unwrap_or(json!([]));
                for (name, property) in
                    map.get("properties").and_then(Value::as_object).into_iter().flatten()
                {
                    let needed = required.as_array().unwrap().contains(&json!(name));
                    if needed || depth < 8 && self.below(2) == 0 {
                        members.insert(name.clone(), self.instance(property, root, depth + 1));
                    }
                }
                if let Some(rest @ Value::Object(_)) = map.get("additionalProperties") {
                    members.insert("extra".to_owned(), self.instance(rest, root, depth + 1));
                }
                Value::Object(members)
            }
            _ => Value::Null,
        }
    }

    /// Changes one place of `value` at random.
    pub(crate) fn mutate(&mut self, value: &mut Value) {
        match value {
            Value::Object(map) if !map.is_empty() && self.below(3) > 0 => {
                let at = self.below(map.len());
                let name = map.keys().nth(at).unwrap().clone();
                if self.below(4) == 0 {
                    map.shift_remove(&name);
                } else {
                    self.mutate(&mut map[&name]);
                }
            }
            Value::Object(map) => {
                map.insert(["zzz", "a", "b", "kind"][self.below(4)].to_owned(), json!(1));
            }
            Value::Array(list) if !list.is_empty() && self.below(3) > 0 => {
                let at = self.below(list.len());
                self.mutate(&mut list[at]);
            }
            _ => {
                let any = [
                    json!(null),
                    json!(300),
                    json!("x"),
                    json!({}),
                    json!([]),
                    json!(-1),
                    json!(true),
                ];
                *value = any[self.below(any.len())].clone();
            }
        }
    }
}

/// Returns arbitrary JSON, with many keywords and references.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i16>().prop_map(|number| json!(number)),
        prop::sample::select(vec![
            "object",
            "array",
            "string",
            "null",
            "integer",
            "#",
            "#/$defs/A",
            "#/$defs/B",
            "#/$defs/C",
            "#/x",
            "uint32",
            "A",
            "x",
            " ",
        ])
        .prop_map(|text| json!(text)),
    ];
    let keyword = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "A",
        "B",
        "C",
        "title",
        "description",
        "default",
        "const",
        "enum",
        "not",
        "additionalProperties",
        "format",
        "minimum",
        "prefixItems",
        "unevaluatedProperties",
        "patternProperties",
        "$schema",
        "examples",
        "maxItems",
    ]);
    leaf.prop_recursive(6, 64, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((keyword.clone(), inner), 0..5).prop_map(|entries| {
                Value::Object(
                    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}

/// Returns schemas that are valid by construction, with definitions that refer to each other.
pub(crate) fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({})),
        Just(json!({"type": "string", "title": "T", "minLength": 2})),
        Just(json!({"type": "integer", "format": "uint32", "minimum": 0})),
        Just(json!({"type": ["integer", "null"], "default": null})),
        Just(json!({"const": "a"})),
        Just(json!({"type": "null"})),
        Just(json!({"enum": ["a", "b"], "type": "string", "description": " text "})),
        prop::sample::select(vec!["#", "#/$defs/A", "#/$defs/B", "#/$defs/C", "#/$defs/none"])
            .prop_map(|target| json!({"$ref": target})),
        prop::sample::select(vec!["#/$defs/A", "#/$defs/B"])
            .prop_map(|target| json!({"$ref": target, "description": "here"})),
        prop::sample::select(vec!["#/$defs/A", "#/$defs/C"]).prop_map(
            |target| json!({"$ref": target, "properties": {"kind": {"const": "k"}}, "required": ["kind"]})
        ),
    ];
    let node = leaf.prop_recursive(4, 24, 4, |inner| {
        let named = prop::collection::vec(
            (prop::sample::select(vec!["a", "b", "title", "default"]), inner.clone()),
            0..4,
        )
        .prop_map(|entries| {
            entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>()
        });
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            named
                .clone()
                .prop_map(|properties| json!({"type": "object", "properties": properties})),
            named.prop_map(
                |properties| json!({"type": "object", "properties": properties, "required": ["a"]})
            ),
            several.clone().prop_map(|branches| json!({"anyOf": branches})),
            several.clone().prop_map(
                |branches| json!({"oneOf": branches, "type": "object", "properties": {"z": {}}})
            ),
            several.clone().prop_map(|branches| json!({"allOf": branches})),
            several.prop_map(|items| json!({"type": "array", "prefixItems": items})),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.clone().prop_map(|rest| json!({"type": "object", "additionalProperties": rest})),
            inner.prop_map(|not| json!({"not": not})),
        ]
    });
    (node.clone(), node.clone(), node.clone(), node).prop_map(|(root, a, b, c)| match root {
        Value::Object(mut root) => {
            root.insert("$defs".to_owned(), json!({"A": a, "B": b, "C": c}));
            Value::Object(root)
        }
        other => other,
    })
}
