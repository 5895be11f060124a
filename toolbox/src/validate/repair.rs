//! The safe repairs of arguments.
//!
//! A repair happens only where the schema forbids the literal reading, and each one is reported.
//! Nothing is ever completed or guessed, and nothing is dropped but what stands for no arguments,
//! where there are none. A document that is not JSON is refused.

use crate::schema::{Keywords as _, TimeType, write_as_text};
use crate::text::quote;
use serde_json::Value;

use super::disclosure::{Disclosed, Disclosure, PathOrigin, PathSegment};
use super::json;
use super::json::{JsonKind, Node};
use super::references::References;
use super::schema::{self, JsonKinds};
use super::unions::{only_key, tag_name, tag_value};
use super::value::{RECEIVED, show};
use super::{ValidationLimits, bound};
use crate::call::Repair;

/// The most repairs that are listed; further ones are counted.
const LISTED: usize = 20;

/// Strips a document of space, a byte order mark and one code fence. An empty text and `null` mean
/// no arguments. Returns the document and its offset.
pub(super) fn bare(text: &str) -> (&str, usize, Vec<Repair>) {
    let mut repairs = Vec::new();
    let mut inner = text;
    if let Some(rest) = inner.trim_start_matches(is_space).strip_prefix('\u{feff}') {
        repairs.push(Repair::new("", "took off a byte order mark"));
        inner = rest;
    }
    if let Some(rest) = without_fence(inner) {
        repairs.push(Repair::new("", "took off a code fence"));
        inner = rest;
    }
    match inner.trim_matches(is_space) {
        "" => {
            repairs.push(Repair::new("", "read empty text as `{}`"));
            ("{}", 0, repairs)
        }
        "null" => {
            repairs.push(Repair::new("", "read `null` as `{}`"));
            ("{}", 0, repairs)
        }
        // A document without repairs is unchanged, space included.
        _ if repairs.is_empty() => (text, 0, repairs),
        trimmed => {
            // Only the start was cut so far, except for the fence, whose end is found again.
            let base = text.find(trimmed).unwrap_or(0);
            (trimmed, base, repairs)
        }
    }
}

fn without_fence(text: &str) -> Option<&str> {
    let inside = text.trim_matches(is_space).strip_prefix("```")?.strip_suffix("```")?;
    let language = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
    let (word, rest) = inside.split_at(language);
    // "```null```" holds a value, "```json" names a language.
    if matches!(word, "null" | "true" | "false") { Some(inside) } else { Some(rest) }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Returns the content of a document that is one JSON string, if the schema requires an object.
pub(super) fn string_content(text: &str, refs: &References<'_>) -> Option<(String, Repair)> {
    if !text.trim_start_matches(is_space).starts_with('"')
        || schema::kinds(refs.root, refs).meets(JsonKinds::STRING)
    {
        return None;
    }
    let document = json::parse(text, 1).ok()?;
    let content = document.root().string();
    let inner = content.trim_matches(is_space);
    if inner.is_empty() {
        return Some(("{}".to_owned(), Repair::new("", "read an empty string as `{}`")));
    }
    inner
        .starts_with('{')
        .then(|| (inner.to_owned(), Repair::new("", "read the string as the JSON object it holds")))
}

/// Applies the repairs inside a document; returns the new text, if anything was repaired.
pub(super) fn mend(
    node: Node<'_>,
    refs: &References<'_>,
    bounds: &ValidationLimits,
    budget: u64,
) -> Option<(String, Vec<Repair>)> {
    let mut mender =
        Mender { refs, bounds, budget, path: Vec::new(), repairs: Vec::new(), more: 0 };
    let mut out = String::new();
    mender.write(node, &[refs.root], &mut out);
    if mender.more > 0 {
        let what = format!("and {} more repairs", mender.more);
        mender.repairs.push(Repair::new("", what));
    }
    (!mender.repairs.is_empty()).then_some((out, mender.repairs))
}

struct Mender<'s> {
    refs: &'s References<'s>,
    bounds: &'s ValidationLimits,
    budget: u64,
    path: Vec<PathSegment<'static>>,
    repairs: Vec<Repair>,
    more: usize,
}

impl<'s> Mender<'s> {
    /// Writes a value that must meet all of `schemas`, repaired.
    fn write(&mut self, node: Node<'_>, schemas: &[&'s Value], out: &mut String) {
        // If an adversarial schema has used up the budget, the value is copied unchanged.
        self.budget = self.budget.saturating_sub(1 + schemas.len() as u64);
        if schemas.is_empty() || self.budget == 0 {
            return out.push_str(node.source());
        }
        match node.kind() {
            JsonKind::String => self.write_string(node, schemas, out),
            JsonKind::Array => {
                let schemas = self.applicable(node, schemas);
                let has_items =
                    |s: &&Value| s.keyword("items").is_some() || s.keyword("prefixItems").is_some();
                if !schemas.iter().any(has_items) {
                    return out.push_str(node.source());
                }
                out.push('[');
                for (index, item) in node.items().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    let below = item_schemas(&schemas, index);
                    self.below(PathSegment::Index(index), |m| m.write(item, &below, out));
                }
                out.push(']');
            }
            JsonKind::Number if self.is_time(node, schemas) => {
                self.note(|| "read the number as seconds");
                out.push('"');
                out.push_str(node.source());
                out.push('"');
            }
            JsonKind::Object if self.is_time(node, schemas) => match time_text(node) {
                Some(text) => {
                    self.note(|| "read the object as the time that it holds");
                    out.push_str(&text);
                }
                None => out.push_str(node.source()),
            },
            JsonKind::Object => self.write_object(node, schemas, out),
            JsonKind::Null | JsonKind::Bool | JsonKind::Number => out.push_str(node.source()),
        }
    }

    /// Returns `true` if the schemas are of a time as text, and the value is none.
    fn is_time(&self, node: Node<'_>, schemas: &[&Value]) -> bool {
        let formats = TimeType::ALL.map(TimeType::format);
        let is_one = |schema: &&Value| {
            let target = self.refs.target(schema).unwrap_or(schema);
            let format = target.keyword("format").and_then(Value::as_str);
            format.is_some_and(|format| formats.contains(&format))
        };
        self.bounds.reads_seconds
            && !self.kinds(schemas).meets(JsonKinds::of(node))
            && schemas.iter().any(is_one)
    }

    fn write_object(&mut self, node: Node<'_>, schemas: &[&'s Value], out: &mut String) {
        let schemas = self.applicable(node, schemas);
        out.push('{');
        let mut first = true;
        for (key, value) in node.fields() {
            let name = key.string();
            let below = field_schemas(&schemas, &name);
            if self.path.is_empty() && stands_for_nothing(&name, value, &schemas) {
                let what = "left out a value that stands for no arguments";
                self.below(PathSegment::Name(name.into_owned().into()), |m| m.note(|| what));
                continue;
            }
            if value.kind() == JsonKind::Null && self.may_leave_out(&schemas, &name, &below) {
                self.below(PathSegment::Name(name.into_owned().into()), |m| {
                    m.note(|| Repair::NULL_LEFT_OUT);
                });
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str(key.source());
            out.push(':');
            self.below(PathSegment::Name(name.into_owned().into()), |m| {
                m.write(value, &below, out);
            });
        }
        out.push('}');
    }

    /// Returns `true` if `null` means "absent": the field is declared, optional and never null.
    fn may_leave_out(&self, objects: &[&Value], name: &str, schemas: &[&Value]) -> bool {
        let declared =
            |s: &&Value| s.keyword("properties").is_some_and(|all| all.keyword(name).is_some());
        let required = |s: &&Value| {
            schema::branches(s, "required").iter().any(|required| required.as_str() == Some(name))
        };
        objects.iter().any(declared)
            && !objects.iter().any(required)
            && !self.kinds(schemas).meets(JsonKinds::NULL)
    }

    fn write_string(&mut self, node: Node<'_>, schemas: &[&'s Value], out: &mut String) {
        let kinds = self.kinds(schemas);
        if kinds.meets(JsonKinds::STRING) {
            return self.write_choice(node, schemas, out);
        }
        let content = node.string();
        let bytes = content.trim_matches(is_space).as_bytes();
        let holds = match bytes.first() {
            Some(b'{') => JsonKinds::OBJECT,
            Some(b'[') => JsonKinds::ARRAY,
            // A literal must be the whole string, to the last space.
            Some(b't' | b'f') if content.len() == bytes.len() => JsonKinds::BOOL,
            Some(b'-' | b'0'..=b'9') if content.len() == bytes.len() => JsonKinds::NUMBER,
            _ => JsonKinds::NONE,
        };
        if !kinds.meets(holds) {
            return out.push_str(node.source());
        }
        if holds.meets(JsonKinds::BOOL | JsonKinds::NUMBER) {
            if !json::is_scalar(&content) {
                return out.push_str(node.source());
            }
            // Whether the value is one of those that the schema takes says the check afterwards.
            let what = if holds == JsonKinds::BOOL { "the value" } else { "the number" };
            self.note_reading(node, || format!("{what} {}", quote(&content, RECEIVED)));
            return out.push_str(&content);
        }
        // The content may nest as deep as a whole document; if both together are too deep, the
        // check of the repaired text refuses them.
        let inner = bound(&content, self.bounds)
            .is_none()
            .then(|| json::parse(&content, self.bounds.depth).ok())
            .flatten();
        let Some(inner) = inner else { return out.push_str(node.source()) };
        let what = if holds == JsonKinds::OBJECT { "object" } else { "array" };
        self.note(|| format!("read the string as the JSON {what} it holds"));
        self.write(inner.root(), schemas, out);
    }

    /// Writes a listed value in the case of the schema, which providers do not guarantee.
    fn write_choice(&mut self, node: Node<'_>, schemas: &[&'s Value], out: &mut String) {
        let listed = schemas.iter().find_map(|s| schema::listed_strings(s, self.refs));
        let given = node.string();
        let meant = listed.filter(|listed| !listed.contains(&&*given)).and_then(|listed| {
            let mut near = listed.into_iter().filter(|value| value.eq_ignore_ascii_case(&given));
            near.next().filter(|first| near.all(|other| other == *first))
        });
        match meant {
            Some(meant) => {
                let quoted = Value::from(meant).to_string();
                self.note_reading(node, || quote(&quoted, 60));
                out.push_str(&quoted);
            }
            None => out.push_str(node.source()),
        }
    }

    fn kinds(&self, schemas: &[&Value]) -> JsonKinds {
        schemas.iter().fold(JsonKinds::ALL, |kinds, s| kinds & schema::kinds(s, self.refs))
    }

    /// Returns the schemas that hold for a value in place: references followed, `allOf` spread, and
    /// of alternatives the one that is clearly meant.
    fn applicable(&self, node: Node<'_>, schemas: &[&'s Value]) -> Vec<&'s Value> {
        let mut all = Vec::new();
        let mut open: Vec<&'s Value> = schemas.iter().rev().copied().collect();
        for _ in 0..64 {
            let Some(next) = open.pop() else { break };
            all.push(next);
            open.extend(self.refs.target(next));
            open.extend(schema::branches(next, "allOf"));
            open.extend(self.chosen(node, schema::branches(next, "anyOf")));
            open.extend(self.chosen(node, schema::branches(next, "oneOf")));
        }
        all
    }

    fn chosen(&self, node: Node<'_>, branches: &'s [Value]) -> Option<&'s Value> {
        let kind = JsonKinds::of(node);
        let fitting: Vec<&Value> =
            branches.iter().filter(|branch| schema::kinds(branch, self.refs).meets(kind)).collect();
        if let [only] = fitting[..] {
            return Some(only);
        }
        let has_key = |branch: &&&Value| {
            let key = only_key(schema::target(branch, self.refs));
            key.is_some_and(|key| node.field(key).is_some())
        };
        let mut by_key = fitting.iter().filter(has_key);
        if let (Some(only), None) = (by_key.next(), by_key.next()) {
            return Some(only);
        }
        let tag = tag_name(&fitting, self.refs)?;
        let given = node.field(tag).filter(|given| given.kind() == JsonKind::String)?.string();
        let tagged = |fits: &dyn Fn(&str) -> bool| {
            let mut fitting = fitting.iter().filter(|branch| {
                tag_value(branch, tag, self.refs).and_then(Value::as_str).is_some_and(fits)
            });
            fitting.next().filter(|_| fitting.next().is_none()).copied()
        };
        tagged(&|tag| tag == given).or_else(|| tagged(&|tag| tag.eq_ignore_ascii_case(&given)))
    }

    fn below(&mut self, step: PathSegment<'static>, run: impl FnOnce(&mut Self)) {
        self.path.push(step);
        run(self);
        self.path.pop();
    }

    fn disclose(&self) -> Disclosed {
        let origin = PathOrigin { schema: self.refs.root, refs: self.refs, path: "" };
        origin.disclose(self.path.iter().cloned())
    }

    fn note_reading(&mut self, node: Node<'_>, as_what: impl FnOnce() -> String) {
        if self.repairs.len() < LISTED && self.disclose().value == Disclosure::All {
            self.note(|| format!("read the string {} as {}", show(node), as_what()));
        } else {
            self.note(|| "read the string as the value it spells");
        }
    }

    fn note<T: Into<String>>(&mut self, what: impl FnOnce() -> T) {
        if self.repairs.len() >= LISTED {
            self.more += 1;
        } else {
            self.repairs.push(Repair::new(self.disclose().path, what()));
        }
    }
}

/// Returns the text of a time that is written as serde writes it, as JSON.
fn time_text(node: Node<'_>) -> Option<String> {
    let mut value = serde_json::from_str(node.source()).ok()?;
    write_as_text(&mut value);
    value.is_string().then(|| value.to_string())
}

/// Returns `true` for what models send to a tool without arguments where they cannot send an empty
/// object: a value that says nothing, or one under a name for nothing.
fn stands_for_nothing(name: &str, value: Node<'_>, schemas: &[&Value]) -> bool {
    const NAMES: [&str; 8] =
        ["_", "dummy", "noop", "none", "placeholder", "random_string", "unused", ""];
    let takes_none = |schema: &&Value| {
        let declared = schema.keyword("properties").and_then(Value::as_object);
        declared.is_none_or(serde_json::Map::is_empty) && !schema.has_keyword("patternProperties")
    };
    let is_closed =
        |schema: &&Value| schema.keyword("additionalProperties") == Some(&Value::Bool(false));
    if !schemas.iter().all(takes_none) || !schemas.iter().any(is_closed) {
        return false;
    }
    let is_empty = match value.kind() {
        JsonKind::Null => true,
        JsonKind::String => value.string().is_empty(),
        JsonKind::Array => value.items().next().is_none(),
        JsonKind::Object => value.fields().next().is_none(),
        JsonKind::Bool | JsonKind::Number => false,
    };
    is_empty
        || !matches!(value.kind(), JsonKind::Array | JsonKind::Object)
            && NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn field_schemas<'s>(objects: &[&'s Value], name: &str) -> Vec<&'s Value> {
    objects
        .iter()
        .filter_map(|object| {
            let declared = object.keyword("properties").and_then(|all| all.keyword(name));
            // Patterns are not matched here, so the schema for the remaining fields may not apply.
            let rest = object
                .get("additionalProperties")
                .filter(|rest| rest.is_object() && object.keyword("patternProperties").is_none());
            declared.or(rest)
        })
        .collect()
}

fn item_schemas<'s>(arrays: &[&'s Value], index: usize) -> Vec<&'s Value> {
    arrays
        .iter()
        .filter_map(|array| {
            schema::branches(array, "prefixItems").get(index).or_else(|| array.keyword("items"))
        })
        .collect()
}
