//! Types of JSON Schemas in TypeScript.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::text::is_hidden;

/// The deepest nesting of types; below it, a type is `unknown`.
const DEPTH: usize = 24;

/// The longest comment, in bytes.
const COMMENT_BYTES: usize = 600;

/// The type of what no schema describes.
const UNTYPED: &str = "unknown";

/// Types of schemas, each expression with the named types that it needs.
///
/// What TypeScript cannot say, such as the bounds of a number, is left out: a value that fits a
/// schema fits its type.
///
/// ```
/// use serde_json::json;
/// use toolbox_codegen::typescript::SchemaTypes;
///
/// let mut types = SchemaTypes::default();
/// let schema = json!({
///     "type": "object",
///     "properties": {"next": {"$ref": "#"}, "size": {"type": "integer", "minimum": 1}},
///     "required": ["size"],
/// });
/// assert_eq!(types.of(&schema, "list"), "{ next?: list_; size: number }");
/// assert_eq!(types.definitions(), "type list_ = { next?: list_; size: number };\n");
/// ```
#[derive(Debug, Default)]
pub struct SchemaTypes {
    definitions: String,
    taken: HashSet<String>,
    before: &'static str,
}

impl SchemaTypes {
    /// Returns types that a module exports.
    #[must_use]
    pub fn exported() -> Self {
        Self { before: "export ", ..Self::default() }
    }

    /// Returns the type of a schema. The types that it names begin with `stem`, and no two of them
    /// have one name.
    #[must_use]
    pub fn of(&mut self, schema: &Value, stem: &str) -> String {
        written(schema, stem, &mut self.definitions, &mut self.taken, self.before)
    }

    /// Returns the definitions of the named types, a line each.
    #[must_use]
    pub fn definitions(&self) -> &str {
        &self.definitions
    }
}

/// Returns the identifier that is nearest to a name.
#[must_use]
pub fn identifier(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut own: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if own.is_empty() || own.starts_with(|c: char| c.is_ascii_digit()) {
        own.insert(0, '_');
    }
    own
}

/// Returns a name as the key of a property: itself if it is an identifier, else in quotes.
#[must_use]
pub fn key_of(name: &str) -> String {
    if identifier(name) == name { name.to_owned() } else { literal(&Value::from(name)) }
}

/// Returns `true` if an object without any property fits a schema.
#[must_use]
pub fn is_optional(schema: &Value) -> bool {
    schema.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty)
        && !["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.get(key).is_some())
}

/// Returns a text as a comment on one line, cut at 600 bytes; `None` if it has no words.
#[must_use]
pub fn comment_of(words: &str) -> Option<String> {
    let mut words = words.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "*\\/");
    words.retain(|c| !is_hidden(c));
    let mut end = COMMENT_BYTES.min(words.len());
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    words.truncate(end);
    (!words.is_empty()).then(|| format!("/** {words} */"))
}

/// Returns the type of a schema, and writes the types that it names before it.
fn written(
    schema: &Value,
    stem: &str,
    types: &mut String,
    taken: &mut HashSet<String>,
    before: &str,
) -> String {
    let mut writer =
        TypeWriter { root: schema, stem, taken, names: HashMap::new(), made: Vec::new() };
    let mut own = Place::default();
    let main = writer.of(schema, &mut own, 0);
    let mut next = 0;
    let mut direct: HashMap<String, Vec<String>> = HashMap::new();
    while let Some((pointer, name)) = writer.made.get(next).cloned() {
        next += 1;
        let mut place = Place::default();
        let target = schema.pointer(&pointer).unwrap_or(&Value::Null);
        let mut body = writer.of(target, &mut place, 1);
        direct.insert(name.clone(), place.direct);
        // A name that stands for itself, with no object or array between, is no type.
        if reaches(&direct, &name, &name) {
            direct.remove(&name);
            UNTYPED.clone_into(&mut body);
        }
        let _ = writeln!(types, "{before}type {name} = {body};");
    }
    main
}

/// Returns `true` if a type is named by another, with no object or array between.
fn reaches(direct: &HashMap<String, Vec<String>>, from: &str, to: &str) -> bool {
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(name) = open.pop() {
        for next in direct.get(name).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    false
}

/// The names that a type has in it outside of objects and arrays.
#[derive(Default)]
struct Place {
    direct: Vec<String>,
}

struct TypeWriter<'a> {
    root: &'a Value,
    stem: &'a str,
    taken: &'a mut HashSet<String>,
    /// The names of the types that references lead to, by pointer.
    names: HashMap<String, String>,
    /// The same in order; those at the end are not written yet.
    made: Vec<(String, String)>,
}

impl TypeWriter<'_> {
    fn of(&mut self, schema: &Value, place: &mut Place, depth: usize) -> String {
        let Some(object) = schema.as_object() else {
            return if *schema == Value::Bool(false) { "never" } else { UNTYPED }.to_owned();
        };
        if depth > DEPTH {
            return UNTYPED.to_owned();
        }
        if let Some(value) = object.get("const") {
            return literal(value);
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            return union(values.iter().map(literal));
        }
        let mut parts = Vec::new();
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            parts.push(self.reference(reference, place));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(all) = object.get(key).and_then(Value::as_array) {
                parts.push(union(all.iter().map(|one| self.of(one, place, depth + 1))));
            }
        }
        for one in object.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            parts.push(self.of(one, place, depth + 1));
        }
        parts.push(self.own(object, depth));
        parts.retain(|part| part != UNTYPED);
        let own = match parts.len() {
            0 => UNTYPED.to_owned(),
            1 => parts.remove(0),
            _ => parts.iter().map(|part| grouped(part)).collect::<Vec<_>>().join(" & "),
        };
        if object.get("nullable") == Some(&Value::Bool(true)) {
            return union([own, "null".to_owned()].into_iter());
        }
        own
    }

    /// Returns the type that a schema has by its own keys.
    fn own(&mut self, object: &Map<String, Value>, depth: usize) -> String {
        match object.get("type") {
            Some(Value::String(kind)) => self.of_kind(kind, object, depth),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                union(kinds.map(|kind| self.of_kind(kind, object, depth)))
            }
            _ if object.contains_key("properties") => self.of_kind("object", object, depth),
            _ => UNTYPED.to_owned(),
        }
    }

    fn of_kind(&mut self, kind: &str, object: &Map<String, Value>, depth: usize) -> String {
        match kind {
            "string" | "boolean" | "null" => kind.to_owned(),
            "number" | "integer" => "number".to_owned(),
            "array" => self.array(object, depth),
            "object" => self.object(object, depth),
            _ => UNTYPED.to_owned(),
        }
    }

    fn array(&mut self, object: &Map<String, Value>, depth: usize) -> String {
        let (first, rest) = match (object.get("prefixItems"), object.get("items")) {
            (Some(Value::Array(first)), rest) => (first.as_slice(), rest),
            (_, Some(Value::Array(first))) => (first.as_slice(), object.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        let rest = rest.filter(|rest| **rest != Value::Bool(false) || first.is_empty());
        let is_closed = !first.is_empty()
            && [object.get("items"), object.get("additionalItems")]
                .contains(&Some(&Value::Bool(false)));
        let own =
            |writer: &mut Self, schema: &Value| writer.of(schema, &mut Place::default(), depth + 1);
        let rest = rest.map_or_else(|| UNTYPED.to_owned(), |rest| own(self, rest));
        if first.is_empty() {
            return format!("Array<{rest}>");
        }
        let least = object.get("minItems").and_then(Value::as_u64).unwrap_or_default();
        let mut items: Vec<String> = Vec::new();
        for (at, schema) in (0_u64..).zip(first) {
            let mark = if at < least { "" } else { "?" };
            let item = own(self, schema);
            items.push(format!("{}{mark}", grouped(&item)));
        }
        if !is_closed {
            items.push(format!("...Array<{rest}>"));
        }
        format!("[{}]", items.join(", "))
    }

    fn object(&mut self, object: &Map<String, Value>, depth: usize) -> String {
        let empty = Map::new();
        let properties = object.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = object
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut fields = Vec::new();
        for (key, schema) in properties {
            let mark = if required.contains(&key.as_str()) { "" } else { "?" };
            let words = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let words = comment_of(words).map(|words| words + " ").unwrap_or_default();
            let own = self.of(schema, &mut Place::default(), depth + 1);
            fields.push(format!("{words}{}{mark}: {own}", key_of(key)));
        }
        let named = |key: &&&str| !properties.contains_key(**key);
        for key in required.iter().filter(named).collect::<HashSet<_>>() {
            fields.push(format!("{}: {UNTYPED}", key_of(key)));
        }
        let additional = object.get("additionalProperties");
        let is_patterned = object.contains_key("patternProperties");
        let is_open = match additional {
            Some(Value::Bool(open)) => *open || is_patterned,
            Some(_) => true,
            None => is_patterned || fields.is_empty(),
        };
        if is_open {
            // An index signature holds for all keys, so it can be narrow only where it is alone.
            let own = match additional {
                Some(schema @ Value::Object(_)) if fields.is_empty() && !is_patterned => {
                    self.of(schema, &mut Place::default(), depth + 1)
                }
                _ => UNTYPED.to_owned(),
            };
            fields.push(format!("[key: string]: {own}"));
        }
        if fields.is_empty() {
            "Record<string, never>".to_owned()
        } else {
            format!("{{ {} }}", fields.join("; "))
        }
    }

    /// Returns the name of the type that a reference leads to.
    fn reference(&mut self, reference: &str, place: &mut Place) -> String {
        let Some(pointer) = reference.strip_prefix('#') else { return UNTYPED.to_owned() };
        let pointer = decoded(pointer);
        if self.root.pointer(&pointer).is_none() {
            return UNTYPED.to_owned();
        }
        let name = match self.names.get(&pointer) {
            Some(name) => name.clone(),
            None => {
                let last = pointer.rsplit('/').next().unwrap_or_default();
                let mut name = identifier(&format!("{}_{last}", self.stem));
                while !self.taken.insert(name.clone()) {
                    name.push('_');
                }
                self.names.insert(pointer.clone(), name.clone());
                self.made.push((pointer, name.clone()));
                name
            }
        };
        place.direct.push(name.clone());
        name
    }
}

/// Decodes the percent signs of a fragment.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the type of one value, which for a text is the text as a literal.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let text = Value::from(text.as_str()).to_string();
            let mut shown = String::with_capacity(text.len());
            for c in text.chars() {
                match c {
                    c if is_hidden(c) => drop(write!(shown, "\\u{{{:x}}}", u32::from(c))),
                    c => shown.push(c),
                }
            }
            shown
        }
        Value::Number(number) if number.as_f64().is_none_or(f64::is_infinite) => {
            "number".to_owned()
        }
        Value::Array(all) => {
            format!("[{}]", all.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(all) => {
            let fields =
                all.iter().map(|(key, value)| format!("{}: {}", key_of(key), literal(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
        }
        _ => value.to_string(),
    }
}

fn union(types: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for one in types {
        if one == UNTYPED {
            return one;
        }
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if all.is_empty() { "never".to_owned() } else { all.join(" | ") }
}

/// Puts a type into brackets where another operator stands beside it.
fn grouped(part: &str) -> String {
    if part.contains(['|', '&']) { format!("({part})") } else { part.to_owned() }
}
