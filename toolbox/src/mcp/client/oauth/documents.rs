//! The metadata documents of OAuth. One that cannot be used does not end the search for others.

use std::fmt::Write as _;

use oauth2::HttpResponse;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{StatusCode, Url};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::{Map, Value};

use crate::mcp::client::http::is_html;
use crate::mcp::client::text;
use crate::mcp::config::public_url;
use crate::sync::Mutex;
use crate::text::cut;

/// The page to sign in at where an authorization server has none.
pub(super) const NO_PAGE: &str = "about:blank";

/// The maximum number of documents that a message names.
const MAX_NAMED: usize = 12;

/// The members of metadata that are texts, and those that are lists of texts. None is required.
const TEXTS: [&str; 2] = ["registration_endpoint", "jwks_uri"];
const LISTS: [&str; 4] = [
    "authorization_servers",
    "scopes_supported",
    "response_types_supported",
    "code_challenge_methods_supported",
];

/// A document that cannot be used.
pub(super) struct UnusableDocument {
    /// The answer of its address.
    pub(super) answer: String,
    /// `true` if another request may be answered otherwise: an error of the server, or no answer.
    pub(super) may_pass: bool,
}

impl UnusableDocument {
    fn lasting(answer: impl Into<String>) -> Self {
        Self { answer: answer.into(), may_pass: false }
    }
}

/// The addresses of the documents that cannot be used, with their answers.
#[derive(Default)]
pub(super) struct TriedDocuments(Mutex<Vec<(String, UnusableDocument)>>);

impl TriedDocuments {
    /// Forgets the documents of the last search.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    pub(super) fn add(&self, url: &Url, document: UnusableDocument) {
        let url = public_url(url.as_str());
        let mut tried = self.0.lock();
        if !tried.iter().any(|(known, _)| *known == url) {
            tried.push((url, document));
        }
    }

    /// Returns `true` if another search may find more.
    pub(super) fn may_pass(&self) -> bool {
        self.0.lock().iter().any(|(_, document)| document.may_pass)
    }

    /// Returns the end of a sentence with each address and its answer; empty if all were usable.
    pub(super) fn named(&self) -> String {
        let tried = self.0.lock();
        let mut named = String::new();
        for (number, (url, document)) in tried.iter().take(MAX_NAMED).enumerate() {
            let begin = if number == 0 { "; tried " } else { ", " };
            let answer = text::clean(cut(&document.answer, 160));
            let _ = write!(named, "{begin}{} ({answer})", text::clean(cut(url, 256)));
        }
        named
    }
}

/// Returns the answer of a document's address in the form that rmcp reads.
pub(super) fn read(url: &Url, answer: HttpResponse) -> Result<HttpResponse, UnusableDocument> {
    let status = answer.status();
    if status.is_redirection() {
        let target = answer.headers().get(LOCATION).and_then(|target| target.to_str().ok());
        let target = target.and_then(|target| url.join(target).ok());
        return match target {
            // rmcp follows it.
            Some(target) if target.origin() == url.origin() => Ok(answer),
            Some(target) => Err(UnusableDocument::lasting(format!(
                "redirects to another origin, {}",
                public_url(target.as_str())
            ))),
            None => Err(UnusableDocument::lasting(format!("HTTP {status}"))),
        };
    }
    if status == StatusCode::UNAUTHORIZED {
        // Its challenge may name another address.
        return Ok(answer);
    }
    if !status.is_success() {
        let may_pass = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
        return Err(UnusableDocument { answer: format!("HTTP {status}"), may_pass });
    }
    let body = answer.body();
    let Ok(mut document) = serde_json::from_slice::<Map<String, Value>>(body) else {
        let kind = answer.headers().get(CONTENT_TYPE);
        let answer = if is_html(kind, body) { "a page of HTML" } else { "no JSON object" };
        return Err(UnusableDocument::lasting(answer));
    };
    complete(&mut document);
    let whole = Value::Object(document);
    let bytes = whole.to_string().into_bytes();
    if is_of_authorization_server(url)
        && let Err(fault) = serde_json::from_value::<AuthorizationMetadata>(whole)
    {
        let fault = format!("its metadata is not usable: {fault}");
        return Err(UnusableDocument::lasting(fault));
    }
    let mut read = HttpResponse::new(bytes);
    *read.headers_mut() = answer.headers().clone();
    Ok(read)
}

/// Completes metadata, and leaves out what is optional and has a wrong form, since rmcp would read
/// none of it.
fn complete(document: &mut Map<String, Value>) {
    const PAGE: &str = "authorization_endpoint";
    // A server that grants tokens to programs alone has no page (RFC 8414).
    if !document.contains_key(PAGE) && document.contains_key("token_endpoint") {
        document.insert(PAGE.to_owned(), NO_PAGE.into());
    }
    if let Some(server @ Value::String(_)) = document.get_mut("authorization_servers") {
        *server = Value::Array(vec![server.take()]);
    }
    document.retain(|name, value| match value {
        Value::Array(items) if LISTS.contains(&name.as_str()) => {
            items.retain(Value::is_string);
            true
        }
        value if LISTS.contains(&name.as_str()) => value.is_null(),
        value if TEXTS.contains(&name.as_str()) => value.is_string() || value.is_null(),
        _ => true,
    });
}

fn is_of_authorization_server(url: &Url) -> bool {
    ["/oauth-authorization-server", "/openid-configuration"]
        .iter()
        .any(|name| url.path().contains(&format!("/.well-known{name}")))
}
