//! Schemas of a description as JSON Schema draft 2020-12.
//!
//! A keyword is taken over if its value has the form that the draft asks for, so that what comes
//! out is valid whatever goes in. References stay references: to `$defs` of the converted schema,
//! which hold what it reaches, up to a limit of bytes.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use crate::document::{Document, Version};
use crate::text::excerpt;

/// The depth to which a schema is converted.
const MAX_DEPTH: usize = 48;
/// The longest description within a schema, in bytes.
const MAX_TEXT: usize = 1_000;
/// The longest default, in bytes.
const MAX_DEFAULT: usize = 500;
/// The longest name of a definition, in bytes.
const MAX_NAME: usize = 64;

/// The side that reads the values of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    /// The values are sent: what is read only is left out.
    Request,
    /// The values are received: what is written only is left out.
    Response,
}

/// A converted schema without its definitions.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) schema: Value,
    /// The references that it makes, as in the description.
    references: Vec<String>,
}

impl Part {
    /// Returns a part that refers to nothing.
    pub(crate) fn of(schema: Value) -> Self {
        Self { schema, references: Vec::new() }
    }
}

/// Converts the schemas of one description.
#[derive(Debug)]
pub(crate) struct Schemas<'a> {
    document: &'a Document,
    names: HashMap<String, String>,
    taken: HashSet<String>,
    definitions: HashMap<(Direction, String), (Part, usize)>,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(document: &'a Document) -> Self {
        Self { document, names: HashMap::new(), taken: HashSet::new(), definitions: HashMap::new() }
    }

    /// Converts a schema, whose references are to be completed by [`Self::complete`].
    pub(crate) fn part(&mut self, schema: &Value, direction: Direction) -> Part {
        let mut references = Vec::new();
        let schema = self.converted(schema, direction, 0, &mut references);
        Part { schema, references }
    }

    /// Returns the value that a schema is, over the references at its root.
    pub(crate) fn root<'b>(&self, schema: &'b Value) -> &'b Value
    where
        'a: 'b,
    {
        self.document.resolved(schema).unwrap_or(&Value::Null)
    }

    /// Adds the definitions that the parts reach to a schema made of them. Returns the number of
    /// definitions that do not fit into `budget` bytes, which accept any value then.
    pub(crate) fn complete(
        &mut self,
        schema: &mut Value,
        parts: &[Part],
        direction: Direction,
        budget: usize,
    ) -> usize {
        let mut left = budget.saturating_sub(size(schema));
        let mut pending: VecDeque<String> =
            parts.iter().flat_map(|part| part.references.iter().cloned()).collect();
        let mut seen: HashSet<String> = HashSet::new();
        let mut definitions = Map::new();
        let mut omitted = 0;
        while let Some(reference) = pending.pop_front() {
            if !seen.insert(reference.clone()) {
                continue;
            }
            let name = self.name_of(&reference);
            let (part, bytes) = self.definition(&reference, direction);
            if bytes > left {
                omitted += 1;
                definitions.insert(name, json!({}));
                continue;
            }
            left -= bytes;
            pending.extend(part.references.iter().cloned());
            definitions.insert(name, part.schema);
        }
        if let (Value::Object(schema), false) = (schema, definitions.is_empty()) {
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        omitted
    }

    fn definition(&mut self, reference: &str, direction: Direction) -> (Part, usize) {
        let key = (direction, reference.to_owned());
        if let Some(known) = self.definitions.get(&key) {
            return known.clone();
        }
        let target = self.document.at(reference).cloned().unwrap_or_default();
        let part = self.part(&target, direction);
        let bytes = size(&part.schema);
        self.definitions.insert(key, (part.clone(), bytes));
        (part, bytes)
    }

    /// Returns the name of a definition under `$defs`: the last segment of its reference.
    fn name_of(&mut self, reference: &str) -> String {
        if let Some(name) = self.names.get(reference) {
            return name.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or_default();
        let safe =
            |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
        let base: String = last.chars().take(MAX_NAME).map(safe).collect();
        let base = if base.is_empty() { "schema".to_owned() } else { base };
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.names.insert(reference.to_owned(), name.clone());
        name
    }

    fn converted(
        &mut self,
        schema: &Value,
        direction: Direction,
        depth: usize,
        references: &mut Vec<String>,
    ) -> Value {
        let map = match schema {
            Value::Bool(_) => return schema.clone(),
            Value::Object(map) if depth < MAX_DEPTH => map,
            _ => return json!({}),
        };
        if let Some(Value::String(reference)) = map.get("$ref") {
            return self.reference(reference, map, direction, depth, references);
        }
        let mut out = Map::new();
        Self::kinds(map, &mut out);
        for (keyword, value) in map {
            let converted = match keyword.as_str() {
                "description" => value.as_str().map(|text| Value::from(excerpt(text, MAX_TEXT))),
                "format" => format(value, &mut out),
                "pattern" | "contentEncoding" | "contentMediaType" => text(value),
                "deprecated" | "uniqueItems" => value.as_bool().filter(|set| *set).map(Value::from),
                "default" => Some(value.clone()).filter(|value| size(value) <= MAX_DEFAULT),
                "const" => Some(value.clone()),
                "minimum" | "maximum" => value.as_number().map(|own| Value::from(own.clone())),
                "multipleOf" => value.as_f64().filter(|own| *own > 0.0).map(|_| value.clone()),
                "exclusiveMinimum" | "exclusiveMaximum" => {
                    value.as_number().map(|own| Value::from(own.clone()))
                }
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" | "minContains" | "maxContains" => count(value),
                "properties" | "patternProperties" | "dependentSchemas" => {
                    self.map_of(keyword, value, direction, depth, references)
                }
                "required" => Some(self.required(value, map, direction)),
                "dependentRequired" => value.as_object().map(|all| {
                    all.iter().map(|(name, value)| (name.clone(), strings(value))).collect()
                }),
                "items" => match value {
                    Value::Array(items) => {
                        let all = self.list(items, direction, depth, references);
                        out.insert("prefixItems".to_owned(), all);
                        None
                    }
                    _ => self.nested(value, direction, depth, references),
                },
                "prefixItems" | "allOf" | "anyOf" | "oneOf" => value
                    .as_array()
                    .filter(|all| !all.is_empty())
                    .map(|all| self.list(all, direction, depth, references)),
                "additionalProperties"
                | "propertyNames"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems" => self.nested(value, direction, depth, references),
                _ => None,
            };
            if let Some(converted) = converted {
                out.insert(keyword.clone(), converted);
            }
        }
        exclusive_limits(map, &mut out);
        if out.get("required").is_some_and(|required| *required == json!([])) {
            out.remove("required");
        }
        nullable(map, out)
    }

    fn reference(
        &mut self,
        reference: &str,
        map: &Map<String, Value>,
        direction: Direction,
        depth: usize,
        references: &mut Vec<String>,
    ) -> Value {
        let mut out = Map::new();
        let reference = self.document.last_reference(reference);
        if self.document.version == Version::V31 && map.len() > 1 {
            let mut beside = map.clone();
            beside.remove("$ref");
            if let Value::Object(beside) =
                self.converted(&Value::Object(beside), direction, depth + 1, references)
            {
                out = beside;
            }
        } else if let Some(text) = map.get("description").and_then(Value::as_str) {
            out.insert("description".to_owned(), excerpt(text, MAX_TEXT).into());
        }
        if self
            .document
            .at(reference)
            .is_some_and(|target| target.is_object() || target.is_boolean())
        {
            let name = self.name_of(reference);
            out.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
            references.push(reference.to_owned());
        }
        nullable(map, out)
    }

    /// Sets `type` and `enum`.
    fn kinds(map: &Map<String, Value>, out: &mut Map<String, Value>) {
        let mut kinds: Vec<&str> = match map.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if kinds == ["file"] {
            out.insert("contentEncoding".to_owned(), "base64".into());
            kinds = vec!["string"];
        }
        let lower: Vec<String> = kinds.iter().map(|kind| kind.to_ascii_lowercase()).collect();
        let known = |kind: &String| {
            ["string", "number", "integer", "boolean", "array", "object", "null"]
                .contains(&kind.as_str())
        };
        // One that is unknown means anything.
        if !lower.is_empty() && lower.iter().all(known) {
            let mut seen = HashSet::new();
            let all: Vec<Value> = lower
                .iter()
                .filter(|kind| seen.insert(*kind))
                .map(|kind| kind.as_str().into())
                .collect();
            let kind = if let [one] = all.as_slice() { one.clone() } else { Value::Array(all) };
            out.insert("type".to_owned(), kind);
        }
        if let Some(Value::Array(choices)) = map.get("enum") {
            let is_text = lower == ["string"];
            let mut all: Vec<Value> = Vec::new();
            let mut seen = HashSet::new();
            for choice in choices {
                // A file in YAML writes `on` and `1` where it means text.
                let choice = match choice {
                    Value::Bool(_) | Value::Number(_) if is_text => choice.to_string().into(),
                    choice => choice.clone(),
                };
                if seen.insert(choice.to_string()) {
                    all.push(choice);
                }
            }
            if !all.is_empty() {
                out.insert("enum".to_owned(), Value::Array(all));
            }
        }
    }

    fn map_of(
        &mut self,
        keyword: &str,
        value: &Value,
        direction: Direction,
        depth: usize,
        references: &mut Vec<String>,
    ) -> Option<Value> {
        let mut all = Map::new();
        for (name, schema) in value.as_object()? {
            if keyword == "properties" && self.is_hidden(schema, direction) {
                continue;
            }
            all.insert(name.clone(), self.converted(schema, direction, depth + 1, references));
        }
        Some(Value::Object(all))
    }

    fn list(
        &mut self,
        items: &[Value],
        direction: Direction,
        depth: usize,
        references: &mut Vec<String>,
    ) -> Value {
        items.iter().map(|item| self.converted(item, direction, depth + 1, references)).collect()
    }

    fn nested(
        &mut self,
        value: &Value,
        direction: Direction,
        depth: usize,
        references: &mut Vec<String>,
    ) -> Option<Value> {
        let is_schema = value.is_object() || value.is_boolean();
        is_schema.then(|| self.converted(value, direction, depth + 1, references))
    }

    /// Returns `true` if a property is not part of the values of this direction.
    pub(crate) fn is_hidden(&self, schema: &Value, direction: Direction) -> bool {
        let keyword = match direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        let is_set = |schema: &Value| schema.get(keyword) == Some(&Value::Bool(true));
        is_set(schema) || is_set(self.root(schema))
    }

    fn required(&self, value: &Value, map: &Map<String, Value>, direction: Direction) -> Value {
        let Value::Array(names) = strings(value) else { return json!([]) };
        let properties = map.get("properties");
        let is_hidden = |name: &Value| {
            let schema = name.as_str().and_then(|name| properties?.get(name));
            schema.is_some_and(|schema| self.is_hidden(schema, direction))
        };
        names.into_iter().filter(|name| !is_hidden(name)).collect()
    }
}

/// Returns the length of a value as JSON, about.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(name, item)| name.len() + 4 + size(item)).sum::<usize>()
        }
        _ => 5,
    }
}

fn text(value: &Value) -> Option<Value> {
    value.as_str().map(Value::from)
}

fn count(value: &Value) -> Option<Value> {
    let whole = value.as_u64().or_else(|| {
        // A count such as 3.0.
        let number =
            value.as_f64().filter(|own| own.fract() == 0.0 && (0.0..1e15).contains(own))?;
        format!("{number:.0}").parse().ok()
    });
    whole.map(Value::from)
}

/// Returns the texts of a list, each once.
fn strings(value: &Value) -> Value {
    let mut seen = HashSet::new();
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.filter(|text| seen.insert(*text)).map(Value::from).collect()
}

/// Returns the format, or the keyword of the draft that says the same.
fn format(value: &Value, out: &mut Map<String, Value>) -> Option<Value> {
    match value.as_str()? {
        "byte" | "base64" => {
            out.insert("contentEncoding".to_owned(), "base64".into());
            None
        }
        "" => None,
        other => Some(other.into()),
    }
}

/// Converts the flags of 3.0, which change the meaning of the limit beside them.
fn exclusive_limits(map: &Map<String, Value>, out: &mut Map<String, Value>) {
    for (flag, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if map.get(flag) == Some(&Value::Bool(true))
            && let Some(value) = out.remove(limit)
        {
            out.insert(flag.to_owned(), value);
        }
    }
}

/// Accepts null as well, if the schema of 3.0 or Swagger 2 says so.
fn nullable(map: &Map<String, Value>, mut out: Map<String, Value>) -> Value {
    let is_nullable =
        ["nullable", "x-nullable"].iter().any(|flag| map.get(*flag) == Some(&Value::Bool(true)));
    if !is_nullable {
        return Value::Object(out);
    }
    if let Some(Value::Array(choices)) = out.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
    match out.get("type").cloned() {
        Some(Value::String(kind)) if kind != "null" => {
            out.insert("type".to_owned(), json!([kind, "null"]));
        }
        Some(_) => {}
        None => {
            let joined = ["$ref", "allOf", "anyOf", "oneOf", "not"];
            if joined.iter().any(|keyword| out.contains_key(*keyword)) {
                let about = out.remove("description");
                let mut either = json!({"anyOf": [out, {"type": "null"}]});
                if let Some(about) = about {
                    either["description"] = about;
                }
                return either;
            }
        }
    }
    Value::Object(out)
}
