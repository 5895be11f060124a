//! A server's demand for authorization.

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{Response, StatusCode};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};

use super::body::client_error;

type Error = StreamableHttpError<reqwest::Error>;

/// Returns a response; a demand for authorization is returned as an error.
pub(in crate::mcp::client) fn answered(
    sent: Result<Response, reqwest::Error>,
) -> Result<Response, Error> {
    let response = sent.map_err(client_error)?;
    let challenge = challenge_of(&response);
    match (response.status(), challenge) {
        // Some servers send the status and no challenge.
        (StatusCode::UNAUTHORIZED, challenge) => {
            let challenge = challenge.unwrap_or_default();
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        (StatusCode::FORBIDDEN, Some(challenge)) => {
            let scope = scope_of(&challenge);
            let error = InsufficientScopeError::new(challenge, scope);
            Err(StreamableHttpError::InsufficientScope(error))
        }
        _ => Ok(response),
    }
}

/// Returns the challenge of a response that OAuth can meet; others, such as `Basic`, are for a
/// configured header.
pub(in crate::mcp::client) fn challenge_of(response: &Response) -> Option<String> {
    let challenges = response.headers().get_all(WWW_AUTHENTICATE);
    let mut challenges = challenges.iter().filter_map(|challenge| challenge.to_str().ok());
    let fits = |challenge: &&str| {
        let challenge = challenge.to_ascii_lowercase();
        ["bearer", "dpop", "resource_metadata"].iter().any(|word| challenge.contains(word))
    };
    challenges.find(fits).map(str::to_owned)
}

/// Returns the scope that a challenge asks for.
fn scope_of(challenge: &str) -> Option<String> {
    const KEY: &str = "scope=";
    let at = challenge.to_ascii_lowercase().find(KEY)?;
    let value = &challenge[at + KEY.len()..];
    let scope = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split([',', ' ']).next(),
    };
    scope.map(str::to_owned)
}
