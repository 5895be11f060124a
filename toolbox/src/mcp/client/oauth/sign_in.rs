//! Sign-in: a user approves in a browser, and the server grants a token.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{AuthorizationRequest, AuthorizationSession};
use serde_json::json;
use tokio::net::TcpListener;

use super::address::safe_url;
use super::callback;
use super::credentials::{CredentialFile, StoredGrant};
use super::dpop::ProofKey;
use super::failure::error_text;
use super::requests::{NO_PAGE, OAuthRequests};
use crate::mcp::client::{http, text};
use crate::mcp::config::{ServerConfig, ServerEndpoint};
use crate::text::cut;

/// The maximum time for a server to send its challenge.
const ANSWER: Duration = Duration::from_secs(10);

/// A sign-in at a server with OAuth, as specified by MCP: the server names its authorization
/// server, this client registers there unless the configuration [names a
/// client](ServerConfig::oauth_client), and a user approves in a browser.
///
/// Addresses from a server are checked before they are used: public ones must be `https`, ones on
/// this machine are accepted if the server itself is on this machine, and link-local ones, where
/// clouds serve their credentials, never. PKCE, the `state` of the request and a given issuer are
/// verified. A token is bound to a key of this sign-in (RFC 9449) if the authorization server can.
///
/// ```no_run
/// use toolbox::mcp::{CredentialFile, ServerConfig, Servers, SignIn};
///
/// # async fn run(toolbox: toolbox::ToolBox) -> Result<(), Box<dyn std::error::Error>> {
/// let credentials = CredentialFile::new("credentials.json");
/// let server = ServerConfig::url("https://example.com/mcp");
/// SignIn::new(&server, &credentials).run(|page| println!("open {page}")).await?;
///
/// let servers = Servers::builder()
///     .server("example", server)
///     .credentials(credentials)
///     .mount(&toolbox)
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is asked before `.run(..)`"]
pub struct SignIn<'a> {
    server: &'a ServerConfig,
    credentials: &'a CredentialFile,
    timeout: Duration,
    scopes: Vec<String>,
}

impl<'a> SignIn<'a> {
    /// Returns a sign-in that stores its token in a file.
    pub fn new(server: &'a ServerConfig, credentials: &'a CredentialFile) -> Self {
        Self { server, credentials, timeout: Duration::from_secs(300), scopes: Vec::new() }
    }

    /// Requests these scopes in addition to those that the server names and those granted before.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Limits the time until the user approves. Default 5 minutes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Contacts the server, passes the address of the page to open to `show`, and waits until the
    /// user approves.
    ///
    /// The browser has to run on this machine: it is redirected to a port on the loopback
    /// interface.
    ///
    /// # Errors
    ///
    /// [`SignInError`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future aborts the sign-in; no token is stored.
    pub async fn run(self, show: impl FnOnce(&str)) -> Result<(), SignInError> {
        let ServerEndpoint::Url { url, .. } = &self.server.endpoint else {
            return Err(SignInError::NoUrl);
        };
        if self.server.oauth.grant.is_some() {
            return Err(SignInError::NoUser);
        }
        let client = &self.server.oauth;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, client.callback_port.unwrap_or(0)));
        let listener = listener.await.map_err(SignInError::Callback)?;
        let port = listener.local_addr().map_err(SignInError::Callback)?.port();
        let redirect = format!("http://127.0.0.1:{port}{}", callback::PATH);

        let mut kept = self.credentials.of(url);
        let before = kept.stored().await.map_err(server)?;
        let challenge = challenge(url, before.as_ref()).await;
        let requests = OAuthRequests::for_server(url).map_err(server)?;
        let mut manager = requests.manager(url).await.map_err(server)?;
        let challenged = challenge.as_ref().map(|(challenge, _)| challenge.as_str());
        let found = manager.resolve_metadata_from_challenge(challenged).await.map_err(server)?;
        if found.metadata.authorization_endpoint == NO_PAGE {
            let reason = "its authorization server has no page to sign in at, only tokens for programs: configure a grant";
            return Err(SignInError::Server(reason.to_owned()));
        }
        if let Some(key) = ProofKey::for_server(&found.metadata).map_err(server)? {
            requests.prove_with(Arc::clone(&key));
            kept = kept.bound_to(key);
        }
        manager.set_credential_store(kept);
        manager.set_metadata(found.metadata);
        let mut more = self.scopes;
        more.extend(challenge.and_then(|(_, more)| more).into_iter().flatten());
        let mut scopes = client.scopes.clone();
        if scopes.is_empty() && !more.is_empty() {
            // The scopes granted before are requested again, so that none is lost.
            scopes = match before {
                Some(before) => before.credentials.granted_scopes,
                None => manager.select_initial_scopes(&[]).await,
            };
        }
        for scope in more {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let mut request = AuthorizationRequest::new(redirect.as_str())
            .with_client_name("toolbox")
            .with_initial_scope_selection()
            .with_scopes(scopes);
        request.client_id.clone_from(&client.id);
        request.client_secret.clone_from(&client.secret);
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| server(error))?;

        let page = session.get_authorization_url();
        let state = safe_url(page, url).and_then(|page| callback::value(page.query()?, "state"));
        let state = state.ok_or_else(|| {
            SignInError::Page(cleaned(page.split('?').next().unwrap_or_default()))
        })?;
        show(page);
        let query = tokio::time::timeout(self.timeout, callback::wait(listener, state)).await;
        let query = query.map_err(|_| SignInError::TimedOut(self.timeout))?;
        let query = query.map_err(SignInError::Callback)?;
        if let Some(error) = callback::value(&query, "error") {
            let description = callback::value(&query, "error_description");
            return Err(SignInError::Denied(cleaned(&description.unwrap_or(error))));
        }
        let answer = format!("{redirect}?{query}");
        session.handle_callback_url(&answer).await.map(drop).map_err(server)
    }
}

/// Returns the challenge of a server, and the scopes it requires beyond those granted.
async fn challenge(
    url: &str,
    before: Option<&StoredGrant>,
) -> Option<(String, Option<Vec<String>>)> {
    let client = http::SharedClient::default().client().ok()?;
    let question = json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {}});
    let request =
        client.post(url).timeout(ANSWER).header(ACCEPT, "application/json, text/event-stream");
    let request = request.header(CONTENT_TYPE, "application/json").body(question.to_string());
    let sent = match before.and_then(StoredGrant::token) {
        Some(token) => token.send(request).await,
        None => http::answered(request.send().await),
    };
    // Any other failure occurs again in the following steps, which report it.
    match sent {
        Err(StreamableHttpError::AuthRequired(demand)) => {
            let challenge = demand.www_authenticate_header;
            (!challenge.is_empty()).then_some((challenge, None))
        }
        Err(StreamableHttpError::InsufficientScope(demand)) => {
            let more = demand
                .required_scope
                .map(|more| more.split_whitespace().map(str::to_owned).collect());
            Some((demand.www_authenticate_header, more))
        }
        Ok(response) => {
            let challenge = response.headers().get(WWW_AUTHENTICATE)?.to_str().ok()?;
            Some((challenge.to_owned(), None))
        }
        Err(_) => None,
    }
}

fn server(error: AuthError) -> SignInError {
    match error {
        AuthError::CredentialStoreError(reason) => SignInError::NotKept(reason),
        AuthError::RegistrationFailed(reason) => {
            // rmcp repeats the prefix.
            let prefix = ["Dynamic registration failed: ", "Registration failed: "];
            let reason = prefix.iter().fold(reason, |reason, prefix| reason.replace(prefix, ""));
            SignInError::NotRegistered(cleaned(&reason))
        }
        error => SignInError::Server(error_text(&error)),
    }
}

fn cleaned(text: &str) -> String {
    text::clean(cut(text, 512)).into_owned()
}

/// An error during sign-in.
#[derive(Debug)]
#[non_exhaustive]
pub enum SignInError {
    /// The server is a program, and has no URL.
    NoUrl,
    /// The configuration has a grant without a browser for the server, such as [client
    /// credentials](ServerConfig::client_credentials).
    NoUser,
    /// The server or its authorization server cannot be reached, or its answer is invalid.
    Server(String),
    /// The authorization server does not know this client and refuses to register it: configure one
    /// with [`oauth_client`](ServerConfig::oauth_client).
    NotRegistered(String),
    /// The page to open is neither `https` nor on this machine.
    Page(String),
    /// The user or the server denied the request.
    Denied(String),
    /// The user did not approve in time.
    TimedOut(Duration),
    /// The port of the redirect cannot be used.
    Callback(std::io::Error),
    /// The token cannot be stored.
    NotKept(String),
}

impl fmt::Display for SignInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUrl => f.write_str("the server is a program: there is nothing to sign in at"),
            Self::NoUser => f.write_str(
                "the server has another grant in the configuration: no user signs in there",
            ),
            Self::Server(reason) => write!(f, "the sign-in failed: {reason}"),
            Self::NotRegistered(reason) => write!(
                f,
                "this client cannot register there ({reason}): name one that is registered, in the configuration by `oauth`: {{\"clientId\": …}}"
            ),
            Self::Page(page) => {
                write!(f, "the server wants `{page}` opened, which is no page of the web")
            }
            Self::Denied(reason) => write!(f, "the sign-in was refused: {reason}"),
            Self::TimedOut(limit) => {
                write!(f, "the sign-in was not approved within {} seconds", limit.as_secs())
            }
            Self::Callback(error) => {
                write!(f, "the port that the browser comes back to cannot be used: {error}")
            }
            Self::NotKept(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for SignInError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Callback(error) => Some(error),
            _ => None,
        }
    }
}
