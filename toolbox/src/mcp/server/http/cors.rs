//! Cross-origin requests of pages that are let in: a browser asks beforehand what they may send,
//! and shows them what the response allows.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The headers of responses that a page may read.
const EXPOSED: &str = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after";
/// How long a browser may remember that it asked, in seconds.
const REMEMBERED: &str = "7200";

/// Asks whether a page of the web may reach a server of the browser's own network.
const ASKS_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Answers the question of a browser about a later request, which has no token.
pub(super) fn preflight(method: &Method, headers: &HeaderMap) -> Option<Response> {
    let is_one =
        method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    is_one.then(|| {
        let mut response = StatusCode::NO_CONTENT.into_response();
        let answer = response.headers_mut();
        let methods = HeaderValue::from_static("GET, POST, DELETE");
        answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        // A request is judged when it comes; its arguments may be in headers of any name.
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        if headers.get(&ASKS_PRIVATE).is_some_and(|asks| asks == "true") {
            answer.insert(ALLOWS_PRIVATE, HeaderValue::from_static("true"));
        }
        let remembered = HeaderValue::from_static(REMEMBERED);
        answer.insert(header::ACCESS_CONTROL_MAX_AGE, remembered);
        response
    })
}

/// Lets the pages of an origin read a response.
pub(super) fn open_to(response: &mut Response, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}
