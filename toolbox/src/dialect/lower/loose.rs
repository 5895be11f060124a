//! The schema with the few rewrites that a provider needs and that do not change its meaning.

use serde_json::{Value, json};

use super::{gemini, notes};
use crate::dialect::{Dialect, Loss};
use crate::schema::walk::{self, Object, pointer};

/// The keywords that Gemini Interactions takes and ignores (`Function.parameters` of its SDK).
const IGNORED: [&str; 8] = [
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
];

/// Returns `schema` in the form `dialect` reads, accepting exactly the same arguments.
pub(super) fn loose(schema: Object, dialect: Dialect, losses: &mut Vec<Loss>) -> Value {
    let mut schema = Value::Object(schema);
    if dialect == Dialect::GeminiInteractions {
        ignored(&schema, "", losses);
        walk::each_mut(&mut schema, &mut describe_ignored);
    }
    if dialect.is_gemini() {
        gemini::lost(&schema, "", losses);
    }
    walk::each_mut(&mut schema, &mut |map| {
        for keyword in ["$schema", "$comment"] {
            map.shift_remove(keyword);
        }
        walk::children_mut(map, &mut |keyword, child| {
            as_map(keyword, child);
            if dialect == Dialect::Anthropic {
                name_types(keyword, child);
            }
        });
        if dialect.is_open_ai() || dialect.is_gemini() {
            isolate_reference(map);
            complete_array(map);
        }
        if dialect.is_gemini()
            && !map.contains_key("enum")
            && let Some(constant) = map.shift_remove("const")
        {
            map.insert("enum".to_owned(), Value::Array(vec![constant]));
        }
        if dialect.is_gemini() {
            gemini::accepted(map);
        }
    });
    schema
}

/// Returns `schema` in the form that hosts read, accepting exactly the same arguments. What is
/// valid stays, but for arguments of any type.
pub(super) fn for_hosts(schema: Object) -> Value {
    let mut schema = Value::Object(schema);
    walk::each_mut(&mut schema, &mut |map| {
        walk::children_mut(map, &mut |keyword, child| {
            as_map(keyword, child);
            if keyword == "properties" {
                name_types(keyword, child);
            }
        });
    });
    schema
}

/// Writes a schema that is `true` or `false` as a map: parsers that expect a map for every schema
/// refuse the whole list because of one `true`.
fn as_map(keyword: &str, schema: &mut Value) {
    if let Value::Bool(takes) = schema
        && matches!(
            keyword,
            "properties" | "items" | "prefixItems" | "anyOf" | "oneOf" | "allOf" | "$defs"
        )
    {
        *schema = if *takes { json!({}) } else { json!({"not": {}}) };
    }
}

/// Adds the keywords that the provider ignores to the losses.
fn ignored(schema: &Value, path: &str, losses: &mut Vec<Loss>) {
    let Value::Object(map) = schema else { return };
    for keyword in IGNORED {
        let Some(value) = map.get(keyword) else { continue };
        losses.push(Loss {
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            moved_to_description: notes::of(keyword, value).is_some(),
        });
    }
    walk::children(map, &mut |keyword, key, child| {
        ignored(child, &pointer(path, keyword, key), losses);
    });
}

/// Writes the keywords that the provider ignores into the description as well.
fn describe_ignored(map: &mut Object) {
    let description = map.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut described = description.to_owned();
    let mut is_changed = false;
    for keyword in IGNORED {
        if let Some(note) = map.get(keyword).and_then(|value| notes::of(keyword, value)) {
            described = notes::joined(&described, &note);
            is_changed = true;
        }
    }
    if is_changed {
        map.insert("description".to_owned(), described.into());
    }
}

/// Names all types where a schema names none: it accepts any value, but hosts send a string
/// (claude-code#82652).
fn name_types(keyword: &str, schema: &mut Value) {
    if matches!(keyword, "properties" | "items" | "additionalProperties")
        && let Value::Object(map) = schema
        && map.keys().all(|keyword| walk::is_annotation(keyword))
    {
        let any = json!(["string", "number", "boolean", "object", "array", "null"]);
        map.insert("type".to_owned(), any);
    }
}

/// Moves a reference beside other keywords, which is refused (schemars#473), into an `anyOf` of its
/// own.
fn isolate_reference(map: &mut Object) {
    let alone = map.keys().all(|keyword| matches!(keyword.as_str(), "$ref" | "$defs"));
    if alone || map.contains_key("anyOf") {
        return;
    }
    if let Some(reference) = map.shift_remove("$ref") {
        map.insert("anyOf".to_owned(), json!([{"$ref": reference}]));
    }
}

/// Adds `items` to an array without it, which is refused ("array schema missing items"), as the
/// other keywords imply.
fn complete_array(map: &mut Object) {
    let array = map.get("type").is_some_and(|kind| {
        kind == "array"
            || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
    });
    if !array || map.contains_key("items") {
        return;
    }
    let listed = map.get("prefixItems").and_then(Value::as_array);
    // For a tuple of exact length, `items` applies to nothing, so it may repeat the members.
    let exact = listed.filter(|list| {
        map.get("maxItems").and_then(Value::as_u64).is_some_and(|max| max <= list.len() as u64)
    });
    let mut kinds: Vec<&Value> = Vec::new();
    for kind in exact.into_iter().flatten() {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let items = match kinds.as_slice() {
        [] => json!({}),
        [single] => (*single).clone(),
        several => json!({"anyOf": several}),
    };
    map.insert("items".to_owned(), items);
}
