//! Admission of requests: host, origin, session and pace.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::inner::PageInner;
use super::reply::{refused, secured};
use super::sessions::NoSession;

/// The header with the half of a session that is no cookie.
const KEY: &str = "x-toolbox-page";

/// The session of an admitted request.
#[derive(Debug, Clone)]
pub(super) struct Admitted {
    pub(super) cookie: String,
    pub(super) number: u64,
}

/// Checks the host and the origin of every request, and secures its response.
pub(super) async fn of_all(
    State(page): State<Arc<PageInner>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let frames = page.apps.origin(headers);
    let response = if let Err(refusal) = page.allowed.check(request.uri(), headers) {
        refusal.into_response()
    } else if let Err(why) = of_own_page(request.method(), headers) {
        tracing::warn!(why, "a request to the page was refused");
        refused(StatusCode::FORBIDDEN, why)
    } else {
        next.run(request).await
    };
    secured(response, frames.as_deref())
}

/// Checks the session of a request.
pub(super) async fn of_session(
    State(page): State<Arc<PageInner>>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let key = headers.get(KEY).and_then(|key| key.to_str().ok()).unwrap_or_default();
    let cookie = cookie(headers).unwrap_or_default();
    match page.sessions.admit(&cookie, key) {
        Ok(number) => {
            request.extensions_mut().insert(Admitted { cookie, number });
            next.run(request).await
        }
        Err(NoSession::Ended) => refused(StatusCode::UNAUTHORIZED, "there is no session"),
        Err(NoSession::TooFast) => {
            refused(StatusCode::TOO_MANY_REQUESTS, "too many requests; come back in a second")
        }
    }
}

/// Checks that a request is of a page of this origin: another port of the same host is another
/// origin, and the same site, so that cookies alone do not tell them apart.
fn of_own_page(method: &Method, headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST.as_str()).unwrap_or_default();
    match text(header::ORIGIN.as_str()) {
        Some(origin) => {
            let own = origin.split_once("://").map(|(_, own)| own);
            if !own.is_some_and(|own| own.eq_ignore_ascii_case(host)) {
                return Err("pages of another origin may not use this one");
            }
        }
        None if method != Method::GET => return Err("the request names no origin"),
        None => {}
    }
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        // A link of another page may lead here, and nothing but a document is loaded by it.
        Some(_) if text("sec-fetch-mode") == Some("navigate") && method == Method::GET => Ok(()),
        Some(_) => Err("pages of another origin may not use this one"),
    }
}

/// Returns the name of the cookie. It holds the port, since browsers do not tell the cookies of
/// ports of one host apart.
pub(super) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let port: String = port.chars().filter(char::is_ascii_digit).collect();
    format!("toolbox-page-{port}")
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let name = cookie_name(headers);
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(own, _)| *own == name)
        .map(|(_, value)| value.to_owned())
}
