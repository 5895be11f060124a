//! The requests of OAuth: to allowed addresses only, and with a proof where a token is requested.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oauth2::{HttpRequest, HttpResponse};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Request, StatusCode, Url};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture,
    OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::address::AllowedAddresses;
use super::dpop::{self, ProofKey, Prover};

/// The maximum time for a response.
const ANSWER: Duration = Duration::from_secs(30);

/// The maximum size of a response, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// The maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 10;

/// The page to sign in at where an authorization server has none.
pub(super) const NO_PAGE: &str = "about:blank";

/// The client for the requests of OAuth on behalf of one server.
pub(super) struct OAuthRequests {
    following: Client,
    stopping: Client,
    allowed: AllowedAddresses,
    /// Set once tokens are to be bound to a key.
    prover: OnceLock<Prover>,
}

impl OAuthRequests {
    pub(super) fn for_server(url: &str) -> Result<Arc<Self>, AuthError> {
        let allowed = AllowedAddresses::of(&Url::parse(url)?);
        let client = |redirects: Policy| {
            Client::builder()
                .timeout(ANSWER)
                .redirect(redirects)
                .dns_resolver(Arc::new(allowed.clone()))
                // Some requests are sent on a runtime of their own, and so is their connection.
                .pool_max_idle_per_host(0)
                .build()
                .map_err(|error| AuthError::InternalError(error.to_string()))
        };
        let next = allowed.clone();
        let follow = Policy::custom(move |attempt| match attempt.previous().len() {
            _ if !next.permits_url(attempt.url()) => attempt.error("it leads to a private address"),
            steps if steps > MAX_REDIRECTS => attempt.error("there are too many redirects"),
            _ => attempt.follow(),
        });
        let (following, stopping) = (client(follow)?, client(Policy::none())?);
        Ok(Arc::new(Self { following, stopping, allowed, prover: OnceLock::new() }))
    }

    /// Returns rmcp's state of OAuth for the server, which sends its requests by this.
    pub(super) async fn manager(
        self: &Arc<Self>,
        url: &str,
    ) -> Result<AuthorizationManager, AuthError> {
        let client: Arc<dyn OAuthHttpClient> = Arc::clone(self) as _;
        AuthorizationManager::new_with_oauth_http_client(url, client).await
    }

    /// Has tokens bound to a key from now on.
    pub(super) fn prove_with(&self, key: Arc<ProofKey>) {
        let _ = self.prover.set(Prover::new(key));
    }

    /// Requests a token; a redirect is not followed.
    pub(super) async fn token(
        &self,
        request: HttpRequest,
    ) -> Result<HttpResponse, OAuthHttpClientError> {
        let Some(prover) = self.prover.get() else {
            return self.response(&self.stopping, Request::try_from(request)?).await;
        };
        let first = self.proven(request.clone(), prover).await?;
        // The error is checked, since a code or an assertion may be sent once only.
        if prover.keep_nonce(first.headers()) && demands_nonce(&first) {
            let second = self.proven(request, prover).await?;
            prover.keep_nonce(second.headers());
            return Ok(second);
        }
        Ok(first)
    }

    async fn proven(
        &self,
        request: HttpRequest,
        prover: &Prover,
    ) -> Result<HttpResponse, OAuthHttpClientError> {
        let mut request = Request::try_from(request)?;
        let proof = prover.proof(request.method(), request.url(), None)?;
        request.headers_mut().insert(dpop::PROOF, proof);
        self.response(&self.stopping, request).await
    }

    async fn response(
        &self,
        client: &Client,
        request: Request,
    ) -> Result<HttpResponse, OAuthHttpClientError> {
        if !self.allowed.permits_url(request.url()) {
            return Err("it is at a private address".into());
        }
        let mut response = client.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + piece.len() > MAX_ANSWER {
                return Err("the answer is longer than 1 MiB".into());
            }
            body.extend_from_slice(&piece);
        }
        let mut whole = HttpResponse::new(body);
        *whole.status_mut() = response.status();
        *whole.version_mut() = response.version();
        *whole.headers_mut() = std::mem::take(response.headers_mut());
        Ok(whole)
    }
}

impl OAuthHttpClient for OAuthRequests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let client = match request.redirect_policy {
                OAuthHttpRedirectPolicy::Follow => &self.following,
                _ if requests_token(&request.request) => return self.token(request.request).await,
                _ => &self.stopping,
            };
            let request = Request::try_from(request.request)?;
            let is_metadata = request.url().path().contains("/.well-known/");
            let response = self.response(client, request).await?;
            Ok(if is_metadata { response.map(with_page) } else { response })
        })
    }
}

/// Completes metadata without a page to sign in at, which rmcp does not read: a server that grants
/// tokens to programs alone needs none (RFC 8414).
fn with_page(body: Vec<u8>) -> Vec<u8> {
    const PAGE: &str = "authorization_endpoint";
    let read = serde_json::from_slice::<Map<String, Value>>(&body);
    let Ok(mut metadata) = read else { return body };
    if metadata.contains_key(PAGE) || !metadata.contains_key("token_endpoint") {
        return body;
    }
    metadata.insert(PAGE.to_owned(), NO_PAGE.into());
    serde_json::to_vec(&metadata).unwrap_or(body)
}

/// Returns `true` for a request to a token endpoint: what else is posted is JSON.
fn requests_token(request: &HttpRequest) -> bool {
    let is_form = |headers: &HeaderMap| {
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        kind.is_some_and(|kind| kind.starts_with(b"application/x-www-form-urlencoded"))
    };
    request.method() == Method::POST && is_form(request.headers())
}

fn demands_nonce(response: &HttpResponse) -> bool {
    #[derive(Deserialize)]
    struct TokenRefusal {
        error: String,
    }
    let is_refusal =
        matches!(response.status(), StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED);
    let refusal = serde_json::from_slice::<TokenRefusal>(response.body());
    is_refusal && refusal.is_ok_and(|refusal| refusal.error == dpop::USE_NONCE)
}
