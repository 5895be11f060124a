//! Closing of objects: those with known properties refuse others, also if several schemas describe
//! one object.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::schema::walk::{self, Object};

/// Closes every object in `schema` that declares properties and does not describe further ones.
///
/// A schema that shares its object with others is left open, and the outermost one closes for all
/// of them with `unevaluatedProperties`.
pub(super) fn close(schema: &mut Value) {
    let Closing { open, declaring } = Closing::read(schema);
    let open = DefinitionFacts { names: open, declaring };
    let root_open = open.names.contains("#");
    let Value::Object(root) = schema else { return };
    let definitions = root.shift_remove("$defs");
    close_schema(schema, !root_open, &open);
    if let Some(mut definitions) = definitions {
        if let Value::Object(named) = &mut definitions {
            for (name, body) in named {
                close_schema(body, !open.names.contains(name), &open);
            }
        }
        if let Value::Object(root) = schema {
            root.insert("$defs".to_owned(), definitions);
        }
    }
}

/// Facts about definitions that the second pass needs.
struct DefinitionFacts {
    /// Definitions that share their object with other schemas somewhere; `#` is the root.
    names: HashSet<String>,
    /// Definitions that declare properties; `#` is the root.
    declaring: HashSet<String>,
}

impl DefinitionFacts {
    fn declares(&self, schema: &Value) -> bool {
        let mut declares = false;
        in_place(schema, &mut |map| {
            declares |= declares_itself(map)
                || target(map).is_some_and(|name| self.declaring.contains(&name));
        });
        declares
    }
}

struct Closing {
    open: HashSet<String>,
    declaring: HashSet<String>,
}

impl Closing {
    fn read(schema: &Value) -> Self {
        let declaring = declaring(schema);
        let facts = DefinitionFacts { names: HashSet::new(), declaring };
        let (mut outermost, mut open) = (HashSet::new(), HashSet::new());
        let mut pending = vec![("#".to_owned(), true)];
        while let Some((name, outer)) = pending.pop() {
            let seen = if outer { &mut outermost } else { &mut open };
            if !seen.insert(name.clone()) {
                continue;
            }
            let body = body_of(schema, &name);
            mark(body, outer, &facts, &mut |name, outer| pending.push((name, outer)));
        }
        Self { open, declaring: facts.declaring }
    }
}

fn body_of<'v>(schema: &'v Value, name: &str) -> &'v Value {
    if name == "#" {
        return schema;
    }
    walk::definitions(schema).and_then(|named| named.get(name)).unwrap_or(&Value::Null)
}

/// Returns the definitions that declare properties of the object they describe, directly or through
/// others.
fn declaring(schema: &Value) -> HashSet<String> {
    let mut names = vec!["#".to_owned()];
    if let Some(definitions) = walk::definitions(schema) {
        names.extend(definitions.keys().cloned());
    }
    let mut users: HashMap<String, Vec<String>> = HashMap::new();
    let mut pending = Vec::new();
    for name in names {
        let mut declares = false;
        in_place(body_of(schema, &name), &mut |map| {
            declares |= declares_itself(map);
            if let Some(target) = target(map) {
                users.entry(target).or_default().push(name.clone());
            }
        });
        if declares {
            pending.push(name);
        }
    }
    let mut declaring = HashSet::new();
    while let Some(name) = pending.pop() {
        if let Some(users) = users.get(&name)
            && !declaring.contains(&name)
        {
            pending.extend(users.iter().cloned());
        }
        declaring.insert(name);
    }
    declaring
}

/// Calls `visit` with `schema` and each schema inside it that describes the same instance.
fn in_place<'v>(schema: &'v Value, visit: &mut dyn FnMut(&'v Object)) {
    if let Value::Object(map) = schema {
        visit(map);
        walk::children(map, &mut |keyword, _, child| {
            if is_in_place(keyword) {
                in_place(child, visit);
            }
        });
    }
}

fn is_in_place(keyword: &str) -> bool {
    matches!(keyword, "allOf" | "anyOf" | "oneOf" | "then" | "else" | "dependentSchemas")
}

fn declares_itself(map: &Object) -> bool {
    ["properties", "patternProperties", "additionalProperties"]
        .iter()
        .any(|keyword| map.contains_key(*keyword))
}

fn target(map: &Object) -> Option<String> {
    match walk::reference(map)? {
        "#" => Some("#".to_owned()),
        reference => walk::definition_name(reference),
    }
}

/// Returns `true` if several schemas declare the properties of the object that `map` describes.
fn is_composed(map: &Object, open: &DefinitionFacts) -> bool {
    let mut parts = 0;
    let mut alternatives = HashSet::new();
    walk::children(map, &mut |keyword, _, child| {
        if is_in_place(keyword) && open.declares(child) {
            match keyword {
                "anyOf" | "oneOf" => {
                    if alternatives.insert(keyword) {
                        parts += 1;
                    }
                }
                _ => parts += 1,
            }
        }
    });
    let referred = match target(map) {
        Some(name) => open.declaring.contains(&name),
        None => map.contains_key("$ref"),
    };
    parts += usize::from(referred);
    let says = declares_itself(map) || map.contains_key("unevaluatedProperties");
    parts + usize::from(says) > 1
}

/// Calls `refer` with each definition that `schema` refers to, and `true` if it may be closed
/// there.
fn mark(schema: &Value, outer: bool, open: &DefinitionFacts, refer: &mut dyn FnMut(String, bool)) {
    let Value::Object(map) = schema else { return };
    // A schema with `unevaluatedProperties` beside a lone reference is closed already.
    let outer = outer && !is_composed(map, open);
    if let Some(name) = target(map) {
        refer(name, outer);
    }
    walk::children(map, &mut |keyword, _, child| match keyword {
        "$defs" | "definitions" => {}
        // Not closed below: a refusal there means acceptance here, or selects a branch.
        "not" | "if" | "contains" | "propertyNames" => mark(child, false, open, refer),
        in_place if is_in_place(in_place) => mark(child, outer, open, refer),
        _ => mark(child, true, open, refer),
    });
}

fn close_schema(schema: &mut Value, outer: bool, open: &DefinitionFacts) {
    let Value::Object(map) = schema else { return };
    let composed = is_composed(map, open);
    walk::children_mut(map, &mut |keyword, child| match keyword {
        "not" | "if" | "contains" | "propertyNames" | "$defs" | "definitions" => {}
        in_place if is_in_place(in_place) => close_schema(child, outer && !composed, open),
        _ => close_schema(child, true, open),
    });
    let says = ["additionalProperties", "patternProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| map.contains_key(*keyword));
    if !outer || says {
        return;
    }
    let shared = target(map)
        .is_some_and(|name| open.names.contains(&name) && open.declaring.contains(&name));
    if composed || shared {
        map.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    } else if map.contains_key("properties") {
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}
