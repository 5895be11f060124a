//! Replies of the page, and the headers that every one of them has.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::json;

/// The policy of the page: its own script and style alone, pictures as data, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; media-src data: blob:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// The headers of every response.
const HEADERS: [(&str, &str); 8] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ("cache-control", "no-store"),
];

/// Adds the headers that keep a response inert wherever a browser displays it.
/// Frames are of one origin alone, that of apps.
pub(super) fn secured(mut response: Response, frames: Option<&str>) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let policy =
        frames.map(|frames| HeaderValue::try_from(format!("{POLICY}; frame-src {frames}")));
    if let Some(Ok(policy)) = policy {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns a value as JSON.
pub(super) fn json_of(value: &impl Serialize) -> Response {
    json_text(serde_json::to_vec(value).unwrap_or_default())
}

/// Returns JSON that is text already.
pub(super) fn json_text(text: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(text));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Returns a refusal with a sentence for the person at the page.
pub(super) fn refused(status: StatusCode, why: impl Into<String>) -> Response {
    let mut response = json_of(&json!({"error": why.into()}));
    *response.status_mut() = status;
    response
}

/// Returns the answer to a request that the page failed at.
pub(super) fn failed() -> Response {
    refused(StatusCode::INTERNAL_SERVER_ERROR, "the page failed; its program logs the reason")
}
