//! JSON Schemas of arguments in words: type, bounds, choices, default.

use std::fmt::Write as _;

use serde_json::Value;

use super::outcome::Paint;
use super::text::{counted, cut, line};
use crate::resource::percent_decoded;

/// The maximum number of levels of arguments within arguments.
const DEPTH: usize = 6;
/// The maximum number of lines.
const LINES: usize = 400;
/// The maximum number of choices.
const CHOICES: usize = 40;
/// The maximum length of a value, in characters.
const VALUE: usize = 80;

/// Returns the arguments of a schema, one on a line, with those of objects below.
pub(super) fn described(schema: &Value, paint: Paint) -> String {
    let mut text = ParameterText { root: schema, paint, lines: Vec::new(), open: Vec::new() };
    text.fields(&SchemaView::of(schema, schema), 1);
    let more = text.lines.len().saturating_sub(LINES);
    text.lines.truncate(LINES);
    if more > 0 {
        text.lines.push(format!("  … and {} with --json", counted(more, "line")));
    }
    text.lines.iter().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{line}");
        all
    })
}

/// Returns the names of the arguments that a schema requires.
pub(super) fn required(schema: &Value) -> Vec<&str> {
    SchemaView::of(schema, schema).required()
}

struct ParameterText<'a> {
    root: &'a Value,
    paint: Paint,
    lines: Vec<String>,
    /// The schemas of the objects around a value.
    open: Vec<&'a Value>,
}

impl<'a> ParameterText<'a> {
    /// Adds the lines of an object's members.
    fn fields(&mut self, object: &SchemaView<'a>, depth: usize) {
        if depth > DEPTH || self.lines.len() > LINES {
            return;
        }
        let own = object.parts.iter().find(|part| part.get("properties").is_some());
        if own.is_some_and(|own| self.open.iter().any(|open| std::ptr::eq(*open, *own))) {
            self.lines.push(format!("{}… as above", "  ".repeat(depth)));
            return;
        }
        let outer = self.open.len();
        self.open.extend(own);
        let required = object.required();
        for (name, schema) in object.members() {
            let is_required = required.iter().any(|own| own == name);
            let view = SchemaView::of(self.root, schema);
            let mut facts = view.facts();
            facts.push(if is_required { "required" } else { "optional" }.to_owned());
            facts.extend(view.get("default").map(|value| format!("default {}", shown(value))));
            facts.extend(view.examples());
            let pad = "  ".repeat(depth);
            let mut text = format!("{pad}{} ({})", self.paint.bold(&line(name)), facts.join(", "));
            if let Some(about) = view.get("description").and_then(Value::as_str) {
                let _ = write!(text, "  {}", line(about));
            }
            self.lines.push(text);
            self.within(&view, depth + 1);
        }
        self.open.truncate(outer);
        if let Some(other) = object.other_members() {
            let view = SchemaView::of(self.root, other);
            self.lines.push(format!("{}… ({}, any name)", "  ".repeat(depth), view.kind()));
        }
    }

    /// Adds the lines of the objects within a value.
    fn within(&mut self, view: &SchemaView<'a>, depth: usize) {
        let item = view.item();
        let inner = item.as_ref().unwrap_or(view);
        let variants = inner.variants();
        let objects: Vec<_> = variants.iter().filter(|variant| variant.has_members()).collect();
        if let [only] = objects[..] {
            self.fields(only, depth);
            return;
        }
        for (at, object) in objects.into_iter().enumerate() {
            let what = if at == 0 { "either" } else { "or" };
            self.lines.push(format!("{}{what}:", "  ".repeat(depth)));
            self.fields(object, depth + 1);
        }
    }
}

/// A schema with those that hold along with it: the targets of its references, and its `allOf`.
struct SchemaView<'a> {
    root: &'a Value,
    parts: Vec<&'a Value>,
}

impl<'a> SchemaView<'a> {
    fn of(root: &'a Value, schema: &'a Value) -> Self {
        let mut parts: Vec<&Value> = vec![schema];
        let mut at = 0;
        // A reference that leads to itself adds nothing.
        while let Some(part) = parts.get(at).copied() {
            let target = part["$ref"].as_str().and_then(|path| target(root, path));
            let all = part["allOf"].as_array().into_iter().flatten();
            for next in target.into_iter().chain(all) {
                if !parts.iter().any(|own| std::ptr::eq(*own, next)) {
                    parts.push(next);
                }
            }
            at += 1;
        }
        Self { root, parts }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(key))
    }

    fn all(&self, key: &'a str) -> impl Iterator<Item = &'a Value> {
        self.parts.iter().filter_map(move |part| part.get(key))
    }

    fn required(&self) -> Vec<&'a str> {
        self.all("required")
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    fn members(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.all("properties").filter_map(Value::as_object).flatten()
    }

    /// Returns the schema of members whose names are not given, if it says anything.
    fn other_members(&self) -> Option<&'a Value> {
        self.get("additionalProperties").filter(|schema| schema.is_object())
    }

    fn has_members(&self) -> bool {
        self.members().next().is_some()
    }

    /// Returns the schema of the items of a list.
    fn item(&self) -> Option<Self> {
        let items = self.get("items").filter(|items| items.is_object())?;
        Some(Self::of(self.root, items))
    }

    /// Returns the schemas of which one holds, without null; the schema itself if it has none.
    fn variants(&self) -> Vec<Self> {
        let lists = self.all("anyOf").chain(self.all("oneOf")).filter_map(Value::as_array);
        let variants = lists.flatten().map(|variant| Self::of(self.root, variant));
        let variants: Vec<Self> = variants.filter(|variant| !variant.is_null()).collect();
        if variants.is_empty() {
            vec![Self { root: self.root, parts: self.parts.clone() }]
        } else {
            variants
        }
    }

    fn has_variants(&self) -> bool {
        self.get("anyOf").is_some() || self.get("oneOf").is_some()
    }

    fn is_null(&self) -> bool {
        self.get("type").is_some_and(|kind| kind == "null")
            || self.get("const").is_some_and(Value::is_null)
    }

    /// Returns the type and the bounds.
    fn facts(&self) -> Vec<String> {
        let mut facts = vec![self.kind()];
        for part in &self.parts {
            bounds(part, &mut facts);
        }
        if !self.has_variants() {
            return facts;
        }
        // The bounds of one variant are its own; those of several stand with each.
        if let [only] = &self.variants()[..] {
            for part in &only.parts {
                bounds(part, &mut facts);
            }
        }
        facts
    }

    fn kind(&self) -> String {
        self.kind_within(DEPTH)
    }

    /// Returns the type in words; that of a list with the type of its items.
    fn kind_within(&self, depth: usize) -> String {
        let Some(below) = depth.checked_sub(1) else { return "any value".to_owned() };
        if let Some(only) = self.get("const") {
            return format!("always {}", shown(only));
        }
        if let Some(values) = self.get("enum").and_then(Value::as_array) {
            return choices(values);
        }
        if self.has_variants() {
            let variants = self.variants();
            // The bounds of the only one stand with those of the value.
            let kinds: Vec<String> = match &variants[..] {
                [only] => vec![only.kind_within(below)],
                several => several.iter().map(|variant| variant.bounded(below)).collect(),
            };
            return kinds.join(" or ") + self.or_null();
        }
        let kind = match self.get("type") {
            Some(Value::String(kind)) => self.named(kind, below),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                kinds.map(|kind| self.named(kind, below)).collect::<Vec<_>>().join(" or ")
            }
            _ if self.has_members() => "object".to_owned(),
            _ => "any value".to_owned(),
        };
        match self.get("format").and_then(Value::as_str) {
            Some(format) => format!("{kind} as {}", line(format)),
            None => kind,
        }
    }

    /// Returns the type and the bounds of a part of a value.
    fn bounded(&self, depth: usize) -> String {
        let mut facts = vec![self.kind_within(depth)];
        self.parts.iter().for_each(|part| bounds(part, &mut facts));
        facts.join(" ")
    }

    fn named(&self, kind: &str, below: usize) -> String {
        match (kind, self.item(), self.other_members()) {
            ("array", Some(item), _) => format!("list of {}", item.bounded(below)),
            ("array", None, _) => "list".to_owned(),
            ("object", _, Some(other)) if !self.has_members() => {
                format!("object with values of {}", Self::of(self.root, other).bounded(below))
            }
            (kind, ..) => line(kind),
        }
    }

    fn or_null(&self) -> &'static str {
        let lists = self.all("anyOf").chain(self.all("oneOf")).filter_map(Value::as_array);
        let mut variants = lists.flatten().map(|variant| Self::of(self.root, variant));
        if variants.any(|variant| variant.is_null()) { " or null" } else { "" }
    }

    /// Returns the examples of the value.
    fn examples(&self) -> Option<String> {
        let examples = self.get("examples")?.as_array()?.iter().take(3).map(shown);
        let examples: Vec<String> = examples.collect();
        (!examples.is_empty()).then(|| format!("such as {}", examples.join(", ")))
    }
}

/// Returns the target of a reference within the schema.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&percent_decoded(reference.strip_prefix('#')?)?)
}

/// Adds the bounds that a schema sets by itself.
fn bounds(schema: &Value, facts: &mut Vec<String>) {
    let number = |key: &str| schema.get(key).filter(|value| value.is_number());
    // In old drafts the bound is beside its `true`.
    let is_open = |key: &str| schema[key] == true;
    let (least, most) = (number("minimum"), number("maximum"));
    match (least, most) {
        (Some(least), Some(most))
            if !is_open("exclusiveMinimum") && !is_open("exclusiveMaximum") =>
        {
            facts.push(format!("from {least} to {most}"));
        }
        _ => {
            let from = if is_open("exclusiveMinimum") { "more than" } else { "from" };
            let to = if is_open("exclusiveMaximum") { "less than" } else { "up to" };
            facts.extend(least.map(|least| format!("{from} {least}")));
            facts.extend(most.map(|most| format!("{to} {most}")));
        }
    }
    facts.extend(number("exclusiveMinimum").map(|least| format!("more than {least}")));
    facts.extend(number("exclusiveMaximum").map(|most| format!("less than {most}")));
    facts.extend(number("multipleOf").map(|step| format!("a multiple of {step}")));
    for (least, most, thing) in [
        ("minLength", "maxLength", "character"),
        ("minItems", "maxItems", "item"),
        ("minProperties", "maxProperties", "member"),
    ] {
        facts.extend(counts(schema[least].as_u64(), schema[most].as_u64(), thing));
    }
    if schema["uniqueItems"] == true {
        facts.push("all different".to_owned());
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        facts.push(format!("matching `{}`", line(pattern)));
    }
    if let Some(encoding) = schema["contentEncoding"].as_str() {
        facts.push(format!("in {}", line(encoding)));
    }
    if schema["deprecated"] == true {
        facts.push("deprecated".to_owned());
    }
}

/// Returns the bounds on a number of things.
fn counts(least: Option<u64>, most: Option<u64>, thing: &str) -> Option<String> {
    let counted = |number: u64| counted(usize::try_from(number).unwrap_or(usize::MAX), thing);
    match (least.filter(|least| *least > 0), most) {
        (None, None) => None,
        (Some(least), Some(most)) if least == most => Some(counted(most)),
        (Some(least), Some(most)) => Some(format!("{least} to {}", counted(most))),
        (Some(least), None) => Some(format!("at least {}", counted(least))),
        (None, Some(most)) => Some(format!("at most {}", counted(most))),
    }
}

fn choices(values: &[Value]) -> String {
    let mut words: Vec<String> = values.iter().take(CHOICES).map(word).collect();
    if values.len() > CHOICES {
        words.push(format!("{} more", values.len() - CHOICES));
    }
    words.join(" or ")
}

/// Formats a choice: a word without quotation marks where it cannot be mistaken.
fn word(value: &Value) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    match value.as_str() {
        Some(text)
            if text.starts_with(char::is_alphabetic)
                && text.chars().all(plain)
                && !matches!(text, "true" | "false" | "null" | "or") =>
        {
            text.to_owned()
        }
        _ => shown(value),
    }
}

/// Formats a value as JSON on one line.
fn shown(value: &Value) -> String {
    cut(&line(&value.to_string()), VALUE)
}
