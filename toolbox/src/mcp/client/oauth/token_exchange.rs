//! Enterprise-managed authorization: an ID-JAG of the identity provider, then a token for it.

use oauth2::{ClientSecret, HttpResponse};
use rmcp::transport::auth::enterprise::{
    EmaAuthorizationServer, EmaClientAuthentication, EmaError, EmaExchangeRequest, EmaExchangeStage,
};
use rmcp::transport::auth::{AuthError, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

use super::access::OAuthToken;
use super::failure::failed;
use super::issuer::spellings;
use super::jwt_bearer::read;
use super::requests::OAuthRequests;
use super::token_request::{GrantedToken, TokenRequest};
use crate::mcp::config::{IdentityProvider, TokenSource};
use crate::sync::Mutex;

/// Requests an ID-JAG for the ID token, which is read anew, and a token for the ID-JAG.
pub(super) async fn exchanged(
    (id, secret): (&str, &TokenSource),
    idp: &IdentityProvider,
    request: &TokenRequest<'_>,
) -> Result<GrantedToken, AuthError> {
    let id_token = read("the ID token", &idp.id_token).await?;
    let secret = read("the client's secret", secret).await?;
    let own = request.metadata.issuer.as_deref().unwrap_or_default();
    let at_provider = AskedOnce { requests: request.requests, answer: Mutex::default() };
    let mut unfit = None;
    // rmcp compares the issuers in the ID-JAG character by character.
    for own in spellings(own) {
        for issuer in spellings(&idp.issuer) {
            let own = EmaAuthorizationServer::new(&own, &request.metadata.token_endpoint, id)
                .with_client_authentication(basic(secret.clone()));
            let provider = provider(idp, &issuer).await?;
            let exchange =
                EmaExchangeRequest::new_with_id_token(provider, own, request.resource, &id_token);
            let exchange = exchange.with_scopes(request.scopes);
            match exchange.exchange(&at_provider, request.requests).await {
                Ok(granted) => {
                    let token = OAuthToken::new(granted.access_token.secret(), None);
                    return Ok((token, granted.expires_in));
                }
                // The fault in the configured spelling is the one to report.
                Err(
                    error @ EmaError::InvalidResponse {
                        stage: EmaExchangeStage::IdentityProvider,
                        ..
                    },
                ) => drop(unfit.get_or_insert(error)),
                Err(error) => return Err(failed(&text(&error))),
            }
        }
    }
    Err(failed(&unfit.map_or_else(String::new, |error| text(&error))))
}

/// Sends one request, whose answer answers those after it.
struct AskedOnce<'a> {
    requests: &'a OAuthRequests,
    answer: Mutex<Option<HttpResponse>>,
}

impl OAuthHttpClient for AskedOnce<'_> {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let known = self.answer.lock().clone();
            if let Some(known) = known {
                return Ok(known);
            }
            let answer = self.requests.execute(request).await?;
            *self.answer.lock() = Some(answer.clone());
            Ok(answer)
        })
    }
}

/// Returns the identity provider with the client that the ID token was issued to.
async fn provider(
    idp: &IdentityProvider,
    issuer: &str,
) -> Result<EmaAuthorizationServer, AuthError> {
    let provider = EmaAuthorizationServer::new(issuer, &idp.token_endpoint, &idp.client_id);
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
        EmaError::InsufficientUserAuthentication(stage) => {
            format!("{} wants the user to sign in there again", at(stage))
        }
        EmaError::InvalidRequest(reason) => format!("the exchange cannot be made: {reason}"),
        // Others of rmcp hold debugging output.
        _ => "the exchange failed".to_owned(),
    }
}
