//! The token of a user who signed in at a server, added to requests.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oauth2::TokenResponse as _;
use reqwest::{RequestBuilder, Response};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, CredentialStore as _, OAuthClientConfig, StoredCredentials,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::Mutex;

use super::credentials::{CredentialEntry, CredentialFile};
use crate::mcp::config::OAuthClient;

type Error = StreamableHttpError<reqwest::Error>;

/// The redirect URI of a renewal; nothing is ever sent there.
const NOWHERE: &str = "http://127.0.0.1/callback";

/// The time before its expiry at which a token is renewed.
const AHEAD: Duration = Duration::from_secs(30);

/// The tokens of the user at one server. Cloning is cheap.
#[derive(Clone)]
pub(in crate::mcp::client) struct UserTokens(Arc<Granted>);

struct Granted {
    url: String,
    client: OAuthClient,
    kept: CredentialEntry,
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
            renewing: Mutex::default(),
        }))
    }

    /// Sends a request with the token; renews the token once if the server refuses it.
    pub(in crate::mcp::client) async fn send<F: Future<Output = Result<Response, Error>>>(
        &self,
        request: RequestBuilder,
        send: impl Fn(RequestBuilder) -> F,
    ) -> Result<Response, Error> {
        let stored = match self.0.kept.load().await {
            Ok(stored) => stored,
            // An unreadable file does not matter to a server that requires no authorization.
            Err(unread) => {
                return match send(request).await {
                    Err(StreamableHttpError::AuthRequired(_)) => Err(unread.into()),
                    other => other,
                };
            }
        };
        if token(stored.as_ref()).is_none() {
            return send(request).await;
        }
        let token = match usable(stored.as_ref()) {
            Some(token) => Some(token),
            None => self.renewed(None).await?,
        };
        let Some(token) = token else { return send(request).await };
        let again = request.try_clone();
        let refused = match send(request.bearer_auth(&token)).await {
            Err(error @ StreamableHttpError::AuthRequired(_)) => error,
            other => return other,
        };
        match (again, self.renewed(Some(token)).await?) {
            (Some(again), Some(fresh)) => send(again.bearer_auth(fresh)).await,
            _ => Err(refused),
        }
    }

    /// Renews the token in a task of its own: dropping it midway would lose the newly granted
    /// token.
    async fn renewed(&self, refused: Option<String>) -> Result<Option<String>, AuthError> {
        let granted = Arc::clone(&self.0);
        let renewing = tokio::spawn(async move { granted.renewed(refused).await });
        renewing.await.map_err(|error| AuthError::InternalError(error.to_string()))?
    }
}

impl Granted {
    /// Renews the token, unless another request or program has already done so.
    ///
    /// Returns `None` if the grant is void and the user has to sign in again.
    async fn renewed(&self, refused: Option<String>) -> Result<Option<String>, AuthError> {
        let _one = self.renewing.lock().await;
        let _turn = self.kept.turn().await?;
        let by_another = usable(self.kept.load().await?.as_ref());
        if let Some(token) = by_another.filter(|token| Some(token) != refused.as_ref()) {
            return Ok(Some(token));
        }
        let Some(manager) = self.manager().await? else { return Ok(None) };
        match manager.refresh_token().await {
            Ok(granted) => Ok(Some(granted.access_token().secret().clone())),
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
        if token(self.kept.load().await?.as_ref()).is_none() {
            return Ok(None);
        }
        let mut manager = AuthorizationManager::new(self.url.as_str()).await?;
        manager.set_credential_store(self.kept.clone());
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
}

/// Returns the token unless it expires soon.
fn usable(stored: Option<&StoredCredentials>) -> Option<String> {
    let received = stored?.token_received_at.map(Duration::from_secs);
    let lifetime = stored?.token_response.as_ref()?.expires_in();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ends = received.zip(lifetime).map(|(received, lifetime)| received.saturating_add(lifetime));
    if ends.is_some_and(|ends| now.saturating_add(AHEAD) >= ends) { None } else { token(stored) }
}

fn token(stored: Option<&StoredCredentials>) -> Option<String> {
    Some(stored?.token_response.as_ref()?.access_token().secret().clone())
}
