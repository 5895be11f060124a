//! Answers of addresses that are no endpoint of MCP: redirects, pages of HTML, the old transport.

use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::redirect::{Action, Attempt};
use reqwest::{Response, StatusCode, Url};

use super::events::SseParser;
use crate::mcp::client::text;
use crate::mcp::config::public_url;
use crate::text::cut;

/// The maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// The maximum size of the first event of the old transport, in bytes.
const MAX_EVENT: usize = 8 << 10;

/// The advice for an address that is no endpoint.
pub(super) const NO_ENDPOINT: &str =
    "its URL is not the address of an MCP endpoint, which often ends in `/mcp`; configure that one";

/// The fault of a server of the transport of 2024-11-05.
pub(in crate::mcp::client) const OLD_TRANSPORT: &str = "it is an old server of HTTP with SSE, which is not spoken: configure its address of streamable HTTP, often one that ends in `/mcp`, or as its command a program that translates, such as `npx -y mcp-remote URL`";

/// Follows a redirect within the first request's origin only, so that no header leaks to another,
/// and only if it repeats the request.
pub(in crate::mcp::client) fn within_origin(attempt: Attempt<'_>) -> Action {
    let first = attempt.previous().first();
    let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
    let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
    if same && keeps_method && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Returns `true` if a body is a page of HTML.
pub(in crate::mcp::client) fn is_html(kind: Option<&HeaderValue>, body: &[u8]) -> bool {
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase());
    let is_named = kind.is_some_and(|kind| {
        kind.starts_with("text/html") || kind.starts_with("application/xhtml+xml")
    });
    let begin = cut(std::str::from_utf8(&body[..body.len().min(256)]).unwrap_or(""), 256);
    let begin = begin.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    is_named
        || ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| begin.starts_with(tag))
}

/// Returns the fault of an answer that no endpoint of MCP gives: a redirect, or a page of HTML in
/// place of a message.
pub(in crate::mcp::client) fn fault_of(response: &Response) -> Option<String> {
    let status = response.status();
    if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Some(redirected(response));
    }
    let is_page = status.is_success() && is_html(response.headers().get(CONTENT_TYPE), b"");
    is_page.then(page)
}

/// Returns the fault of an address that answers with a page.
pub(super) fn page() -> String {
    format!("it answers with a page of HTML: {NO_ENDPOINT}")
}

fn redirected(response: &Response) -> String {
    let (status, from) = (response.status().as_u16(), response.url());
    let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
    let Some(target) = target.and_then(|target| from.join(target).ok()) else {
        return format!("it answers with a redirect without an address (HTTP {status})");
    };
    let (scheme, target) = (target.scheme().to_owned(), configurable(from, target));
    let shown = public_url(target.as_str());
    let shown = text::clean(cut(&shown, 512));
    let advice = format!("configure `{shown}` as its URL, if that is the MCP endpoint");
    if scheme == "http" && from.scheme() == "https" {
        return format!(
            "it redirects from https to http (HTTP {status}), where nothing is sent: {advice}"
        );
    }
    format!("it redirects to `{shown}` (HTTP {status}), which is not followed: {advice}")
}

/// Returns the address of a redirect; a proxy that ends TLS lets a server name itself by `http`.
fn configurable(from: &Url, mut target: Url) -> Url {
    let is_host = from.host_str() == target.host_str();
    if is_host && from.scheme() == "https" && target.scheme() == "http" {
        // Neither fails for a URL of HTTP.
        let _ = target.set_scheme("https");
        if matches!(target.port(), None | Some(80)) {
            let _ = target.set_port(from.port());
        }
    }
    target
}

/// Returns `true` if a server that refuses a message with this status may be one of the old
/// transport.
pub(in crate::mcp::client) fn may_be_old(status: StatusCode) -> bool {
    let is_other = matches!(status.as_u16(), 401 | 403 | 408 | 425 | 429);
    status.is_client_error() && !is_other || status == StatusCode::NOT_IMPLEMENTED
}

/// Returns `true` if a stream begins with the event that names the address for messages.
pub(in crate::mcp::client) async fn begins_as_old(mut response: Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if !response.status().is_success()
        || !kind.to_ascii_lowercase().starts_with(b"text/event-stream")
    {
        return false;
    }
    let mut parser = SseParser::new(MAX_EVENT);
    let mut length = 0;
    while let Ok(Some(piece)) = response.chunk().await {
        length += piece.len();
        parser.feed(&piece);
        while let Some(event) = parser.next() {
            if event.is_endpoint() {
                return true;
            }
            if event.data.is_some() {
                return false;
            }
        }
        if length > MAX_EVENT || parser.is_over() {
            return false;
        }
    }
    false
}
