//! Schemas of old drafts and of careless servers, in the terms of draft 2020-12.
//!
//! A service refuses a request with one schema that its meta-schema refuses, and so each request
//! with any tool. What means the same in the newer terms is written in them; a keyword whose value
//! is of a wrong form is left out, as the check of arguments leaves it out too.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::dialect::Loss;
use crate::schema::type_word;
use crate::schema::walk::{self, MAX_HEIGHT, Object, pointer};

/// Returns a schema in the terms of draft 2020-12; itself if it is in them already.
pub(super) fn translated<'s>(schema: &'s Value, losses: &mut Vec<Loss>) -> Cow<'s, Value> {
    if !schema.is_object() || walk::is_deeper(schema, MAX_HEIGHT) {
        return Cow::Borrowed(schema);
    }
    let draft = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let is_old =
        ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| draft.contains(old));
    let mut whole = schema.clone();
    let mut translator = Translator { losses, refs_alone: is_old };
    translator.schema(&mut whole, "");
    if whole == *schema {
        return Cow::Borrowed(schema);
    }
    if is_old && let Value::Object(map) = &mut whole {
        map.shift_remove("$schema");
    }
    Cow::Owned(whole)
}

/// Writes references as services follow them, to a definition by its pointer, and removes those
/// that lead to another document or to what is not there.
pub(super) fn followed_references(schema: &mut Object, losses: &mut Vec<Loss>) {
    let mut anchors = HashMap::new();
    let mut references = HashSet::new();
    let whole = Value::Object(std::mem::take(schema));
    gather(&whole, "", &mut anchors, &mut references);
    let mut targets = HashMap::new();
    let mut is_changed = false;
    for (keyword, reference) in references {
        let target = match reference.strip_prefix('#') {
            Some(path) if path.is_empty() || path.starts_with('/') => {
                let decoded = walk::definition_name(&reference);
                let is_there = whole.pointer(path).is_some()
                    || decoded.is_some_and(|name| whole["$defs"].get(&name).is_some());
                is_there.then(|| reference.clone())
            }
            Some(anchor) => anchors.get(anchor).cloned(),
            None => None,
        };
        is_changed |= keyword != "$ref" || target.as_ref() != Some(&reference);
        targets.insert(reference, target);
    }
    let mut whole = whole;
    if is_changed {
        let mut is_lost = false;
        walk::each_mut(&mut whole, &mut |map| {
            for keyword in REFERENCES {
                let Some(reference) = map.get(keyword).and_then(Value::as_str) else { continue };
                let Some(target) = targets.get(reference) else { continue };
                map.shift_remove(keyword);
                is_lost |= target.is_none();
                if let Some(target) = target {
                    map.insert("$ref".to_owned(), target.as_str().into());
                }
            }
        });
        if is_lost {
            losses.push(Loss::at_root("$ref", false));
        }
    }
    if let Value::Object(whole) = whole {
        *schema = whole;
    }
}

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Gathers the anchors of a schema, each with its pointer, and the references.
fn gather(
    schema: &Value,
    path: &str,
    anchors: &mut HashMap<String, String>,
    references: &mut HashSet<(&'static str, String)>,
) {
    let Value::Object(map) = schema else { return };
    let text = |keyword: &str| map.get(keyword).and_then(Value::as_str).map(str::to_owned);
    for keyword in ["$anchor", "$dynamicAnchor"] {
        if let Some(name) = text(keyword) {
            anchors.entry(name).or_insert_with(|| format!("#{path}"));
        }
    }
    let pairs = REFERENCES.into_iter().filter_map(|keyword| Some((keyword, text(keyword)?)));
    references.extend(pairs);
    walk::children(map, &mut |keyword, key, child| {
        gather(child, &pointer(path, keyword, key), anchors, references);
    });
}

struct Translator<'l> {
    losses: &'l mut Vec<Loss>,
    /// `true` if keywords beside a `$ref` say nothing, as up to draft 7.
    refs_alone: bool,
}

impl Translator<'_> {
    fn lose(&mut self, path: &str, keyword: &str) {
        let loss = Loss {
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            moved_to_description: false,
        };
        if self.losses.len() < 1000 {
            self.losses.push(loss);
        }
    }

    /// Translates a schema in place. What is neither a map nor a boolean takes any value.
    ///
    /// Returns `true` if draft 3 or a careless server says within it that it is required.
    fn schema(&mut self, schema: &mut Value, path: &str) -> bool {
        match schema {
            Value::Object(map) => self.map(map, path),
            Value::Bool(_) => false,
            _ => {
                if !schema.is_null() {
                    self.lose(path, "schema");
                }
                *schema = json!({});
                false
            }
        }
    }

    fn map(&mut self, map: &mut Object, path: &str) -> bool {
        if self.refs_alone && map.get("$ref").is_some_and(Value::is_string) {
            map.retain(|keyword, _| {
                walk::is_annotation(keyword)
                    || matches!(keyword.as_str(), "$ref" | "$schema" | "$defs" | "definitions")
            });
        }
        map.retain(|keyword, value| {
            !value.is_null() || matches!(keyword.as_str(), "const" | "default" | "example")
        });
        old_items(map);
        old_bounds(map);
        old_dependencies(map);
        let is_required = map.get("required") == Some(&Value::Bool(true));
        if matches!(map.get("required"), Some(Value::Bool(_))) {
            map.shift_remove("required");
        }
        let mut wanted = Vec::new();
        let mut wrong = Vec::new();
        for (keyword, value) in map.iter_mut() {
            let path_of = |key: &str| pointer(path, keyword, key);
            let fits = match form_of(keyword) {
                KeywordForm::Schema => {
                    let fits = value.is_object() || value.is_boolean();
                    if fits {
                        self.schema(value, &path_of(""));
                    }
                    fits
                }
                KeywordForm::Schemas => match value {
                    Value::Array(parts) => {
                        for (at, part) in parts.iter_mut().enumerate() {
                            self.schema(part, &path_of(&at.to_string()));
                        }
                        !parts.is_empty()
                    }
                    _ => false,
                },
                KeywordForm::NamedSchemas => match value {
                    Value::Object(named) => {
                        for (name, part) in named.iter_mut() {
                            if self.schema(part, &path_of(name)) && keyword == "properties" {
                                wanted.push(name.clone());
                            }
                        }
                        true
                    }
                    _ => false,
                },
                form => form.takes(value),
            };
            if !fits {
                wrong.push(keyword.clone());
            }
        }
        for keyword in wrong {
            map.shift_remove(&keyword);
            self.lose(path, &keyword);
        }
        if !wanted.is_empty() {
            let required = map.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(names) = required {
                wanted.retain(|name| !names.iter().any(|known| known == name));
                names.extend(wanted.into_iter().map(Value::from));
            }
        }
        if map.get("type").is_some() {
            self.words(map, path);
        }
        is_required
    }

    /// Writes the words of `type` as the draft does; one that it does not have takes any value.
    fn words(&mut self, map: &mut Object, path: &str) {
        let words = match map.get("type") {
            Some(Value::String(word)) => vec![type_word(word)],
            Some(Value::Array(words)) => {
                words.iter().map(|word| type_word(word.as_str().unwrap_or_default())).collect()
            }
            _ => vec![None],
        };
        let Some(words) = words.into_iter().collect::<Option<Vec<_>>>().filter(|w| !w.is_empty())
        else {
            let was_any = map.get("type").is_some_and(|kind| kind == "any");
            map.shift_remove("type");
            if !was_any {
                self.lose(path, "type");
            }
            return;
        };
        let mut once: Vec<&str> = Vec::new();
        for word in words {
            if !once.contains(&word) {
                once.push(word);
            }
        }
        let is_list = map.get("type").is_some_and(Value::is_array);
        let kind = if is_list { json!(once) } else { json!(once[0]) };
        map.insert("type".to_owned(), kind);
    }
}

/// The form that the draft gives the value of a keyword.
#[derive(Clone, Copy)]
enum KeywordForm {
    Schema,
    Schemas,
    NamedSchemas,
    Text,
    Boolean,
    Count,
    Number,
    PositiveNumber,
    Values,
    Names,
    NamesByName,
    Uri,
    Anchor,
    Any,
}

fn form_of(keyword: &str) -> KeywordForm {
    match keyword {
        "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordForm::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordForm::Schemas,
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            KeywordForm::NamedSchemas
        }
        "title" | "description" | "format" | "pattern" | "$comment" | "contentMediaType"
        | "contentEncoding" | "$ref" | "$dynamicRef" | "$schema" => KeywordForm::Text,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => KeywordForm::Boolean,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => KeywordForm::Count,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => KeywordForm::Number,
        "multipleOf" => KeywordForm::PositiveNumber,
        "enum" | "examples" => KeywordForm::Values,
        "required" => KeywordForm::Names,
        "dependentRequired" => KeywordForm::NamesByName,
        "$id" => KeywordForm::Uri,
        "$anchor" | "$dynamicAnchor" => KeywordForm::Anchor,
        _ => KeywordForm::Any,
    }
}

impl KeywordForm {
    /// Returns `true` if a value has the form, after a number that is written as a text became one,
    /// and what is twice in a list, or no name, was left out.
    fn takes(self, value: &mut Value) -> bool {
        if let (Self::Count | Self::Number | Self::PositiveNumber, Value::String(text)) =
            (self, &*value)
            && let Ok(number @ Value::Number(_)) = serde_json::from_str(text.trim())
        {
            *value = number;
        }
        match (self, value) {
            (Self::Text, value) => value.is_string(),
            (Self::Boolean, value) => value.is_boolean(),
            (Self::Count, value) => value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0),
            (Self::Number, value) => value.is_number(),
            (Self::PositiveNumber, value) => value.as_f64().is_some_and(|number| number > 0.0),
            (Self::Values, Value::Array(values)) => {
                once(values);
                !values.is_empty()
            }
            (Self::Names, Value::Array(names)) => {
                names.retain(Value::is_string);
                once(names);
                true
            }
            (Self::NamesByName, Value::Object(named)) => {
                named.retain(|_, names| Self::Names.takes(names));
                true
            }
            (Self::Uri, Value::String(uri)) => !uri.trim_end_matches('#').contains('#'),
            (Self::Anchor, Value::String(name)) => {
                name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
            }
            (Self::Any | Self::Schema | Self::Schemas | Self::NamedSchemas, _) => true,
            _ => false,
        }
    }
}

fn once(values: &mut Vec<Value>) {
    let mut seen: HashSet<String> = HashSet::new();
    values.retain(|value| seen.insert(value.to_string()));
}

/// A list in `items` is `prefixItems`, and what follows it is `items`.
fn old_items(map: &mut Object) {
    let Some(Value::Array(_)) = map.get("items") else {
        map.shift_remove("additionalItems");
        return;
    };
    let listed = map.shift_remove("items").filter(|items| *items != json!([]));
    let rest = map.shift_remove("additionalItems");
    if let Some(listed) = listed {
        map.entry("prefixItems").or_insert(listed);
        if let Some(rest) = rest {
            map.insert("items".to_owned(), rest);
        }
    }
}

/// Up to draft 4, a bound is exclusive if a flag beside it says so.
fn old_bounds(map: &mut Object) {
    for (bound, flag) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        let Some(&Value::Bool(is_exclusive)) = map.get(flag) else { continue };
        map.shift_remove(flag);
        if is_exclusive && let Some(limit) = map.shift_remove(bound) {
            map.insert(flag.to_owned(), limit);
        }
    }
}

/// Up to draft 7, `dependencies` holds names and schemas alike.
fn old_dependencies(map: &mut Object) {
    let Some(Value::Object(named)) = map.shift_remove("dependencies") else { return };
    for (name, needed) in named {
        let keyword = match needed {
            Value::Array(_) => "dependentRequired",
            _ => "dependentSchemas",
        };
        let group = map.entry(keyword).or_insert_with(|| json!({}));
        if let Value::Object(group) = group {
            group.entry(name).or_insert(needed);
        }
    }
}
