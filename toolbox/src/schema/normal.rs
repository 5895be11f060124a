//! Conversion of schemas that schemars writes into one compact normal form.

mod close;
mod inline;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

pub(crate) use inline::merged;

use super::format::Format;
use super::policing::Policing;
use super::walk::{self, MAX_HEIGHT, Object};
use crate::text;

/// Turns a JSON Schema (draft 2020-12, definitions under `$defs` at the root) into the normal form.
///
/// Noise is removed (`$schema`, `title`, numeric `format`s, `default: null`), definitions used once
/// move to where they are used, objects with known properties are closed, enums without
/// descriptions become one `enum`. Never makes a schema larger by inlining, follows no chain
/// recursively, and changes nothing the second time.
///
/// Returns the checks that serde does not make by itself, which are unknown once the formats are
/// removed.
pub(crate) fn normalize(schema: &mut Value) -> Policing {
    simplify(schema, close::close)
}

/// Turns the schema of a result into the normal form, except for closing its objects.
///
/// A result is written by this version of a program and checked by a client that may hold the
/// schema of an earlier one.
pub(super) fn normalize_output(schema: &mut Value) {
    simplify(schema, |_| {});
}

fn simplify(schema: &mut Value, close: impl FnOnce(&mut Value)) -> Policing {
    if walk::is_deeper(schema, MAX_HEIGHT) {
        return Policing::ALL;
    }
    let policing = Policing::of(schema, walk::definitions(schema));
    walk::each_mut(schema, &mut clean);
    if is_movable(schema) {
        // An inlined definition may be an enum, and an enum may be small enough to inline.
        for _ in 0..MAX_ROUNDS {
            if !inline::inline(schema) {
                break;
            }
            walk::each_mut(schema, &mut clean);
        }
        close(schema);
    }
    walk::each_mut(schema, &mut describe_deprecated);
    walk::each_mut(schema, &mut order);
    policing
}

/// The most rounds of inlining; derived types need one.
const MAX_ROUNDS: usize = 8;

/// Removes the null alternative at the root of `schema`, and returns `true` if there was one.
///
/// For optional arguments, which are left out instead.
pub(crate) fn without_null(schema: &mut Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let removed = remove_null(map);
    if removed && map.get("default").is_some_and(Value::is_null) {
        map.shift_remove("default");
    }
    removed
}

fn remove_null(map: &mut Object) -> bool {
    let mut removed = false;
    if let Some(Value::Array(types)) = map.get_mut("type")
        && types.len() > 1
        && types.iter().any(|kind| kind == "null")
    {
        types.retain(|kind| kind != "null");
        removed = true;
        if let [single] = types.as_slice() {
            let single = single.clone();
            map.insert("type".to_owned(), single);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && values.len() > 1
        && values.iter().any(Value::is_null)
    {
        values.retain(|value| !value.is_null());
        removed = true;
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = map.get_mut(keyword) else { continue };
        let before = branches.len();
        if branches.iter().any(|branch| !walk::is_null(branch)) {
            branches.retain(|branch| !walk::is_null(branch));
        }
        let mut here = branches.len() < before;
        for branch in branches.iter_mut() {
            here |= without_null(branch);
        }
        removed |= here;
        if here && branches.len() == 1 {
            let Some(Value::Object(branch)) = branches.pop() else { continue };
            map.shift_remove(keyword);
            let merged = merged(map, &Value::Object(branch.clone()));
            if let Some(merged) = merged {
                *map = merged;
            } else {
                map.insert(keyword.to_owned(), Value::Array(vec![Value::Object(branch)]));
            }
        }
    }
    removed
}

/// Removes keywords without meaning, and writes plain enums as one list.
fn clean(map: &mut Object) {
    let noise = |keyword: &str, value: &Value| match keyword {
        "$schema" | "title" => value.is_string(),
        "format" => value.as_str().is_some_and(is_numeric_format),
        "default" => value.is_null(),
        _ => false,
    };
    if map.iter().any(|(keyword, value)| noise(keyword, value)) {
        map.retain(|keyword, value| !noise(keyword, value));
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        let told = text::for_model(text.trim());
        if told.is_empty() {
            map.shift_remove("description");
        } else if told.len() < text.len() {
            *text = told.into_owned();
        }
    }
    describe_format(map);
    collapse(map);
}

/// Writes a `oneOf` of string constants as one `enum` if none has a description, otherwise with the
/// type once.
fn collapse(map: &mut Object) {
    for keyword in ["oneOf", "anyOf"] {
        let Some(Value::Array(branches)) = map.get(keyword) else { continue };
        let Some(choices) = branches.iter().map(walk::choices).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let typed = map.get("type").is_none_or(|kind| kind == "string");
        let values: Vec<Value> = choices.into_iter().flatten().cloned().collect();
        let distinct = values.iter().filter_map(Value::as_str).collect::<HashSet<_>>().len();
        if !typed || values.is_empty() || map.contains_key("const") || map.contains_key("enum") {
            continue;
        }
        let says =
            |branch: &Value| ["description", "deprecated"].map(|key| branch.get(key).is_some());
        let texts = branches.iter().any(|branch| says(branch).contains(&true));
        if !texts && distinct == values.len() {
            map.shift_remove(keyword);
            map.insert("enum".to_owned(), Value::Array(values));
        } else if let Some(Value::Array(branches)) = map.get_mut(keyword) {
            for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
                branch.shift_remove("type");
            }
        }
        map.insert("type".to_owned(), "string".into());
    }
}

/// Says in the description what `deprecated` says, which not every provider passes on.
fn describe_deprecated(map: &mut Object) {
    if map.get("deprecated").is_some_and(|is_so| *is_so == true) {
        let own = map.get("description").and_then(Value::as_str).unwrap_or_default();
        let described = text::deprecated(own, "");
        map.insert("description".to_owned(), described.into());
    }
}

/// Tells a format in words that is none of JSON Schema, or that no type of Rust holds its text to.
fn describe_format(map: &mut Object) {
    let Some(Value::String(name)) = map.get("format") else { return };
    if Format::is_held(name) || is_numeric_format(name) {
        return;
    }
    let words =
        Format::named(name).map_or_else(|| format!("text of the format `{name}`"), Format::told);
    map.shift_remove("format");
    let first = words.chars().next().map(|first| first.to_uppercase().to_string());
    let words = first.unwrap_or_default() + words.get(1..).unwrap_or_default();
    map.entry("description").or_insert_with(|| words.into());
}

fn is_numeric_format(format: &str) -> bool {
    matches!(
        format,
        "double"
            | "float"
            | "int"
            | "int8"
            | "int16"
            | "int32"
            | "int64"
            | "int128"
            | "uint"
            | "uint8"
            | "uint16"
            | "uint32"
            | "uint64"
            | "uint128"
    )
}

/// Returns `true` if every reference goes to the root or to a definition there, so that schemas may
/// move.
fn is_movable(schema: &Value) -> bool {
    let mut movable = true;
    walk::each(schema, &mut |map| {
        let fixed = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"];
        let local = match walk::reference(map) {
            Some("#") | None => true,
            Some(reference) => {
                !reference.starts_with('#') || walk::definition_name(reference).is_some()
            }
        };
        movable &= local && !fixed.iter().any(|keyword| map.contains_key(*keyword));
    });
    movable
}

const ORDER: &[&str] = &[
    "$ref",
    "type",
    "description",
    "format",
    "const",
    "enum",
    "prefixItems",
    "items",
    "properties",
    "required",
    "anyOf",
    "oneOf",
    "allOf",
];
const LAST: &[&str] = &["additionalProperties", "unevaluatedProperties", "$defs"];

fn order(map: &mut Object) {
    let rank = |keyword: &str| {
        let middle = ORDER.len();
        ORDER.iter().position(|known| *known == keyword).unwrap_or_else(|| {
            LAST.iter().position(|known| *known == keyword).map_or(middle, |at| middle + 1 + at)
        })
    };
    if !map.keys().is_sorted_by_key(|keyword| rank(keyword)) {
        let mut rest = std::mem::take(map);
        let mut take = |all: &[&str]| -> Vec<(String, Value)> {
            all.iter().filter_map(|keyword| rest.shift_remove_entry(*keyword)).collect()
        };
        let (first, last) = (take(ORDER), take(LAST));
        map.extend(first.into_iter().chain(rest).chain(last));
    }
}
