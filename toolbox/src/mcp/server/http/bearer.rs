//! Bearer tokens: verification, expiry, and the challenge for requests without a valid one (RFC
//! 6750, RFC 9728).

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::options::HttpOptions;
use crate::context::Principal;
use crate::future::BoxFuture;

/// The path of the protected resource metadata.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// The token that an HTTP client sent: `Authorization: Bearer <token>`.
///
/// Its `Debug` hides it. Keep it out of logs as well.
#[derive(Clone)]
pub struct BearerToken(String);

impl BearerToken {
    /// Returns the token as it was sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(***)")
    }
}

/// The claims of a valid token: its principal and expiry.
///
/// It does not hold the token itself.
///
/// ```
/// use toolbox::context::Principal;
/// use toolbox::mcp::AccessToken;
///
/// let token = AccessToken::new(Principal::new("ada")).expires_at(1_900_000_000);
/// assert_eq!(token.principal().as_str(), "ada");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessToken {
    principal: Principal,
    expires_at: Option<u64>,
}

impl AccessToken {
    /// Returns the claims of a token of a principal, without expiry.
    #[must_use]
    pub fn new(principal: Principal) -> Self {
        Self { principal, expires_at: None }
    }

    /// Sets the expiry, in seconds since 1970 (UTC), as in the JWT claim `exp`. Default: never.
    #[must_use]
    pub fn expires_at(mut self, seconds: u64) -> Self {
        self.expires_at = Some(seconds);
        self
    }

    /// Returns the principal.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the time until it expires, if it ever does.
    fn time_left(&self) -> Option<Duration> {
        let end = UNIX_EPOCH.checked_add(Duration::from_secs(self.expires_at?))?;
        Some(end.duration_since(SystemTime::now()).unwrap_or_default())
    }
}

/// The reason why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyTokenError {
    /// It is not a token of the issuer, or was altered or revoked. Status 401.
    Invalid,
    /// It has expired. Status 401.
    Expired,
    /// It was issued for another server, and may not be used here (RFC 8707). Status 401.
    WrongAudience,
    /// It is valid, and lacks a required scope. Status 403.
    InsufficientScope {
        /// The required scopes, separated by spaces, such as `tools:call`. Sent to the client.
        scope: String,
    },
    /// It cannot be verified now, for example because the issuer is unreachable. Status 503.
    Unavailable,
}

impl fmt::Display for VerifyTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "the token is not valid",
            Self::Expired => "the token has expired",
            Self::WrongAudience => "the token was issued for another server",
            Self::InsufficientScope { .. } => "the token does not grant what is asked for",
            Self::Unavailable => "the token could not be verified now",
        })
    }
}

impl std::error::Error for VerifyTokenError {}

/// Verifies tokens of an external issuer: any async closure from a [`BearerToken`] to an
/// [`AccessToken`] or a refusal.
///
/// It has to perform all checks: the issuer's signature, the audience (the claim `aud`: a server
/// that accepts tokens for another can have its own tokens stolen by that one), and the validity
/// period. It is called for every request, concurrently, so it should cache answers from other
/// services.
///
/// ```
/// use toolbox::context::Principal;
/// use toolbox::mcp::{AccessToken, BearerToken, Service, VerifyTokenError};
/// use toolbox::ToolBox;
///
/// let service = Service::new(ToolBox::new()).token_verifier(|token: BearerToken| async move {
///     match token.as_str() {
///         "correct horse" => Ok(AccessToken::new(Principal::new("ada"))),
///         _ => Err(VerifyTokenError::Invalid),
///     }
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot verify tokens",
    label = "this verifies no tokens",
    note = "an async closure does: `|token: BearerToken| async move {{ Err::<AccessToken, _>(VerifyTokenError::Invalid) }}`"
)]
pub trait TokenVerifier: Send + Sync + 'static {
    /// Verifies one token. The future is dropped if it takes longer than
    /// [`Service::read_timeout`](crate::mcp::Service::read_timeout).
    fn verify_token(
        &self,
        token: BearerToken,
    ) -> BoxFuture<'static, Result<AccessToken, VerifyTokenError>>;
}

#[diagnostic::do_not_recommend]
impl<F, Fut> TokenVerifier for F
where
    F: Fn(BearerToken) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<AccessToken, VerifyTokenError>> + Send + 'static,
{
    fn verify_token(
        &self,
        token: BearerToken,
    ) -> BoxFuture<'static, Result<AccessToken, VerifyTokenError>> {
        Box::pin(self(token))
    }
}

/// The protected resource metadata: the server's URL and the token issuers.
#[derive(Clone)]
pub(super) struct ResourceMetadata {
    base_url: String,
    authorization_servers: Vec<String>,
}

impl ResourceMetadata {
    pub(super) fn new(base_url: &str, authorization_servers: Vec<String>) -> Self {
        Self { base_url: base_url.trim_end_matches('/').to_owned(), authorization_servers }
    }

    fn metadata(&self) -> Value {
        json!({
            "resource": format!("{}/mcp", self.base_url),
            "authorization_servers": self.authorization_servers,
            "bearer_methods_supported": ["header"],
        })
    }

    /// Returns the routes of the metadata, open to all clients and origins, since they need it to
    /// get a token.
    pub(super) fn router(&self) -> Router {
        let metadata = self.metadata();
        let answer = get(move || {
            std::future::ready(([(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")], Json(metadata)))
        });
        Router::new().route(METADATA, answer.clone()).route(&format!("{METADATA}/mcp"), answer)
    }
}

/// A client authenticated by a token.
pub(super) struct AuthenticatedClient {
    pub(super) principal: Principal,
    /// The time until the token expires, if it ever does.
    pub(super) time_left: Option<Duration>,
}

/// Authenticates a request, or returns the response that refuses it.
pub(super) async fn admitted(
    options: &HttpOptions,
    headers: &HeaderMap,
) -> Result<AuthenticatedClient, Response> {
    let Some(token) = token(headers) else { return Err(refusal(options, None)) };
    if let Some(principal) = holder(options, token) {
        return Ok(AuthenticatedClient { principal, time_left: None });
    }
    let verified = match &options.verifier {
        Some(verifier) if !token.is_empty() => {
            let check = verifier.verify_token(BearerToken(token.to_owned()));
            let in_time = timeout(options.read_timeout, check).await;
            in_time.unwrap_or(Err(VerifyTokenError::Unavailable))
        }
        _ => Err(VerifyTokenError::Invalid),
    };
    let verified = verified.and_then(|access| match access.time_left() {
        Some(Duration::ZERO) => Err(VerifyTokenError::Expired),
        time_left => Ok(AuthenticatedClient { principal: access.principal, time_left }),
    });
    verified.map_err(|error| refusal(options, Some(&error)))
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the principal of a token. All tokens are compared, so that the time reveals nothing
/// about them.
fn holder(options: &HttpOptions, token: &str) -> Option<Principal> {
    let tokens = options.tokens.iter();
    let found = tokens.fold(
        None,
        |found, (principal, own)| {
            if is_same(own, token) { Some(principal) } else { found }
        },
    );
    found.cloned()
}

/// Compares in a time that depends only on the length of `given`.
pub(crate) fn is_same(own: &str, given: &str) -> bool {
    let own = own.as_bytes();
    let differs = given.bytes().enumerate().fold(0, |differs, (at, byte)| {
        let other = own.get(at % own.len().max(1)).copied().unwrap_or_default();
        std::hint::black_box(differs | (byte ^ other))
    });
    !own.is_empty() && own.len() == given.len() && differs == 0
}

/// Returns the response to a request without a valid token.
fn refusal(options: &HttpOptions, error: Option<&VerifyTokenError>) -> Response {
    let Some(error) = error else {
        let text = "a valid bearer token is needed";
        return challenge(options, StatusCode::UNAUTHORIZED, &[], text);
    };
    let text = error.to_string();
    let about = ("error_description", text.as_str());
    match error {
        VerifyTokenError::Invalid | VerifyTokenError::Expired | VerifyTokenError::WrongAudience => {
            let parts = [("error", "invalid_token"), about];
            challenge(options, StatusCode::UNAUTHORIZED, &parts, &text)
        }
        VerifyTokenError::InsufficientScope { scope } => {
            let parts = [("error", "insufficient_scope"), about, ("scope", scope)];
            challenge(options, StatusCode::FORBIDDEN, &parts, &text)
        }
        VerifyTokenError::Unavailable => {
            tracing::warn!("a token could not be verified");
            let wait = [(header::RETRY_AFTER, "5")];
            (StatusCode::SERVICE_UNAVAILABLE, wait, text).into_response()
        }
    }
}

fn challenge(
    options: &HttpOptions,
    status: StatusCode,
    parts: &[(&str, &str)],
    text: &str,
) -> Response {
    let metadata = options.resource.as_ref().map(|own| format!("{}{METADATA}", own.base_url));
    let metadata = metadata.iter().map(|url| ("resource_metadata", url.as_str()));
    // RFC 6750 permits only these characters, and some others would break the header.
    let is_taken = |sign: &char| matches!(sign, ' '..='~') && !matches!(sign, '"' | '\\');
    let mut value = String::from("Bearer realm=\"mcp\"");
    for (name, part) in parts.iter().copied().chain(metadata) {
        value.extend([", ", name, "=\""]);
        value.extend(part.chars().filter(is_taken));
        value.push('"');
    }
    let mut response = (status, text.to_owned()).into_response();
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}
