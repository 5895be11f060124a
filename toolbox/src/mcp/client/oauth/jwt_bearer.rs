//! The grant `jwt-bearer` (RFC 7523) with the assertion of a workload.

use oauth2::http::Request;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use rmcp::transport::auth::AuthError;

use super::failure::{failed, without};
use super::token_request::{GrantedToken, TokenRequest, checked};
use crate::call::chain;
use crate::mcp::config::TokenSource;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Requests a token for the assertion, which is read anew.
pub(super) async fn exchanged(
    id: &str,
    assertion: &TokenSource,
    request: &TokenRequest<'_>,
) -> Result<GrantedToken, AuthError> {
    let assertion = read("the assertion", assertion).await?;
    let scope = request.scopes.join(" ");
    let mut pairs = vec![
        ("grant_type", GRANT_TYPE),
        ("assertion", &assertion),
        ("client_id", id),
        ("resource", request.resource),
    ];
    if !scope.is_empty() {
        pairs.push(("scope", &scope));
    }
    let granted = granted(request, &pairs).await;
    granted.map_err(|reason| failed(&without(&reason, &assertion)))
}

/// Returns a token that another program issues.
pub(super) async fn read(name: &str, source: &TokenSource) -> Result<String, AuthError> {
    let source = source.clone();
    let token = tokio::task::spawn_blocking(move || source.read()).await;
    let token = token.map_err(|error| failed(&error.to_string()))?;
    match token {
        Ok(token) if token.is_empty() => Err(failed(&format!("{name} is empty"))),
        Ok(token) => Ok(token),
        Err(fault) => Err(failed(&format!("{name} cannot be used: {fault}"))),
    }
}

async fn granted(
    request: &TokenRequest<'_>,
    pairs: &[(&str, &str)],
) -> Result<GrantedToken, String> {
    let form = Request::post(&request.metadata.token_endpoint)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form(pairs)?.into_bytes())
        .map_err(|error| error.to_string())?;
    let response = request.requests.token(form).await.map_err(|error| chain(&*error))?;
    if let Some(failure) = request.requests.failure() {
        return Err(failure.to_string());
    }
    // serde_json's message could contain part of a token.
    let response = serde_json::from_slice(response.body());
    let response = response.map_err(|_| "the answer of the token endpoint holds no token")?;
    checked(&response, request.key).map_err(|error| match error {
        AuthError::ClientCredentialsError(reason) => reason,
        error => error.to_string(),
    })
}

/// Encodes pairs as `application/x-www-form-urlencoded`.
fn form(pairs: &[(&str, &str)]) -> Result<String, String> {
    let url = Url::parse_with_params("form:", pairs).map_err(|error| error.to_string())?;
    Ok(url.query().unwrap_or_default().to_owned())
}
