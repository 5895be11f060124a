//! The token of a user who signed in at a server, added to requests.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oauth2::TokenResponse as _;
use reqwest::{RequestBuilder, Response};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{AuthError, OAuthClientConfig};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::Mutex;

use super::access::{OAuthToken, used_for};
use super::credentials::{CredentialEntry, CredentialFile, StoredGrant};
use super::requests::OAuthRequests;
use crate::mcp::client::http::answered;
use crate::mcp::config::OAuthClient;
use crate::sync::Mutex as Lock;

type Error = StreamableHttpError<reqwest::Error>;

/// The redirect URI of a renewal; nothing is ever sent there.
const NOWHERE: &str = "http://127.0.0.1/callback";

/// The tokens of the user at one server. Cloning is cheap.
#[derive(Clone)]
pub(in crate::mcp::client) struct UserTokens(Arc<Granted>);

/// The token that was sent last, with the server's nonce.
type LastToken = Lock<Option<OAuthToken>>;

struct Granted {
    url: String,
    client: OAuthClient,
    kept: CredentialEntry,
    /// The token that was sent last.
    last: LastToken,
    /// Held during a renewal, which serves all waiting requests.
    renewing: Mutex<()>,
}

impl UserTokens {
    /// Returns the tokens of a server; the file is read for each request.
    pub(in crate::mcp::client) fn of(
        url: &str,
        client: &OAuthClient,
        credentials: &CredentialFile,
    ) -> Self {
        Self(Arc::new(Granted {
            url: url.to_owned(),
            client: client.clone(),
            kept: credentials.of(url),
            last: LastToken::default(),
            renewing: Mutex::default(),
        }))
    }

    /// Sends a request with the token; renews the token once if the server refuses it.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let stored = match self.0.kept.stored().await {
            Ok(stored) => stored,
            // An unreadable file does not matter to a server that requires no authorization.
            Err(unread) => {
                return match answered(request.send().await) {
                    Err(StreamableHttpError::AuthRequired(_)) => Err(unread.into()),
                    other => other,
                };
            }
        };
        let Some(stored) = stored.filter(|stored| stored.secret().is_some()) else {
            return answered(request.send().await);
        };
        let token = match self.0.usable(&stored) {
            Some(token) => Some(token),
            None => self.renewed(None).await?,
        };
        let Some(token) = token else { return answered(request.send().await) };
        let again = request.try_clone();
        let refused = match token.send(request).await {
            Err(error @ StreamableHttpError::AuthRequired(_)) => error,
            other => return other,
        };
        match (again, self.renewed(Some(token)).await?) {
            (Some(again), Some(fresh)) => fresh.send(again).await,
            _ => Err(refused),
        }
    }

    /// Renews the token in a task of its own: dropping it midway would lose the newly granted
    /// token.
    async fn renewed(&self, refused: Option<OAuthToken>) -> Result<Option<OAuthToken>, AuthError> {
        let granted = Arc::clone(&self.0);
        let renewing = tokio::spawn(async move { granted.renewed(refused).await });
        renewing.await.map_err(|error| AuthError::InternalError(error.to_string()))?
    }
}

impl Granted {
    /// Renews the token, unless another request or program has already done so.
    ///
    /// Returns `None` if the grant is void and the user has to sign in again.
    async fn renewed(&self, refused: Option<OAuthToken>) -> Result<Option<OAuthToken>, AuthError> {
        let _one = self.renewing.lock().await;
        let _turn = self.kept.turn().await?;
        let refused = refused.as_ref().map(OAuthToken::secret);
        let by_another = self.kept.stored().await?.and_then(|stored| self.usable(&stored));
        if let Some(token) = by_another.filter(|token| Some(token.secret()) != refused) {
            return Ok(Some(token));
        }
        let Some(manager) = self.manager().await? else { return Ok(None) };
        match manager.refresh_token().await {
            Ok(_) => Ok(self.kept.stored().await?.and_then(|stored| self.token(&stored))),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the client that renews the stored token; a later sign-in may have used another
    /// client.
    ///
    /// The server is asked again for its authorization server: tokens of another are invalid, and
    /// are deleted.
    async fn manager(&self) -> Result<Option<AuthorizationManager>, AuthError> {
        let stored = self.kept.stored().await?;
        let Some(token) = stored.and_then(|stored| self.token(&stored)) else { return Ok(None) };
        let requests = OAuthRequests::for_server(&self.url)?;
        let mut kept = self.kept.clone();
        if let Some(key) = token.key() {
            requests.prove_with(Arc::clone(&key));
            kept = kept.bound_to(key);
        }
        let mut manager = requests.manager(&self.url).await?;
        manager.set_credential_store(kept);
        if !manager.initialize_from_store().await? {
            return Ok(None);
        }
        if let Some(id) = &self.client.id {
            let config = OAuthClientConfig::new(id, NOWHERE);
            manager.configure_client(match &self.client.secret {
                Some(secret) => config.with_client_secret(secret),
                None => config,
            })?;
        }
        Ok(Some(manager))
    }

    /// Returns the stored token unless it expires soon.
    fn usable(&self, stored: &StoredGrant) -> Option<OAuthToken> {
        let granted = &stored.credentials;
        let received = granted.token_received_at.map(Duration::from_secs);
        let lifetime = granted.token_response.as_ref()?.expires_in();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_over = received
            .zip(lifetime)
            .is_some_and(|(received, lifetime)| now >= received.saturating_add(used_for(lifetime)));
        if is_over { None } else { self.token(stored) }
    }

    /// Returns the stored token: the one sent last, with the server's nonce, if it is the same.
    fn token(&self, stored: &StoredGrant) -> Option<OAuthToken> {
        let mut last = self.last.lock();
        if let Some(last) = &*last
            && stored.secret() == Some(last.secret())
        {
            return Some(last.clone());
        }
        last.clone_from(&stored.token());
        last.clone()
    }
}
