//! Arguments without the values that their schema marks as secret, for those who only watch.
//!
//! The arguments of an envelope, such as a call through the gateway, are shown by the schema of the
//! tool that it names; of a tool whose schema is not known, no value is.

use serde_json::{Map, Value};

use super::references::References;
use super::schema::{is_secret, says_secret};
use crate::definition::{CarriedTools, ToolDefinition};
use crate::schema::children;
use crate::schema::walk::items;

/// The text in place of a secret value.
pub(super) const HIDDEN: &str = "***";

/// The most schemas that are considered for one value; beyond, the value is hidden.
const MAX_SCHEMAS: usize = 256;

/// The keys of an envelope that name a tool.
const NAMES: [&str; 4] = ["name", "tool", "tool_id", "toolId"];

/// Returns the arguments of a call as they may be displayed: with `"***"` in place of what its tool
/// marks as secret; `None` if that is all of them. Without a tool, nothing is displayed.
pub(crate) fn shown(tool: Option<&ToolDefinition>, text: &str) -> Option<String> {
    let Some(tool) = tool else { return Some(Value::from(HIDDEN).to_string()) };
    match &tool.carried {
        Some(carried) => shown_envelope(carried, text),
        None if tool.input_schema.has_secrets(has_secrets) => {
            without_secrets(text, &tool.input_schema)
        }
        None => None,
    }
}

/// Returns `true` if arguments of a tool may have to be hidden.
pub(crate) fn may_hide(tool: Option<&ToolDefinition>) -> bool {
    tool.is_none_or(|tool| tool.carried.is_some() || tool.input_schema.has_secrets(has_secrets))
}

/// Returns the arguments of an envelope as they may be displayed; `None` if that is all of them.
fn shown_envelope(carried: &CarriedTools, text: &str) -> Option<String> {
    let hidden = || Some(Value::from(HIDDEN).to_string());
    let fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        // As such a text is read, too.
        Ok(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => fields,
            _ => return hidden(),
        },
        _ => return hidden(),
    };
    let mut names = NAMES.iter().filter_map(|key| fields.get(*key)?.as_str());
    // Of two names, it is not said which one it is.
    let tool = names.next().filter(|_| names.next().is_none()).and_then(|name| carried.get(name));
    let tool = tool.as_deref();
    let before = fields.clone();
    let mut shown_fields = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            name if NAMES.contains(&name) && value.is_string() => {
                shown_fields.insert(key, value);
            }
            "arguments" => {
                shown_fields.insert(key, shown_value(tool, value));
            }
            _ if !may_hide(tool) => {
                shown_fields.insert(key, value);
            }
            // It belongs to the arguments, if anywhere.
            _ => {
                let is_known = tool.is_some_and(|tool| {
                    tool.input_schema.get("properties").is_some_and(|all| all.get(&key).is_some())
                });
                let key = if is_known { key } else { HIDDEN.to_owned() };
                shown_fields.insert(key, HIDDEN.into());
            }
        }
    }
    (shown_fields != before).then(|| Value::Object(shown_fields).to_string())
}

/// Returns arguments, as JSON or as a text of it, as they may be displayed.
fn shown_value(tool: Option<&ToolDefinition>, value: Value) -> Value {
    match &value {
        Value::Null => value,
        Value::Object(fields) if fields.is_empty() => value,
        Value::String(text) if text.trim().is_empty() => value,
        Value::String(text) => shown(tool, text).map_or(value, Value::from),
        other => match shown(tool, &other.to_string()) {
            Some(text) => serde_json::from_str(&text).unwrap_or_else(|_| HIDDEN.into()),
            None => value,
        },
    }
}

/// Returns the arguments with `"***"` in place of every value that the schema marks as secret
/// (`writeOnly`, `format: password`), at any depth; `None` if the schema marks none.
///
/// Beside a secret, what the schema does not know is hidden as well: a misspelt name with its
/// value, a value of another kind, a text that is no JSON.
fn without_secrets(text: &str, schema: &Value) -> Option<String> {
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
fn has_secrets(schema: &Value) -> bool {
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
            let are_names_secret = names_are_secret(&all, refs);
            for (mut name, mut field) in std::mem::take(fields) {
                let schemas = of_field(&all, &name);
                // A secret may be in the place of a name as well.
                if schemas.is_empty() || are_names_secret {
                    HIDDEN.clone_into(&mut name);
                }
                hide(&mut field, schemas, refs);
                fields.insert(name, field);
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

/// The keywords whose schemas apply to the same value, and those that describe no value here.
const BESIDE: [&str; 11] = [
    "$defs",
    "allOf",
    "anyOf",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "then",
];

/// Returns `true` if a schema marks a value below it as secret.
pub(super) fn holds_secret(schema: &Map<String, Value>, refs: &References<'_>) -> bool {
    let mut is_found = false;
    children(schema, &mut |keyword, _, child| {
        is_found |= !BESIDE.contains(&keyword) && is_secret(child, refs);
    });
    is_found
}

/// Returns `true` if the names of an object are secret.
pub(super) fn names_are_secret(all: &[&Map<String, Value>], refs: &References<'_>) -> bool {
    let mut rules = all.iter().filter_map(|schema| schema.get("propertyNames"));
    rules.any(|names| is_secret(names, refs))
}

/// Returns the schemas that may apply to the same value; `None` if they are too many.
pub(super) fn applicable<'s>(
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
        for keyword in ["dependentSchemas", "dependencies"] {
            let dependent = map.get(keyword).and_then(Value::as_object).into_iter().flatten();
            open.extend(dependent.map(|(_, schema)| schema));
        }
    }
    Some(all)
}

/// Returns the schemas of a field; none for a name that they do not know.
pub(super) fn of_field<'s>(all: &[&'s Map<String, Value>], name: &str) -> Vec<&'s Value> {
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

/// Returns the schemas of an item.
pub(super) fn of_item<'s>(all: &[&'s Map<String, Value>], index: usize) -> Vec<&'s Value> {
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
        check(r#"{"passwort":"s"}"#, json!({"***": "***"}));
        check(r#""{\"pin\":\"s\"}""#, json!("***"));
        check(r#"{"pin":"s""#, json!("***"));
        check(r#"{"plain":{"n":3}}"#, json!({"plain": {"n": 3}}));
        let plain = json!({"type": "object", "properties": {"user": {"type": "string"}}});
        assert_eq!(without_secrets(r#"{"user":"ada"}"#, &plain), None);
    }
}
