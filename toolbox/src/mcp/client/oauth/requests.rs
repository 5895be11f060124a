//! The requests of OAuth: to allowed addresses only, and with a proof where a token is requested.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oauth2::{HttpRequest, HttpResponse};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Request, StatusCode, Url};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadataResolution, OAuthHttpClient, OAuthHttpClientError,
    OAuthHttpClientFuture, OAuthHttpRequest,
};
use serde::Deserialize;

use super::address::AllowedAddresses;
use super::documents::{self, TriedDocuments, UnusableDocument};
use super::dpop::{self, ProofKey, Prover};
use super::failure::error_text;
use super::token_answer::{self, TokenFailure};
use crate::call::chain;
use crate::mcp::client::http::within_origin;
use crate::sync::Mutex;
use crate::text::without_mark;

/// The maximum time for a response.
const ANSWER: Duration = Duration::from_secs(30);

/// The maximum time for a metadata document, after which the next address is tried.
const DOCUMENT: Duration = Duration::from_secs(5);

/// The maximum size of a response, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// The client for the requests of OAuth on behalf of one server.
pub(super) struct OAuthRequests {
    server: Url,
    /// Follows redirects within an origin that repeat the request.
    following: Client,
    stopping: Client,
    allowed: AllowedAddresses,
    /// Set once tokens are to be bound to a key.
    prover: OnceLock<Prover>,
    /// The metadata documents that the last search could not use.
    tried: TriedDocuments,
    /// The failure of the last request for a token.
    failure: Mutex<Option<TokenFailure>>,
}

impl OAuthRequests {
    pub(super) fn for_server(url: &str) -> Result<Arc<Self>, AuthError> {
        let mut server = Url::parse(url)?;
        server.set_fragment(None);
        let allowed = AllowedAddresses::of(&server);
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
        let following = client(Policy::custom(within_origin))?;
        let stopping = client(Policy::none())?;
        Ok(Arc::new(Self {
            server,
            following,
            stopping,
            allowed,
            prover: OnceLock::new(),
            tried: TriedDocuments::default(),
            failure: Mutex::default(),
        }))
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

    /// Returns the metadata of the server's authorization server, by the challenge of the server if
    /// there is one. An error names each address that was tried, with its answer.
    pub(super) async fn metadata(
        &self,
        manager: &AuthorizationManager,
        challenge: Option<&str>,
    ) -> Result<AuthorizationMetadataResolution, AuthError> {
        self.tried.clear();
        *self.failure.lock() = None;
        let unusable = |reason: &str| AuthError::MetadataError(format!("{reason}{}", self.tried()));
        match manager.resolve_metadata_from_challenge(challenge).await {
            // The addresses of servers without metadata are no guess for one that fails.
            Ok(found) if !found.source.is_discovered() && self.tried.may_pass() => {
                Err(unusable("the metadata of its authorization server cannot be read"))
            }
            Ok(found) => Ok(found),
            Err(error) => Err(unusable(&error_text(&error))),
        }
    }

    /// Returns the end of a sentence with each metadata document that could not be used.
    pub(super) fn tried(&self) -> String {
        self.tried.named()
    }

    /// Returns `true` if a document that could not be used may be usable later.
    pub(super) fn may_find_more(&self) -> bool {
        self.tried.may_pass()
    }

    /// Returns the failure of the last request for a token.
    pub(super) fn failure(&self) -> Option<TokenFailure> {
        self.failure.lock().clone()
    }

    /// Sends a request without credentials; a redirect within the origin is followed if it repeats
    /// the request.
    pub(super) async fn open(
        &self,
        request: Request,
    ) -> Result<HttpResponse, OAuthHttpClientError> {
        self.response(&self.following, request).await
    }

    /// Sends a request without credentials; a redirect is not followed.
    pub(super) async fn once(
        &self,
        request: Request,
    ) -> Result<HttpResponse, OAuthHttpClientError> {
        self.response(&self.stopping, request).await
    }

    /// Requests a token; a redirect is not followed. The [failure](Self::failure) is kept, since
    /// rmcp and oauth2 keep little of it.
    pub(super) async fn token(
        &self,
        request: HttpRequest,
    ) -> Result<HttpResponse, OAuthHttpClientError> {
        let form = request.body().clone();
        match self.unread_token(request).await {
            Ok(answer) => {
                let (answer, failure) = token_answer::read(answer, &form);
                *self.failure.lock() = failure;
                Ok(answer)
            }
            Err(error) => {
                let reason = format!("the token endpoint cannot be reached: {}", chain(&*error));
                *self.failure.lock() = Some(TokenFailure::Unread(reason));
                Err(error)
            }
        }
    }

    async fn unread_token(
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

    /// Returns a document; one that cannot be used is not there.
    async fn document(&self, request: Request) -> HttpResponse {
        let url = request.url().clone();
        let answered = tokio::time::timeout(DOCUMENT, self.once(request)).await;
        let unusable = match answered {
            Ok(Ok(answer)) if url == self.server && !answer.status().is_server_error() => {
                return answer;
            }
            Ok(Ok(answer)) => match documents::read(&url, answer) {
                Ok(document) => return document,
                Err(unusable) => unusable,
            },
            Ok(Err(error)) => UnusableDocument { answer: chain(&*error), may_pass: true },
            Err(_) => {
                let answer = format!("no answer within {} seconds", DOCUMENT.as_secs());
                UnusableDocument { answer, may_pass: true }
            }
        };
        if url != self.server {
            self.tried.add(&url, unusable);
        }
        let mut absent = HttpResponse::default();
        *absent.status_mut() = StatusCode::NOT_FOUND;
        absent
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
        // A stream of events has no end, and no document is one.
        let is_stream = kind_of(response.headers()).starts_with(b"text/event-stream");
        while !is_stream
            && let Some(piece) = response.chunk().await.map_err(reqwest::Error::without_url)?
        {
            if body.len() + piece.len() > MAX_ANSWER {
                return Err("the answer is longer than 1 MiB".into());
            }
            body.extend_from_slice(&piece);
        }
        let mut whole = HttpResponse::new(without_mark(&body).to_vec());
        *whole.status_mut() = response.status();
        *whole.version_mut() = response.version();
        *whole.headers_mut() = std::mem::take(response.headers_mut());
        Ok(whole)
    }
}

impl OAuthHttpClient for OAuthRequests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = request.request;
            if requests_token(&request) {
                return self.token(request).await;
            }
            let request = Request::try_from(request)?;
            match *request.method() {
                // rmcp reads nothing but documents, and ends its search at an error.
                Method::GET => Ok(self.document(request).await),
                _ => self.open(request).await,
            }
        })
    }
}

/// Returns `true` for a request to a token endpoint: what else is posted is JSON.
fn requests_token(request: &HttpRequest) -> bool {
    let kind = kind_of(request.headers());
    request.method() == Method::POST && kind.starts_with(b"application/x-www-form-urlencoded")
}

fn kind_of(headers: &HeaderMap) -> &[u8] {
    headers.get(CONTENT_TYPE).map_or(&[], HeaderValue::as_bytes)
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
