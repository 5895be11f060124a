//! Restoring of arguments that follow a strict schema, where null means "left out".

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::schema::walk;
use crate::schema::walk::Object;

/// The most schemas that are visited for one value before it is left unchanged.
const MAX_VISITS: usize = 10_000;

/// Removes the nulls that stand for optional properties left out.
///
/// Strict mode at `OpenAI` has no optional properties: [`lower`](fn@super::lower) writes them as
/// required unions with null. `schema` is the one that was lowered. A member is removed only if it
/// is null, not required, and `schema` does not accept null for it; everything else is unchanged.
/// Safe to apply to arguments from any provider.
///
/// ```
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
///     "required": ["query"],
///     "additionalProperties": false,
/// });
/// let mut arguments = json!({"query": "macros", "limit": null});
/// toolbox::dialect::restore_optional(&schema, &mut arguments);
/// assert_eq!(arguments, json!({"query": "macros"}));
/// ```
pub fn restore_optional(schema: &Value, arguments: &mut Value) {
    if walk::is_deeper(schema, walk::MAX_HEIGHT) || walk::is_deeper(arguments, walk::MAX_HEIGHT) {
        return;
    }
    Restore { root: schema, visits: 0 }.value(vec![schema], arguments);
}

/// The only member of an object that holds a value of any shape as JSON text.
pub(crate) const JSON_TEXT: &str = "json_text";

/// Restores arguments of a schema that was closed for strict mode: returns the text that the tool's
/// own schema describes, or `None` if nothing changes.
///
/// A null of an optional property is removed, and an object with only JSON text becomes the value
/// of that text. Everything else keeps its text: numbers their digits, objects a duplicate key.
pub(crate) fn restore_strict(schema: &Value, arguments: &str) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(arguments).ok()?;
    if !arguments.contains("null") && !arguments.contains(JSON_TEXT)
        || walk::is_deeper(schema, walk::MAX_HEIGHT)
    {
        return None;
    }
    Restore { root: schema, visits: 0 }.text(vec![schema], raw, true)
}

/// The members of an object as they are written, also those of one name.
struct JsonMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for MembersVisitor<'a> {
            type Value = JsonMembers<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(JsonMembers(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

struct Restore<'s> {
    root: &'s Value,
    visits: usize,
}

impl<'s> Restore<'s> {
    /// Returns the text of a value as `schemas` describe it, if it differs.
    fn text(&mut self, schemas: Vec<&'s Value>, raw: &RawValue, is_root: bool) -> Option<String> {
        let text = raw.get();
        if text.starts_with('[') {
            return self.items(schemas, text);
        }
        if !text.starts_with('{') {
            return None;
        }
        let JsonMembers(members) = serde_json::from_str(text).ok()?;
        let known: Object = serde_json::from_str(text).ok()?;
        if known.len() < members.len() {
            // A duplicate key is kept, and refused afterwards.
            return None;
        }
        let mut shapes = Vec::new();
        for schema in schemas {
            self.flatten(schema, &known, 0, &mut shapes);
        }
        let declared = |name: &str| -> Vec<&'s Value> {
            let named = |shape: &&'s Object| shape.get("properties")?.get(name);
            shapes.iter().filter_map(named).collect()
        };
        if let [(name, held)] = &members[..]
            && name == JSON_TEXT
            && !is_root
            && declared(JSON_TEXT).is_empty()
        {
            let held: String = serde_json::from_str(held.get()).ok()?;
            return serde_json::from_str::<&RawValue>(&held)
                .ok()
                .map(|value| value.get().to_owned());
        }
        let is_required = |name: &str| {
            shapes.iter().any(|shape| {
                let names = shape.get("required").and_then(Value::as_array);
                names.is_some_and(|names| names.iter().any(|known| known == name))
            })
        };
        let mut changed = false;
        let mut whole = String::with_capacity(text.len());
        for (name, member) in &members {
            let schemas = declared(name);
            if member.get() == "null" && !schemas.is_empty() && !is_required(name) {
                changed = true;
                continue;
            }
            let restored = self.text(schemas, member, false);
            changed |= restored.is_some();
            whole.push(if whole.is_empty() { '{' } else { ',' });
            whole.push_str(&Value::from(name.as_str()).to_string());
            whole.push(':');
            whole.push_str(restored.as_deref().unwrap_or(member.get()));
        }
        whole.push_str(if whole.is_empty() { "{}" } else { "}" });
        changed.then_some(whole)
    }

    fn items(&mut self, schemas: Vec<&'s Value>, text: &str) -> Option<String> {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let mut shapes = Vec::new();
        for schema in schemas {
            self.flatten(schema, &Object::new(), 0, &mut shapes);
        }
        let mut changed = false;
        let mut whole = String::with_capacity(text.len());
        for (at, item) in items.into_iter().enumerate() {
            let own = |shape: &&'s Object| {
                let listed = shape.get("prefixItems").and_then(|list| list.get(at));
                let items = shape.get("items");
                listed.or_else(|| items?.as_array().map_or(items, |list| list.get(at)))
            };
            let restored = self.text(shapes.iter().filter_map(own).collect(), item, false);
            changed |= restored.is_some();
            whole.push(if at == 0 { '[' } else { ',' });
            whole.push_str(restored.as_deref().unwrap_or(item.get()));
        }
        whole.push(']');
        changed.then_some(whole)
    }

    fn value(&mut self, schemas: Vec<&'s Value>, value: &mut Value) {
        match value {
            Value::Object(members) => {
                let mut shapes = Vec::new();
                for schema in schemas {
                    self.flatten(schema, members, 0, &mut shapes);
                }
                let declared = |name: &str| -> Vec<&'s Value> {
                    let named = |shape: &&'s Object| shape.get("properties")?.get(name);
                    shapes.iter().filter_map(named).collect()
                };
                let left_out = |name: &str| {
                    let required = shapes.iter().any(|shape| {
                        let names = shape.get("required").and_then(Value::as_array);
                        names.is_some_and(|names| names.iter().any(|known| known == name))
                    });
                    !required
                };
                let mut gone = Vec::new();
                for (name, member) in members.iter_mut() {
                    let mut schemas = declared(name);
                    if schemas.is_empty() {
                        let rest = |shape: &&'s Object| {
                            shape.get("additionalProperties").filter(|s| s.is_object())
                        };
                        schemas.extend(shapes.iter().filter_map(rest));
                        self.value(schemas, member);
                    } else if !member.is_null() {
                        self.value(schemas, member);
                    } else if left_out(name)
                        && !schemas.iter().any(|schema| self.takes_null(schema, 0))
                    {
                        gone.push(name.clone());
                    }
                }
                for name in &gone {
                    members.shift_remove(name);
                }
            }
            Value::Array(items) => {
                let mut shapes = Vec::new();
                for schema in schemas {
                    self.flatten(schema, &Object::new(), 0, &mut shapes);
                }
                for (at, item) in items.iter_mut().enumerate() {
                    let own = |shape: &&'s Object| {
                        let listed = shape.get("prefixItems").and_then(|list| list.get(at));
                        listed.or_else(|| shape.get("items"))
                    };
                    self.value(shapes.iter().filter_map(own).collect(), item);
                }
            }
            _ => {}
        }
    }

    /// Collects the schemas in `schema` that describe `members`, leaving out branches with another
    /// tag.
    fn flatten(
        &mut self,
        schema: &'s Value,
        members: &Object,
        depth: usize,
        shapes: &mut Vec<&'s Object>,
    ) {
        self.visits += 1;
        let Value::Object(map) = schema else { return };
        if self.visits > MAX_VISITS || depth > 32 || !has_tags(map, members) {
            return;
        }
        shapes.push(map);
        if let Some(target) = self.target(map) {
            self.flatten(target, members, depth + 1, shapes);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                for branch in branches {
                    self.flatten(branch, members, depth + 1, shapes);
                }
            }
        }
    }

    fn target(&self, map: &Object) -> Option<&'s Value> {
        match walk::reference(map)? {
            "#" => Some(self.root),
            reference => {
                let named = walk::definition_name(reference)
                    .and_then(|name| walk::definitions(self.root)?.get(&name));
                named.or_else(|| self.root.pointer(reference.strip_prefix('#')?))
            }
        }
    }

    fn takes_null(&mut self, schema: &'s Value, depth: usize) -> bool {
        self.visits += 1;
        if self.visits > MAX_VISITS || depth > 32 {
            return true;
        }
        let Value::Object(map) = schema else { return schema == &Value::Bool(true) };
        let typed = map.get("type").is_none_or(|kind| {
            kind == "null"
                || kind.as_array().is_some_and(|list| list.iter().any(|kind| kind == "null"))
        });
        let listed = map
            .get("enum")
            .and_then(Value::as_array)
            .is_none_or(|values| values.iter().any(Value::is_null));
        let constant = map.get("const").is_none_or(Value::is_null);
        if !(typed && listed && constant) {
            return false;
        }
        let referred = self.target(map).is_none_or(|target| self.takes_null(target, depth + 1));
        referred
            && ["anyOf", "oneOf"].iter().all(|keyword| {
                map.get(*keyword).and_then(Value::as_array).is_none_or(|branches| {
                    branches.iter().any(|branch| self.takes_null(branch, depth + 1))
                })
            })
    }
}

/// Returns `true` if `members` have the constants that `map` requires.
fn has_tags(map: &Object, members: &Object) -> bool {
    let Some(Value::Object(properties)) = map.get("properties") else { return true };
    properties.iter().all(|(name, property)| match (property.get("const"), members.get(name)) {
        (Some(constant), Some(member)) => constant == member,
        _ => true,
    })
}
