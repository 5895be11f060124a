//! What was granted: one file for all servers.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::mcp::file::{SharedFile, Turn};
use crate::mcp::names::hex;

/// How long another program that writes is waited for.
const WRITE: Duration = Duration::from_secs(2);

/// How long another program is waited for that has its token renewed, which is a request to somebody.
const REFRESH: Duration = Duration::from_secs(30);

/// The file with the tokens of servers that somebody signed in at.
///
/// JSON, readable by its owner only where the system knows owners. Several programs may use one file: what one of them
/// renews, the others have too. A token goes to the server it was given for, and nowhere else; a server is known by its URL.
#[derive(Debug, Clone)]
pub struct CredentialFile(SharedFile);

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    /// Each is read by itself: a broken entry is of its own server, and stays as it is until somebody signs in or out there.
    servers: BTreeMap<String, Value>,
}

impl CredentialFile {
    /// Returns the file of a path. It is made when somebody signs in, with its folder.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(SharedFile::private(path.into()))
    }

    /// Returns where the file is when nobody says otherwise: `toolbox/credentials.json` in `XDG_DATA_HOME` or `~/.local/share`.
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
        Ok(kept.is_some_and(|kept| kept.token_response.is_some()))
    }

    /// Forgets what was granted by the server at a URL; returns whether there was anything.
    ///
    /// The server is not told: a token that somebody else has a copy of is good until it expires.
    ///
    /// # Errors
    ///
    /// [`CredentialFileError`] if the file cannot be read or written.
    pub fn sign_out(&self, url: &str) -> Result<bool, CredentialFileError> {
        self.update(|servers| servers.remove(&key(url)).is_some())
    }

    /// Returns the part of one server.
    pub(super) fn of(&self, url: &str) -> Kept {
        Kept { file: self.clone(), key: key(url) }
    }

    fn read(&self) -> Result<Contents, CredentialFileError> {
        let read = self.0.read().map_err(|source| self.failed(source))?;
        let Some(bytes) = read else {
            return Ok(Contents { version: 1, servers: BTreeMap::new() });
        };
        let contents = serde_json::from_slice::<Contents>(&bytes);
        // serde_json's text could hold a piece of a token.
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

/// Reads the entry of one server. One that is broken counts as none: nobody is signed in there.
fn entry(server: &str, kept: Value) -> Option<StoredCredentials> {
    let read = serde_json::from_value(kept).ok();
    if read.is_none() {
        // serde_json's text could hold a piece of a token.
        tracing::warn!(
            server = crate::mcp::config::shown_url(server),
            "what was granted by a server cannot be read; sign in there again"
        );
    }
    read
}

/// Returns what a server is known by.
fn key(url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(url) else { return url.to_owned() };
    url.set_fragment(None);
    url.into()
}

/// The file with tokens cannot be read or written.
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

/// What was granted by one server.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    file: CredentialFile,
    key: String,
}

impl Kept {
    /// Waits until no other program has the token of this server renewed; who renews at another one is in nobody's way.
    pub(super) async fn turn(&self) -> Result<Turn, AuthError> {
        self.blocking(|file, key| {
            let server = &hex(&Sha256::digest(key.as_bytes()))[..16];
            let turn = file.0.turn(&format!("{server}.refresh"), REFRESH);
            turn.map_err(|source| file.failed(source))
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
impl CredentialStore for Kept {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.blocking(|file, key| {
            let kept = file.read()?.servers.remove(&key);
            Ok(kept.and_then(|kept| entry(&key, kept)))
        })
        .await
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let credentials = serde_json::to_value(credentials)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        self.blocking(|file, key| file.update(|servers| drop(servers.insert(key, credentials))))
            .await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.blocking(|file, key| file.update(|servers| drop(servers.remove(&key)))).await
    }
}
