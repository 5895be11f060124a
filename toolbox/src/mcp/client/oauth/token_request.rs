//! A request for a token of a program, and what is granted.

use std::sync::Arc;
use std::time::Duration;

use oauth2::TokenResponse as _;
use oauth2::basic::BasicTokenType;
use rmcp::transport::auth::{AuthError, AuthorizationMetadata, OAuthTokenResponse};

use super::access::OAuthToken;
use super::dpop::{ProofKey, is_bound};
use super::failure::failed;
use super::requests::OAuthRequests;

/// A token with its lifetime, if that is named.
pub(super) type GrantedToken = (OAuthToken, Option<Duration>);

/// The data with which a grant requests a token.
pub(super) struct TokenRequest<'a> {
    pub(super) requests: &'a OAuthRequests,
    pub(super) metadata: &'a AuthorizationMetadata,
    pub(super) resource: &'a str,
    pub(super) scopes: &'a [String],
    pub(super) key: Option<&'a Arc<ProofKey>>,
}

/// Returns the token of a response, with its lifetime, if it can be sent.
pub(super) fn checked(
    response: &OAuthTokenResponse,
    key: Option<&Arc<ProofKey>>,
) -> Result<GrantedToken, AuthError> {
    let secret = response.access_token().secret();
    let key = match (response.token_type(), key) {
        (BasicTokenType::Bearer, _) => None,
        (other, Some(key)) if is_bound(other.as_ref()) => Some(Arc::clone(key)),
        _ => return Err(failed("the token is of another type than Bearer")),
    };
    if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed("the token is empty, or has characters that no token may have"));
    }
    Ok((OAuthToken::new(secret, key), response.expires_in()))
}
