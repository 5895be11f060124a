//! The parts of Swagger 2.0 that OpenAPI 3 says otherwise.

use serde_json::{Map, Value, json};

use crate::document::Document;
use crate::media::MediaKind;
use crate::operation::{Location, RequestBody};
use crate::style::{Shape, Style};

/// The members of a parameter that are not of its schema.
const OF_PARAMETER: [&str; 7] =
    ["name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema"];

/// Returns the schema of a parameter, whose members it has itself.
pub(crate) fn schema_of(parameter: &Value) -> Value {
    let members = parameter.as_object().into_iter().flatten();
    let own = members.filter(|(name, _)| !OF_PARAMETER.contains(&name.as_str()));
    Value::Object(own.map(|(name, value)| (name.clone(), value.clone())).collect())
}

pub(crate) fn shape_of(parameter: &Value, location: Location) -> Shape {
    let format = parameter.get("collectionFormat").and_then(Value::as_str).unwrap_or("csv");
    let is_query = location == Location::Query;
    let (style, explode) = match format {
        "multi" => (Style::Form, true),
        "ssv" => (Style::SpaceDelimited, false),
        "pipes" => (Style::PipeDelimited, false),
        "tsv" => (Style::TabDelimited, false),
        _ if is_query => (Style::Form, false),
        _ => (Style::Simple, false),
    };
    Shape { style, explode, reserved: false, as_json: false }
}

/// Returns the body of an operation: its parameter in `body`, or those in `formData`.
pub(crate) fn body(
    document: &Document,
    operation: &Map<String, Value>,
    parameters: &[&Value],
) -> Option<RequestBody> {
    let place = |own: &Value, place: &str| own.get("in").and_then(Value::as_str) == Some(place);
    let consumes = operation.get("consumes").or_else(|| document.root.get("consumes"));
    let consumes = consumes.and_then(Value::as_array).into_iter().flatten();
    let consumes: Vec<&str> = consumes.filter_map(Value::as_str).collect();
    if let Some(own) = parameters.iter().find(|own| place(own, "body")) {
        let best = consumes.iter().min_by_key(|own| MediaKind::of(own).rank(own));
        let best = best
            .filter(|own| !matches!(MediaKind::of(own), MediaKind::Form | MediaKind::Multipart));
        let schema = own.get("schema").cloned().unwrap_or_default();
        return Some(RequestBody::new(
            best.unwrap_or(&"application/json"),
            schema,
            own,
            Map::new(),
        ));
    }
    let (mut properties, mut required, mut encoding) = (Map::new(), Vec::new(), Map::new());
    let mut has_file = false;
    for own in parameters.iter().filter(|own| place(own, "formData")) {
        let Some(name) = own.get("name").and_then(Value::as_str) else { continue };
        has_file |= own.get("type").and_then(Value::as_str) == Some("file");
        let mut schema = schema_of(own);
        if let Some(text) = own.get("description") {
            schema["description"] = text.clone();
        }
        properties.insert(name.to_owned(), schema);
        if own.get("required") == Some(&Value::Bool(true)) {
            required.push(Value::from(name));
        }
        let explode = own.get("collectionFormat").and_then(Value::as_str) == Some("multi");
        encoding.insert(name.to_owned(), json!({"style": "form", "explode": explode}));
    }
    if properties.is_empty() {
        return None;
    }
    let takes = |kind: MediaKind| consumes.iter().any(|own| MediaKind::of(own) == kind);
    let is_multipart = has_file || takes(MediaKind::Multipart) && !takes(MediaKind::Form);
    let media_type =
        if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let about = json!({"required": !required.is_empty()});
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Some(RequestBody::new(media_type, schema, &about, encoding))
}

/// Returns the URL of the server, which may be relative.
pub(crate) fn server(root: &Value) -> String {
    let base = root.get("basePath").and_then(Value::as_str).unwrap_or("/");
    let Some(host) = root.get("host").and_then(Value::as_str) else { return base.to_owned() };
    let schemes = root.get("schemes").and_then(Value::as_array).into_iter().flatten();
    let schemes: Vec<&str> = schemes.filter_map(Value::as_str).collect();
    let scheme =
        if schemes.contains(&"http") && !schemes.contains(&"https") { "http" } else { "https" };
    format!("{scheme}://{host}{base}")
}
