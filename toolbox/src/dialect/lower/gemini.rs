//! What Gemini refuses, each with the whole request: an empty text among choices, a list without
//! the type of its items, a choice of types of which one is a list or an object.

use serde_json::{Value, json};

use super::closed::belongs;
use crate::dialect::Loss;
use crate::schema::walk::{self, Object, pointer};

/// Adds to the losses what [`accepted`] takes from a schema.
pub(super) fn lost(schema: &Value, path: &str, losses: &mut Vec<Loss>) {
    let Value::Object(map) = schema else { return };
    let mut lose = |keyword: &str| {
        let (path, keyword) = (path.to_owned(), keyword.to_owned());
        losses.push(Loss { path, keyword, moved_to_description: false });
    };
    if walk::items(map, "enum").iter().any(|value| value == "") {
        lose("enum");
    }
    if map.get("const").is_some_and(|value| value == "") {
        lose("const");
    }
    let is_list = match map.get("type") {
        Some(Value::Array(words)) => words.iter().any(|word| word == "array"),
        word => word.is_some_and(|word| word == "array"),
    };
    if is_list && !map.contains_key("prefixItems") && map.get("items").is_none_or(takes_any) {
        lose("items");
    }
    walk::children(map, &mut |keyword, key, child| {
        lost(child, &pointer(path, keyword, key), losses);
    });
}

/// Writes one schema, whose parts are written already, as Gemini takes it.
pub(super) fn accepted(map: &mut Object) {
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| value != "");
        if values.is_empty() {
            map.shift_remove("enum");
        }
    }
    if let Some(items) = map.get_mut("items").filter(|items| takes_any(items)) {
        items["anyOf"] = any_value();
    }
    split_types(map);
}

/// Returns `true` if a schema takes any value.
fn takes_any(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.keys().all(|keyword| walk::is_annotation(keyword)),
        other => *other == Value::Bool(true),
    }
}

/// Any value, in types: of lists, those of texts.
fn any_value() -> Value {
    json!([
        {"type": "string"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "object"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "null"},
    ])
}

/// Writes each type of several with the keywords that belong to it, unless it is one scalar or
/// null.
fn split_types(map: &mut Object) {
    let Some(Value::Array(words)) = map.get("type") else { return };
    let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let is_scalar = |word: &String| !matches!(word.as_str(), "array" | "object");
    if let [only] = words.as_slice() {
        map.insert("type".to_owned(), only.as_str().into());
        return;
    }
    let is_plain =
        words.iter().all(is_scalar) && words.len() == 2 && words.iter().any(|w| w == "null");
    let is_combined = ["anyOf", "oneOf", "allOf", "$ref", "enum", "const"]
        .iter()
        .any(|keyword| map.contains_key(*keyword));
    if is_plain || is_combined {
        return;
    }
    let branches: Vec<Value> = words
        .iter()
        .map(|word| {
            let mut branch = Object::new();
            branch.insert("type".to_owned(), word.as_str().into());
            for (keyword, value) in &*map {
                if keyword != "type" && !is_outside(keyword) && belongs(keyword, word) {
                    branch.insert(keyword.clone(), value.clone());
                }
            }
            Value::Object(branch)
        })
        .collect();
    map.retain(|keyword, _| is_outside(keyword));
    map.insert("anyOf".to_owned(), Value::Array(branches));
}

/// Returns `true` for a keyword that stays beside the branches.
fn is_outside(keyword: &str) -> bool {
    walk::is_annotation(keyword) || matches!(keyword, "$defs" | "definitions" | "not")
}
