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
use super::address::safe_url;
use super::credentials::{CredentialEntry, CredentialFile, StoredGrant};
use super::failure::{UNSAFE_ENDPOINT, ends_the_grant};
use super::issuer::is_same_issuer;
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
    /// The token that renews others which was rejected last, and the reason: it is not sent again.
    rejected: Lock<Option<(String, String)>>,
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
            rejected: Lock::default(),
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
            Some(token) => token,
            None => match (self.renewed(None).await, self.0.alive(&stored)) {
                (Ok(token), _) | (Err(_), Some(token)) => token,
                (Err(ended), None) if ends_the_grant(&ended) => {
                    // A server that requires no authorization may answer all the same.
                    return match answered(request.send().await) {
                        Err(StreamableHttpError::AuthRequired(_)) => Err(ended.into()),
                        other => other,
                    };
                }
                (Err(error), None) => return Err(error.into()),
            },
        };
        let again = request.try_clone();
        let refused = match token.send(request).await {
            // A status without a challenge may be about something else, such as a lost session.
            Err(StreamableHttpError::AuthRequired(demand))
                if demand.www_authenticate_header.is_empty() && stored.renewing().is_none() =>
            {
                return Err(StreamableHttpError::AuthRequired(demand));
            }
            Err(error @ StreamableHttpError::AuthRequired(_)) => error,
            other => return other,
        };
        let fresh = self.renewed(Some(token)).await?;
        match again {
            Some(again) => fresh.send(again).await,
            None => Err(refused),
        }
    }

    /// Renews the token in a task of its own: dropping it midway would lose the newly granted
    /// token.
    async fn renewed(&self, refused: Option<OAuthToken>) -> Result<OAuthToken, AuthError> {
        let granted = Arc::clone(&self.0);
        let renewing = tokio::spawn(async move { granted.renewed(refused).await });
        renewing.await.map_err(|error| AuthError::InternalError(error.to_string()))?
    }
}

impl Granted {
    /// Renews the token, unless another request or program has already done so. A grant that is
    /// good no more is [`AuthError::TokenRefreshRejected`].
    async fn renewed(&self, refused: Option<OAuthToken>) -> Result<OAuthToken, AuthError> {
        let _one = self.renewing.lock().await;
        let _turn = self.kept.turn().await?;
        let refused = refused.as_ref().map(OAuthToken::secret);
        let Some(stored) = self.kept.stored().await? else {
            return Err(ended("its token was deleted"));
        };
        if let Some(token) = self.usable(&stored).filter(|token| Some(token.secret()) != refused) {
            return Ok(token);
        }
        let Some(renewing) = stored.renewing() else {
            return Err(ended("its token has ended, and there is none that renews it"));
        };
        if let Some((rejected, reason)) = &*self.rejected.lock()
            && rejected == renewing
        {
            return Err(ended(reason));
        }
        let requests = OAuthRequests::for_server(&self.url)?;
        let manager = self.manager(&stored, &requests).await?;
        match self.refreshed(manager, &requests).await {
            Ok(()) => {
                let stored = self.kept.stored().await?;
                let token = stored.and_then(|stored| self.token(&stored));
                token.ok_or_else(|| ended("its token cannot be read"))
            }
            Err(AuthError::AuthorizationRequired) => {
                Err(ended("its token was granted to another client"))
            }
            Err(error) => Err(match requests.failure() {
                Some(failure) if failure.ends_the_grant() => {
                    if failure.ends_the_client() {
                        self.kept.forget_client(stored.credentials.client_id.clone()).await?;
                    }
                    let reason = format!("its token cannot be renewed ({failure})");
                    *self.rejected.lock() = Some((renewing.to_owned(), reason.clone()));
                    ended(&reason)
                }
                Some(failure) => AuthError::TokenRefreshFailed(failure.to_string()),
                None => error,
            }),
        }
    }

    /// Renews the token, without a scope where the configured one is not taken: that asks for what
    /// was granted.
    async fn refreshed(
        &self,
        mut manager: AuthorizationManager,
        requests: &OAuthRequests,
    ) -> Result<(), AuthError> {
        let done = manager.refresh_token().await.map(drop);
        let is_scope = requests.failure().is_some_and(|failure| failure.is_about_the_scope());
        if done.is_ok() || !is_scope || self.client.scopes.is_empty() {
            return done;
        }
        manager.set_refresh_scopes::<_, String>([]);
        manager.refresh_token().await.map(drop)
    }

    /// Returns the client that renews the stored token; a later sign-in may have used another
    /// client.
    ///
    /// The server is asked again for its authorization server: tokens of another are invalid, and
    /// are deleted.
    async fn manager(
        &self,
        stored: &StoredGrant,
        requests: &Arc<OAuthRequests>,
    ) -> Result<AuthorizationManager, AuthError> {
        let Some(token) = self.token(stored) else { return Err(ended("its key cannot be read")) };
        let mut kept = self.kept.clone();
        if let Some(key) = token.key() {
            requests.prove_with(Arc::clone(&key));
            kept = kept.bound_to(key);
        }
        let mut manager = requests.manager(&self.url).await?;
        let found = requests.metadata(&manager, None).await?;
        let mut metadata = found.metadata;
        if let Some(issuer) = &stored.credentials.issuer {
            let is_same = metadata.issuer.as_deref().is_some_and(|it| is_same_issuer(it, issuer));
            // The token that renews goes to its authorization server alone, and is not deleted
            // because a document is missing for a while.
            if !is_same && (!found.source.is_discovered() || requests.may_find_more()) {
                let tried = requests.tried();
                return Err(AuthError::MetadataError(format!(
                    "the metadata of its authorization server {issuer} cannot be read{tried}"
                )));
            }
            if is_same {
                // rmcp compares them character by character.
                metadata.issuer = Some(issuer.clone());
            }
        }
        if safe_url(&metadata.token_endpoint, &self.url).is_none() {
            return Err(AuthError::MetadataError(UNSAFE_ENDPOINT.to_owned()));
        }
        let registered = stored.client().filter(|_| self.client.id.is_none());
        if let Some(client) = registered {
            client.authenticated_in(&mut metadata);
        }
        manager.set_credential_store(kept);
        manager.set_metadata(metadata);
        if !manager.initialize_from_store().await? {
            return Err(ended("its authorization server is another one now"));
        }
        let client = match (&self.client.id, registered) {
            (Some(id), _) => Some((id, &self.client.secret)),
            (None, registered) => registered.map(|client| (&client.id, &client.secret)),
        };
        if let Some((id, secret)) = client {
            let config = OAuthClientConfig::new(id, NOWHERE);
            manager.configure_client(match secret {
                Some(secret) => config.with_client_secret(secret),
                None => config,
            })?;
        }
        // None but those granted; no scope asks for all of these.
        let granted = &stored.credentials.granted_scopes;
        let wanted = self.client.scopes.iter().filter(|scope| granted.contains(scope));
        manager.set_refresh_scopes(wanted);
        Ok(manager)
    }

    /// Returns the stored token unless it expires soon.
    fn usable(&self, stored: &StoredGrant) -> Option<OAuthToken> {
        self.before_its_end(stored, used_for)
    }

    /// Returns the stored token unless it has expired.
    fn alive(&self, stored: &StoredGrant) -> Option<OAuthToken> {
        self.before_its_end(stored, |lifetime| lifetime)
    }

    fn before_its_end(
        &self,
        stored: &StoredGrant,
        used_for: fn(Duration) -> Duration,
    ) -> Option<OAuthToken> {
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

/// Returns the error of a grant that is good no more.
fn ended(reason: &str) -> AuthError {
    AuthError::TokenRefreshRejected(reason.to_owned())
}
