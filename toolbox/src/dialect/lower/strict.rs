//! Conversion of a schema into `OpenAI`'s strict subset, or the reason why it is impossible.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::notes;
use super::root::Rooted;
use crate::dialect::Loss;
use crate::schema::walk::{self, Object, pointer};
use crate::text;

// Limits of platform.openai.com/docs/guides/structured-outputs.
const MAX_PROPERTIES: usize = 5000;
const MAX_LEVELS: usize = 10;
const MAX_ENUM_VALUES: usize = 1000;
const MAX_CHARACTERS: usize = 120_000;
const MAX_LONG_ENUM_VALUES: usize = 250;
const MAX_LONG_ENUM_CHARACTERS: usize = 15_000;

const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Returns the schema in the strict subset and the keywords that moved, or the obstacle.
pub(super) fn strict(rooted: &Rooted) -> Result<(Value, Vec<Loss>), String> {
    if rooted.widened {
        return Err("the root is not a plain object".to_owned());
    }
    let mut strict = Strict::default();
    let mut root = rooted.schema.clone();
    let definitions = root.shift_remove("$defs");
    let mut schema = strict.schema(&Value::Object(root), "", Use::Required)?;
    if schema.get("anyOf").is_some() {
        return Err("the root is not a plain object".to_owned());
    }
    if let Some(Value::Object(definitions)) = definitions {
        let mut named = Object::new();
        for (name, body) in &definitions {
            strict.characters += name.chars().count();
            let body = strict.schema(body, &pointer("", "$defs", name), Use::Required)?;
            named.insert(name.clone(), body);
        }
        schema["$defs"] = Value::Object(named);
    }
    strict.check_limits()?;
    if levels(&schema, &schema, 0, &mut HashMap::new()) > MAX_LEVELS {
        return Err(format!("objects nest deeper than {MAX_LEVELS} levels"));
    }
    Ok((schema, strict.losses))
}

/// The use of a schema. It decides the meaning of a missing value, and so the text of a moved
/// default.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Required,
    Optional,
}

#[derive(Default)]
struct Strict {
    losses: Vec<Loss>,
    properties: usize,
    enum_values: usize,
    characters: usize,
}

impl Strict {
    fn check_limits(&self) -> Result<(), String> {
        let limits = [
            ("properties", self.properties, MAX_PROPERTIES),
            ("enum values", self.enum_values, MAX_ENUM_VALUES),
            ("characters in names and enum values", self.characters, MAX_CHARACTERS),
        ];
        match limits.into_iter().find(|(_, count, limit)| count > limit) {
            Some((what, count, limit)) => Err(format!("{count} {what} are more than {limit}")),
            None => Ok(()),
        }
    }

    fn schema(&mut self, schema: &Value, path: &str, used: Use) -> Result<Value, String> {
        let Value::Object(map) = schema else { return Err(obstacle(path, "has no type")) };
        let mut out = Object::new();
        let mut words = Vec::new();
        let description = map.get("description").and_then(Value::as_str);
        let is_said = description.is_some_and(text::says_deprecated);
        for (keyword, value) in map {
            match keyword.as_str() {
                "allOf" | "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$recursiveRef"
                | "additionalItems" | "definitions" | "dependencies" | "dependentRequired"
                | "dependentSchemas" | "else" | "if" | "not" | "patternProperties"
                | "prefixItems" | "then" | "unevaluatedItems" => {
                    return Err(obstacle(path, &format!("uses `{keyword}`")));
                }
                "$defs" if !path.is_empty() => {
                    return Err(obstacle(path, "has definitions of its own"));
                }
                "$ref"
                | "additionalProperties"
                | "anyOf"
                | "const"
                | "description"
                | "enum"
                | "items"
                | "oneOf"
                | "properties"
                | "required"
                | "type"
                | "unevaluatedProperties"
                // Does not constrain the arguments.
                | "$comment" | "$defs" | "$id" | "$schema" | "title" => {}
                "exclusiveMaximum" | "exclusiveMinimum" | "maxItems" | "maximum" | "minItems"
                | "minimum" | "multipleOf" => {
                    out.insert(keyword.clone(), value.clone());
                }
                "format" if FORMATS.iter().any(|known| value == known) => {
                    out.insert(keyword.clone(), value.clone());
                }
                "pattern" if value.as_str().is_some_and(is_plain_pattern) => {
                    out.insert(keyword.clone(), value.clone());
                }
                "default" if used == Use::Optional => {
                    self.lose(path, keyword, &mut words, Some(format!("null means {value}")));
                }
                "deprecated" if is_said => self.losses.push(Loss {
                    path: path.to_owned(),
                    keyword: keyword.to_owned(),
                    moved_to_description: true,
                }),
                _ => self.lose(path, keyword, &mut words, notes::of(keyword, value)),
            }
        }
        let description = map.get("description").and_then(Value::as_str).map(str::to_owned);
        let description = words.iter().fold(description, |text, word| {
            Some(notes::joined(text.as_deref().unwrap_or_default(), word))
        });
        let mut described = Object::new();
        if let Some(description) = description {
            described.insert("description".to_owned(), description.into());
        }

        if let Some(reference) = map.get("$ref") {
            return reference_to(map, reference, &out, described, path);
        }
        if map.contains_key("anyOf") || map.contains_key("oneOf") {
            return self.union(map, &out, described, path);
        }
        let mut whole = Object::new();
        self.kind(map, &mut whole, path)?;
        whole.extend(described);
        whole.extend(out);
        self.object(map, &mut whole, path)?;
        self.array(map, &mut whole, path)?;
        Ok(Value::Object(whole))
    }

    fn lose(&mut self, path: &str, keyword: &str, words: &mut Vec<String>, note: Option<String>) {
        self.losses.push(Loss {
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            moved_to_description: note.is_some(),
        });
        words.extend(note);
    }

    fn union(
        &mut self,
        map: &Object,
        kept: &Object,
        mut out: Object,
        path: &str,
    ) -> Result<Value, String> {
        let shaping = ["properties", "items", "enum", "const", "additionalProperties", "required"];
        let both = map.contains_key("anyOf") && map.contains_key("oneOf");
        let beside = shaping.iter().any(|keyword| map.contains_key(*keyword));
        if both || beside || !kept.is_empty() || map.contains_key("unevaluatedProperties") {
            return Err(obstacle(path, "says more beside its alternatives"));
        }
        let keyword = if map.contains_key("anyOf") { "anyOf" } else { "oneOf" };
        let Some(Value::Array(branches)) = map.get(keyword).filter(|list| **list != json!([]))
        else {
            return Err(obstacle(path, "has no alternatives"));
        };
        let mut lowered = Vec::with_capacity(branches.len());
        for (index, branch) in branches.iter().enumerate() {
            let path = pointer(path, keyword, &index.to_string());
            let mut branch = branch.clone();
            if let (Value::Object(branch), Some(kind)) = (&mut branch, map.get("type")) {
                match branch.get("type") {
                    None if branch.contains_key("$ref") => {
                        return Err(obstacle(&path, "is narrowed by a type beside it"));
                    }
                    Some(own) if own != kind => {
                        return Err(obstacle(&path, "has a type beside another"));
                    }
                    _ => {}
                }
                branch.insert("type".to_owned(), kind.clone());
            }
            lowered.push(self.schema(&branch, &path, Use::Required)?);
        }
        out.insert("anyOf".to_owned(), Value::Array(lowered));
        Ok(Value::Object(out))
    }

    /// Writes `type` and `enum`.
    fn kind(&mut self, map: &Object, out: &mut Object, path: &str) -> Result<(), String> {
        let constant = map.get("const").map(|value| vec![value.clone()]);
        let values = match (map.get("enum"), constant) {
            (Some(_), Some(_)) => return Err(obstacle(path, "has both `enum` and `const`")),
            (Some(values), None) => Some(values.as_array().cloned().unwrap_or_default()),
            (None, constant) => constant,
        };
        match map.get("type") {
            Some(Value::String(kind)) if is_type(kind) => {
                out.insert("type".to_owned(), kind.as_str().into());
            }
            Some(Value::Array(kinds))
                if !kinds.is_empty() && kinds.iter().all(|k| k.as_str().is_some_and(is_type)) =>
            {
                out.insert("type".to_owned(), json!(kinds));
            }
            None => match values.iter().flatten().map(type_of).collect::<Option<Vec<_>>>() {
                Some(mut kinds) if !kinds.is_empty() => {
                    kinds.sort_unstable();
                    kinds.dedup();
                    let kinds = if let [kind] = kinds[..] { json!(kind) } else { json!(kinds) };
                    out.insert("type".to_owned(), kinds);
                }
                _ => return Err(obstacle(path, "has no type")),
            },
            Some(_) => return Err(obstacle(path, "has an unknown type")),
        }
        if let Some(values) = values {
            if values.is_empty() || values.iter().any(|value| type_of(value).is_none()) {
                return Err(obstacle(path, "lists values that are not scalars"));
            }
            let characters: usize =
                values.iter().map(|value| value.to_string().chars().count()).sum();
            self.enum_values += values.len();
            self.characters += characters;
            if values.len() > MAX_LONG_ENUM_VALUES && characters > MAX_LONG_ENUM_CHARACTERS {
                return Err(obstacle(path, "lists too many long values"));
            }
            out.insert("enum".to_owned(), Value::Array(values));
        }
        Ok(())
    }

    fn object(&mut self, map: &Object, out: &mut Object, path: &str) -> Result<(), String> {
        if !has_type(out, "object") {
            return if map.contains_key("properties") {
                Err(obstacle(path, "has properties and is no object"))
            } else {
                Ok(())
            };
        }
        match (map.get("additionalProperties"), map.get("unevaluatedProperties")) {
            (Some(Value::Bool(false)), _) | (None, Some(Value::Bool(false))) => {}
            (Some(_), _) => return Err(obstacle(path, "takes properties of any name")),
            (None, _) => return Err(obstacle(path, "does not refuse unknown properties")),
        }
        let empty = Object::new();
        let properties = map.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required = walk::items(map, "required");
        if required.iter().any(|name| !name.as_str().is_some_and(|n| properties.contains_key(n))) {
            return Err(obstacle(path, "requires a property it does not declare"));
        }
        let mut lowered = Object::new();
        for (name, property) in properties {
            self.properties += 1;
            self.characters += name.chars().count();
            let path = pointer(path, "properties", name);
            let property = if required.iter().any(|known| known == name) {
                self.schema(property, &path, Use::Required)?
            } else {
                let default = property.get("default").filter(|default| !default.is_null());
                let optional = self.schema(property, &path, Use::Optional)?;
                if takes_null(&optional) && default.is_some() {
                    return Err(obstacle(
                        &path,
                        "means one thing when null and another when left out",
                    ));
                }
                nullable(optional)
            };
            lowered.insert(name.clone(), property);
        }
        let names: Vec<&String> = lowered.keys().collect();
        let names = json!(names);
        out.insert("properties".to_owned(), Value::Object(lowered));
        out.insert("required".to_owned(), names);
        out.insert("additionalProperties".to_owned(), false.into());
        Ok(())
    }

    fn array(&mut self, map: &Object, out: &mut Object, path: &str) -> Result<(), String> {
        if !has_type(out, "array") {
            return Ok(());
        }
        let Some(items) = map.get("items").filter(|items| items.is_object()) else {
            return Err(obstacle(path, "does not say what its items are"));
        };
        let items = self.schema(items, &pointer(path, "items", ""), Use::Required)?;
        out.insert("items".to_owned(), items);
        Ok(())
    }
}

/// Writes a reference alone, with its description around it (schemars#473).
fn reference_to(
    map: &Object,
    reference: &Value,
    kept: &Object,
    described: Object,
    path: &str,
) -> Result<Value, String> {
    let annotations = |keyword: &String| keyword == "$ref" || walk::is_annotation(keyword);
    let local = reference.as_str().is_some_and(|r| r == "#" || walk::definition_name(r).is_some());
    if !local || !kept.is_empty() || !map.keys().all(annotations) {
        return Err(obstacle(path, "adds something to what it refers to"));
    }
    let mut whole = described;
    if whole.is_empty() {
        whole.insert("$ref".to_owned(), reference.clone());
    } else {
        whole.insert("anyOf".to_owned(), json!([{"$ref": reference}]));
    }
    Ok(Value::Object(whole))
}

fn obstacle(path: &str, why: &str) -> String {
    let place = if path.is_empty() { "the root" } else { path };
    format!("{place} {why}")
}

fn is_type(kind: &str) -> bool {
    matches!(kind, "array" | "boolean" | "integer" | "null" | "number" | "object" | "string")
}

fn type_of(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => Some("null"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        Value::String(_) => Some("string"),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn has_type(map: &Object, wanted: &str) -> bool {
    map.get("type").is_some_and(|kind| {
        kind == wanted
            || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == wanted))
    })
}

fn is_plain_pattern(pattern: &str) -> bool {
    !["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look))
}

fn takes_null(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let listed = map.get("enum").and_then(Value::as_array);
    let branches = map.get("anyOf").and_then(Value::as_array);
    (has_type(map, "null") && listed.is_none_or(|values| values.iter().any(Value::is_null)))
        || branches.is_some_and(|branches| branches.iter().any(takes_null))
}

/// Returns the union of `schema` and null, its description outside.
fn nullable(schema: Value) -> Value {
    if takes_null(&schema) {
        return schema;
    }
    let Value::Object(mut map) = schema else { return schema };
    let description = map.shift_remove("description");
    let mut union = match map.shift_remove("anyOf") {
        Some(Value::Array(branches)) => branches,
        _ => vec![Value::Object(map)],
    };
    union.push(json!({"type": "null"}));
    let mut whole = Object::new();
    whole.extend(description.map(|text| ("description".to_owned(), text)));
    whole.insert("anyOf".to_owned(), Value::Array(union));
    Value::Object(whole)
}

/// Counts nested objects, through definitions but around no cycle twice.
fn levels(schema: &Value, root: &Value, hops: usize, known: &mut HashMap<String, usize>) -> usize {
    const TOO_MANY_HOPS: usize = 200;
    if hops > TOO_MANY_HOPS {
        return MAX_LEVELS + 1;
    }
    let Value::Object(map) = schema else { return 0 };
    let mut below = 0;
    if let Some(name) = walk::reference(map).and_then(walk::definition_name) {
        below = if let Some(&levels) = known.get(&name) {
            levels
        } else {
            known.insert(name.clone(), 0);
            let body = walk::definitions(root).and_then(|named| named.get(&name));
            let found = body.map_or(0, |body| levels(body, root, hops + 1, known));
            known.insert(name, found);
            found
        };
    }
    walk::children(map, &mut |keyword, _, child| {
        if keyword != "$defs" {
            below = below.max(levels(child, root, hops + 1, known));
        }
    });
    below + usize::from(has_type(map, "object"))
}
