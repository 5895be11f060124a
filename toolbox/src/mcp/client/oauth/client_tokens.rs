//! The token of a program that acts for itself, granted for its client credentials.

use std::sync::Arc;
use std::time::Duration;

use oauth2::TokenResponse as _;
use oauth2::basic::BasicTokenType;
use reqwest::{RequestBuilder, Response};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, ClientCredentialsConfig, JwtSigningAlgorithm,
    OAuthTokenResponse,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::{Mutex, oneshot};
use tokio::time::Instant;

use super::address::safe_url;
use super::failure::error_text;
use crate::mcp::config::{ClientCredentials, ClientProof, OAuthClient};

type Error = StreamableHttpError<reqwest::Error>;

/// The maximum time before its expiry at which a token is requested anew.
const AHEAD: Duration = Duration::from_secs(30);

/// The time for which a failure answers further requests, so that the authorization server is not
/// asked again at once.
const FAILURE_HOLDS: Duration = Duration::from_secs(5);

/// The maximum number of times that one request has further scopes requested.
const MAX_STEPS: u32 = 3;

/// The maximum number of scopes in a request for a token.
const MAX_SCOPES: usize = 64;

const UNFIT_KEY: &str = "the private key makes no signature that the authorization server takes: RS256, ES256 (P-256, PKCS#8) or ES384";

/// The key of the metadata with the methods of client authentication.
const METHODS: &str = "token_endpoint_auth_methods_supported";

/// The tokens of this program at one server. Cloning is cheap.
#[derive(Clone)]
pub(in crate::mcp::client) struct ClientTokens(Arc<ClientGrant>);

struct ClientGrant {
    url: String,
    credentials: ClientCredentials,
    /// The configured scopes.
    scopes: Vec<String>,
    /// The configured issuer.
    issuer: Option<String>,
    /// Locked during a request for a token, which serves all that wait.
    held: Mutex<HeldToken>,
}

/// The last token, and the data to request the next.
#[derive(Default)]
struct HeldToken {
    token: Option<String>,
    /// The time from which the token is not used any more.
    ends: Option<Instant>,
    /// The scopes that were requested.
    scopes: Vec<String>,
    /// The authorization server that got the credentials first.
    issuer: Option<String>,
    /// The last challenge of the server; `None` before the first.
    challenge: Option<String>,
    failed: Option<(Instant, String)>,
}

impl HeldToken {
    fn usable(&self) -> Option<String> {
        let is_over = self.ends.is_some_and(|ends| Instant::now() >= ends);
        self.token.clone().filter(|_| !is_over)
    }

    /// Returns a token that another request has received since one was refused.
    fn other_than(&self, refused: Option<&str>) -> Option<String> {
        self.usable().filter(|token| Some(token.as_str()) != refused)
    }
}

impl ClientTokens {
    pub(super) fn of(url: &str, own: &ClientCredentials, client: &OAuthClient) -> Self {
        Self(Arc::new(ClientGrant {
            url: url.split('#').next().unwrap_or_default().to_owned(),
            credentials: own.clone(),
            scopes: client.scopes.clone(),
            issuer: client.issuer.clone(),
            held: Mutex::default(),
        }))
    }

    /// Sends a request with the token. After a refusal the token is requested anew once, and with
    /// further scopes a few times.
    pub(super) async fn send<F: Future<Output = Result<Response, Error>>>(
        &self,
        mut request: RequestBuilder,
        send: impl Fn(RequestBuilder) -> F,
    ) -> Result<Response, Error> {
        let (mut is_renewed, mut steps) = (false, 0);
        let mut token = self.0.current().await?;
        loop {
            let again = request.try_clone();
            let authorized = match &token {
                Some(token) => request.bearer_auth(token),
                None => request,
            };
            let refused = match send(authorized).await {
                Err(refused) => refused,
                answered => return answered,
            };
            let next = match &refused {
                StreamableHttpError::AuthRequired(refusal) if !is_renewed => {
                    is_renewed = true;
                    let challenge = &refusal.www_authenticate_header;
                    Some(self.0.renewed(token.as_deref(), challenge).await?)
                }
                StreamableHttpError::InsufficientScope(refusal) if steps < MAX_STEPS => {
                    steps += 1;
                    let required = refusal.required_scope.as_deref().unwrap_or_default();
                    self.0.stepped_up(token.as_deref(), required).await?
                }
                _ => None,
            };
            let (Some(next), Some(again)) = (next, again) else { return Err(refused) };
            (token, request) = (Some(next), again);
        }
    }
}

impl ClientGrant {
    /// Returns the token to send; `None` before the server asked for one.
    async fn current(&self) -> Result<Option<String>, AuthError> {
        let mut held = self.held.lock().await;
        match held.usable() {
            None if held.token.is_some() => self.request(&mut held, None).await.map(Some),
            usable => Ok(usable),
        }
    }

    /// Requests a token in place of a refused one, unless another request has done so.
    async fn renewed(&self, refused: Option<&str>, challenge: &str) -> Result<String, AuthError> {
        let mut held = self.held.lock().await;
        if let Some(token) = held.other_than(refused) {
            return Ok(token);
        }
        held.challenge = Some(challenge.to_owned());
        self.request(&mut held, None).await
    }

    /// Requests a token with further scopes. Returns `None` if there are none to add.
    async fn stepped_up(
        &self,
        refused: Option<&str>,
        required: &str,
    ) -> Result<Option<String>, AuthError> {
        let mut held = self.held.lock().await;
        let mut scopes = held.scopes.clone();
        for scope in required.split_whitespace() {
            if !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        if scopes.len() == held.scopes.len() {
            return Ok(held.other_than(refused));
        }
        if scopes.len() > MAX_SCOPES {
            return Ok(None);
        }
        self.request(&mut held, Some(scopes)).await.map(Some)
    }

    /// Requests a token, and holds it. A failure is held as well, for a short time.
    async fn request(
        &self,
        held: &mut HeldToken,
        scopes: Option<Vec<String>>,
    ) -> Result<String, AuthError> {
        if let Some((since, reason)) = &held.failed
            && since.elapsed() < FAILURE_HOLDS
        {
            return Err(failed(reason));
        }
        let requested = Instant::now();
        match self.granted(held, scopes).await {
            Ok((token, lifetime)) => {
                // A token that lives shorter than that is used for half of its life.
                let used =
                    lifetime.map(|lifetime| lifetime.saturating_sub(AHEAD.min(lifetime / 2)));
                held.ends = used.and_then(|used| requested.checked_add(used));
                held.token = Some(token.clone());
                held.failed = None;
                Ok(token)
            }
            Err(error) => {
                let reason = self.without_secret(&error);
                held.failed = Some((Instant::now(), reason.clone()));
                Err(failed(&reason))
            }
        }
    }

    /// Requests a token; returns it with its lifetime.
    async fn granted(
        &self,
        held: &mut HeldToken,
        scopes: Option<Vec<String>>,
    ) -> Result<(String, Option<Duration>), AuthError> {
        let mut manager = AuthorizationManager::new(self.url.as_str()).await?;
        let challenge = held.challenge.as_deref();
        let found = manager.resolve_metadata_from_challenge(challenge).await?;
        if !found.source.is_discovered() {
            return Err(failed("the server names no authorization server"));
        }
        let mut metadata = found.metadata;
        self.check(&metadata, held.issuer.as_deref())?;
        let scopes = match scopes {
            Some(scopes) => scopes,
            None if !held.scopes.is_empty() => held.scopes.clone(),
            None if !self.scopes.is_empty() => self.scopes.clone(),
            // `offline_access` is for a token that renews others, which there is none of here.
            None => {
                let mut named = manager.select_initial_scopes(&[]).await;
                named.retain(|scope| scope != "offline_access");
                named.truncate(MAX_SCOPES);
                named
            }
        };
        if matches!(self.credentials.proof, ClientProof::Secret(_)) {
            prefer_basic(&mut metadata);
        }
        held.issuer.clone_from(&metadata.issuer);
        manager.set_metadata(metadata);
        let response = exchanged_aside(manager, self.configs(&scopes)).await?;
        let token = checked(&response)?;
        held.scopes = scopes;
        Ok((token, response.expires_in()))
    }

    /// Checks that the credentials may be sent to an authorization server.
    fn check(
        &self,
        metadata: &AuthorizationMetadata,
        first: Option<&str>,
    ) -> Result<(), AuthError> {
        if let Some(expected) = self.issuer.as_deref().or(first)
            && metadata.issuer.as_deref() != Some(expected)
        {
            let named = metadata.issuer.as_deref().unwrap_or("none");
            return Err(failed(&format!(
                "the server names the authorization server {named}, and the credentials are for {expected}"
            )));
        }
        if safe_url(&metadata.token_endpoint, &self.url).is_none() {
            return Err(failed(
                "the token endpoint is not https, so the credentials are not sent there",
            ));
        }
        Ok(())
    }

    /// Returns the ways to authenticate: one, or one for each kind of private key.
    fn configs(&self, scopes: &[String]) -> Vec<ClientCredentialsConfig> {
        let (client_id, resource) = (self.credentials.id.clone(), Some(self.url.clone()));
        match &self.credentials.proof {
            ClientProof::Secret(secret) => vec![ClientCredentialsConfig::ClientSecret {
                client_id,
                client_secret: secret.clone(),
                scopes: scopes.to_vec(),
                resource,
            }],
            ClientProof::PrivateKey(pem) => {
                use JwtSigningAlgorithm::{ES256, ES384, RS256};

                let with = |signing_algorithm| ClientCredentialsConfig::PrivateKeyJwt {
                    client_id: client_id.clone(),
                    signing_key: pem.clone().into_bytes(),
                    signing_algorithm,
                    token_endpoint_audience: None,
                    scopes: scopes.to_vec(),
                    resource: resource.clone(),
                };
                [RS256, ES256, ES384].map(with).into()
            }
        }
    }

    /// Returns the message of an error. A server may repeat the secret in it.
    fn without_secret(&self, error: &AuthError) -> String {
        let text = match error {
            AuthError::ClientCredentialsError(reason) => reason.clone(),
            other => error_text(other),
        };
        match &self.credentials.proof {
            ClientProof::Secret(secret) if !secret.is_empty() => text.replace(secret, "***"),
            _ => text,
        }
    }
}

/// Requests a token on a thread of its own, since the future of rmcp cannot move between threads.
/// The request ends when this future is dropped.
async fn exchanged_aside(
    manager: AuthorizationManager,
    ways: Vec<ClientCredentialsConfig>,
) -> Result<OAuthTokenResponse, AuthError> {
    let internal = |error: &dyn std::fmt::Display| AuthError::InternalError(error.to_string());
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| internal(&error))?;
    let (mut answer, granted) = oneshot::channel();
    let exchange = move || {
        let done = runtime.block_on(async {
            tokio::select! {
                done = exchanged(manager, ways) => Some(done),
                () = answer.closed() => None,
            }
        });
        // The other end may be gone.
        let _ = done.map(|done| answer.send(done).is_ok());
    };
    let thread = std::thread::Builder::new().name("oauth".to_owned());
    thread.spawn(exchange).map_err(|error| internal(&error))?;
    granted.await.map_err(|error| internal(&error))?
}

/// Requests a token in the first way that the authorization server and the key allow.
async fn exchanged(
    mut manager: AuthorizationManager,
    ways: Vec<ClientCredentialsConfig>,
) -> Result<OAuthTokenResponse, AuthError> {
    let mut unfit = failed("there is no way to authenticate");
    for way in ways {
        if let Err(unsupported) = manager.validate_client_credentials_metadata(&way) {
            unfit = unsupported;
            continue;
        }
        manager.configure_client_credentials(&way)?;
        match manager.exchange_client_credentials(&way).await {
            // The key is of another kind, which shows before anything is sent.
            Err(AuthError::JwtSigningError(_)) => unfit = failed(UNFIT_KEY),
            granted => return granted,
        }
    }
    Err(unfit)
}

/// Has a secret sent by HTTP Basic where the metadata names that or no method.
fn prefer_basic(metadata: &mut AuthorizationMetadata) {
    let basic = json!("client_secret_basic");
    let methods = metadata.additional_fields.get(METHODS).and_then(|methods| methods.as_array());
    if methods.is_none_or(|methods| methods.contains(&basic)) {
        metadata.additional_fields.insert(METHODS.to_owned(), json!([basic]));
    }
}

/// Returns the token of a response if it can be sent.
fn checked(response: &OAuthTokenResponse) -> Result<String, AuthError> {
    let token = response.access_token().secret();
    if *response.token_type() != BasicTokenType::Bearer {
        return Err(failed("the token is of another type than Bearer"));
    }
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed("the token is empty, or has characters that no token may have"));
    }
    Ok(token.clone())
}

fn failed(reason: &str) -> AuthError {
    AuthError::ClientCredentialsError(reason.to_owned())
}
