//! An access token, and how a request carries it.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::dpop::{self, ProofKey, Prover};
use crate::mcp::client::http::{answered, client_error};

type Error = StreamableHttpError<reqwest::Error>;

/// An access token for one server. Cloning is cheap.
#[derive(Clone)]
pub(super) struct OAuthToken {
    secret: Arc<str>,
    /// Set if the token is bound to a key.
    prover: Option<Arc<Prover>>,
}

impl OAuthToken {
    /// Returns a token that is bound to a key, if there is one.
    pub(super) fn new(secret: &str, key: Option<Arc<ProofKey>>) -> Self {
        Self { secret: secret.into(), prover: key.map(|key| Arc::new(Prover::new(key))) }
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns the key that the token is bound to.
    pub(super) fn key(&self) -> Option<Arc<ProofKey>> {
        self.prover.as_ref().map(|prover| prover.key())
    }

    /// Sends a request with the token; a demand for authorization is returned as an error.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        match &self.prover {
            None => answered(request.bearer_auth(&self.secret).send().await),
            Some(prover) => answered(self.proven(request, prover).await?),
        }
    }

    /// Sends a request with a proof, and once more if the server demands a nonce.
    async fn proven(
        &self,
        request: RequestBuilder,
        prover: &Prover,
    ) -> Result<Result<Response, reqwest::Error>, Error> {
        let again = request.try_clone();
        let first = self.proven_once(request, prover).await?;
        let Ok(response) = &first else { return Ok(first) };
        let is_demand = prover.keep_nonce(response.headers()) && demands_nonce(response);
        match again {
            Some(again) if is_demand => {
                let second = self.proven_once(again, prover).await?;
                if let Ok(response) = &second {
                    prover.keep_nonce(response.headers());
                }
                Ok(second)
            }
            _ => Ok(first),
        }
    }

    async fn proven_once(
        &self,
        request: RequestBuilder,
        prover: &Prover,
    ) -> Result<Result<Response, reqwest::Error>, Error> {
        let (client, request) = request.build_split();
        let mut request = request.map_err(client_error)?;
        let proof = prover.proof(request.method(), request.url(), Some(&self.secret))?;
        let token = HeaderValue::from_str(&format!("DPoP {}", self.secret));
        let mut token = token.map_err(|_| unsendable())?;
        token.set_sensitive(true);
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, token);
        headers.insert(dpop::PROOF, proof);
        Ok(client.execute(request).await)
    }
}

fn demands_nonce(response: &Response) -> bool {
    let challenges = response.headers().get_all(WWW_AUTHENTICATE);
    let mut challenges = challenges.iter().filter_map(|challenge| challenge.to_str().ok());
    response.status() == StatusCode::UNAUTHORIZED
        && challenges.any(|challenge| challenge.contains(dpop::USE_NONCE))
}

fn unsendable() -> AuthError {
    AuthError::InternalError("the token has characters that no token may have".to_owned())
}

/// Returns how long a token is used of its lifetime: to 30 seconds before its end, and one of a
/// short life for half of it.
pub(super) fn used_for(lifetime: Duration) -> Duration {
    const AHEAD: Duration = Duration::from_secs(30);
    lifetime.saturating_sub(AHEAD.min(lifetime / 2))
}
