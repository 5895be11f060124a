//! Answers of token endpoints: read leniently where the meaning is plain, and failures with what
//! they say.

use std::fmt;

use oauth2::HttpResponse;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{StatusCode, Url};
use serde_json::{Map, Value};

use super::failure::without;
use crate::mcp::client::http::is_html;
use crate::mcp::client::text;
use crate::text::cut;

/// The maximum length of an error code, in bytes.
const MAX_CODE: usize = 64;

/// The parameters of a request for a token whose values an endpoint may repeat in its error.
const SECRETS: [&str; 7] = [
    "refresh_token",
    "code",
    "code_verifier",
    "client_secret",
    "client_assertion",
    "assertion",
    "subject_token",
];

/// A request for a token that granted none.
#[derive(Debug, Clone)]
pub(super) enum TokenFailure {
    /// The endpoint refused it with an error of OAuth.
    Refused { code: String, description: Option<String> },
    /// The page to sign in at did, before there was a request.
    OfPage { code: String, description: Option<String> },
    /// The endpoint cannot be reached, or its answer is none of OAuth.
    Unread(String),
}

impl TokenFailure {
    /// Returns `true` if only another sign-in helps: the client, what was granted to it, or its
    /// scope is not good any more.
    pub(super) fn ends_the_grant(&self) -> bool {
        self.is_one_of(&["invalid_grant", "invalid_client", "invalid_scope", "unauthorized_client"])
    }

    /// Returns `true` if the authorization server does not take the client.
    pub(super) fn ends_the_client(&self) -> bool {
        self.is_one_of(&["invalid_client", "unauthorized_client"])
    }

    /// Returns `true` for a scope that is not granted.
    pub(super) fn is_about_the_scope(&self) -> bool {
        self.is_one_of(&["invalid_scope"])
    }

    fn is_one_of(&self, codes: &[&str]) -> bool {
        match self {
            Self::Refused { code, .. } | Self::OfPage { code, .. } => {
                codes.contains(&code.as_str())
            }
            Self::Unread(_) => false,
        }
    }

    /// Returns what the server says, or the code.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Refused { code, description } | Self::OfPage { code, description } => {
                description.as_ref().unwrap_or(code).clone()
            }
            Self::Unread(reason) => reason.clone(),
        }
    }
}

impl fmt::Display for TokenFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, code, description) = match self {
            Self::Refused { code, description } => ("token endpoint", code, description),
            Self::OfPage { code, description } => ("page to sign in at", code, description),
            Self::Unread(reason) => return f.write_str(reason),
        };
        write!(f, "the {who} answers {code}")?;
        match description {
            Some(description) => write!(f, ": {description}"),
            None => Ok(()),
        }
    }
}

/// Returns the answer in the form that oauth2 reads, and the failure that it is, if any.
pub(super) fn read(mut answer: HttpResponse, form: &[u8]) -> (HttpResponse, Option<TokenFailure>) {
    let status = answer.status();
    let body = answer.body();
    let Ok(mut members) = serde_json::from_slice::<Map<String, Value>>(body) else {
        let failure = unread(status, answer.headers().get(CONTENT_TYPE), body);
        return (answer, Some(failure));
    };
    let code = members.get("error").and_then(Value::as_str).filter(|code| is_code(code));
    let token = members.get("access_token").and_then(Value::as_str);
    // An error of the server may pass, whatever it says.
    let is_refusal = !status.is_server_error() && (!status.is_success() || token.is_none());
    if let Some(code) = code.filter(|_| is_refusal) {
        let description = members.get("error_description").and_then(Value::as_str);
        let description = description.map(|description| shown(description, form));
        let code = without_secrets(code, form);
        if status.is_success() {
            *answer.status_mut() = StatusCode::BAD_REQUEST;
        }
        return (answer, Some(TokenFailure::Refused { code, description }));
    }
    if !status.is_success() {
        return (
            answer,
            Some(TokenFailure::Unread(format!("the token endpoint answers HTTP {status}"))),
        );
    }
    if token.is_none() {
        let reason = "the answer of the token endpoint holds no token".to_owned();
        return (answer, Some(TokenFailure::Unread(reason)));
    }
    mend(&mut members);
    let mut mended = HttpResponse::new(Value::Object(members).to_string().into_bytes());
    *mended.headers_mut() = std::mem::take(answer.headers_mut());
    mended.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    (mended, None)
}

/// Brings the members of a grant into the form of RFC 6749, section 5.1.
fn mend(members: &mut Map<String, Value>) {
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    // A lifetime in another form counts; one that is no number, or negative, is unknown.
    let lifetime = members.get("expires_in").and_then(|lifetime| match lifetime {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        number => number.as_f64(),
    });
    match lifetime.filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a conversion saturates, and the number is not negative"
        )]
        Some(seconds) => drop(members.insert("expires_in".to_owned(), (seconds as u64).into())),
        None => drop(members.remove("expires_in")),
    }
    if members.get("token_type").is_none_or(is_empty) {
        members.insert("token_type".to_owned(), "Bearer".into());
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let scope = match members.get("scope") {
        Some(Value::String(scope)) => words(scope),
        Some(Value::Array(scopes)) => {
            words(&scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        _ => String::new(),
    };
    // Nothing named is what was requested.
    members.remove("scope");
    if !scope.is_empty() {
        members.insert("scope".to_owned(), scope.into());
    }
    if !members.get("refresh_token").is_some_and(|token| token.is_string() && !is_empty(token)) {
        members.remove("refresh_token");
    }
}

fn unread(status: StatusCode, kind: Option<&HeaderValue>, body: &[u8]) -> TokenFailure {
    let page = if is_html(kind, body) { " with a page of HTML" } else { "" };
    TokenFailure::Unread(match status {
        status if !status.is_success() => format!("the token endpoint answers HTTP {status}{page}"),
        _ if page.is_empty() => "the answer of the token endpoint holds no token".to_owned(),
        _ => "the answer of the token endpoint is a page of HTML, and holds no token".to_owned(),
    })
}

fn is_code(code: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !code.is_empty() && code.len() <= MAX_CODE && code.bytes().all(fits)
}

fn shown(text: &str, form: &[u8]) -> String {
    text::clean(cut(&without_secrets(text, form), 512)).into_owned()
}

/// Masks the secrets of a request, which an endpoint may repeat.
fn without_secrets(text: &str, form: &[u8]) -> String {
    let form = String::from_utf8_lossy(form);
    let Ok(form) = Url::parse(&format!("form:?{form}")) else { return text.to_owned() };
    let secrets = form.query_pairs().filter(|(name, value)| {
        // A shorter one is no secret, but a word.
        SECRETS.contains(&&**name) && value.len() >= 6
    });
    secrets.fold(text.to_owned(), |text, (_, secret)| without(&text, &secret))
}
