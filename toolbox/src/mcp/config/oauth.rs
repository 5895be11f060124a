//! The identity of this program at the authorization server of a server.

use std::fmt;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::read::{ConfigReader, ObjectValues};
use super::server::ServerConfig;
use super::table::CLIENT_CREDENTIALS;

/// The maximum size of a file with a secret or a key, in bytes.
const MAX_SECRET: u64 = 64 << 10;

/// The keys that hold the secret or the private key of a client.
const PROOFS: [&str; 4] = ["clientSecret", "clientSecretFile", "privateKey", "privateKeyFile"];

/// The registration of this client at an authorization server.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct OAuthClient {
    pub(crate) id: Option<String>,
    pub(crate) secret: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) callback_port: Option<u16>,
    /// The credentials of a program that acts for itself, in place of a user.
    pub(crate) credentials: Option<ClientCredentials>,
    /// The only authorization server that gets the credentials.
    pub(crate) issuer: Option<String>,
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
    /// names. Has no effect on a command.
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

    /// Sets the issuer of the only authorization server that gets the [client
    /// credentials](Self::client_credentials), compared character by character. Default: the first
    /// one that the server names. Has no effect on a command.
    #[must_use]
    pub fn oauth_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.oauth.issuer = Some(issuer.into());
        self
    }

    fn with_proof(mut self, id: String, proof: ClientProof) -> Self {
        self.oauth.credentials = Some(ClientCredentials { id, proof });
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
    let is_own = given.text("grant").as_deref() == Some(CLIENT_CREDENTIALS);
    if let Some(issuer) = given.text("issuer") {
        server = server.oauth_issuer(issuer);
    }
    if let Some(scope) = given.text("scope") {
        server = server.oauth_scopes(scope.split_whitespace());
    }
    if is_own {
        let (id, proof) = own_credentials(given, grant?, reader, files)?;
        return Some(server.with_proof(id, proof));
    }
    for key in ["clientSecretFile", "privateKey", "privateKeyFile", "issuer"] {
        if let Some(place) = given.place(key) {
            let message = format!("`{key}` is for `\"grant\": \"{CLIENT_CREDENTIALS}\"` alone");
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
            .field("credentials", &self.credentials)
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
