//! Enterprise-managed authorization: an ID-JAG of the identity provider, then a token for it.

use oauth2::ClientSecret;
use rmcp::transport::auth::AuthError;
use rmcp::transport::auth::enterprise::{
    EmaAuthorizationServer, EmaClientAuthentication, EmaError, EmaExchangeRequest, EmaExchangeStage,
};

use super::access::OAuthToken;
use super::failure::failed;
use super::jwt_bearer::read;
use super::token_request::{GrantedToken, TokenRequest};
use crate::mcp::config::{IdentityProvider, TokenSource};

/// Requests an ID-JAG for the ID token, which is read anew, and a token for the ID-JAG.
pub(super) async fn exchanged(
    (id, secret): (&str, &TokenSource),
    idp: &IdentityProvider,
    request: &TokenRequest<'_>,
) -> Result<GrantedToken, AuthError> {
    let id_token = read("the ID token", &idp.id_token).await?;
    let secret = read("the client's secret", secret).await?;
    let provider = provider(idp).await?;
    let issuer = request.metadata.issuer.as_deref().unwrap_or_default();
    let own = EmaAuthorizationServer::new(issuer, &request.metadata.token_endpoint, id)
        .with_client_authentication(basic(secret));
    let exchange =
        EmaExchangeRequest::new_with_id_token(provider, own, request.resource, &id_token);
    let exchange = exchange.with_scopes(request.scopes);
    let granted = exchange.exchange(request.requests, request.requests).await;
    let granted = granted.map_err(|error| failed(&text(&error)))?;
    Ok((OAuthToken::new(granted.access_token.secret(), None), granted.expires_in))
}

/// Returns the identity provider with the client that the ID token was issued to.
async fn provider(idp: &IdentityProvider) -> Result<EmaAuthorizationServer, AuthError> {
    let provider = EmaAuthorizationServer::new(&idp.issuer, &idp.token_endpoint, &idp.client_id);
    Ok(match &idp.client_secret {
        Some(secret) => {
            let secret = read("the secret at the identity provider", secret).await?;
            provider.with_client_authentication(basic(secret))
        }
        None => provider,
    })
}

fn basic(secret: String) -> EmaClientAuthentication {
    EmaClientAuthentication::ClientSecretBasic(ClientSecret::new(secret))
}

/// Describes a failure; rmcp keeps no text of a server in it.
fn text(error: &EmaError) -> String {
    let at = |stage: &EmaExchangeStage| match stage {
        EmaExchangeStage::IdentityProvider => "the identity provider",
        _ => "the authorization server",
    };
    match error {
        EmaError::InvalidGrant(stage) => format!("{} answers invalid_grant", at(stage)),
        EmaError::RequestFailed(stage) => format!("{} cannot be reached", at(stage)),
        EmaError::OAuthRejected { stage, status, code } => {
            format!("{} answers HTTP {status}: {code}", at(stage))
        }
        EmaError::InvalidResponse { stage, message } => {
            format!("the answer of {} is not usable: {message}", at(stage))
        }
        other => other.to_string(),
    }
}
