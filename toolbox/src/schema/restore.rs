//! The way back from a strict schema: nulls that mean "left out".

use serde_json::Value;

use super::walk::{self, Object};

/// Schemas visited for one value before it is left as it is.
const MAX_VISITS: usize = 10_000;

/// Removes the nulls that stand for optional properties left out.
///
/// Strict mode at `OpenAI` has no optional properties: [`lower`](fn@super::lower) writes them as required unions with null.
/// `schema` is the one that was lowered. A member goes only if it is null, not required, and null is not among the
/// values `schema` takes for it; everything else is untouched. Safe to apply to arguments from any provider.
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
/// toolbox::schema::restore_optional(&schema, &mut arguments);
/// assert_eq!(arguments, json!({"query": "macros"}));
/// ```
pub fn restore_optional(schema: &Value, arguments: &mut Value) {
    if walk::is_deeper(schema, walk::MAX_HEIGHT) || walk::is_deeper(arguments, walk::MAX_HEIGHT) {
        return;
    }
    Restore { root: schema, visits: 0 }.value(vec![schema], arguments);
}

struct Restore<'s> {
    root: &'s Value,
    visits: usize,
}

impl<'s> Restore<'s> {
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

    /// Collects the schemas in `schema` that describe `members`, leaving out branches with another tag.
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
            reference => walk::definitions(self.root)?.get(&walk::definition_name(reference)?),
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

/// Returns whether the constants `map` asks for are those of `members`.
fn has_tags(map: &Object, members: &Object) -> bool {
    let Some(Value::Object(properties)) = map.get("properties") else { return true };
    properties.iter().all(|(name, property)| match (property.get("const"), members.get(name)) {
        (Some(constant), Some(member)) => constant == member,
        _ => true,
    })
}
