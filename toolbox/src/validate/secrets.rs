//! Arguments without the values that their schema marks as secret, for those who only watch.

use serde_json::{Map, Value};

use super::references::References;
use super::schema::{is_secret, says_secret};
use crate::schema::walk::items;

/// The text in place of a secret value.
const HIDDEN: &str = "***";

/// The most schemas that are considered for one value; beyond, the value is hidden.
const MAX_SCHEMAS: usize = 256;

/// Returns the arguments with `"***"` in place of every value that the schema marks as secret
/// (`writeOnly`, `format: password`), at any depth; `None` if the schema marks none.
///
/// Beside a secret, what the schema does not know is hidden as well: a misspelt name, a value of
/// another kind, a text that is no JSON.
pub(crate) fn without_secrets(text: &str, schema: &Value) -> Option<String> {
    let refs = &References::new(schema);
    if !is_secret(schema, refs) {
        return None;
    }
    let hidden = || Some(Value::from(HIDDEN).to_string());
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return hidden() };
    hide(&mut value, vec![schema], refs);
    Some(value.to_string())
}

/// Returns `true` if a schema marks a value as secret, at any depth.
pub(crate) fn has_secrets(schema: &Value) -> bool {
    is_secret(schema, &References::new(schema))
}

fn hide<'s>(value: &mut Value, schemas: Vec<&'s Value>, refs: &References<'s>) {
    let Some(all) = applicable(schemas, refs) else {
        *value = Value::from(HIDDEN);
        return;
    };
    if all.is_empty() || all.iter().any(|schema| says_secret(schema)) {
        *value = Value::from(HIDDEN);
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                hide(field, of_field(&all, name), refs);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                hide(item, of_item(&all, index), refs);
            }
        }
        // In the place of an object that holds a secret, this may be the secret.
        _ if all.iter().any(|schema| holds_secret(schema, refs)) => *value = Value::from(HIDDEN),
        _ => {}
    }
}

/// Returns `true` if a schema marks a value below it as secret.
fn holds_secret(schema: &Map<String, Value>, refs: &References<'_>) -> bool {
    let below = ["properties", "patternProperties"];
    let mut parts = below.iter().filter_map(|key| schema.get(*key)?.as_object());
    let one = ["additionalProperties", "unevaluatedProperties", "items", "contains"];
    parts.any(|named| named.values().any(|child| is_secret(child, refs)))
        || one.iter().filter_map(|key| schema.get(*key)).any(|child| is_secret(child, refs))
}

/// Returns the schemas that may apply to the same value; `None` if they are too many.
fn applicable<'s>(
    mut open: Vec<&'s Value>,
    refs: &References<'s>,
) -> Option<Vec<&'s Map<String, Value>>> {
    let mut all: Vec<&Map<String, Value>> = Vec::new();
    while let Some(next) = open.pop() {
        let Some(map) = next.as_object() else { continue };
        if all.iter().any(|known| std::ptr::eq(*known, map)) {
            continue;
        }
        if all.len() == MAX_SCHEMAS {
            return None;
        }
        all.push(map);
        open.extend(refs.targets(next));
        for keyword in ["allOf", "anyOf", "oneOf"] {
            open.extend(items(map, keyword));
        }
        open.extend(["if", "then", "else"].iter().filter_map(|keyword| map.get(*keyword)));
        if let Some(Value::Object(dependent)) = map.get("dependentSchemas") {
            open.extend(dependent.values());
        }
    }
    Some(all)
}

/// Returns the schemas of a field; none for a name that they do not know.
fn of_field<'s>(all: &[&'s Map<String, Value>], name: &str) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in all {
        let declared = schema.get("properties").and_then(|declared| declared.get(name));
        let others = ["additionalProperties", "unevaluatedProperties"];
        found.extend(declared);
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            found.extend(patterns.values());
        }
        if declared.is_none() {
            let others = others.iter().filter_map(|keyword| schema.get(*keyword));
            found.extend(others.filter(|schema| schema.is_object()));
        }
    }
    found
}

fn of_item<'s>(all: &[&'s Map<String, Value>], index: usize) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in all {
        for keyword in ["items", "prefixItems"] {
            match schema.get(keyword) {
                Some(Value::Array(list)) => found.extend(list.get(index)),
                Some(one) => found.push(one),
                None => {}
            }
        }
        let more = ["additionalItems", "contains", "unevaluatedItems"];
        found.extend(more.iter().filter_map(|keyword| schema.get(*keyword)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_hidden_at_any_depth_and_nothing_else_is() {
        let schema = json!({
            "type": "object",
            "properties": {
                "user": {"type": "string"},
                "pin": {"type": "string", "writeOnly": true},
                "login": {"$ref": "#/$defs/login"},
                "logins": {"type": "array", "items": {"$ref": "#/$defs/login"}},
                "either": {"anyOf": [{"type": "string"}, {"type": "string", "format": "password"}]},
                "deep": {"type": "object", "properties": {"a": {"type": "object",
                    "additionalProperties": {"type": "string", "writeOnly": true}}}},
                "plain": {"type": "object", "properties": {"n": {"type": "integer"}}},
            },
            "$defs": {"login": {"type": "object", "properties": {
                "name": {"type": "string"}, "password": {"type": "string", "writeOnly": true},
                "next": {"$ref": "#/$defs/login"}}}},
        });
        let check = |text: &str, expected: Value| {
            let shown = without_secrets(text, &schema).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), expected, "{text}");
        };
        check(r#"{"user":"ada","pin":"1"}"#, json!({"user": "ada", "pin": "***"}));
        check(r#"{"pin":{"a":1}}"#, json!({"pin": "***"}));
        check(
            r#"{"login":{"name":"a","password":"s","next":{"password":"t","name":"b"}}}"#,
            json!({"login": {"name": "a", "password": "***", "next": {"password": "***", "name": "b"}}}),
        );
        check(
            r#"{"logins":[{"password":"s"},"s"]}"#,
            json!({"logins": [{"password": "***"}, "***"]}),
        );
        check(r#"{"either":"s"}"#, json!({"either": "***"}));
        check(r#"{"deep":{"a":{"x":"s"}}}"#, json!({"deep": {"a": {"x": "***"}}}));
        // Secrets in the wrong place, under a wrong name, or in a text that is no JSON.
        check(r#"{"login":"s"}"#, json!({"login": "***"}));
        check(r#"{"passwort":"s"}"#, json!({"passwort": "***"}));
        check(r#""{\"pin\":\"s\"}""#, json!("***"));
        check(r#"{"pin":"s""#, json!("***"));
        check(r#"{"plain":{"n":3}}"#, json!({"plain": {"n": 3}}));
        let plain = json!({"type": "object", "properties": {"user": {"type": "string"}}});
        assert_eq!(without_secrets(r#"{"user":"ada"}"#, &plain), None);
    }
}
