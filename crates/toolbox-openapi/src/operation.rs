//! The operations of a description, read in the terms of OpenAPI 3.

use serde_json::{Map, Value};

use crate::document::{Document, Version};
use crate::media::MediaKind;
use crate::style::{Shape, Style};
use crate::swagger;
use crate::text::shown;

/// The most operations of one description.
const MAX_OPERATIONS: usize = 20_000;
/// The most parameters of one operation.
const MAX_PARAMETERS: usize = 256;
/// The longest path, in bytes.
const MAX_PATH: usize = 2_000;

const METHODS: [&str; 9] =
    ["get", "head", "post", "put", "patch", "delete", "options", "trace", "query"];

/// The part of a request that carries a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Location {
    Path,
    Query,
    Header,
    Cookie,
}

impl Location {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }

    fn of(word: &str) -> Option<Self> {
        let all = [Self::Path, Self::Query, Self::Header, Self::Cookie];
        all.into_iter().find(|location| location.word() == word)
    }
}

/// A parameter of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) required: bool,
    pub(crate) description: String,
    pub(crate) deprecated: bool,
    pub(crate) schema: Value,
    pub(crate) shape: Shape,
}

/// The body of a request in the media type that is sent.
#[derive(Debug, Clone)]
pub(crate) struct RequestBody {
    pub(crate) media_type: String,
    pub(crate) kind: MediaKind,
    pub(crate) required: bool,
    pub(crate) description: String,
    pub(crate) schema: Value,
    /// The `encoding` of its properties, for forms.
    pub(crate) encoding: Map<String, Value>,
}

/// Names of security schemes, each with its scopes; all are needed.
pub(crate) type Requirement = Vec<(String, Vec<String>)>;

/// One operation.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// In upper case.
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) id: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) deprecated: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<RequestBody>,
    /// The schema of a success in JSON.
    pub(crate) output: Option<Value>,
    pub(crate) security: Vec<Requirement>,
    /// Its own server, if it has one beside that of the description.
    pub(crate) server: Option<String>,
    pub(crate) notes: Vec<String>,
}

/// An operation that cannot be read, and the reason.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) label: String,
    pub(crate) reason: String,
}

/// Reads all operations, in the order of the description.
pub(crate) fn read_all(document: &Document) -> (Vec<Operation>, Vec<Unread>) {
    let (mut operations, mut unread) = (Vec::new(), Vec::new());
    let paths = document.root.get("paths").and_then(|paths| document.resolved(paths).ok());
    let paths = paths.and_then(Value::as_object);
    for (path, item) in paths.into_iter().flatten() {
        if path.starts_with("x-") {
            continue;
        }
        let item = match document.resolved(item) {
            Ok(Value::Object(item)) => item,
            Ok(_) => continue,
            Err(reason) => {
                unread.push(Unread { label: shown(path), reason });
                continue;
            }
        };
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let label = format!("{} {}", method.to_uppercase(), shown(path));
            let read = if operations.len() >= MAX_OPERATIONS {
                Err(format!("the description has more than {MAX_OPERATIONS} operations"))
            } else {
                read(document, method, path, item, operation)
            };
            match read {
                Ok(operation) => operations.push(operation),
                Err(reason) => unread.push(Unread { label, reason }),
            }
        }
    }
    (operations, unread)
}

fn read(
    document: &Document,
    method: &str,
    path: &str,
    item: &Map<String, Value>,
    operation: &Value,
) -> Result<Operation, String> {
    let Value::Object(map) = operation else { return Err("it is no object".to_owned()) };
    if path.len() > MAX_PATH {
        return Err(format!("its path has more than {MAX_PATH} bytes"));
    }
    let mut notes = Vec::new();
    let mut raw: Vec<&Value> = Vec::new();
    for list in [item.get("parameters"), map.get("parameters")] {
        for parameter in list.and_then(Value::as_array).into_iter().flatten() {
            let parameter = document.resolved(parameter)?;
            let key = |own: &Value| (own.get("name").cloned(), own.get("in").cloned());
            // That of the operation replaces that of the path.
            raw.retain(|other| key(other) != key(parameter));
            raw.push(parameter);
        }
    }
    if raw.len() > MAX_PARAMETERS {
        return Err(format!("it has more than {MAX_PARAMETERS} parameters"));
    }
    let is_swagger = document.version == Version::Swagger2;
    let mut parameters = Vec::new();
    for own in &raw {
        match parameter(document, own) {
            Ok(Some(parameter)) => parameters.push(parameter),
            Ok(None) => {}
            Err(why) => notes.push(why),
        }
    }
    let template = path.split(['?', '#']).next().unwrap_or_default();
    let named = names_in(template)?;
    parameters.retain(|own| {
        let is_there = own.location != Location::Path || named.contains(&own.name.as_str());
        if !is_there {
            notes.push(format!(
                "the path has no place for `{}`, which is left out",
                shown(&own.name)
            ));
        }
        is_there
    });
    for name in named {
        if !parameters.iter().any(|own| own.location == Location::Path && own.name == name) {
            notes.push(format!("`{}` of the path is not described: it is text", shown(name)));
            parameters.push(Parameter::undescribed(name));
        }
    }
    parameters.sort_by_key(|own| own.location);
    let body = if is_swagger {
        swagger::body(document, map, &raw)
    } else {
        match map.get("requestBody") {
            Some(body) => content_of(document, document.resolved(body)?),
            None => None,
        }
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let tags = map.get("tags").and_then(Value::as_array).into_iter().flatten();
    Ok(Operation {
        method: method.to_uppercase(),
        path: path.to_owned(),
        id: map.get("operationId").and_then(Value::as_str).map(str::to_owned),
        tags: tags.filter_map(Value::as_str).map(str::to_owned).collect(),
        summary: text("summary"),
        description: text("description"),
        deprecated: map.get("deprecated") == Some(&Value::Bool(true)),
        parameters,
        body,
        output: output(document, map),
        security: requirements(map.get("security").or_else(|| document.root.get("security"))),
        server: own_server(map).or_else(|| own_server(item)),
        notes,
    })
}

impl Parameter {
    fn undescribed(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            location: Location::Path,
            required: true,
            description: String::new(),
            deprecated: false,
            schema: serde_json::json!({"type": "string"}),
            shape: Shape { style: Style::Simple, explode: false, reserved: false, as_json: false },
        }
    }
}

/// Reads a parameter; `None` if it is none of a URL, a header or a cookie.
fn parameter(document: &Document, raw: &Value) -> Result<Option<Parameter>, String> {
    let text = |key: &str| raw.get(key).and_then(Value::as_str);
    let flag = |key: &str| raw.get(key).and_then(Value::as_bool);
    let (Some(name), Some(place)) = (text("name"), text("in")) else {
        return Err("a parameter without a name or a place is left out".to_owned());
    };
    if matches!(place, "body" | "formData") {
        return Ok(None);
    }
    let Some(location) = Location::of(place) else {
        return Err(format!("the parameter `{}` is in none of the known places", shown(name)));
    };
    let (schema, shape) = if document.version == Version::Swagger2 {
        (swagger::schema_of(raw), swagger::shape_of(raw, location))
    } else if let Some((media_type, media)) = first_content(document, raw) {
        let mut shape = Shape::of(raw, location);
        shape.as_json = MediaKind::of(&media_type) == MediaKind::Json;
        (media.get("schema").cloned().unwrap_or_default(), shape)
    } else {
        (raw.get("schema").cloned().unwrap_or_default(), Shape::of(raw, location))
    };
    Ok(Some(Parameter {
        name: name.to_owned(),
        location,
        required: location == Location::Path || flag("required") == Some(true),
        description: text("description").unwrap_or_default().to_owned(),
        deprecated: flag("deprecated") == Some(true),
        schema,
        shape,
    }))
}

fn first_content<'a>(document: &'a Document, raw: &'a Value) -> Option<(String, &'a Value)> {
    let content = raw.get("content")?.as_object()?;
    let (media_type, media) = content.iter().next()?;
    Some((media_type.clone(), document.resolved(media).ok()?))
}

/// Returns the body in the media type that is easiest to write.
fn content_of(document: &Document, body: &Value) -> Option<RequestBody> {
    let content = body.get("content")?.as_object()?;
    let best =
        content.iter().min_by_key(|(media_type, _)| MediaKind::of(media_type).rank(media_type));
    let (media_type, media) = best?;
    let media = document.resolved(media).ok()?;
    let encoding = media.get("encoding").and_then(Value::as_object).cloned();
    let schema = media.get("schema").cloned().unwrap_or_default();
    Some(RequestBody::new(media_type, schema, body, encoding.unwrap_or_default()))
}

impl RequestBody {
    pub(crate) fn new(
        media_type: &str,
        schema: Value,
        about: &Value,
        encoding: Map<String, Value>,
    ) -> Self {
        let mut kind = MediaKind::of(media_type);
        let mut media_type = media_type.to_owned();
        let is_structure = schema.get("properties").is_some() || schema.get("$ref").is_some();
        if kind == MediaKind::Binary && is_structure {
            // A description that names no type for its JSON.
            kind = MediaKind::Json;
        }
        if media_type.contains('*') {
            // A range is no type that can be sent.
            kind = if is_structure { MediaKind::Json } else { MediaKind::Binary };
            let sent = if is_structure { "application/json" } else { "application/octet-stream" };
            sent.clone_into(&mut media_type);
        }
        Self {
            kind,
            media_type,
            required: about.get("required") == Some(&Value::Bool(true)),
            description: about
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            schema,
            encoding,
        }
    }
}

/// Returns the schema of a success, if each success has the same and is JSON.
fn output(document: &Document, operation: &Map<String, Value>) -> Option<Value> {
    let responses = operation.get("responses")?.as_object()?;
    let mut found: Option<&Value> = None;
    for (status, response) in responses {
        if !status.starts_with('2') {
            continue;
        }
        let response = document.resolved(response).ok()?;
        let schema = if document.version == Version::Swagger2 {
            response.get("schema")?
        } else {
            let content = response.get("content")?.as_object()?;
            let mut json =
                content.iter().filter(|(kind, _)| MediaKind::of(kind) == MediaKind::Json);
            json.next()?.1.get("schema")?
        };
        if found.is_some_and(|found| found != schema) {
            return None;
        }
        found = Some(schema);
    }
    found.cloned()
}

/// Reads the alternatives of a `security` list.
fn requirements(list: Option<&Value>) -> Vec<Requirement> {
    let scopes = |value: &Value| {
        let scopes = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        scopes.map(str::to_owned).collect()
    };
    let list = list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    list.map(|all| all.iter().map(|(name, value)| (name.clone(), scopes(value))).collect())
        .collect()
}

fn own_server(map: &Map<String, Value>) -> Option<String> {
    map.get("servers")?.as_array()?.first().and_then(server_url)
}

/// Returns the URL of a server, with the defaults of its variables.
fn server_url(server: &Value) -> Option<String> {
    let mut url = server.get("url")?.as_str()?.to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten()
    {
        let default = variable.get("default").and_then(Value::as_str).unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), default);
    }
    Some(url)
}

/// Returns the URL of the first server of a description, which may be relative.
pub(crate) fn server_of(document: &Document) -> Option<String> {
    if document.version == Version::Swagger2 {
        return Some(swagger::server(&document.root));
    }
    let servers = document.root.get("servers").and_then(Value::as_array);
    servers.and_then(|servers| servers.first()).and_then(server_url)
}

/// Returns the names within braces of a path, in order.
fn names_in(path: &str) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    for part in path.split('{').skip(1) {
        let name = part.split_once('}').map(|(name, _)| name);
        let name = name.filter(|name| !name.is_empty());
        let name = name.ok_or("its path has a brace that is not closed, or nothing in it")?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}
