//! Closing of foreign schemas: simplified until `OpenAI`'s strict mode can express them.
//!
//! Unlike [`strict`](super::strict), this may narrow the accepted values: each narrowing is a
//! [`Loss`]. Values of any shape are written as an object with their JSON text, which
//! [`restore_strict`](crate::dialect::restore::restore_strict) takes out again.

use serde_json::{Value, json};

use super::Loss;
use crate::dialect::restore::JSON_TEXT;
use crate::schema::walk::{self, Object, pointer};

/// The most schemas that are visited, followed references counted, before the rest becomes values
/// of any shape.
const MAX_VISITS: usize = 20_000;
/// The most levels of schemas, followed references counted, before the rest becomes values of any
/// shape.
const MAX_NESTING: usize = 100;
/// The most values that are copied to references, in total.
const MAX_COPIED: usize = 100_000;
/// The most levels of objects and arrays before the rest becomes values of any shape.
///
/// The service allows ten levels of objects. Definitions are closed apart from where they are used.
const MAX_OBJECTS: usize = 9;
/// The most values of an `enum`, and the most characters in one of more than 250 values.
const MAX_ENUM: (usize, usize) = (250, 15_000);

/// Returns a schema in the strict subset, and adds the losses of `root`; `None` if arguments may
/// have any names, since none could be sent.
pub(super) fn closed(root: &Object, losses: &mut Vec<Loss>) -> Option<Object> {
    let no_properties =
        root.get("properties").and_then(Value::as_object).is_none_or(Object::is_empty);
    let takes_any =
        root.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false))
            || root.contains_key("patternProperties");
    if no_properties && takes_any {
        return None;
    }
    let whole = Value::Object(root.clone());
    let mut closer = Closer { root: &whole, losses: Vec::new(), visits: 0, nesting: 0, copied: 0 };
    let mut map = root.clone();
    let mut named = Object::new();
    for keyword in ["$defs", "definitions"] {
        let Some(Value::Object(definitions)) = map.shift_remove(keyword) else { continue };
        for (name, body) in definitions {
            if !named.contains_key(&name) {
                let path = pointer("", keyword, &name);
                let body = closer.schema(&body, &path, 0);
                named.insert(name, body);
            }
        }
    }
    // The root is the object of arguments in any case.
    for keyword in ["anyOf", "oneOf", "enum", "const", "$ref"] {
        if map.shift_remove(keyword).is_some() {
            closer.lose("", keyword);
        }
    }
    map.insert("type".to_owned(), "object".into());
    map.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(mut map) = closer.schema(&Value::Object(map), "", 0) else { return None };
    if !named.is_empty() {
        map.insert("$defs".to_owned(), Value::Object(named));
    }
    losses.append(&mut closer.losses);
    Some(map)
}

struct Closer<'r> {
    root: &'r Value,
    losses: Vec<Loss>,
    visits: usize,
    /// The number of schemas around the current one, followed references counted.
    nesting: usize,
    /// The number of values copied to references.
    copied: usize,
}

impl Closer<'_> {
    fn lose(&mut self, path: &str, keyword: &str) {
        self.say(path, keyword, false);
    }

    fn say(&mut self, path: &str, keyword: &str, moved_to_description: bool) {
        let (path, keyword) = (path.to_owned(), keyword.to_owned());
        let loss = Loss { path, keyword, moved_to_description };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    fn schema(&mut self, schema: &Value, path: &str, depth: usize) -> Value {
        self.visits += 1;
        self.nesting += 1;
        let closed = match schema {
            Value::Object(map) if self.visits <= MAX_VISITS && self.nesting <= MAX_NESTING => {
                self.map(map.clone(), path, depth)
            }
            Value::Bool(false) => json!({"type": "null"}),
            _ => self.any(&Object::new(), path),
        };
        self.nesting -= 1;
        closed
    }

    /// Returns `true` if a schema may be copied once more.
    fn affords(&mut self, schema: &Object) -> bool {
        self.copied += walk::extent_of(schema);
        self.copied <= MAX_COPIED
    }

    /// Merges the keywords of `part` into `map`, or drops them if they are too large.
    fn join(&mut self, map: &mut Object, part: &Object, path: &str) {
        if !self.affords(part) {
            self.lose(path, "allOf");
            return;
        }
        for keyword in merge(map, part) {
            self.lose(path, &keyword);
        }
    }

    fn map(&mut self, map: Object, path: &str, depth: usize) -> Value {
        let mut map = self.without_conditions(map, path);
        if let Some(Value::Array(parts)) = map.shift_remove("allOf") {
            for part in &parts {
                match self.target_of(part) {
                    Some(Value::Object(part)) => self.join(&mut map, &part, path),
                    Some(Value::Bool(true)) => {}
                    _ => self.lose(path, "allOf"),
                }
            }
            // The merged schema may have conditions and parts of its own.
            return self.schema(&Value::Object(map), path, depth);
        }
        if map.contains_key("$ref") {
            return self.reference(map, path, depth);
        }
        if map.contains_key("anyOf") || map.contains_key("oneOf") {
            return self.union(map, path, depth);
        }
        self.one(map, path, depth)
    }

    /// Removes the keywords that the strict subset does not have.
    fn without_conditions(&mut self, map: Object, path: &str) -> Object {
        let mut kept = Object::new();
        for (keyword, value) in map {
            // Closed objects and lists of known length imply a `false` here.
            if says_nothing(&keyword) || is_condition(&keyword) && value == Value::Bool(false) {
                continue;
            }
            // Hints for a client's forms and headers are not for a model.
            if is_condition(&keyword) || keyword.starts_with("x-") {
                self.lose(path, &keyword);
            }
            if !is_condition(&keyword) && !keyword.starts_with("x-")
                || keyword == "patternProperties"
            {
                kept.insert(keyword, value);
            }
        }
        kept
    }

    /// Follows a reference with other keywords beside it, or to another target than a definition.
    fn reference(&mut self, mut map: Object, path: &str, depth: usize) -> Value {
        let target = map.get("$ref").and_then(Value::as_str).unwrap_or_default().to_owned();
        map.shift_remove("$ref");
        let name = ["#/$defs/", "#/definitions/"]
            .iter()
            .find_map(|prefix| target.strip_prefix(prefix))
            .filter(|name| !name.contains('/'));
        let description = map.get("description").cloned();
        let is_alone = map.keys().all(|keyword| is_annotation(keyword));
        if target == "#" && !is_alone || target != "#" && self.pointed(&target).is_none() {
            self.lose(path, "$ref");
            return if is_alone {
                self.any(&map, path)
            } else {
                self.schema(&Value::Object(map), path, depth)
            };
        }
        if (name.is_some() || target == "#") && is_alone {
            let mut out = Object::new();
            let target = name.map_or(target.clone(), |name| format!("#/$defs/{name}"));
            out.insert("$ref".to_owned(), target.into());
            out.extend(description.map(|text| ("description".to_owned(), text)));
            out.extend(map.get("default").map(|value| ("default".to_owned(), value.clone())));
            return Value::Object(out);
        }
        match self.pointed(&target).cloned() {
            Some(Value::Object(body)) if depth < MAX_OBJECTS => {
                self.join(&mut map, &body, path);
                self.schema(&Value::Object(map), path, depth)
            }
            _ => {
                self.lose(path, "$ref");
                self.any(&map, path)
            }
        }
    }

    /// Returns the schema of a part of `allOf`: itself, or its target.
    fn target_of(&mut self, part: &Value) -> Option<Value> {
        let Some(target) = part.get("$ref").and_then(Value::as_str) else {
            return Some(part.clone());
        };
        let body = self.pointed(target)?.as_object()?.clone();
        let mut whole = part.as_object()?.clone();
        whole.shift_remove("$ref");
        self.affords(&body).then(|| {
            merge(&mut whole, &body);
            Value::Object(whole)
        })
    }

    fn pointed(&self, target: &str) -> Option<&Value> {
        self.root.pointer(target.strip_prefix('#')?)
    }

    /// Writes each alternative with the keywords beside the alternatives.
    fn union(&mut self, mut map: Object, path: &str, depth: usize) -> Value {
        let (any, one) = (map.shift_remove("anyOf"), map.shift_remove("oneOf"));
        if any.is_some() && one.is_some() {
            self.lose(path, "oneOf");
        }
        let (keyword, branches) = match (any, one) {
            (Some(Value::Array(branches)), _) => ("anyOf", branches),
            (_, Some(Value::Array(branches))) => ("oneOf", branches),
            _ => return self.schema(&Value::Object(map), path, depth),
        };
        let annotations: Object = map
            .iter()
            .filter(|(keyword, _)| is_annotation(keyword))
            .map(|(keyword, value)| (keyword.clone(), value.clone()))
            .collect();
        map.retain(|keyword, _| !is_annotation(keyword));
        let mut lowered: Vec<Value> = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let path = pointer(path, keyword, &index.to_string());
            let mut whole = match branch {
                Value::Object(branch) => branch.clone(),
                Value::Bool(false) => continue,
                _ => Object::new(),
            };
            if !map.is_empty() {
                if let Some(Value::Object(body)) = self.target_of(&Value::Object(whole.clone())) {
                    whole = body;
                }
                self.join(&mut whole, &map, &path);
            }
            let branch = self.schema(&Value::Object(whole), &path, depth);
            if !lowered.contains(&branch) {
                lowered.push(branch);
            }
        }
        let mut out = annotations;
        match <[Value; 1]>::try_from(lowered) {
            Ok([Value::Object(only)]) => {
                for (keyword, value) in only {
                    out.entry(keyword).or_insert(value);
                }
            }
            Ok(_) => {}
            Err(branches) if branches.is_empty() => return self.any(&out, path),
            Err(branches) => {
                out.insert("anyOf".to_owned(), Value::Array(branches));
            }
        }
        Value::Object(out)
    }

    /// Writes a schema without parts and alternatives.
    fn one(&mut self, mut map: Object, path: &str, depth: usize) -> Value {
        self.choices(&mut map, path);
        let mut kinds = kinds(&map);
        if map.contains_key("enum") {
            if kinds.is_empty() || !values_are_of(&map, &kinds) {
                // The values imply their types.
                map.shift_remove("type");
            } else if map.get("type").is_none() {
                map.insert("type".to_owned(), json!(kinds));
            }
            return Value::Object(map);
        }
        if kinds.is_empty() {
            if map.contains_key("properties") || map.contains_key("required") {
                kinds = vec!["object".to_owned()];
            } else if map.contains_key("items") || map.contains_key("prefixItems") {
                kinds = vec!["array".to_owned()];
            } else {
                return self.any(&map, path);
            }
        }
        let is_nested = |kind: &String| kind == "object" || kind == "array";
        if kinds.len() > 1 && kinds.iter().any(is_nested) {
            let of_kind = |kind: &String| {
                let mut map = map.clone();
                map.retain(|keyword, _| !is_annotation(keyword) && belongs(keyword, kind));
                map.insert("type".to_owned(), kind.as_str().into());
                Value::Object(map)
            };
            let branches: Vec<Value> = kinds.iter().map(of_kind).collect();
            let mut union: Object = map;
            union.retain(|keyword, _| is_annotation(keyword));
            union.insert("anyOf".to_owned(), Value::Array(branches));
            return self.union(union, path, depth);
        }
        let kind = if let [kind] = &kinds[..] { json!(kind) } else { json!(kinds) };
        map.insert("type".to_owned(), kind);
        match kinds[0].as_str() {
            "object" => self.object(map, path, depth),
            "array" => self.array(map, path, depth),
            _ => Value::Object(map),
        }
    }

    fn object(&mut self, mut map: Object, path: &str, depth: usize) -> Value {
        let is_root = path.is_empty();
        let mut properties = match map.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Object::new(),
        };
        let more = map.shift_remove("additionalProperties");
        let patterns = map.shift_remove("patternProperties").is_some();
        let required: Vec<String> = match map.shift_remove("required") {
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let takes_more = patterns || more.as_ref().is_some_and(|more| more != &Value::Bool(false));
        let is_free = properties.is_empty() && required.is_empty();
        if !is_root && (is_free && more != Some(Value::Bool(false)) || depth >= MAX_OBJECTS) {
            self.say(path, "additionalProperties", true);
            return json_text(&map, "an object of any shape");
        }
        if takes_more && !patterns {
            self.lose(path, "additionalProperties");
        }
        properties.retain(|_, property| property != &Value::Bool(false));
        for name in &required {
            properties.entry(name.clone()).or_insert(Value::Bool(true));
        }
        let mut closed = Object::new();
        for (name, property) in properties {
            let path = pointer(path, "properties", &name);
            let is_optional = !required.contains(&name);
            let mut property = self.schema(&property, &path, depth + 1);
            if is_optional && crate::schema::without_null(&mut property) {
                // A null already means that the property is left out.
                self.say(&path, "null", false);
            }
            closed.insert(name, property);
        }
        let names: Vec<&String> = closed.keys().filter(|name| required.contains(name)).collect();
        map.insert("required".to_owned(), json!(names));
        map.insert("properties".to_owned(), Value::Object(closed));
        map.insert("additionalProperties".to_owned(), false.into());
        Value::Object(map)
    }

    fn array(&mut self, mut map: Object, path: &str, depth: usize) -> Value {
        let mut listed = match map.shift_remove("prefixItems") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let rest = map.shift_remove("items");
        // Up to draft 7, a list under `items` had the meaning of `prefixItems`.
        let rest = match rest {
            Some(Value::Array(items)) => {
                listed.extend(items);
                None
            }
            rest => rest,
        };
        let items = if listed.is_empty() {
            self.schema(&rest.unwrap_or(Value::Bool(true)), &pointer(path, "items", ""), depth)
        } else {
            self.lose(path, "prefixItems");
            listed.extend(rest.filter(Value::is_object));
            self.schema(&json!({"anyOf": listed}), &pointer(path, "items", ""), depth)
        };
        map.insert("items".to_owned(), items);
        Value::Object(map)
    }

    /// Makes one `enum` of scalars out of `enum` and `const`, or none.
    fn choices(&mut self, map: &mut Object, path: &str) {
        let constant = map.shift_remove("const").map(|value| vec![value]);
        let listed = match map.shift_remove("enum") {
            Some(Value::Array(values)) => Some(values),
            _ => None,
        };
        let Some(values) = constant.or(listed) else { return };
        let characters: usize = values.iter().map(|value| value.to_string().chars().count()).sum();
        let is_long = values.len() > MAX_ENUM.0 && characters > MAX_ENUM.1;
        if values.is_empty() || is_long || values.iter().any(|v| v.is_object() || v.is_array()) {
            self.lose(path, "enum");
            return;
        }
        let mut distinct: Vec<Value> = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        map.insert("enum".to_owned(), Value::Array(distinct));
    }

    /// Writes a value of any kind: scalars as they are, the others as JSON text.
    fn any(&mut self, map: &Object, path: &str) -> Value {
        self.say(path, "type", true);
        let mut out = Object::new();
        for (keyword, value) in map.iter().filter(|(keyword, _)| is_annotation(keyword)) {
            out.insert(keyword.clone(), value.clone());
        }
        let text = json_text(&Object::new(), "a list or an object of any shape");
        let kinds = json!([{"type": "string"}, {"type": "number"}, {"type": "boolean"}, text]);
        out.insert("anyOf".to_owned(), kinds);
        Value::Object(out)
    }
}

/// Returns the object that holds a value as JSON text, with the description of the value.
fn json_text(map: &Object, what: &str) -> Value {
    let mut out = Object::new();
    out.insert("type".to_owned(), "object".into());
    for (keyword, value) in map.iter().filter(|(keyword, _)| is_annotation(keyword)) {
        out.insert(keyword.clone(), value.clone());
    }
    let about = format!("{what}, as JSON text");
    out.insert(
        "properties".to_owned(),
        json!({JSON_TEXT: {"type": "string", "description": about}}),
    );
    out.insert("required".to_owned(), json!([JSON_TEXT]));
    out.insert("additionalProperties".to_owned(), false.into());
    Value::Object(out)
}

/// Returns `true` if a keyword does not constrain the arguments.
fn says_nothing(keyword: &str) -> bool {
    matches!(
        keyword,
        "$anchor"
            | "$comment"
            | "$defs"
            | "$dynamicAnchor"
            | "$id"
            | "$schema"
            | "$vocabulary"
            | "definitions"
            | "id"
    )
}

/// Returns `true` if a keyword cannot be expressed in the strict subset, nor in a description.
fn is_condition(keyword: &str) -> bool {
    matches!(
        keyword,
        "$dynamicRef"
            | "$recursiveRef"
            | "additionalItems"
            | "contains"
            | "contentEncoding"
            | "contentMediaType"
            | "contentSchema"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "else"
            | "if"
            | "maxContains"
            | "maxProperties"
            | "minContains"
            | "minProperties"
            | "not"
            | "patternProperties"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties"
    )
}

fn is_annotation(keyword: &str) -> bool {
    walk::is_annotation(keyword)
}

/// Returns `true` if a keyword applies to values of a kind.
pub(super) fn belongs(keyword: &str, kind: &str) -> bool {
    let owner = match keyword {
        "properties" | "required" | "additionalProperties" | "patternProperties" => "object",
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" => "array",
        "minLength" | "maxLength" | "pattern" | "format" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            return matches!(kind, "integer" | "number");
        }
        _ => return true,
    };
    owner == kind
}

/// Returns the types of a schema that JSON Schema knows.
fn kinds(map: &Object) -> Vec<String> {
    let known = |kind: &&str| {
        matches!(*kind, "array" | "boolean" | "integer" | "null" | "number" | "object" | "string")
    };
    match map.get("type") {
        Some(Value::String(kind)) => {
            Some(kind.as_str()).filter(known).map(str::to_owned).into_iter().collect()
        }
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).filter(known).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn values_are_of(map: &Object, kinds: &[String]) -> bool {
    let is_of = |value: &Value, kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => false,
    };
    let mut all = true;
    for value in walk::items(map, "enum") {
        all &= kinds.iter().any(|kind| is_of(value, kind));
    }
    all && kinds.iter().all(|kind| kind != "object" && kind != "array")
}

/// Merges `part` into `map`: for a keyword of both, both apply as far as one schema can express it.
///
/// Returns the keywords that only one of them could have.
fn merge(map: &mut Object, part: &Object) -> Vec<String> {
    let mut lost = Vec::new();
    for (keyword, value) in part {
        let Some(own) = map.get_mut(keyword) else {
            map.insert(keyword.clone(), value.clone());
            continue;
        };
        match (keyword.as_str(), own, value) {
            ("properties", Value::Object(own), Value::Object(more)) => {
                for (name, property) in more {
                    match own.get_mut(name) {
                        Some(before) if before != property => {
                            *before = json!({"allOf": [before.take(), property]});
                        }
                        Some(_) => {}
                        None => {
                            own.insert(name.clone(), property.clone());
                        }
                    }
                }
            }
            ("required" | "allOf", Value::Array(own), Value::Array(more)) => {
                for name in
                    more.iter().filter(|name| !own.contains(name)).cloned().collect::<Vec<_>>()
                {
                    own.push(name);
                }
            }
            ("enum", Value::Array(own), Value::Array(more))
                if own.iter().any(|value| more.contains(value)) =>
            {
                own.retain(|value| more.contains(value));
            }
            ("type", own, more) => {
                let names = |kinds: &Value| -> Vec<Value> {
                    kinds.as_array().cloned().unwrap_or_else(|| vec![kinds.clone()])
                };
                let (before, more) = (names(own), names(more));
                let both: Vec<Value> =
                    before.into_iter().filter(|kind| more.contains(kind)).collect();
                match &both[..] {
                    [] => {}
                    [kind] => *own = kind.clone(),
                    _ => *own = Value::Array(both),
                }
            }
            (_, own, value) if own == value || is_annotation(keyword) => {}
            _ => lost.push(keyword.clone()),
        }
    }
    lost
}
