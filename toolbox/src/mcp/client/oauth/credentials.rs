//! The file of granted tokens, common to all servers.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oauth2::TokenResponse as _;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::access::OAuthToken;
use super::dpop::{ProofKey, is_bound};
use super::registration::RegisteredClient;
use crate::mcp::file::{FileLock, SharedFile};
use crate::text::hex;

/// The maximum time to wait for another program that writes.
const WRITE: Duration = Duration::from_secs(2);

/// The maximum time to wait for another program that renews a token, which takes a network request.
const REFRESH: Duration = Duration::from_secs(30);

/// A file with the tokens of servers that a user signed in to.
///
/// JSON, readable by its owner only on systems with file permissions. Several programs may use one
/// file: a token renewed by one is renewed for all. A token is sent only to the server it was
/// granted for, identified by its URL. The key that a token is bound to is stored beside it.
///
/// ```
/// use toolbox::mcp::{CredentialFile, Servers};
///
/// let file = CredentialFile::new("/home/ada/.config/agent/credentials.json");
/// let servers = Servers::builder().credentials(file);
/// ```
#[derive(Debug, Clone)]
pub struct CredentialFile(SharedFile);

#[derive(Serialize, Deserialize)]
struct CredentialContents {
    version: u32,
    /// The entries by server, each read separately: an invalid entry affects its own server only,
    /// and is kept until the next sign-in or sign-out there.
    servers: BTreeMap<String, Value>,
}

impl CredentialFile {
    /// Returns a handle to the file at a path. The file is created at the first sign-in, with its
    /// folder.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(SharedFile::private(path.into()))
    }

    /// Returns the default path: `toolbox/credentials.json` in `XDG_DATA_HOME` or `~/.local/share`.
    ///
    /// `None` if the home directory is unknown.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
        let folder = named.filter(|path| path.is_absolute());
        let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
        Some(folder.join("toolbox").join("credentials.json"))
    }

    /// Returns whether there is a token for the server at a URL. It may have expired.
    ///
    /// # Errors
    ///
    /// [`CredentialFileError`] if the file cannot be read.
    pub fn is_signed_in(&self, url: &str) -> Result<bool, CredentialFileError> {
        let kept = self.read()?.servers.remove(&key(url)).and_then(|kept| entry(url, kept));
        Ok(kept.is_some_and(|kept| kept.secret().is_some()))
    }

    /// Deletes the token of the server at a URL; returns `false` if there was none.
    ///
    /// The server is not notified: copies of the token are valid until it expires.
    ///
    /// # Errors
    ///
    /// [`CredentialFileError`] if the file cannot be read or written.
    pub fn sign_out(&self, url: &str) -> Result<bool, CredentialFileError> {
        self.update(|servers| servers.remove(&key(url)).is_some())
    }

    /// Returns the entry of one server.
    pub(super) fn of(&self, url: &str) -> CredentialEntry {
        CredentialEntry { file: self.clone(), key: key(url), proof: None }
    }

    fn read(&self) -> Result<CredentialContents, CredentialFileError> {
        let read = self.0.read().map_err(|source| self.failed(source))?;
        let Some(bytes) = read else {
            return Ok(CredentialContents { version: 1, servers: BTreeMap::new() });
        };
        let contents = serde_json::from_slice::<CredentialContents>(&bytes);
        // serde_json's message could contain part of a token.
        let contents = contents.ok().filter(|contents| contents.version == 1);
        let broken =
            || io::Error::new(io::ErrorKind::InvalidData, "it does not hold what it should");
        contents.ok_or_else(|| self.failed(broken()))
    }

    fn update<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Value>) -> T,
    ) -> Result<T, CredentialFileError> {
        let written = |error| self.failed(error);
        if let Some(folder) = self.0.path().parent() {
            std::fs::create_dir_all(folder).map_err(written)?;
        }
        let _turn = self.0.turn("guard", WRITE).map_err(written)?;
        let mut contents = self.read()?;
        let done = change(&mut contents.servers);
        let bytes = serde_json::to_vec_pretty(&contents).map_err(io::Error::from);
        bytes.and_then(|bytes| self.0.write(&bytes)).map_err(written)?;
        Ok(done)
    }

    fn failed(&self, source: io::Error) -> CredentialFileError {
        CredentialFileError { path: self.0.path().to_owned(), source }
    }
}

/// Reads the entry of one server. An invalid entry counts as signed out.
fn entry(server: &str, kept: Value) -> Option<StoredGrant> {
    let read = serde_json::from_value(kept).ok();
    if read.is_none() {
        // serde_json's message could contain part of a token.
        tracing::warn!(
            server = crate::mcp::config::public_url(server),
            "what was granted by a server cannot be read; sign in there again"
        );
    }
    read
}

/// Returns the key of a server.
fn key(url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(url) else { return url.to_owned() };
    url.set_fragment(None);
    url.into()
}

/// An error reading or writing the file with tokens.
#[derive(Debug)]
pub struct CredentialFileError {
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for CredentialFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, source) = (self.path.display(), &self.source);
        write!(f, "the file with credentials, {path}, cannot be used: {source}")?;
        match source.kind() {
            io::ErrorKind::InvalidData => f.write_str("; delete it to sign in anew everywhere"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for CredentialFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The stored grant of one server.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredGrant {
    #[serde(flatten)]
    pub(super) credentials: StoredCredentials,
    /// The key that the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dpop_key: Option<String>,
    /// The clients that were registered: that of the token, and one whose sign-in was not finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) clients: Vec<RegisteredClient>,
}

impl StoredGrant {
    /// Returns the secret of the token, if there is a token.
    pub(super) fn secret(&self) -> Option<&str> {
        Some(self.credentials.token_response.as_ref()?.access_token().secret())
    }

    /// Returns the token that renews the token, if there is one.
    pub(super) fn renewing(&self) -> Option<&str> {
        let token = self.credentials.token_response.as_ref()?.refresh_token()?;
        Some(token.secret().as_str())
    }

    /// Returns the token; `None` too if its key cannot be read, since it is of no use without.
    /// Reads the key, which takes longer than the rest.
    pub(super) fn token(&self) -> Option<OAuthToken> {
        let key = match &self.dpop_key {
            Some(text) => Some(ProofKey::from_text(text)?),
            None => None,
        };
        Some(OAuthToken::new(self.secret()?, key))
    }

    /// Returns the registration of the client that the token was granted to.
    pub(super) fn client(&self) -> Option<&RegisteredClient> {
        self.clients.iter().find(|client| client.id == self.credentials.client_id)
    }
}

/// The entry of one server in the file.
#[derive(Clone)]
pub(super) struct CredentialEntry {
    file: CredentialFile,
    key: String,
    /// The key of the next token, if that is bound to one.
    proof: Option<Arc<ProofKey>>,
}

impl CredentialEntry {
    /// Returns an entry that stores this key with the next token.
    pub(super) fn bound_to(self, key: Arc<ProofKey>) -> Self {
        Self { proof: Some(key), ..self }
    }

    /// Returns what is stored.
    pub(super) async fn stored(&self) -> Result<Option<StoredGrant>, AuthError> {
        self.blocking(|file, key| {
            let kept = file.read()?.servers.remove(&key);
            Ok(kept.and_then(|kept| entry(&key, kept)))
        })
        .await
    }

    /// Waits until no other program renews the token of this server; other servers are not
    /// affected.
    pub(super) async fn turn(&self) -> Result<FileLock, AuthError> {
        self.blocking(|file, key| {
            let server = &hex(&Sha256::digest(key.as_bytes()))[..16];
            let turn = file.0.turn(&format!("{server}.refresh"), REFRESH);
            turn.map_err(|source| file.failed(source))
        })
        .await
    }

    /// Stores a registration beside the token and the client of the token.
    pub(super) async fn keep_client(&self, client: RegisteredClient) -> Result<(), AuthError> {
        self.change(move |stored| {
            let mut stored = stored.unwrap_or_else(|| StoredGrant {
                credentials: StoredCredentials::new(client.id.clone(), None, Vec::new(), None),
                dpop_key: None,
                clients: Vec::new(),
            });
            let holder = stored.credentials.token_response.as_ref();
            let holder = holder.map(|_| stored.credentials.client_id.clone());
            stored.clients.retain(|known| Some(&known.id) == holder.as_ref());
            stored.clients.push(client);
            Some(stored)
        })
        .await
    }

    /// Deletes a registration that the authorization server does not take.
    pub(super) async fn forget_client(&self, id: String) -> Result<(), AuthError> {
        self.change(move |stored| {
            let mut stored = stored?;
            stored.clients.retain(|known| known.id != id);
            Some(stored)
        })
        .await
    }

    /// Changes the entry; `None` deletes it.
    async fn change(
        &self,
        change: impl FnOnce(Option<StoredGrant>) -> Option<StoredGrant> + Send + 'static,
    ) -> Result<(), AuthError> {
        self.blocking(|file, server| {
            file.update(|servers| {
                let stored = servers.remove(&server).and_then(|kept| entry(&server, kept));
                // A value of texts and numbers is always written.
                let changed = change(stored).and_then(|grant| serde_json::to_value(grant).ok());
                if let Some(changed) = changed {
                    servers.insert(server.clone(), changed);
                }
            })
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(CredentialFile, String) -> Result<T, CredentialFileError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let (file, key) = (self.file.clone(), self.key.clone());
        let done = tokio::task::spawn_blocking(move || work(file, key)).await;
        let failed = |text: String| AuthError::CredentialStoreError(text);
        done.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }
}

#[async_trait]
impl CredentialStore for CredentialEntry {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.stored().await?.map(|stored| stored.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let granted = credentials.token_response.as_ref();
        let is_bound = granted.is_some_and(|granted| is_bound(granted.token_type().as_ref()));
        let dpop_key = match &self.proof {
            Some(key) if is_bound => Some(key.to_text()?),
            None if is_bound => {
                return Err(AuthError::TokenExchangeFailed(
                    "the token is bound to a key, and no key was used to request it".to_owned(),
                ));
            }
            _ => None,
        };
        self.change(move |before| {
            let mut clients = before.map(|before| before.clients).unwrap_or_default();
            clients.retain(|client| client.id == credentials.client_id);
            Some(StoredGrant { credentials, dpop_key, clients })
        })
        .await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.blocking(|file, key| file.update(|servers| drop(servers.remove(&key)))).await
    }
}
