//! The arguments of a tool: what an operation takes from its path, query, headers, cookies and
//! body, in one flat object.

use serde_json::{Map, Value, json};

use crate::document::Document;
use crate::media::MediaKind;
use crate::names::Names;
use crate::operation::{Location, Operation, Parameter, RequestBody};
use crate::schema::{Direction, Part, Schemas, size};
use crate::text::{excerpt, shown};

/// The longest description of an argument, in bytes.
const MAX_TEXT: usize = 1_000;
/// The depth to which `allOf` of a body is joined.
const MAX_JOINED: usize = 8;
/// The most properties of a body that become arguments of their own.
const MAX_PROPERTIES: usize = 256;

/// The part of the request that an argument becomes.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Parameter(Parameter),
    /// A property of the body.
    Property(String),
    /// The whole body.
    Body,
}

/// An argument of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) source: Source,
}

/// The arguments of an operation, and their schema.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) all: Vec<Argument>,
    pub(crate) schema: Value,
    pub(crate) notes: Vec<String>,
}

/// The properties of a body that become arguments.
struct Flat {
    properties: Vec<(String, Value)>,
    required: Vec<String>,
}

/// Headers that the client sets, and that no argument may.
const OF_CLIENT: [&str; 14] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
];

struct Builder<'a, 'b> {
    schemas: &'a mut Schemas<'b>,
    names: Names,
    all: Vec<Argument>,
    properties: Map<String, Value>,
    required: Vec<Value>,
    parts: Vec<Part>,
    notes: Vec<String>,
    budget: usize,
}

/// Merges the parameters and the body of an operation. `is_credential` says which parameters carry
/// a credential of the program, and are none of the model's.
pub(crate) fn merged(
    document: &Document,
    schemas: &mut Schemas<'_>,
    operation: &Operation,
    is_credential: impl Fn(&Parameter) -> bool,
    budget: usize,
) -> Arguments {
    let mut builder = Builder {
        schemas,
        names: Names::default(),
        all: Vec::new(),
        properties: Map::new(),
        required: Vec::new(),
        parts: Vec::new(),
        notes: Vec::new(),
        budget,
    };
    for parameter in &operation.parameters {
        let is_header = parameter.location == Location::Header;
        let name = parameter.name.to_ascii_lowercase();
        if is_credential(parameter) || is_header && OF_CLIENT.contains(&name.as_str()) {
            continue;
        }
        builder.parameter(parameter);
    }
    if let Some(body) = &operation.body {
        match flattened(document, builder.schemas, body) {
            Some(flat) => {
                for (name, schema) in &flat.properties {
                    let required = body.required && flat.required.contains(name);
                    builder.property(body, name, schema, required);
                }
            }
            None => builder.body(body),
        }
    }
    builder.finish()
}

impl Builder<'_, '_> {
    fn parameter(&mut self, parameter: &Parameter) {
        let mut part = self.part(&parameter.schema);
        describe(&mut part.schema, &parameter.description);
        if parameter.location == Location::Path && part.schema["type"] == "string" {
            // An empty value would reach another path.
            let is_stated = part.schema.get("minLength").is_some_and(|least| *least != 0);
            if !is_stated {
                set(&mut part.schema, "minLength", 1.into());
            }
        }
        if parameter.deprecated {
            set(&mut part.schema, "deprecated", true.into());
        }
        let source = Source::Parameter(parameter.clone());
        self.add(&parameter.name, parameter.location.word(), part, parameter.required, source);
    }

    fn property(&mut self, body: &RequestBody, name: &str, schema: &Value, required: bool) {
        let mut part = self.part(schema);
        if body.kind == MediaKind::Multipart {
            as_file(self.schemas.root(schema), &mut part.schema);
        }
        self.add(name, "body", part, required, Source::Property(name.to_owned()));
    }

    fn body(&mut self, body: &RequestBody) {
        let part = match body.kind {
            MediaKind::Binary => Part::of(json!({"type": "string", "contentEncoding": "base64"})),
            MediaKind::Text => Part::of(json!({"type": "string"})),
            _ => self.part(&body.schema),
        };
        let mut part = part;
        describe(&mut part.schema, &body.description);
        if matches!(body.kind, MediaKind::Binary | MediaKind::Text) {
            let about = match body.kind {
                MediaKind::Binary => format!("The body ({}), its bytes in base64", body.media_type),
                _ => format!("The body ({}), as text", body.media_type),
            };
            append(&mut part.schema, &about);
        } else if part.schema.get("description").is_none() {
            describe(&mut part.schema, "The body of the request");
        }
        self.add("body", "body", part, body.required, Source::Body);
    }

    fn part(&mut self, schema: &Value) -> Part {
        let part = self.schemas.part(schema, Direction::Request);
        if size(&part.schema) > self.budget / 2 {
            return Part::of(json!({}));
        }
        part
    }

    fn add(&mut self, wanted: &str, place: &str, mut part: Part, required: bool, source: Source) {
        let clashes = self.names.has(wanted);
        let name = if clashes {
            self.names.argument(&format!("{place}_{wanted}"))
        } else {
            self.names.argument(wanted)
        };
        if name != wanted {
            let (wanted, why) = (shown(wanted), if clashes { " (the name is taken)" } else { "" });
            self.notes.push(format!("`{wanted}` of the {place} is the argument `{name}`{why}"));
            append(&mut part.schema, &format!("(`{wanted}` of the {place})"));
        }
        if required {
            self.required.push(name.as_str().into());
        }
        self.properties.insert(name.clone(), part.schema.clone());
        self.parts.push(part);
        self.all.push(Argument { name, source });
    }

    fn finish(mut self) -> Arguments {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema["additionalProperties"] = false.into();
        if size(&schema) > self.budget {
            // The descriptions go first: the names and the types are what a call needs.
            let properties = schema["properties"].as_object_mut().into_iter().flatten();
            for (_, property) in properties {
                if size(property) > 500 {
                    *property = json!({});
                }
            }
            self.notes.push(
                "its longest arguments are of any form: their schemas are too large".to_owned(),
            );
        }
        let omitted =
            self.schemas.complete(&mut schema, &self.parts, Direction::Request, self.budget);
        if omitted > 0 {
            self.notes.push(format!(
                "{omitted} schemas of its arguments are of any form, since they do not fit into {} bytes",
                self.budget
            ));
        }
        Arguments { all: self.all, schema, notes: self.notes }
    }
}

/// Returns the properties of a body that is a plain object, which become arguments.
fn flattened(document: &Document, schemas: &Schemas<'_>, body: &RequestBody) -> Option<Flat> {
    if matches!(body.kind, MediaKind::Text | MediaKind::Binary) {
        return None;
    }
    let mut flat = Flat { properties: Vec::new(), required: Vec::new() };
    join(document, schemas, &body.schema, MAX_JOINED, &mut flat)?;
    let is_bounded = !flat.properties.is_empty() && flat.properties.len() <= MAX_PROPERTIES;
    // What is needed only if there is a body at all is said by the body's own schema.
    let is_exact = body.required || flat.required.is_empty();
    flat.required.retain(|name| flat.properties.iter().any(|(own, _)| own == name));
    (is_bounded && is_exact).then_some(flat)
}

/// The keywords of an object whose properties can stand alone.
const PLAIN: [&str; 20] = [
    "type",
    "properties",
    "required",
    "allOf",
    "additionalProperties",
    "description",
    "title",
    "example",
    "examples",
    "externalDocs",
    "xml",
    "deprecated",
    "default",
    "readOnly",
    "writeOnly",
    "discriminator",
    "$schema",
    "$id",
    "$comment",
    "format",
];

fn join(
    document: &Document,
    schemas: &Schemas<'_>,
    schema: &Value,
    depth: usize,
    flat: &mut Flat,
) -> Option<()> {
    let Value::Object(map) = document.resolved(schema).ok()? else { return None };
    let is_plain = map.keys().all(|key| PLAIN.contains(&key.as_str()) || key.starts_with("x-"));
    let is_object =
        map.get("type").is_none_or(|kind| kind == "object" || *kind == json!(["object"]));
    let is_closed = map.get("additionalProperties").is_none_or(|more| *more == false);
    if !is_plain || !is_object || !is_closed || depth == 0 {
        return None;
    }
    for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        join(document, schemas, part, depth - 1, flat)?;
    }
    for (name, own) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if schemas.is_hidden(own, Direction::Request) {
            continue;
        }
        match flat.properties.iter().find(|(known, _)| known == name) {
            Some((_, known)) if known == own => {}
            // Two schemas of one property hold both: that is for the body's own schema.
            Some(_) => return None,
            None => flat.properties.push((name.clone(), own.clone())),
        }
    }
    let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
    flat.required.extend(required.filter_map(Value::as_str).map(str::to_owned));
    Some(())
}

/// Says that a property of a multipart body is a file, whose bytes are base64.
fn as_file(raw: &Value, schema: &mut Value) {
    if is_file(raw) {
        set(schema, "contentEncoding", "base64".into());
        append(schema, "(a file, its bytes in base64)");
    } else if raw.get("items").is_some_and(is_file) {
        append(schema, "(files, the bytes of each in base64)");
    }
}

/// Returns `true` if the values of a schema are bytes.
pub(crate) fn is_file(raw: &Value) -> bool {
    let text = |key: &str| raw.get(key).and_then(Value::as_str);
    let encoded = raw.get("contentEncoding").is_some();
    text("format") == Some("binary")
        || text("type") == Some("file")
        || text("contentMediaType")
            .is_some_and(|kind| !encoded && MediaKind::of(kind) == MediaKind::Binary)
}

fn set(schema: &mut Value, keyword: &str, value: Value) {
    if let Value::Object(map) = schema {
        map.insert(keyword.to_owned(), value);
    }
}

/// Sets the description, if there is one.
fn describe(schema: &mut Value, text: &str) {
    let text = excerpt(text, MAX_TEXT);
    if !text.is_empty() {
        if !schema.is_object() {
            *schema = json!({});
        }
        set(schema, "description", text.into());
    }
}

/// Adds a text to the description.
fn append(schema: &mut Value, text: &str) {
    let before = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let all = if before.is_empty() { text.to_owned() } else { format!("{before} {text}") };
    if !schema.is_object() {
        *schema = json!({});
    }
    set(schema, "description", all.into());
}
