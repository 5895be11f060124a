//! Types of schemas.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::names::{TypeNames, camel, identifiers, snake};
use crate::text::{doc, literal};

/// The most types of one tool, and the depth of one; what is beyond is any JSON.
const MAX_TYPES: usize = 200;
const MAX_DEPTH: usize = 24;
/// Any JSON.
const ANY: &str = "client::Value";

/// The way that values of a type go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Into a call.
    Argument,
    /// Out of a result.
    Output,
}

/// The type of a reference.
#[derive(Debug)]
enum Reference {
    Written(String),
    /// A struct that is being written: what it holds of itself is in a box.
    Open(String),
    /// Another type that is being written: it cannot hold itself.
    Alias,
}

/// The types of one schema, as they are written.
#[derive(Debug)]
pub(crate) struct Types<'s> {
    direction: Direction,
    root: &'s Value,
    taken: &'s mut TypeNames,
    source: &'s mut String,
    references: HashMap<&'s str, Reference>,
    count: usize,
}

impl<'s> Types<'s> {
    pub(crate) fn new(
        direction: Direction,
        root: &'s Value,
        taken: &'s mut TypeNames,
        source: &'s mut String,
    ) -> Self {
        Self { direction, root, taken, source, references: HashMap::new(), count: 0 }
    }

    /// Returns the type of a schema. `name` is that of a type that has to be written for it.
    pub(crate) fn of(&mut self, schema: &'s Value, name: &str, depth: usize) -> String {
        if depth > MAX_DEPTH || self.count > MAX_TYPES {
            return ANY.to_owned();
        }
        if let Some(reference) = schema["$ref"].as_str() {
            return self.referenced(reference, depth);
        }
        if let Some(variants) = texts(schema) {
            return self.enumeration(&variants, schema, name);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let Some(parts) = schema[key].as_array() else { continue };
            let (none, some): (Vec<_>, Vec<_>) =
                parts.iter().partition(|part| part["type"] == "null" && key != "allOf");
            return match some[..] {
                [one] if schema.get("properties").is_none() => {
                    let inner = self.of(one, name, depth + 1);
                    if none.is_empty() { inner } else { optional(&inner) }
                }
                _ => ANY.to_owned(),
            };
        }
        match &schema["type"] {
            Value::String(word) => self.of_word(word, schema, name, depth),
            Value::Array(words) => {
                let some: Vec<_> = words.iter().filter(|&word| word != "null").collect();
                match some[..] {
                    [Value::String(word)] => {
                        let inner = self.of_word(word, schema, name, depth);
                        if words.len() == 1 { inner } else { optional(&inner) }
                    }
                    _ => ANY.to_owned(),
                }
            }
            _ if schema["properties"].is_object() => self.of_word("object", schema, name, depth),
            _ => ANY.to_owned(),
        }
    }

    fn of_word(&mut self, word: &str, schema: &'s Value, name: &str, depth: usize) -> String {
        match word {
            "string" => "String".to_owned(),
            "boolean" => "bool".to_owned(),
            "number" => "f64".to_owned(),
            "null" => "()".to_owned(),
            "integer" => {
                let is_natural = schema["minimum"].as_f64().is_some_and(|least| least >= 0.0);
                if is_natural { "u64".to_owned() } else { "i64".to_owned() }
            }
            "array" => {
                let item = schema.get("items").filter(|items| items.is_object());
                let of = |items| self.of(items, &format!("{name}Item"), depth + 1);
                format!("Vec<{}>", item.map_or_else(|| ANY.to_owned(), of))
            }
            "object" => self.object(schema, name, depth),
            _ => ANY.to_owned(),
        }
    }

    fn object(&mut self, schema: &'s Value, name: &str, depth: usize) -> String {
        match schema["properties"].as_object().filter(|properties| !properties.is_empty()) {
            Some(properties) => {
                let name = self.taken.take(name);
                self.structure(schema, properties, &name, depth);
                name
            }
            None => match schema.get("additionalProperties").filter(|more| more.is_object()) {
                Some(values) => {
                    let value = self.of(values, &format!("{name}Value"), depth + 1);
                    format!("client::BTreeMap<String, {value}>")
                }
                None => ANY.to_owned(),
            },
        }
    }

    /// Writes a struct.
    fn structure(
        &mut self,
        schema: &'s Value,
        properties: &'s Map<String, Value>,
        name: &str,
        depth: usize,
    ) {
        self.count += 1;
        let (mut fields, mut passed) = (String::new(), String::new());
        let names: Vec<_> = properties.keys().map(String::as_str).collect();
        let names = identifiers(&names, |name| snake(name, "field"), &[]);
        let mut all_optional = true;
        for ((property, own), field) in properties.iter().zip(names) {
            let ty = self.of(own, &format!("{name}{}", camel(property, "Field")), depth + 1);
            let is_required = is_required(schema, property);
            all_optional &= !is_required;
            let ty = if is_required { ty } else { optional(&ty) };
            doc(&mut fields, "    ", own["description"].as_str().unwrap_or_default());
            let _ = writeln!(fields, "    pub {field}: {ty},");
            let key = literal(property);
            let _ = match self.direction {
                Direction::Argument => {
                    let with = if is_required { "with" } else { "with_optional" };
                    write!(passed, "\n            .{with}({key}, self.{field})")
                }
                Direction::Output => write!(passed, "\n            {field}: fields.take({key})?,"),
            };
        }
        let default = if all_optional { ", Default" } else { "" };
        doc(self.source, "", schema["description"].as_str().unwrap_or_default());
        let _ = write!(
            self.source,
            "#[derive(Debug, Clone, PartialEq{default})]\npub struct {name} {{\n{fields}}}\n\n"
        );
        let body = match self.direction {
            Direction::Argument => {
                format!("client::Fields::default(){passed}\n            .into_value()")
            }
            Direction::Output => format!(
                "let mut fields = client::Fields::of(value)?;
        Ok(Self {{{passed}
        }})"
            ),
        };
        self.implement(name, &body);
    }

    /// Writes an enum of texts, and returns its name.
    fn enumeration(&mut self, texts: &[&str], schema: &Value, name: &str) -> String {
        self.count += 1;
        let name = self.taken.take(name);
        let (mut variants, mut arms) = (String::new(), String::new());
        let names = identifiers(texts, |text| camel(text, "Variant"), &["Self"]);
        for (text, variant) in texts.iter().zip(names) {
            let key = literal(text);
            doc(&mut variants, "    ", &format!("The text {key}."));
            let _ = writeln!(variants, "    {variant},");
            let _ = match self.direction {
                Direction::Argument => write!(arms, "\n            Self::{variant} => {key},"),
                Direction::Output => write!(arms, "\n            ({key}, Self::{variant}),"),
            };
        }
        doc(self.source, "", schema["description"].as_str().unwrap_or_default());
        let _ = write!(
            self.source,
            "#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub enum {name} {{\n{variants}}}\n\n"
        );
        let body = match self.direction {
            Direction::Argument => format!("match self {{{arms}\n        }}\n        .into()"),
            Direction::Output => format!("client::variant(&value, &[{arms}\n        ])"),
        };
        self.implement(&name, &body);
        name
    }

    /// Writes how values of a type are written or read.
    fn implement(&mut self, name: &str, body: &str) {
        let (own, signature) = match self.direction {
            Direction::Argument => ("ArgumentValue", "into_value(self) -> client::Value"),
            Direction::Output => (
                "ResultValue",
                "of_value(value: client::Value) -> Result<Self, client::ResultMismatch>",
            ),
        };
        let _ = write!(
            self.source,
            "impl client::{own} for {name} {{\n    fn {signature} {{\n        {body}\n    }}\n}}\n\n"
        );
    }

    /// Returns the type of a reference within the schema.
    fn referenced(&mut self, reference: &'s str, depth: usize) -> String {
        match self.references.get(reference) {
            Some(Reference::Written(name)) => return name.clone(),
            Some(Reference::Open(name)) => return format!("Box<{name}>"),
            Some(Reference::Alias) => return ANY.to_owned(),
            None => {}
        }
        let Some(target) = reference.strip_prefix('#').and_then(|path| self.root.pointer(path))
        else {
            return ANY.to_owned();
        };
        let name = camel(reference.rsplit('/').next().unwrap_or_default(), "Type");
        let properties = target["properties"].as_object().filter(|own| !own.is_empty());
        if let Some(properties) = properties.filter(|_| target["type"] != "array") {
            let name = self.taken.take(&name);
            self.references.insert(reference, Reference::Open(name.clone()));
            self.structure(target, properties, &name, depth);
            self.references.insert(reference, Reference::Written(name.clone()));
            return name;
        }
        self.references.insert(reference, Reference::Alias);
        let ty = self.of(target, &name, depth + 1);
        self.references.remove(reference);
        ty
    }
}

/// Returns whether an object has to have a property.
pub(crate) fn is_required(schema: &Value, property: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == property))
}

/// Returns the type without the `Option` around it.
pub(crate) fn present(ty: &str) -> &str {
    ty.strip_prefix("Option<").and_then(|inner| inner.strip_suffix('>')).unwrap_or(ty)
}

fn optional(ty: &str) -> String {
    if ty == ANY { ty.to_owned() } else { format!("Option<{}>", present(ty)) }
}

/// Returns the texts that an enum of texts allows.
fn texts(schema: &Value) -> Option<Vec<&str>> {
    if let Some(one) = schema["const"].as_str() {
        return Some(vec![one]);
    }
    let values = schema["enum"].as_array().filter(|values| !values.is_empty())?;
    let mut texts: Vec<_> = values.iter().map(Value::as_str).collect::<Option<_>>()?;
    let mut seen = HashSet::new();
    texts.retain(|text| seen.insert(*text));
    Some(texts)
}
