//! The grant `jwt-bearer` (RFC 7523) with the assertion of a workload.

use std::time::Duration;

use oauth2::basic::BasicErrorResponse;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use rmcp::transport::auth::{AuthError, AuthorizationMetadata};

use super::client_credentials::{GrantedToken, checked};
use super::failure::{failed, without};
use crate::mcp::client::http::bounded;
use crate::mcp::config::TokenSource;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The maximum time for an answer of the token endpoint.
const ANSWER: Duration = Duration::from_secs(30);

/// The maximum size of an answer of the token endpoint, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// Requests a token for the assertion, which is read anew.
pub(super) async fn exchanged(
    metadata: &AuthorizationMetadata,
    id: &str,
    assertion: &TokenSource,
    resource: &str,
    scopes: &[String],
) -> Result<GrantedToken, AuthError> {
    let assertion = read("the assertion", assertion).await?;
    let scope = scopes.join(" ");
    let mut pairs = vec![
        ("grant_type", GRANT_TYPE),
        ("assertion", &assertion),
        ("client_id", id),
        ("resource", resource),
    ];
    if !scope.is_empty() {
        pairs.push(("scope", &scope));
    }
    let granted = posted(&metadata.token_endpoint, &pairs).await;
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

async fn posted(endpoint: &str, pairs: &[(&str, &str)]) -> Result<GrantedToken, String> {
    let text = |error: reqwest::Error| error.without_url().to_string();
    let client = Client::builder().redirect(Policy::none()).timeout(ANSWER).build();
    let request = client.map_err(text)?.post(endpoint).header(ACCEPT, "application/json");
    let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    let response = request.body(form(pairs)?).send().await.map_err(text)?;
    granted(response).await
}

async fn granted(response: Response) -> Result<GrantedToken, String> {
    let status = response.status();
    let body = bounded(response, MAX_ANSWER).await.map_err(|error| error.to_string())?;
    let body = body.ok_or("the answer of the token endpoint is longer than 1 MiB")?;
    if !status.is_success() {
        let error = serde_json::from_slice::<BasicErrorResponse>(&body);
        return Err(error.map_or_else(
            |_| format!("the token endpoint answers HTTP {status}"),
            |error| error.to_string(),
        ));
    }
    // serde_json's message could contain part of a token.
    let response = serde_json::from_slice(&body);
    let response = response.map_err(|_| "the answer of the token endpoint holds no token")?;
    checked(&response).map_err(|error| match error {
        AuthError::ClientCredentialsError(reason) => reason,
        error => error.to_string(),
    })
}

/// Encodes pairs as `application/x-www-form-urlencoded`.
fn form(pairs: &[(&str, &str)]) -> Result<String, String> {
    let url = Url::parse_with_params("form:", pairs).map_err(|error| error.to_string())?;
    Ok(url.query().unwrap_or_default().to_owned())
}
