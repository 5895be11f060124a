//! The request of a call.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use url::Url;

use crate::arguments::{Argument, Source, is_file};
use crate::document::Document;
use crate::media::{MediaKind, essence};
use crate::operation::{Location, Operation, Parameter, RequestBody};
use crate::style::{Shape, Style, plain};
use crate::text::encoded;

/// Reads base64 with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The characters that a path may hold beside those that a value is encoded to.
const PATH: &str = "/:@!$&'()*+,;=%";

/// A request without its credentials.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) cookies: Vec<String>,
    pub(crate) body: Option<Vec<u8>>,
}

/// Returns the properties of a body that are files.
pub(crate) fn files_of(document: &Document, body: &RequestBody) -> Vec<String> {
    if body.kind != MediaKind::Multipart {
        return Vec::new();
    }
    let mut files = Vec::new();
    collect_files(document, &body.schema, 8, &mut files);
    files
}

fn collect_files(document: &Document, schema: &Value, depth: usize, files: &mut Vec<String>) {
    let Ok(schema) = document.resolved(schema) else { return };
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        if depth > 0 {
            collect_files(document, part, depth - 1, files);
        }
    }
    for (name, own) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let own = document.resolved(own).unwrap_or(own);
        let items = own.get("items").map(|items| document.resolved(items).unwrap_or(items));
        if is_file(own) || items.is_some_and(is_file) {
            files.push(name.clone());
        }
    }
}

/// Writes the arguments of a call into a request.
pub(crate) fn prepared(
    operation: &Operation,
    arguments: &[Argument],
    files: &[String],
    values: &Map<String, Value>,
    base: &Url,
) -> Result<Prepared, String> {
    let mut path_values: Vec<(&Parameter, &Value)> = Vec::new();
    let mut pairs = Vec::new();
    let mut headers = Vec::new();
    let mut cookies = Vec::new();
    let mut properties: Map<String, Value> = Map::new();
    let mut whole = None;
    for argument in arguments {
        let Some(value) = values.get(&argument.name) else { continue };
        match &argument.source {
            Source::Parameter(own) => match own.location {
                Location::Path => path_values.push((own, value)),
                Location::Query => pairs.extend(own.shape.pairs(&own.name, value)),
                Location::Header => headers.push(header(&argument.name, own, value)?),
                Location::Cookie => {
                    // A `;` would begin another cookie.
                    let shape = Shape { reserved: false, ..own.shape };
                    let pairs = shape.pairs(&own.name, value);
                    cookies
                        .extend(pairs.into_iter().map(|(name, value)| format!("{name}={value}")));
                }
            },
            Source::Property(name) => {
                properties.insert(name.clone(), value.clone());
            }
            Source::Body => whole = Some(value),
        }
    }
    let url = url_of(operation, &path_values, pairs, base)?;
    let mut body = None;
    if let Some(own) = &operation.body {
        let is_given = whole.is_some() || !properties.is_empty() || own.required;
        if is_given {
            let value = whole.cloned().unwrap_or(Value::Object(properties));
            let (content_type, bytes) = written(own, files, &value)?;
            headers.push(("content-type".to_owned(), content_type));
            body = Some(bytes);
        }
    }
    Ok(Prepared { url, headers, cookies, body })
}

fn header(argument: &str, own: &Parameter, value: &Value) -> Result<(String, String), String> {
    let text = own.shape.header(value);
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Err(format!("`{argument}` is sent in a header, which holds printable ASCII only"));
    }
    Ok((own.name.clone(), text))
}

fn url_of(
    operation: &Operation,
    values: &[(&Parameter, &Value)],
    mut pairs: Vec<(String, String)>,
    base: &Url,
) -> Result<Url, String> {
    let template = operation.path.split('#').next().unwrap_or_default();
    let (template, fixed) = template.split_once('?').unwrap_or((template, ""));
    let mut path = base.path().trim_end_matches('/').to_owned();
    for (number, piece) in template.split('{').enumerate() {
        let (name, literal) = match piece.split_once('}') {
            Some((name, literal)) if number > 0 => (Some(name), literal),
            _ => (None, piece),
        };
        if let Some(name) = name {
            let own = values.iter().find(|(own, _)| own.name == name);
            let (own, value) = own.ok_or_else(|| format!("`{name}` of the path is missing"))?;
            let text = own.shape.path(&own.name, value);
            if text.is_empty() {
                return Err(format!("`{name}` is part of the path and cannot be empty"));
            }
            path.push_str(&text);
        }
        path.push_str(&encoded(literal, PATH));
    }
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    let mut url = base.clone();
    url.set_path(&path);
    // The parser of URLs has the last word on what is sent: it takes `..` for the path above.
    if url.path() != path {
        return Err("a value of the path is `.` or `..`, which would reach another path".to_owned());
    }
    let fixed = fixed.split('&').filter(|pair| !pair.is_empty());
    let fixed = fixed.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut all: Vec<(String, String)> =
        fixed.map(|(name, value)| (encoded(name, "%"), encoded(value, "%"))).collect();
    all.append(&mut pairs);
    url.set_query(None);
    if !all.is_empty() {
        let all: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
        url.set_query(Some(&all.join("&")));
    }
    Ok(url)
}

/// Returns the content type and the bytes of a body.
fn written(
    own: &RequestBody,
    files: &[String],
    value: &Value,
) -> Result<(String, Vec<u8>), String> {
    let media_type = own.media_type.clone();
    Ok(match own.kind {
        MediaKind::Json => (media_type, value.to_string().into_bytes()),
        MediaKind::Text => (media_type, plain(value).into_bytes()),
        MediaKind::Binary => (media_type, decoded("body", value)?),
        MediaKind::Form => {
            let fields = value.as_object().ok_or("the body is no object")?;
            let pairs = fields.iter().flat_map(|(name, value)| form_pairs(own, name, value));
            let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
            (media_type, pairs.join("&").into_bytes())
        }
        MediaKind::Multipart => {
            let fields = value.as_object().ok_or("the body is no object")?;
            multipart(own, files, fields)?
        }
    })
}

fn form_pairs(own: &RequestBody, name: &str, value: &Value) -> Vec<(String, String)> {
    let encoding = own.encoding.get(name);
    let has_style = encoding.is_some_and(|own| {
        ["style", "explode", "allowReserved"].iter().any(|key| own.get(*key).is_some())
    });
    if let Some(encoding) = encoding.filter(|_| has_style) {
        return Shape::of(encoding, Location::Query).pairs(name, value);
    }
    let shape = Shape { style: Style::Form, explode: true, reserved: false, as_json: false };
    match value {
        Value::Object(_) => Shape { as_json: true, ..shape }.pairs(name, value),
        value => shape.pairs(name, value),
    }
}

fn multipart(
    own: &RequestBody,
    files: &[String],
    fields: &Map<String, Value>,
) -> Result<(String, Vec<u8>), String> {
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, value) in fields {
        let values = match value {
            Value::Array(items) => items.iter().collect(),
            value => vec![value],
        };
        let stated = own.encoding.get(name).and_then(|own| own.get("contentType")?.as_str());
        let stated = stated
            .and_then(|kinds| kinds.split(',').map(str::trim).find(|kind| !kind.contains('*')));
        let stated = stated.filter(|kind| kind.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        for value in values {
            let mut head = format!("content-disposition: form-data; name=\"{}\"", quoted(name));
            let (kind, bytes) = if files.contains(name) {
                let _ = write!(head, "; filename=\"{}\"", quoted(name));
                (stated.or(Some("application/octet-stream")), decoded(name, value)?)
            } else {
                let kind = value.is_object().then_some("application/json");
                (stated.or(kind), plain(value).into_bytes())
            };
            if let Some(kind) = kind {
                let _ = write!(head, "\r\ncontent-type: {kind}");
            }
            parts.push((head, bytes));
        }
    }
    let boundary = boundary(&parts);
    let mut body = Vec::new();
    for (head, bytes) in parts {
        body.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        body.extend_from_slice(&bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((format!("{}; boundary={boundary}", essence(&own.media_type)), body))
}

/// Returns a boundary that is in no part.
fn boundary(parts: &[(String, Vec<u8>)]) -> String {
    let mut number = 0_u32;
    loop {
        let boundary = format!("toolbox-boundary-{number}");
        let needle = boundary.as_bytes();
        let is_in = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        if !parts.iter().any(|(head, bytes)| is_in(head.as_bytes()) || is_in(bytes)) {
            return boundary;
        }
        number += 1;
    }
}

/// Returns a name within quotes of a header, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

fn decoded(argument: &str, value: &Value) -> Result<Vec<u8>, String> {
    let text: String = plain(value).split_ascii_whitespace().collect();
    BASE64.decode(text).map_err(|_| format!("`{argument}` has to be bytes in base64"))
}
