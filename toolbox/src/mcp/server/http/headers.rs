//! The headers of the protocol, and their agreement with the body.

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, header};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::Media;
use crate::mcp::server::list::Listing;
use crate::mcp::server::protocol::{
    ErrorCode, ProtocolError, ProtocolVersion, RequestFrame, RequestMeta, member, string,
};
use crate::text::{QUOTED, quote};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";

/// The frame of values that a header could not hold as they are.
const BASE64: (&str, &str) = ("=?base64?", "?=");

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The `Accept` that clients send, as the protocol has it.
const BOTH_TYPES: &[u8] = b"application/json, text/event-stream";

/// Returns whether `Accept` takes both an answer and a stream of events.
pub(super) fn accepts_answers(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter();
    let is_usual = matches!((values.next(), values.next()), (Some(own), None) if own == BOTH_TYPES);
    is_usual || (accepts(headers, "application/json") && accepts(headers, "text/event-stream"))
}

/// Returns whether `Accept` takes a media type, by its name or by a range such as `*/*`, of which
/// the narrowest decides. Without the header every type is taken.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut entries =
        values.flat_map(|value| value.split(',')).map(str::trim).filter(|entry| !entry.is_empty());
    let Some(first) = entries.next() else { return true };
    let family = media_type.split('/').next().unwrap_or_default();
    let narrowness = |range: &str| {
        let (kind, rest) = range.split_once('/')?;
        match rest {
            _ if range.eq_ignore_ascii_case(media_type) => Some(2),
            "*" if kind.eq_ignore_ascii_case(family) => Some(1),
            "*" if kind == "*" => Some(0),
            _ => None,
        }
    };
    let matching = std::iter::once(first).chain(entries).filter_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let narrowness = narrowness(parts.next()?)?;
        Some((narrowness, !parts.any(is_zero_weight)))
    });
    matching.max().is_some_and(|(_, is_taken)| is_taken)
}

/// Returns whether a parameter of a media range excludes it, such as `q=0.0`.
fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, weight)| {
        let weight = weight.trim();
        name.trim().eq_ignore_ascii_case("q")
            && weight.starts_with('0')
            && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    text(headers, &header::CONTENT_TYPE)
        .and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// The version in the header of a request.
#[derive(Clone, Copy)]
pub(super) struct HeaderVersion<'a>(Option<&'a str>);

impl<'a> HeaderVersion<'a> {
    /// Reads the header; an error if it is not text, or is there twice.
    pub(super) fn of(headers: &'a HeaderMap) -> Result<Self, &'static str> {
        let mut values = headers.get_all(VERSION).iter();
        let value = values.next().map(|value| value.to_str());
        if values.next().is_some() {
            return Err("the MCP-Protocol-Version header is there twice");
        }
        value.transpose().map(Self).map_err(|_| "the MCP-Protocol-Version header is not text")
    }

    /// Returns the version if it is unknown.
    pub(super) fn unknown(self) -> Option<&'a str> {
        self.0.filter(|version| ProtocolVersion::parse(version).is_none())
    }

    /// Returns whether requests of this version are stateless.
    pub(super) fn is_modern(self) -> bool {
        self.0.is_some_and(is_modern)
    }

    /// Checks that `initialize` names the same version in its parameters.
    pub(super) fn agrees_with_handshake(
        self,
        request: &RequestFrame<'_>,
    ) -> Result<(), ProtocolError> {
        let named = member(request.params_text(), "protocolVersion");
        let named = named.and_then(|version| string(version.get()));
        match (self.0, named) {
            (Some(header), Some(named)) if header != named => Err(ProtocolError::new(
                ErrorCode::InvalidRequest,
                format!(
                    "the MCP-Protocol-Version header ({header}) does not match `protocolVersion` ({})",
                    quote(&named, QUOTED)
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether a request other than `initialize` stands alone, or the way in which header
    /// and `_meta` contradict each other.
    pub(super) fn stands_alone(
        self,
        request: &RequestFrame<'_>,
        meta: &RequestMeta,
    ) -> Result<bool, ProtocolError> {
        let Some(named) = meta.protocol_version() else {
            if request.method == "server/discover" || self.is_modern() {
                return Err(ProtocolError::missing_meta(&meta.missing_keys()));
            }
            return Ok(false);
        };
        match self.0 {
            Some(header) if header == named => {
                Ok(is_modern(named) || meta.missing_keys().is_empty())
            }
            Some(header) => Err(mismatch(format!(
                "the MCP-Protocol-Version header ({header}) does not match the protocolVersion of `_meta` ({})",
                quote(named, QUOTED)
            ))),
            None => Err(mismatch(
                "the protocolVersion of `_meta` needs the same in the MCP-Protocol-Version header",
            )),
        }
    }
}

/// Returns whether a version, known or not, is 2026-07-28 or later. Versions are dates, which sort
/// as text.
fn is_modern(version: &str) -> bool {
    version >= ProtocolVersion::V2026_07_28.as_str()
}

fn mismatch(message: impl Into<String>) -> ProtocolError {
    ProtocolError::new(ErrorCode::HeaderMismatch, message)
}

/// Returns the value of a header that may occur once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ProtocolError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| mismatch(format!("the header {name} is not text")))
        }
        (Some(_), Some(_)) => Err(mismatch(format!("the header {name} is there twice"))),
    }
}

/// Checks `Mcp-Method` against the method of a message.
pub(super) fn check_method(headers: &HeaderMap, method: &str) -> Result<(), ProtocolError> {
    match single(headers, METHOD.as_str())? {
        // The handshake belongs to versions without this header.
        None if method == "initialize" => Ok(()),
        None => Err(mismatch("the header Mcp-Method is missing")),
        Some(value) if value == method => Ok(()),
        Some(value) => Err(mismatch(format!(
            "the header Mcp-Method (`{value}`) does not match the method `{}`",
            quote(method, QUOTED)
        ))),
    }
}

/// Checks the headers that repeat parts of a request: its method, its name, and the arguments that
/// its tool annotates with `x-mcp-header`.
pub(super) fn check(
    headers: &HeaderMap,
    request: &RequestFrame<'_>,
    listing: impl FnOnce() -> Arc<Listing>,
) -> Result<(), ProtocolError> {
    check_method(headers, &request.method)?;
    let Some(key) = name_key(&request.method) else { return Ok(()) };
    let params = request.params_text();
    // A name of another form is refused as a parameter.
    let Some(name) = member(params, key).and_then(|name| string(name.get())) else {
        return Ok(());
    };
    match single(headers, NAME.as_str())? {
        Some(value) if is_same(value, &name) => {}
        Some(value) => {
            let name = quote(&name, QUOTED);
            return Err(mismatch(format!(
                "the header Mcp-Name (`{value}`) does not match `{key}` ({name})"
            )));
        }
        None => return Err(mismatch("the header Mcp-Name is missing")),
    }
    if request.method != "tools/call" {
        return Ok(());
    }
    let listing = listing();
    let repeated = listing.param_headers(&name);
    if repeated.is_empty() {
        return Ok(());
    }
    let arguments = member(params, "arguments");
    for ParamHeader { path, header } in repeated {
        let value = arguments.and_then(|arguments| {
            path.iter().try_fold(arguments, |value, key| member(value.get(), key))
        });
        check_param(headers, header, value.and_then(primitive).as_deref())?;
    }
    Ok(())
}

/// Returns the key of the parameter that `Mcp-Name` repeats.
fn name_key(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Checks that the header of an argument has its value, and is missing where that is.
fn check_param(
    headers: &HeaderMap,
    header: &str,
    expected: Option<&str>,
) -> Result<(), ProtocolError> {
    match (single(headers, header)?, expected) {
        (None, None) => Ok(()),
        (Some(value), Some(expected)) if is_same(value, expected) => Ok(()),
        (Some(_), Some(_)) => {
            Err(mismatch(format!("the header {header} does not match its argument")))
        }
        (Some(_), None) => Err(mismatch(format!("the header {header} has no argument"))),
        (None, Some(_)) => Err(mismatch(format!("the header {header} is missing"))),
    }
}

/// Returns whether the value of a header stands for a text: as it is, or in base64.
fn is_same(header: &str, text: &str) -> bool {
    let (prefix, suffix) = BASE64;
    match header.strip_prefix(prefix).and_then(|inner| inner.strip_suffix(suffix)) {
        Some(inner) => inner == Media::from_bytes(text.as_bytes(), "").data,
        None => header == text,
    }
}

/// Returns an argument as its header has it; `None` for null, lists and objects.
fn primitive(value: &RawValue) -> Option<Cow<'_, str>> {
    match value.get().as_bytes().first()? {
        b'"' => string(value.get()),
        b'n' | b'[' | b'{' => None,
        _ => Some(Cow::Borrowed(value.get())),
    }
}

/// An argument that requests repeat in a header.
pub(in crate::mcp::server) struct ParamHeader {
    path: Vec<String>,
    /// The whole name of the header, in lower case.
    header: String,
}

impl ParamHeader {
    /// Returns the arguments that a schema annotates with `x-mcp-header`.
    pub(in crate::mcp::server) fn all(schema: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        Self::collect(schema, &mut Vec::new(), &mut found);
        found
    }

    fn collect<'a>(schema: &'a Value, path: &mut Vec<&'a str>, found: &mut Vec<Self>) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            path.push(name);
            let header = schema.get("x-mcp-header").and_then(Value::as_str);
            let header = header.map(|own| format!("{PARAM}{}", own.to_ascii_lowercase()));
            // What is no name of a header cannot be sent, so it cannot be asked for.
            if let Some(header) = header.filter(|own| HeaderName::try_from(own).is_ok()) {
                found.push(Self { path: path.iter().map(|&key| key.to_owned()).collect(), header });
            }
            Self::collect(schema, path, found);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(values: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, header::HeaderValue::from_static(value));
        }
        accepts_answers(&headers)
    }

    #[test]
    fn an_answer_needs_both_types() {
        const USUAL: &str = "application/json, text/event-stream";
        assert!(accepting(&[]));
        assert!(accepting(&[USUAL]));
        assert!(accepting(&["text/event-stream, application/json"]));
        assert!(accepting(&["application/json", "text/event-stream"]));
        assert!(accepting(&["*/*"]));
        assert!(!accepting(&["application/json"]));
        assert!(!accepting(&["application/json, text/event-stream;q=0"]));
        assert!(!accepting(&["application/json;q=0", "text/event-stream"]));
    }
}
