//! One value of a schema, whose deserialization shows if a map has keys that JSON cannot have.

use serde_json::{Map, Value, json};

use crate::schema::walk::items;

/// The most levels of a specimen.
const MAX_DEPTH: usize = 12;

/// Returns a value that `schema` is likely to take, with an entry in each map; nothing if there is
/// no map in it.
pub(super) fn with_maps(schema: &Value, root: &Value) -> Option<Value> {
    let mut maps = 0;
    let value = value(schema, root, 0, &mut maps);
    (maps > 0).then_some(value)
}

fn value(schema: &Value, root: &Value, depth: usize, maps: &mut usize) -> Value {
    let Some(map) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return Value::Null };
    if let Some(constant) = map.get("const") {
        return constant.clone();
    }
    if let Some(first) = map.get("enum").and_then(|list| list.get(0)) {
        return first.clone();
    }
    let reference = map.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?))
    {
        return value(target, root, depth + 1, maps);
    }
    for keyword in ["anyOf", "oneOf"] {
        let mut branches = items(map, keyword).iter();
        if let Some(branch) = branches.find(|branch| branch["type"] != "null") {
            return value(branch, root, depth + 1, maps);
        }
    }
    let kind = match map.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().find_map(|kind| kind.as_str()),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("integer" | "number") => map.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("string") => json!(text(map)),
        Some("array") => {
            let listed = items(map, "prefixItems").iter();
            let mut values: Vec<Value> =
                listed.map(|item| value(item, root, depth + 1, maps)).collect();
            let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(1).min(64);
            while let Some(item) = map.get("items").filter(|_| (values.len() as u64) < least) {
                values.push(value(item, root, depth + 1, maps));
            }
            Value::Array(values)
        }
        Some("object") => object(map, root, depth, maps),
        _ => Value::Null,
    }
}

fn object(map: &Map<String, Value>, root: &Value, depth: usize, maps: &mut usize) -> Value {
    let mut fields = Map::new();
    if let Some(Value::Object(properties)) = map.get("properties") {
        for (name, field) in properties {
            fields.insert(name.clone(), value(field, root, depth + 1, maps));
        }
    }
    let rest = map.get("additionalProperties").filter(|rest| **rest != false);
    let patterns = map.get("patternProperties").and_then(Value::as_object);
    let rest = rest.map(|rest| ("a", rest)).or_else(|| {
        let (pattern, field) = patterns?.iter().next()?;
        Some((if pattern.contains("\\d") { "1" } else { "a" }, field))
    });
    if let Some((key, field)) = rest {
        *maps += 1;
        fields.insert(key.to_owned(), value(field, root, depth + 1, maps));
    }
    Value::Object(fields)
}

fn text(map: &Map<String, Value>) -> &'static str {
    match map.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-11-22T10:00:00Z",
        Some("date") => "2026-11-22",
        Some("time") => "10:00:00Z",
        Some("duration") => "PT1H",
        Some("uuid") => "67e55044-10b1-426f-9247-bb680e5fe0c8",
        Some("uri") => "https://example.com/",
        Some("email") => "a@example.com",
        Some("ipv4" | "ip") => "127.0.0.1",
        Some("ipv6") => "::1",
        _ => "a",
    }
}
