//! The listener of the frames of apps: an origin of its own, without a session and without data.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;

use super::app_frames::is_this_machine;
use super::assets::APP_SCRIPT;
use super::inner::{PageInner, PageState};
use super::reply::refused;

/// The headers of every response. No feature of the browser that asks for something is allowed.
const HEADERS: [(&str, &str); 7] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("origin-agent-cluster", "?1"),
    ("x-dns-prefetch-control", "off"),
    (
        "permissions-policy",
        "camera=(), microphone=(), geolocation=(), clipboard-read=(), clipboard-write=(), \
         display-capture=(), fullscreen=(), midi=(), payment=(), usb=(), serial=(), hid=(), \
         accelerometer=(), gyroscope=(), magnetometer=(), publickey-credentials-get=(), \
         screen-wake-lock=(), xr-spatial-tracking=(), autoplay=()",
    ),
    ("cache-control", "no-store"),
];

/// Returns the routes of the frames of apps.
pub(super) fn router(page: Arc<PageInner>) -> Router {
    Router::new().route("/app/{id}", get(frame)).route("/app.js", get(script)).with_state(page)
}

fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the document of a frame once.
async fn frame(State(page): PageState, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_own = is_this_machine(host.rsplit_once(':').map_or(host, |(name, _)| name));
    let place = headers.get("sec-fetch-dest").and_then(|place| place.to_str().ok());
    // In a window of its own an app would have no page around it that says whose it is.
    let frame = if is_own && place.is_none_or(|place| place == "iframe") {
        page.apps.take(&id)
    } else {
        None
    };
    let Some(frame) = frame else {
        return with_headers(refused(StatusCode::NOT_FOUND, "there is no such frame"));
    };
    let Ok(policy) = HeaderValue::from_str(&frame.policy) else {
        return with_headers(refused(StatusCode::NOT_FOUND, "there is no such frame"));
    };
    let mut response = Response::new(Body::from(document(&frame.parent)));
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    with_headers(response)
}

/// Returns the proxy, which talks to a page of one origin alone.
fn document(parent: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || ".:/-[]".contains(one);
    let parent: String = parent.chars().filter(|one| is_plain(*one)).collect();
    format!(
        "<!doctype html><html lang=\"en\" data-page=\"{parent}\"><head><meta charset=\"utf-8\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>App</title>\
         <style>html,body{{margin:0;height:100%;overflow:hidden}}\
         iframe{{display:block;border:0;width:100%;height:100%}}</style></head>\
         <body><script src=\"/app.js\"></script></body></html>"
    )
}

async fn script(headers: HeaderMap) -> Response {
    with_headers(APP_SCRIPT.response(&headers))
}
