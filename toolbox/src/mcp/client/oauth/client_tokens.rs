//! The token of a program, granted without a browser.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{AuthError, AuthorizationMetadata};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::access::{OAuthToken, used_for};
use super::address::safe_url;
use super::dpop::ProofKey;
use super::failure::{UNSAFE_ENDPOINT, error_text, failed, without};
use super::issuer::is_same_issuer;
use super::requests::OAuthRequests;
use super::token_request::{GrantedToken, TokenRequest};
use super::{client_credentials, jwt_bearer, token_exchange};
use crate::mcp::client::http::answered;
use crate::mcp::config::{ClientProof, OAuthClient, ProgramGrant};

type Error = StreamableHttpError<reqwest::Error>;

/// The time for which a failure answers further requests, so that the authorization server is not
/// asked again at once.
const FAILURE_HOLDS: Duration = Duration::from_secs(5);

/// The maximum number of times that one request has further scopes requested.
const MAX_STEPS: u32 = 3;

/// The maximum number of scopes in a request for a token.
const MAX_SCOPES: usize = 64;

/// The tokens of this program at one server. Cloning is cheap.
#[derive(Clone)]
pub(in crate::mcp::client) struct ClientTokens(Arc<ClientGrant>);

struct ClientGrant {
    url: String,
    grant: ProgramGrant,
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
    token: Option<OAuthToken>,
    /// The time from which the token is not used any more.
    ends: Option<Instant>,
    /// The scopes that were requested.
    scopes: Vec<String>,
    /// The authorization server that got the credentials first.
    issuer: Option<String>,
    /// The last challenge of the server; `None` before the first.
    challenge: Option<String>,
    failed: Option<(Instant, String)>,
    requests: Option<Arc<OAuthRequests>>,
    /// The key that tokens are bound to, if the authorization server binds them.
    key: Option<Arc<ProofKey>>,
}

impl HeldToken {
    fn usable(&self) -> Option<OAuthToken> {
        let is_over = self.ends.is_some_and(|ends| Instant::now() >= ends);
        self.token.clone().filter(|_| !is_over)
    }

    /// Returns a token that another request has received since one was refused.
    fn other_than(&self, refused: Option<&str>) -> Option<OAuthToken> {
        self.usable().filter(|token| Some(token.secret()) != refused)
    }

    fn requests(&mut self, url: &str) -> Result<Arc<OAuthRequests>, AuthError> {
        if let Some(requests) = &self.requests {
            return Ok(Arc::clone(requests));
        }
        Ok(Arc::clone(self.requests.insert(OAuthRequests::for_server(url)?)))
    }
}

impl ClientTokens {
    pub(super) fn of(url: &str, grant: &ProgramGrant, client: &OAuthClient) -> Self {
        Self(Arc::new(ClientGrant {
            url: url.split('#').next().unwrap_or_default().to_owned(),
            grant: grant.clone(),
            scopes: client.scopes.clone(),
            issuer: client.issuer.clone(),
            held: Mutex::default(),
        }))
    }

    /// Sends a request with the token. After a refusal the token is requested anew once, and with
    /// further scopes a few times.
    pub(super) async fn send(&self, mut request: RequestBuilder) -> Result<Response, Error> {
        let (mut is_renewed, mut steps) = (false, 0);
        let mut token = self.0.current().await?;
        loop {
            let again = request.try_clone();
            let sent = match &token {
                Some(token) => token.send(request).await,
                None => answered(request.send().await),
            };
            let secret = token.as_ref().map(OAuthToken::secret);
            let refused = match sent {
                Err(refused) => refused,
                answered => return answered,
            };
            let next = match &refused {
                StreamableHttpError::AuthRequired(refusal) if !is_renewed => {
                    is_renewed = true;
                    let challenge = &refusal.www_authenticate_header;
                    Some(self.0.renewed(secret, challenge).await?)
                }
                StreamableHttpError::InsufficientScope(refusal) if steps < MAX_STEPS => {
                    steps += 1;
                    let required = refusal.required_scope.as_deref().unwrap_or_default();
                    self.0.stepped_up(secret, required).await?
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
    async fn current(&self) -> Result<Option<OAuthToken>, AuthError> {
        let mut held = self.held.lock().await;
        match held.usable() {
            None if held.token.is_some() => self.request(&mut held, None).await.map(Some),
            usable => Ok(usable),
        }
    }

    /// Requests a token in place of a refused one, unless another request has done so.
    async fn renewed(
        &self,
        refused: Option<&str>,
        challenge: &str,
    ) -> Result<OAuthToken, AuthError> {
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
    ) -> Result<Option<OAuthToken>, AuthError> {
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
    ) -> Result<OAuthToken, AuthError> {
        if let Some((since, reason)) = &held.failed
            && since.elapsed() < FAILURE_HOLDS
        {
            return Err(failed(reason));
        }
        let requested = Instant::now();
        match self.granted(held, scopes).await {
            Ok((token, lifetime)) => {
                let used = lifetime.map(used_for);
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
    ) -> Result<GrantedToken, AuthError> {
        let requests = held.requests(&self.url)?;
        let manager = requests.manager(&self.url).await?;
        let challenge = held.challenge.as_deref();
        let found = requests.metadata(&manager, challenge).await?;
        if !found.source.is_discovered() {
            let tried = requests.tried();
            return Err(failed(&format!("the server names no authorization server{tried}")));
        }
        let metadata = found.metadata;
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
        held.issuer.clone_from(&metadata.issuer);
        if held.key.is_none() && !matches!(self.grant, ProgramGrant::TokenExchange { .. }) {
            held.key = ProofKey::for_server(&metadata)?;
            if let Some(key) = &held.key {
                requests.prove_with(Arc::clone(key));
            }
        }
        let request = TokenRequest {
            requests: &requests,
            metadata: &metadata,
            resource: &self.url,
            scopes: &scopes,
            key: held.key.as_ref(),
        };
        let granted = self.exchanged(manager, &request).await?;
        held.scopes = scopes;
        Ok(granted)
    }

    /// Sends the request of the grant; returns the token with its lifetime.
    async fn exchanged(
        &self,
        manager: AuthorizationManager,
        request: &TokenRequest<'_>,
    ) -> Result<GrantedToken, AuthError> {
        match &self.grant {
            ProgramGrant::ClientCredentials(own) => {
                client_credentials::exchanged(manager, own, request).await
            }
            ProgramGrant::JwtBearer { id, assertion } => {
                jwt_bearer::exchanged(id, assertion, request).await
            }
            ProgramGrant::TokenExchange { id, secret, idp } => {
                if safe_url(&idp.token_endpoint, request.resource).is_none() {
                    return Err(failed(
                        "the token endpoint of the identity provider is not https, or at a private address, so the ID token is not sent there",
                    ));
                }
                token_exchange::exchanged((id, secret), idp, request).await
            }
        }
    }

    /// Checks that the credentials may be sent to an authorization server.
    fn check(
        &self,
        metadata: &AuthorizationMetadata,
        first: Option<&str>,
    ) -> Result<(), AuthError> {
        if let Some(expected) = self.issuer.as_deref().or(first)
            && !metadata.issuer.as_deref().is_some_and(|named| is_same_issuer(named, expected))
        {
            let named = metadata.issuer.as_deref().unwrap_or("none");
            return Err(failed(&format!(
                "the server names the authorization server {named}, and the credentials are for {expected}"
            )));
        }
        if safe_url(&metadata.token_endpoint, &self.url).is_none() {
            return Err(failed(UNSAFE_ENDPOINT));
        }
        Ok(())
    }

    /// Returns the message of an error. A server may repeat the secret in it.
    fn without_secret(&self, error: &AuthError) -> String {
        let text = match error {
            AuthError::ClientCredentialsError(reason) => reason.clone(),
            other => error_text(other),
        };
        match &self.grant {
            ProgramGrant::ClientCredentials(own) => match &own.proof {
                ClientProof::Secret(secret) => without(&text, secret),
                ClientProof::PrivateKey(_) => text,
            },
            // Their messages are masked, or have no text of a server.
            ProgramGrant::JwtBearer { .. } | ProgramGrant::TokenExchange { .. } => text,
        }
    }
}
