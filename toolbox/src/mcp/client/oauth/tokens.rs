//! The token of one server, on requests to it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oauth2::TokenResponse as _;
use reqwest::{RequestBuilder, Response};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, CredentialStore as _, OAuthClientConfig, StoredCredentials,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::Mutex;

use super::credentials::{CredentialFile, Kept};
use super::told;
use crate::mcp::config::OAuthClient;

type Error = StreamableHttpError<reqwest::Error>;

/// Where a renewal says that it came from; nothing is ever sent there.
const NOWHERE: &str = "http://127.0.0.1/callback";

/// How long before its end a token is renewed: a request takes its time.
const AHEAD: Duration = Duration::from_secs(30);

/// What somebody was granted at one server.
#[derive(Debug)]
pub(in crate::mcp::client) struct Tokens {
    kept: Kept,
    manager: Mutex<Manager>,
}

struct Manager(AuthorizationManager);

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Manager")
    }
}

impl Tokens {
    /// Returns what was granted at a server, or `None` if nobody signed in there.
    ///
    /// The server is asked again who gives out its tokens: those of another are of no use, and are forgotten.
    pub(in crate::mcp::client) async fn of(
        url: &str,
        client: &OAuthClient,
        credentials: &CredentialFile,
    ) -> Result<Option<Self>, String> {
        let kept = credentials.of(url);
        let found = async {
            if token(kept.load().await?).is_none() {
                return Ok(None);
            }
            let mut manager = AuthorizationManager::new(url).await?;
            manager.set_credential_store(kept.clone());
            if !manager.initialize_from_store().await? {
                return Ok(None);
            }
            if let Some(id) = &client.id {
                let config = OAuthClientConfig::new(id, NOWHERE);
                manager.configure_client(match &client.secret {
                    Some(secret) => config.with_client_secret(secret),
                    None => config,
                })?;
            }
            Ok(Some(Self { kept: kept.clone(), manager: Mutex::new(Manager(manager)) }))
        };
        let found: Result<_, AuthError> = found.await;
        found.map_err(|error| format!("what was granted cannot be used: {}", told(&error)))
    }

    /// Sends a request with the token; one that the server does not take is renewed once.
    pub(in crate::mcp::client) async fn send<F: Future<Output = Result<Response, Error>>>(
        &self,
        request: RequestBuilder,
        send: impl Fn(RequestBuilder) -> F,
    ) -> Result<Response, Error> {
        let token = match usable(self.kept.load().await?) {
            Some(token) => Some(token),
            None => self.renewed(None).await?,
        };
        let Some(token) = token else { return send(request).await };
        let again = request.try_clone();
        let refused = match send(request.bearer_auth(&token)).await {
            Err(error @ StreamableHttpError::AuthRequired(_)) => error,
            other => return other,
        };
        match (again, self.renewed(Some(&token)).await?) {
            (Some(again), Some(fresh)) => send(again.bearer_auth(fresh)).await,
            _ => Err(refused),
        }
    }

    /// Renews the token, unless somebody else did: another request, or another program with the same file.
    ///
    /// `None` if nothing is granted any more, and somebody has to sign in again.
    async fn renewed(&self, refused: Option<&str>) -> Result<Option<String>, AuthError> {
        let manager = self.manager.lock().await;
        let _turn = self.kept.turn().await?;
        let by_another = usable(self.kept.load().await?);
        if let Some(token) = by_another.filter(|token| Some(&**token) != refused) {
            return Ok(Some(token));
        }
        match manager.0.refresh_token().await {
            Ok(granted) => Ok(Some(granted.access_token().secret().clone())),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the token, if it does not end soon.
fn usable(stored: Option<StoredCredentials>) -> Option<String> {
    let received = stored.as_ref()?.token_received_at.map(Duration::from_secs);
    let lifetime = stored.as_ref()?.token_response.as_ref()?.expires_in();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ends = received.zip(lifetime).map(|(received, lifetime)| received.saturating_add(lifetime));
    if ends.is_some_and(|ends| now.saturating_add(AHEAD) >= ends) { None } else { token(stored) }
}

fn token(stored: Option<StoredCredentials>) -> Option<String> {
    Some(stored?.token_response?.access_token().secret().clone())
}
