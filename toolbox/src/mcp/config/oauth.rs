//! The identity of this program at the authorization server of a server.

use std::fmt;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::read::ConfigReader;
use super::server::ServerConfig;
use super::table::{CLIENT_CREDENTIALS, JWT_BEARER, TOKEN_EXCHANGE};
use super::values::ObjectValues;

/// The maximum size of a file with a secret or a key, in bytes.
const MAX_SECRET: u64 = 64 << 10;

/// The keys that hold the secret or the private key of a client.
const PROOFS: [&str; 4] = ["clientSecret", "clientSecretFile", "privateKey", "privateKeyFile"];

/// The keys that a sign-in does not have, each with the grant that it is for.
const GRANT_KEYS: [(&str, &str); 7] = [
    ("clientSecretFile", CLIENT_CREDENTIALS),
    ("privateKey", CLIENT_CREDENTIALS),
    ("privateKeyFile", CLIENT_CREDENTIALS),
    ("issuer", CLIENT_CREDENTIALS),
    ("assertion", JWT_BEARER),
    ("assertionFile", JWT_BEARER),
    ("idp", TOKEN_EXCHANGE),
];

/// The registration of this client at an authorization server.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct OAuthClient {
    pub(crate) id: Option<String>,
    pub(crate) secret: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) callback_port: Option<u16>,
    /// The grant of a program that gets tokens without a browser, in place of a user.
    pub(crate) grant: Option<ProgramGrant>,
    /// The only authorization server that gets the credentials.
    pub(crate) issuer: Option<String>,
}

/// The grant by which a program gets tokens without a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramGrant {
    /// `client_credentials` (RFC 6749, section 4.4).
    ClientCredentials(ClientCredentials),
    /// `jwt-bearer` (RFC 7523) with the assertion of a workload.
    JwtBearer { id: String, assertion: TokenSource },
    /// `token-exchange` at an identity provider (RFC 8693), then `jwt-bearer` with the ID-JAG.
    TokenExchange { id: String, secret: TokenSource, idp: IdentityProvider },
}

impl ProgramGrant {
    /// Returns the extension of MCP that the grant belongs to; workload identity has none yet.
    pub(super) fn extension(&self) -> Option<&'static str> {
        match self {
            Self::ClientCredentials(_) => Some("io.modelcontextprotocol/oauth-client-credentials"),
            Self::JwtBearer { .. } => None,
            Self::TokenExchange { .. } => {
                Some("io.modelcontextprotocol/enterprise-managed-authorization")
            }
        }
    }
}

/// The credentials of a program that acts for itself.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ClientCredentials {
    pub(crate) id: String,
    pub(crate) proof: ClientProof,
}

/// The proof that this program is the registered client.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum ClientProof {
    Secret(String),
    /// A private key in PEM form, which signs a short-lived assertion.
    PrivateKey(String),
}

/// A token that another program issues: its text, or the file that is read for each request.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum TokenSource {
    Text(String),
    File(PathBuf),
}

impl TokenSource {
    /// Returns the token, or the fault of its file. Blocks while the file is read.
    pub(crate) fn read(&self) -> Result<String, String> {
        let token = match self {
            Self::Text(token) => token.clone(),
            Self::File(path) => secret_in(path).map_err(|fault| format!("its file {fault}"))?,
        };
        Ok(token.trim().to_owned())
    }
}

/// The identity provider of an enterprise, which grants an ID-JAG for a user's ID token.
///
/// ```
/// use toolbox::mcp::{IdentityProvider, ServerConfig};
///
/// let idp = IdentityProvider::new("https://idp.example.com", "https://idp.example.com/token")
///     .client("toolbox", None)
///     .id_token_file("/run/identity/id_token");
/// let wiki = ServerConfig::url("https://wiki.example.com/mcp")
///     .enterprise_managed("wiki-client", "secret", idp)
///     .oauth_issuer("https://login.example.com");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "it is passed to `ServerConfig::enterprise_managed`"]
pub struct IdentityProvider {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<TokenSource>,
    pub(crate) id_token: TokenSource,
}

impl IdentityProvider {
    /// Returns the provider with an issuer and a token endpoint, both `https` or on this machine.
    pub fn new(issuer: impl Into<String>, token_endpoint: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            token_endpoint: token_endpoint.into(),
            client_id: String::new(),
            client_secret: None,
            id_token: TokenSource::Text(String::new()),
        }
    }

    /// Sets the client that the ID token was issued to. A secret is sent by HTTP Basic. Required.
    pub fn client(mut self, id: impl Into<String>, secret: Option<String>) -> Self {
        self.client_id = id.into();
        self.client_secret = secret.map(TokenSource::Text);
        self
    }

    /// Sets the ID token of the user. This or [`id_token_file`](Self::id_token_file) is required.
    pub fn id_token(mut self, token: impl Into<String>) -> Self {
        self.id_token = TokenSource::Text(token.into());
        self
    }

    /// Sets the file with the ID token of the user, at most 64 KiB, which is read for each request.
    pub fn id_token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.id_token = TokenSource::File(path.into());
        self
    }
}

impl ServerConfig {
    /// Sets the registered client that a [`SignIn`](crate::mcp::SignIn) uses. Default: it registers
    /// dynamically. Has no effect on a command.
    #[must_use]
    pub fn oauth_client(mut self, id: impl Into<String>, secret: Option<String>) -> Self {
        self.oauth.id = Some(id.into());
        self.oauth.secret = secret;
        self
    }

    /// Sets the scopes that a [`SignIn`](crate::mcp::SignIn) or
    /// [client credentials](Self::client_credentials) request. Default: those that the server
    /// names. A token of a user is renewed for those of them that were granted; without any, for
    /// all that were. Has no effect on a command.
    #[must_use]
    pub fn oauth_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.oauth.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the loopback port that a browser is redirected to at a [`SignIn`](crate::mcp::SignIn),
    /// for a client registered with a fixed address: `http://127.0.0.1:<port>/callback`. Default:
    /// any free port. Has no effect on a command.
    #[must_use]
    pub fn oauth_callback_port(mut self, port: u16) -> Self {
        self.oauth.callback_port = Some(port);
        self
    }

    /// Sets the registered client as which the program acts for itself: it requests tokens with the
    /// client's secret, and no user signs in. Default: a user does. Has no effect on a command.
    ///
    /// The secret is sent to the authorization server that the server names, by `https` or on this
    /// machine. [`oauth_issuer`](Self::oauth_issuer) limits that to one.
    ///
    /// ```
    /// use toolbox::mcp::ServerConfig;
    ///
    /// let secret = std::env::var("REPORTS_SECRET").unwrap_or_default();
    /// let reports = ServerConfig::url("https://reports.example.com/mcp")
    ///     .client_credentials("nightly", secret)
    ///     .oauth_issuer("https://login.example.com");
    /// ```
    #[must_use]
    pub fn client_credentials(self, id: impl Into<String>, secret: impl Into<String>) -> Self {
        self.with_proof(id.into(), ClientProof::Secret(secret.into()))
    }

    /// Sets the registered client as which the program acts for itself, as
    /// [`client_credentials`](Self::client_credentials) does, with a private key in place of a
    /// secret (`private_key_jwt`). Has no effect on a command.
    ///
    /// The key is PEM: RSA, which signs with RS256, or an elliptic curve as PKCS#8, which signs
    /// with ES256 (P-256) or ES384 (P-384). It never leaves the program: each request for a token
    /// carries an assertion that is valid for 5 minutes, at one authorization server.
    #[must_use]
    pub fn client_credentials_key(self, id: impl Into<String>, pem: impl Into<String>) -> Self {
        self.with_proof(id.into(), ClientProof::PrivateKey(pem.into()))
    }

    /// Sets the registered client and the assertion of a workload, for which tokens are granted
    /// (`jwt-bearer`, RFC 7523); no user signs in. Default: a user does. Has no effect on a
    /// command.
    ///
    /// The assertion is a JWT that the platform of the workload issues for the authorization
    /// server. It is sent there by the rules of [`client_credentials`](Self::client_credentials).
    #[must_use]
    pub fn workload_identity(self, id: impl Into<String>, assertion: impl Into<String>) -> Self {
        let assertion = TokenSource::Text(assertion.into());
        self.with_grant(ProgramGrant::JwtBearer { id: id.into(), assertion })
    }

    /// Sets a client and the file with the assertion of a workload, as
    /// [`workload_identity`](Self::workload_identity) does. The file, at most 64 KiB, is read for
    /// each request, since platforms replace it. Has no effect on a command.
    ///
    /// ```
    /// use toolbox::mcp::ServerConfig;
    ///
    /// let reports = ServerConfig::url("https://reports.example.com/mcp")
    ///     .workload_identity_file("nightly", "/var/run/secrets/tokens/mcp")
    ///     .oauth_issuer("https://login.example.com");
    /// ```
    #[must_use]
    pub fn workload_identity_file(self, id: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        let assertion = TokenSource::File(path.into());
        self.with_grant(ProgramGrant::JwtBearer { id: id.into(), assertion })
    }

    /// Sets enterprise-managed authorization: an identity provider grants an ID-JAG for the user's
    /// ID token (`token-exchange`, RFC 8693), for which the authorization server of this server
    /// grants tokens to a registered client. Default: a user signs in. Has no effect on a command.
    #[must_use]
    pub fn enterprise_managed(
        self,
        id: impl Into<String>,
        secret: impl Into<String>,
        idp: IdentityProvider,
    ) -> Self {
        let (id, secret) = (id.into(), TokenSource::Text(secret.into()));
        self.with_grant(ProgramGrant::TokenExchange { id, secret, idp })
    }

    /// Sets the issuer of the only authorization server that gets the [client
    /// credentials](Self::client_credentials) or an assertion. The slash of an empty path makes no
    /// difference; all else is compared character by character. Default: the first one that the
    /// server names. Has no effect on a command.
    #[must_use]
    pub fn oauth_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.oauth.issuer = Some(issuer.into());
        self
    }

    fn with_proof(self, id: String, proof: ClientProof) -> Self {
        self.with_grant(ProgramGrant::ClientCredentials(ClientCredentials { id, proof }))
    }

    fn with_grant(mut self, grant: ProgramGrant) -> Self {
        self.oauth.grant = Some(grant);
        self
    }
}

/// Adds the keys under `oauth` to a server. Paths of files are resolved with `files`; without it,
/// none is read.
pub(super) fn of_keys(
    mut server: ServerConfig,
    mut given: ObjectValues,
    reader: &mut ConfigReader<'_>,
    files: Option<&dyn Fn(&str) -> PathBuf>,
) -> Option<ServerConfig> {
    let grant = given.place("grant");
    let kind = given.text("grant");
    if let Some(issuer) = given.text("issuer") {
        server = server.oauth_issuer(issuer);
    }
    if let Some(scope) = given.text("scope") {
        server = server.oauth_scopes(scope.split_whitespace());
    }
    match kind.as_deref() {
        Some(CLIENT_CREDENTIALS) => {
            let (id, proof) = own_credentials(given, grant?, reader, files)?;
            return Some(server.with_proof(id, proof));
        }
        Some(JWT_BEARER) => {
            return Some(server.with_grant(jwt_bearer(given, grant?, reader, files)?));
        }
        Some(TOKEN_EXCHANGE) => {
            return Some(server.with_grant(token_exchange(given, grant?, reader, files)?));
        }
        _ => {}
    }
    for (key, grant) in GRANT_KEYS {
        if let Some(place) = given.place(key) {
            let message = format!("`{key}` is for `\"grant\": \"{grant}\"` alone");
            reader.problem(place, message, Some("add the grant, or leave it out".to_owned()));
            return None;
        }
    }
    if let Some(id) = given.text("clientId") {
        server = server.oauth_client(id, given.text("clientSecret"));
    }
    Some(match given.count("callbackPort").map(u16::try_from) {
        Some(Ok(port)) => server.oauth_callback_port(port),
        _ => server,
    })
}

/// Returns the client of a program that acts for itself, with its one proof.
fn own_credentials(
    mut given: ObjectValues,
    grant: Range<usize>,
    reader: &mut ConfigReader<'_>,
    files: Option<&dyn Fn(&str) -> PathBuf>,
) -> Option<(String, ClientProof)> {
    let proofs: Vec<&str> = PROOFS.into_iter().filter(|key| given.has(key)).collect();
    let id = given.text("clientId");
    let (Some(id), [proof]) = (id, proofs.as_slice()) else {
        let message = format!(
            "`\"grant\": \"{CLIENT_CREDENTIALS}\"` needs `clientId` and one of `{}`",
            PROOFS.join("`, `")
        );
        let help = r#"such as "clientSecret": "{env:NAME}""#;
        reader.problem(grant, message, Some(help.to_owned()));
        return None;
    };
    let place = given.place(proof)?;
    let value = given.text(proof)?;
    let is_key = proof.starts_with("privateKey");
    let value = match files.filter(|_| proof.ends_with("File")) {
        None => Ok(value),
        Some(path) => secret_in(&path(&value)),
    };
    let value = match value {
        Ok(value) => value,
        Err(reason) => {
            reader.problem(place, format!("the file of `{proof}` {reason}"), None);
            return None;
        }
    };
    if is_key && files.is_some() && !value.contains("PRIVATE KEY-----") {
        let message = format!("`{proof}` holds no private key in PEM form");
        let help = "it begins with `-----BEGIN PRIVATE KEY-----`; `openssl pkcs8 -topk8 -nocrypt` converts others";
        reader.problem(place, message, Some(help.to_owned()));
        return None;
    }
    Some((id, if is_key { ClientProof::PrivateKey(value) } else { ClientProof::Secret(value) }))
}

/// Returns the grant of a workload with an assertion.
fn jwt_bearer(
    mut given: ObjectValues,
    grant: Range<usize>,
    reader: &mut ConfigReader<'_>,
    files: Option<&dyn Fn(&str) -> PathBuf>,
) -> Option<ProgramGrant> {
    let assertion = source(&mut given, ["assertion", "assertionFile"], files);
    let (Some(id), Some(assertion)) = (given.text("clientId"), assertion) else {
        let message = format!(
            "`\"grant\": \"{JWT_BEARER}\"` needs `clientId` and one of `assertion`, `assertionFile`"
        );
        let help = r#"such as "assertionFile": "/var/run/secrets/tokens/mcp""#;
        reader.problem(grant, message, Some(help.to_owned()));
        return None;
    };
    Some(ProgramGrant::JwtBearer { id, assertion })
}

/// Returns the grant of enterprise-managed authorization.
fn token_exchange(
    mut given: ObjectValues,
    grant: Range<usize>,
    reader: &mut ConfigReader<'_>,
    files: Option<&dyn Fn(&str) -> PathBuf>,
) -> Option<ProgramGrant> {
    let idp = given.object("idp").and_then(|idp| identity_provider(idp, files));
    let secret = source(&mut given, ["clientSecret", "clientSecretFile"], files);
    let (Some(id), Some(secret), Some(idp)) = (given.text("clientId"), secret, idp) else {
        let message = format!(
            "`\"grant\": \"{TOKEN_EXCHANGE}\"` needs `clientId`, one of `clientSecret`, `clientSecretFile`, and `idp` with `issuer`, `tokenEndpoint`, `clientId` and one of `idToken`, `idTokenFile`"
        );
        reader.problem(grant, message, None);
        return None;
    };
    Some(ProgramGrant::TokenExchange { id, secret, idp })
}

fn identity_provider(
    mut given: ObjectValues,
    files: Option<&dyn Fn(&str) -> PathBuf>,
) -> Option<IdentityProvider> {
    let id_token = source(&mut given, ["idToken", "idTokenFile"], files)?;
    let mut idp = IdentityProvider::new(given.text("issuer")?, given.text("tokenEndpoint")?);
    idp.client_secret = source(&mut given, ["clientSecret", "clientSecretFile"], files);
    idp.client_id = given.text("clientId")?;
    Some(IdentityProvider { id_token, ..idp })
}

/// Returns the token of one of two keys, the second of which names a file; `None` for both or
/// neither.
fn source(
    given: &mut ObjectValues,
    [text, file]: [&str; 2],
    files: Option<&dyn Fn(&str) -> PathBuf>,
) -> Option<TokenSource> {
    match (given.text(text), given.text(file)) {
        (Some(token), None) => Some(TokenSource::Text(token)),
        (None, Some(path)) => Some(TokenSource::File(
            files.map_or_else(|| PathBuf::from(&path), |files| files(&path)),
        )),
        _ => None,
    }
}

/// Returns the text of a file without the line break at its end, or the fault.
fn secret_in(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_SECRET + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(length) if length as u64 > MAX_SECRET => Err("is longer than 64 KiB".to_owned()),
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) if text.trim().is_empty() => Err("is empty".to_owned()),
            Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
            Err(_) => Err("is not UTF-8".to_owned()),
        },
    }
}

/// Hides the secret.
impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("id", &self.id)
            .field("secret", &self.secret.as_ref().map(|_| "***"))
            .field("scopes", &self.scopes)
            .field("callback_port", &self.callback_port)
            .field("grant", &self.grant)
            .field("issuer", &self.issuer)
            .finish()
    }
}

/// Hides the secret or the key.
impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proof = match &self.proof {
            ClientProof::Secret(_) => "secret",
            ClientProof::PrivateKey(_) => "private key",
        };
        f.debug_struct("ClientCredentials").field("id", &self.id).field("proof", &proof).finish()
    }
}

/// Hides the token.
impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("\"***\""),
            Self::File(path) => path.fmt(f),
        }
    }
}
