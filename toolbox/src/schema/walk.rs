//! The positions of subschemas in a schema, told apart from property names and plain data.

use serde_json::{Map, Value};

/// A JSON object: a schema that is not `true` or `false`.
pub(crate) type Object = Map<String, Value>;

/// The deepest schemas that are processed; bounds the recursion over a schema.
pub(crate) const MAX_HEIGHT: usize = 200;

const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const MANY: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const NAMED: &[&str] =
    &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// Returns the items of an array keyword; none if it is missing or no array.
pub(crate) fn items<'v>(map: &'v Object, keyword: &str) -> &'v [Value] {
    map.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns `true` for keywords that annotate a schema and do not constrain the instance.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "$comment"
            | "default"
            | "deprecated"
            | "description"
            | "examples"
            | "readOnly"
            | "title"
            | "writeOnly"
    )
}

/// Calls `visit` with the keyword, the key below it (empty if there is none) and each direct
/// subschema.
pub(crate) fn children<'v>(schema: &'v Object, visit: &mut dyn FnMut(&'v str, &str, &'v Value)) {
    for (keyword, value) in schema {
        match value {
            Value::Object(map) if NAMED.contains(&keyword.as_str()) => {
                map.iter().for_each(|(name, child)| visit(keyword, name, child));
            }
            Value::Array(list) if MANY.contains(&keyword.as_str()) => {
                for (index, child) in list.iter().enumerate() {
                    visit(keyword, &index.to_string(), child);
                }
            }
            Value::Object(_) | Value::Bool(_) if ONE.contains(&keyword.as_str()) => {
                visit(keyword, "", value);
            }
            _ => {}
        }
    }
}

/// Calls `visit` with the keyword and each direct subschema.
pub(crate) fn children_mut(schema: &mut Object, visit: &mut dyn FnMut(&str, &mut Value)) {
    for (keyword, value) in schema {
        match value {
            Value::Object(map) if NAMED.contains(&keyword.as_str()) => {
                map.values_mut().for_each(|child| visit(keyword, child));
            }
            Value::Array(list) if MANY.contains(&keyword.as_str()) => {
                for child in list {
                    visit(keyword, child);
                }
            }
            Value::Object(_) | Value::Bool(_) if ONE.contains(&keyword.as_str()) => {
                visit(keyword, value);
            }
            _ => {}
        }
    }
}

/// Calls `visit` with every schema in `schema`, itself first.
pub(crate) fn each<'v>(schema: &'v Value, visit: &mut dyn FnMut(&'v Object)) {
    if let Value::Object(map) = schema {
        visit(map);
        children(map, &mut |_, _, child| each(child, visit));
    }
}

/// Calls `visit` with every schema in `schema`, itself last.
pub(crate) fn each_mut(schema: &mut Value, visit: &mut dyn FnMut(&mut Object)) {
    if let Value::Object(map) = schema {
        children_mut(map, &mut |_, child| each_mut(child, visit));
        visit(map);
    }
}

/// Returns `true` if `value` nests deeper than `limit`, without visiting deeper levels.
pub(crate) fn is_deeper(value: &Value, limit: usize) -> bool {
    let Some(below) = limit.checked_sub(1) else { return !is_leaf(value) };
    match value {
        Value::Array(list) => list.iter().any(|child| is_deeper(child, below)),
        Value::Object(map) => map.values().any(|child| is_deeper(child, below)),
        _ => false,
    }
}

/// Returns the number of levels in `value` (0 for a scalar) and the number of its values (1 for a
/// scalar).
///
/// Only for values that [`is_deeper`] has bounded.
pub(crate) fn extent(value: &Value) -> (usize, usize) {
    let around = |(height, count): (usize, usize), child| {
        let (below, held) = extent(child);
        (height.max(below + 1), count + held)
    };
    match value {
        Value::Array(list) => list.iter().fold((1, 1), around),
        Value::Object(map) => map.values().fold((1, 1), around),
        _ => (0, 1),
    }
}

/// Returns the number of values in an object.
pub(crate) fn extent_of(map: &Object) -> usize {
    map.values().map(|value| extent(value).1).sum()
}

fn is_leaf(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// Returns the definition's name in a reference of the form `#/$defs/name`.
pub(crate) fn definition_name(reference: &str) -> Option<String> {
    let name = reference.strip_prefix("#/$defs/")?;
    if name.contains('/') {
        return None;
    }
    let name = if name.contains('%') { percent_decoded(name)? } else { name.to_owned() };
    Some(name.replace("~1", "/").replace("~0", "~"))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns the reference of `schema`, if it has one.
pub(crate) fn reference(schema: &Object) -> Option<&str> {
    schema.get("$ref")?.as_str()
}

/// Returns the definitions at the root of `schema`.
pub(crate) fn definitions(schema: &Value) -> Option<&Object> {
    schema.get("$defs")?.as_object()
}

/// Returns `true` if `schema` is exactly the null type, annotations aside.
pub(crate) fn is_null(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let mut seen = false;
    map.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" => {
            seen |= value == "null" || value.as_array().is_some_and(|list| *list == ["null"]);
            seen
        }
        "const" => {
            seen |= value.is_null();
            seen
        }
        "enum" => {
            let only = value.as_array().is_some_and(|list| *list == [Value::Null]);
            seen |= only;
            only
        }
        other => is_annotation(other),
    }) && seen
}

/// Returns the strings of a branch, if it is only a documented choice of strings.
pub(crate) fn choices(branch: &Value) -> Option<Vec<&Value>> {
    let map = branch.as_object()?;
    let mut found = None;
    for (keyword, value) in map {
        match keyword.as_str() {
            "type" if value == "string" => {}
            "description" | "deprecated" => {}
            "const" if found.is_none() => found = Some(vec![value]),
            "enum" if found.is_none() => found = Some(value.as_array()?.iter().collect()),
            _ => return None,
        }
    }
    found.filter(|values| values.iter().all(|value| value.is_string()))
}

/// Appends a step to a JSON pointer.
pub(crate) fn pointer(path: &str, keyword: &str, key: &str) -> String {
    let mut path = format!("{path}/{keyword}");
    if !key.is_empty() || matches!(keyword, "properties" | "$defs" | "patternProperties") {
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
    }
    path
}
