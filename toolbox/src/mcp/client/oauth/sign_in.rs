//! Sign-in: a user approves in a browser, and the server grants a token.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use rmcp::transport::auth::{AuthError, AuthorizationMetadata};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{AuthorizationManager, AuthorizationRequest, AuthorizationSession};
use serde_json::json;
use tokio::net::TcpListener;

use super::address::safe_url;
use super::callback;
use super::credentials::{CredentialEntry, CredentialFile, StoredGrant};
use super::documents::NO_PAGE;
use super::dpop::ProofKey;
use super::failure::{UNSAFE_ENDPOINT, error_text};
use super::registration::{self, RegisteredClient};
use super::requests::OAuthRequests;
use super::token_answer::TokenFailure;
use crate::mcp::client::{http, text};
use crate::mcp::config::{OAuthClient, ServerConfig, ServerEndpoint};
use crate::text::cut;

/// The maximum time for a server to send its challenge.
const ANSWER: Duration = Duration::from_secs(10);

/// The maximum time in which a server of the old transport names its address for messages.
const OLD: Duration = Duration::from_secs(3);

/// A sign-in at a server with OAuth, as specified by MCP: the server names its authorization
/// server, this client registers there unless the configuration [names a
/// client](ServerConfig::oauth_client), and a user approves in a browser.
///
/// Addresses from a server are checked before they are used: public ones must be `https`, ones on
/// this machine are accepted if the server itself is on this machine, and link-local ones, where
/// clouds serve their credentials, never. PKCE, the `state` of the request and a given issuer are
/// verified; an authorization server that does not name PKCE with S256 is refused. The client that
/// was registered is stored with the token, and the next sign-in uses it. A token is bound to a key
/// of this sign-in (RFC 9449) if the authorization server can.
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
        let kept = self.credentials.of(url);
        let before = kept.stored().await.map_err(failed)?;
        let challenge = challenge(url, before.as_ref()).await?;
        let requests = OAuthRequests::for_server(url).map_err(failed)?;
        let manager = requests.manager(url).await.map_err(failed)?;
        let challenged = challenge.as_ref().map(|challenge| challenge.header.as_str());
        let found = Box::pin(requests.metadata(&manager, challenged)).await.map_err(failed)?;
        if found.source.is_discovered() {
            check(&found.metadata)?;
        }
        if safe_url(&found.metadata.token_endpoint, url).is_none() {
            return Err(SignInError::Server(UNSAFE_ENDPOINT.to_owned()));
        }
        let configured = &self.server.oauth;
        let mut more = self.scopes;
        // A client whose token the server has just taken is known.
        let takes_token = challenge.as_ref().is_some_and(|challenge| challenge.takes_token);
        let in_use = before.as_ref().filter(|_| takes_token);
        let in_use = in_use.map(|before| before.credentials.client_id.clone());
        more.extend(challenge.into_iter().flat_map(|challenge| challenge.more));
        let metadata = found.metadata;
        let mut flow = SignInFlow { url, requests, kept, metadata, scopes: more, in_use };
        let manager = flow.prepare(manager, configured, before.as_ref()).await.map_err(failed)?;
        let (listener, known) = flow.listen(configured, before.as_ref()).await?;
        let redirect = redirect(&listener)?;
        let session = flow.session(manager, configured, &redirect, known);
        let (session, client) = Box::pin(session).await?;

        let page = session.get_authorization_url();
        let state = safe_url(page, url).and_then(|page| callback::value(page.query()?, "state"));
        let state = state.ok_or_else(|| {
            SignInError::Page(cleaned(page.split('?').next().unwrap_or_default()))
        })?;
        show(page);
        let query = tokio::time::timeout(self.timeout, callback::wait(listener, state)).await;
        let query = query.map_err(|_| SignInError::TimedOut(self.timeout))?;
        let query = query.map_err(SignInError::Callback)?;
        if let Some(code) = callback::value(&query, "error") {
            flow.check_issuer(callback::value(&query, "iss").as_deref())?;
            let description = callback::value(&query, "error_description");
            let failure = TokenFailure::OfPage { code, description };
            if failure.ends_the_grant() {
                return Err(flow.refused(failure, client).await);
            }
            return Err(SignInError::Denied(cleaned(&failure.description())));
        }
        let answer = format!("{redirect}?{query}");
        let granted = Box::pin(session.handle_callback_url(&answer)).await;
        match (granted, flow.requests.failure()) {
            (Ok(_), _) => Ok(()),
            (Err(error @ AuthError::CredentialStoreError(_)), _) | (Err(error), None) => {
                Err(failed(error))
            }
            (Err(_), Some(failure)) => Err(flow.refused(failure, client).await),
        }
    }
}

/// A sign-in at a server whose authorization server is known.
struct SignInFlow<'a> {
    url: &'a str,
    requests: Arc<OAuthRequests>,
    kept: CredentialEntry,
    metadata: AuthorizationMetadata,
    /// The scopes to request.
    scopes: Vec<String>,
    /// The client that is surely known.
    in_use: Option<String>,
}

impl SignInFlow<'_> {
    /// Decides on the key of the token and on the scopes.
    async fn prepare(
        &mut self,
        mut manager: AuthorizationManager,
        configured: &OAuthClient,
        before: Option<&StoredGrant>,
    ) -> Result<AuthorizationManager, AuthError> {
        if let Some(key) = ProofKey::for_server(&self.metadata)? {
            self.requests.prove_with(Arc::clone(&key));
            self.kept = self.kept.clone().bound_to(key);
        }
        manager.set_credential_store(self.kept.clone());
        manager.set_metadata(self.metadata.clone());
        let mut scopes = configured.scopes.clone();
        if scopes.is_empty() {
            scopes = match before {
                // The scopes granted before are requested again, so that none is lost.
                Some(before) if !self.scopes.is_empty() && before.secret().is_some() => {
                    before.credentials.granted_scopes.clone()
                }
                _ => manager.select_initial_scopes(&[]).await,
            };
        }
        scopes.append(&mut self.scopes);
        let offline = "offline_access";
        let supported = self.metadata.scopes_supported.as_deref().unwrap_or_default();
        if !scopes.is_empty() && supported.iter().any(|scope| scope == offline) {
            scopes.push(offline.to_owned());
        }
        for scope in scopes {
            if !self.scopes.contains(&scope) {
                self.scopes.push(scope);
            }
        }
        Ok(manager)
    }

    /// Opens the port that the browser comes back to: that of a client registered before, which is
    /// returned too, if it is free. Authorization servers compare the whole address.
    async fn listen(
        &self,
        configured: &OAuthClient,
        before: Option<&StoredGrant>,
    ) -> Result<(TcpListener, Option<RegisteredClient>), SignInError> {
        let wanted = configured.callback_port;
        let clients = before.map(|before| before.clients.as_slice()).unwrap_or_default();
        let clients = clients.iter().filter(|_| configured.id.is_none());
        for client in clients.rev().filter(|client| client.fits(&self.metadata, &self.scopes)) {
            let port = client.port().filter(|port| wanted.is_none_or(|wanted| wanted == *port));
            let Some(port) = port else { continue };
            if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
                return Ok((listener, Some(client.clone())));
            }
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted.unwrap_or(0))).await;
        Ok((listener.map_err(SignInError::Callback)?, None))
    }

    /// Begins the session of a client: the configured one, the one registered before unless the
    /// authorization server has forgotten it, or a new one. Returns the id of a registered one.
    async fn session(
        &self,
        manager: AuthorizationManager,
        configured: &OAuthClient,
        redirect: &str,
        known: Option<RegisteredClient>,
    ) -> Result<(AuthorizationSession, Option<String>), SignInError> {
        let request = AuthorizationRequest::new(redirect).with_scopes(self.scopes.clone());
        let mut request = request.with_initial_scope_selection();
        if let Some(id) = &configured.id {
            request = request.with_preregistered_client(id);
            request.client_secret.clone_from(&configured.secret);
            return Ok((begun(manager, request).await?, None));
        }
        let mut manager = manager;
        if let Some(client) = known {
            let id = client.id.clone();
            let session = self.session_of(manager, request.clone(), &client).await?;
            let page = session.get_authorization_url();
            let is_in_use = self.in_use.as_ref() == Some(&id);
            if is_in_use || registration::is_known(&self.requests, page, self.url).await {
                return Ok((session, Some(id)));
            }
            self.kept.forget_client(id).await.map_err(failed)?;
            manager = session.auth_manager;
        }
        let (requests, scopes) = (&self.requests, self.scopes.as_slice());
        let client =
            RegisteredClient::register(requests, &self.metadata, self.url, redirect, scopes);
        let client = client.await.map_err(|reason| {
            SignInError::NotRegistered(cleaned(&reason) + &self.requests.tried())
        })?;
        let session = self.session_of(manager, request, &client).await?;
        let id = client.id.clone();
        // Stored at once, so that a sign-in that is not finished needs no other.
        self.kept.keep_client(client).await.map_err(failed)?;
        Ok((session, Some(id)))
    }

    async fn session_of(
        &self,
        mut manager: AuthorizationManager,
        request: AuthorizationRequest,
        client: &RegisteredClient,
    ) -> Result<AuthorizationSession, SignInError> {
        let mut metadata = self.metadata.clone();
        client.authenticated_in(&mut metadata);
        manager.set_metadata(metadata);
        let mut request = request.with_preregistered_client(&client.id);
        request.client_secret.clone_from(&client.secret);
        begun(manager, request).await
    }

    /// Checks the issuer of a refusal (RFC 9207), whose text is not shown if it is another. One
    /// without an issuer carries the `state`, and grants nothing.
    fn check_issuer(&self, received: Option<&str>) -> Result<(), SignInError> {
        match (received, self.metadata.issuer.as_deref()) {
            (Some(received), expected) if Some(received) != expected => Err(SignInError::Server(
                "the answer of the page is of another issuer than its authorization server"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the error of a refusal. A client that is not taken is forgotten.
    async fn refused(&self, failure: TokenFailure, client: Option<String>) -> SignInError {
        if let Some(client) = client
            && (failure.ends_the_client() || failure.is_about_the_scope())
            && let Err(error) = self.kept.forget_client(client).await
        {
            return failed(error);
        }
        let reason = cleaned(&failure.to_string());
        if failure.ends_the_grant() {
            SignInError::Rejected(reason)
        } else {
            SignInError::Server(reason)
        }
    }
}

/// Checks that an authorization server has a page to sign in at, and PKCE as MCP requires it.
fn check(metadata: &AuthorizationMetadata) -> Result<(), SignInError> {
    if metadata.authorization_endpoint == NO_PAGE {
        let reason = "its authorization server has no page to sign in at, only tokens for programs: configure a grant";
        return Err(SignInError::Server(reason.to_owned()));
    }
    let methods = metadata.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if !methods.iter().any(|method| method == "S256") {
        let reason = "its authorization server does not name PKCE with S256 in `code_challenge_methods_supported`, without which MCP allows no sign-in: its operator has to add it";
        return Err(SignInError::Server(reason.to_owned()));
    }
    Ok(())
}

fn redirect(listener: &TcpListener) -> Result<String, SignInError> {
    let port = listener.local_addr().map_err(SignInError::Callback)?.port();
    Ok(format!("http://127.0.0.1:{port}{}", callback::PATH))
}

async fn begun(
    manager: AuthorizationManager,
    request: AuthorizationRequest,
) -> Result<AuthorizationSession, SignInError> {
    AuthorizationSession::new(manager, request).await.map_err(|(_, error)| failed(error))
}

/// A server's challenge to sign in.
struct Challenge {
    header: String,
    /// The scopes that it requires beyond those granted.
    more: Vec<String>,
    /// `true` if it took the token of before, and wants one that may do more.
    takes_token: bool,
}

impl Challenge {
    fn of(header: String) -> Self {
        Self { header, more: Vec::new(), takes_token: false }
    }
}

/// Returns the challenge of a server. An address that is no endpoint of MCP is an error.
async fn challenge(
    url: &str,
    before: Option<&StoredGrant>,
) -> Result<Option<Challenge>, SignInError> {
    let Ok(client) = http::SharedClient::default().client() else { return Ok(None) };
    let question = json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {}});
    let request =
        client.post(url).timeout(ANSWER).header(ACCEPT, "application/json, text/event-stream");
    let request = request.header(CONTENT_TYPE, "application/json").body(question.to_string());
    let token = before.and_then(StoredGrant::token);
    let takes_token = token.is_some();
    let sent = match token {
        Some(token) => token.send(request).await,
        None => http::answered(request.send().await),
    };
    let response = match sent {
        Err(StreamableHttpError::AuthRequired(demand)) => {
            let header = demand.www_authenticate_header;
            return Ok((!header.is_empty()).then(|| Challenge::of(header)));
        }
        Err(StreamableHttpError::InsufficientScope(demand)) => {
            let more = demand.required_scope.unwrap_or_default();
            let more = more.split_whitespace().map(str::to_owned).collect();
            let header = demand.www_authenticate_header;
            return Ok(Some(Challenge { header, more, takes_token }));
        }
        Ok(response) => response,
        // The following steps fail for the same reason, and report it.
        Err(_) => return Ok(None),
    };
    if let Some(fault) = http::fault_of(&response) {
        return Err(SignInError::Server(cleaned(&fault)));
    }
    let challenge = http::challenge_of(&response).map(Challenge::of);
    if challenge.is_none() && http::may_be_old(response.status()) {
        let stream = client.get(url).header(ACCEPT, "text/event-stream").timeout(OLD).send();
        if let Ok(stream) = stream.await
            && http::begins_as_old(stream).await
        {
            return Err(SignInError::Server(http::OLD_TRANSPORT.to_owned()));
        }
    }
    Ok(challenge)
}

fn failed(error: AuthError) -> SignInError {
    match error {
        AuthError::CredentialStoreError(reason) => SignInError::NotKept(reason),
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
    /// The authorization server does not take the client, the code or a scope: `invalid_client`,
    /// `unauthorized_client`, `invalid_grant` or `invalid_scope`. A registered client that it does
    /// not take is forgotten, and the next sign-in registers another.
    Rejected(String),
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
            Self::Rejected(reason) => {
                write!(f, "the sign-in failed ({reason}): sign in again")
            }
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
