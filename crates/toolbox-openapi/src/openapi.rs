//! A description on its way to tools.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use toolbox::builtin::http::{GuardedClient, GuardedRequest, Resolver, SendError};
use url::{Origin, Url};

use crate::api::Api;
use crate::call::Connection;
use crate::credential::{Credential, Scheme};
use crate::document::{Document, MAX_BYTES, ReadError};
use crate::files;
use crate::maker::Maker;
use crate::operation::server_of;
use crate::select::Select;
use crate::text::{excerpt, shown};

/// A description of an API, and how its operations become tools.
///
/// Each operation is a tool that is [deferred](toolbox::Tool::deferred), named by its `operationId`
/// or by
/// its method and path. Parameters and the properties of a JSON, form or multipart body are the
/// arguments, side by side; bytes are base64. `GET` and `HEAD` are read only, a `DELETE` is
/// destructive and needs approval, and what HTTP calls idempotent is marked so. Results are
/// [untrusted](toolbox::Tool::untrusted).
///
/// # Where requests and credentials go
///
/// Requests go to the [base URL](Self::base_url), or to the server that the description names. A
/// private address is reached only where the base URL or the description itself is, and a
/// credential is sent only there: who can change a description can change its servers.
///
/// ```
/// use toolbox_openapi::OpenApi;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let api = OpenApi::parse("swagger: '2.0'\nhost: api.example.com\npaths: {/ping: {get:
/// {}}}")?.build()?;
/// assert_eq!(api.tools()[0].name(), "get_ping");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a description has no tools before `build`"]
pub struct OpenApi {
    pub(crate) document: Document,
    pub(crate) fetched_from: Option<Url>,
    pub(crate) base_url: Option<String>,
    origins: Vec<String>,
    pub(crate) credentials: Vec<(String, Credential)>,
    pub(crate) include: Vec<Select>,
    pub(crate) exclude: Vec<Select>,
    pub(crate) approval: Vec<Select>,
    pub(crate) prefix: Option<String>,
    source: Option<String>,
    pub(crate) deferred: bool,
    pub(crate) trusted: bool,
    max_wait: Duration,
    pub(crate) timeout: Duration,
    client: GuardedClient,
}

/// The reason why a description yields no tools.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The description names no server, and the program no base URL.
    NoServer,
    /// A URL of the program, or the server of the description, is none of HTTP.
    Url(String),
    /// The description has no security scheme of this name; these are its own.
    NoScheme(String, Vec<String>),
    /// The security scheme of this name takes another kind of credential.
    OtherScheme(String, String),
    /// There are credentials, and the server is one that only the description names.
    UnnamedServer(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServer => {
                f.write_str("the description names no server: give its URL by `base_url`")
            }
            Self::Url(why) => f.write_str(why),
            Self::NoScheme(name, all) => {
                write!(f, "the description has no security scheme `{name}`")?;
                match all.as_slice() {
                    [] => f.write_str(", and no other"),
                    all => write!(f, "; it has `{}`", all.join("`, `")),
                }
            }
            Self::OtherScheme(name, wanted) => {
                write!(f, "the security scheme `{name}` takes {wanted}")
            }
            Self::UnnamedServer(url) => write!(
                f,
                "credentials are sent only where the program says: if `{url}` is the server, give it by `base_url`"
            ),
        }
    }
}

impl std::error::Error for BuildError {}

impl OpenApi {
    /// Reads a description from its text, JSON or YAML.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if it is too long, cannot be read, or has another version.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Document::parse(text).map(Self::of)
    }

    /// Takes a description that is read already.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if it nests deeper than 120 values, or has another version.
    pub fn from_value(description: Value) -> Result<Self, ReadError> {
        Document::new(description).map(Self::of)
    }

    /// Reads a description from a file, with the files of its folder that it refers to, and of the
    /// folders below.
    ///
    /// A reference that leads elsewhere is not followed, nor one to a file that cannot be read;
    /// [`Api::report`] names it. There are at most 1 000 files, of 64 MiB in all.
    ///
    /// # Errors
    ///
    /// [`ReadError`] as by [`parse`](Self::parse), or if the file cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        files::read(path.as_ref(), None).map(Self::of)
    }

    /// Reads a description as [`read`](Self::read) does, with files that it refers to in another
    /// folder, such as the one above.
    ///
    /// # Errors
    ///
    /// As by [`read`](Self::read), or if there is no such folder.
    pub fn read_within(
        path: impl AsRef<Path>,
        folder: impl AsRef<Path>,
    ) -> Result<Self, ReadError> {
        files::read(path.as_ref(), Some(folder.as_ref())).map(Self::of)
    }

    /// Fetches a description. Its tools may reach its own host and port, whatever their address,
    /// and relative servers are relative to its URL.
    ///
    /// References to other files of its origin are followed, to at most 1 000 files of 64 MiB in all
    /// and for 60 seconds. [`Api::report`] names the others.
    ///
    /// The definitions are [untrusted](toolbox::Tool::with_untrusted_definition) then, unless
    /// [`trusted`](Self::trusted).
    ///
    /// # Errors
    ///
    /// [`ReadError`] as by [`parse`](Self::parse), or if there is no answer.
    pub async fn fetch(url: &str) -> Result<Self, ReadError> {
        let failed = |why: String| ReadError::Fetch(why);
        let parsed = parsed(url).map_err(|error| failed(error.to_string()))?;
        let client = GuardedClient::new().max_bytes(MAX_BYTES).allow_origin(url);
        let client = client.map_err(|error| failed(error.to_string()))?;
        let text = fetched(&client, &parsed).await.map_err(failed)?;
        let mut own = Self::of(files::fetch(&parsed, &text, &client).await?);
        own.fetched_from = Some(parsed);
        Ok(own)
    }

    fn of(document: Document) -> Self {
        Self {
            document,
            fetched_from: None,
            base_url: None,
            origins: Vec::new(),
            credentials: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            approval: Vec::new(),
            prefix: None,
            source: None,
            deferred: true,
            trusted: false,
            max_wait: Duration::from_secs(30),
            timeout: Duration::from_secs(30),
            client: GuardedClient::new(),
        }
    }

    /// Sends all requests below this URL, in place of the servers of the description.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Trusts another origin like that of the base URL: the operations whose own server is there
    /// keep it, and get the credentials.
    pub fn allow_origin(mut self, url: impl Into<String>) -> Self {
        self.origins.push(url.into());
        self
    }

    /// Sends this credential with the operations that need the security scheme of this name.
    ///
    /// Of several alternatives, an operation gets the first one whose credentials are all there.
    pub fn credential(mut self, scheme: impl Into<String>, credential: Credential) -> Self {
        self.credentials.push((scheme.into(), credential));
        self
    }

    /// Sends a credential that is written as one text: a key, a token, `USER:PASSWORD`, or the
    /// token
    /// URL, the id and the secret of an OAuth client between blanks.
    #[cfg(feature = "cli")]
    pub(crate) fn credential_of_text(self, scheme: &str, text: &str) -> Self {
        let schemes = Scheme::all(&self.document);
        let kind = schemes.iter().find(|(own, _)| own == scheme).map(|(_, own)| own);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let credential = match (kind, words.as_slice()) {
            (Some(Scheme::Basic), _) => {
                let (user, password) = text.split_once(':').unwrap_or((text, ""));
                Credential::basic(user, password)
            }
            (Some(Scheme::Bearer), [url, id, secret]) => Credential::client(*url, *id, *secret),
            (Some(Scheme::Bearer), _) => Credential::bearer(text),
            _ => Credential::key(text),
        };
        self.credential(scheme, credential)
    }

    /// Returns the title and the version of the API.
    #[cfg(feature = "cli")]
    pub(crate) fn title_and_version(&self) -> (String, String) {
        let text = |key: &str| {
            let own = self.document.root.get("info").and_then(|info| info.get(key));
            own.and_then(Value::as_str)
                .map(|text| excerpt(text, 60))
                .filter(|text| !text.is_empty())
        };
        let or = |own: Option<String>, usual: &str| own.unwrap_or_else(|| usual.to_owned());
        (or(text("title"), "openapi"), or(text("version"), "0"))
    }

    /// Makes tools only of the operations that this or another `include` chooses. Default: of all.
    pub fn include(mut self, operations: Select) -> Self {
        self.include.push(operations);
        self
    }

    /// Makes no tools of these operations, even if they are included.
    pub fn exclude(mut self, operations: Select) -> Self {
        self.exclude.push(operations);
        self
    }

    /// Asks for approval of these operations, beside those with `DELETE`.
    pub fn needs_approval(mut self, operations: Select) -> Self {
        self.approval.push(operations);
        self
    }

    /// Begins the name of each tool with this word and `_`.
    pub fn prefixed(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Names the API as the [source](toolbox::Tool::from_source) of its tools. Default: its title.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.source = Some(name.into());
        self
    }

    /// Lists the tools for the model from the start, instead of leaving them to search.
    pub fn listed(mut self) -> Self {
        self.deferred = false;
        self
    }

    /// Trusts the results of the tools, and a description that was fetched.
    pub fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// Limits the body of a response, decompressed, in bytes. Default 5 MiB; the rest is not read.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.client = self.client.max_bytes(bytes);
        self
    }

    /// Limits the time of one request. Default 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self.client = self.client.timeout(timeout);
        self
    }

    /// Limits the time that a call waits in all for a server that asks for it by `Retry-After`.
    /// Default 30 seconds; zero never waits. A longer wait is told to the model instead.
    ///
    /// Any request is repeated after 429, an idempotent one after 503; twice at most.
    pub fn max_wait(mut self, time: Duration) -> Self {
        self.max_wait = time;
        self
    }

    /// Replaces the resolver of names. Default: the system's.
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.client = self.client.resolver(resolver);
        self
    }

    /// Makes the tools.
    ///
    /// An operation that cannot be called is left out and named by [`Api::report`]; it affects no
    /// other.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a URL or a credential does not fit the description.
    pub fn build(mut self) -> Result<Api, BuildError> {
        let schemes = Scheme::all(&self.document);
        for (name, credential) in &self.credentials {
            let Some((_, scheme)) = schemes.iter().find(|(own, _)| own == name) else {
                let all = schemes.iter().map(|(own, _)| shown(own)).collect();
                return Err(BuildError::NoScheme(name.clone(), all));
            };
            if !scheme.takes(credential) {
                return Err(BuildError::OtherScheme(name.clone(), scheme.wanted()));
            }
        }
        let base = self.base()?;
        let named = self.base_url.iter().chain(&self.origins).map(|url| parsed(url));
        let mut named = named.collect::<Result<Vec<Url>, _>>()?;
        named.extend(self.fetched_from.clone());
        let origins: Vec<Origin> = named.iter().map(Url::origin).collect();
        if !self.credentials.is_empty() && !origins.contains(&base.origin()) {
            return Err(BuildError::UnnamedServer(base.to_string()));
        }
        let tokens = self.credentials.iter().filter_map(|(_, own)| own.token_url());
        let reached: Vec<String> =
            named.iter().map(Url::as_str).chain(tokens).map(str::to_owned).collect();
        let mut client = std::mem::take(&mut self.client);
        for url in reached {
            client = client
                .allow_origin(&url)
                .map_err(|error: SendError| BuildError::Url(error.to_string()))?;
        }
        let connection = Connection { client, max_wait: self.max_wait };
        Ok(Maker::new(&self, schemes, base, origins, connection).api())
    }

    /// Returns the URL that requests go to unless an operation has its own.
    fn base(&self) -> Result<Url, BuildError> {
        if let Some(url) = &self.base_url {
            return parsed(url);
        }
        let server = server_of(&self.document);
        match (server, &self.fetched_from) {
            (Some(server), Some(from)) => joined(from, &server),
            (Some(server), None) if server.contains("://") => parsed(&server),
            (None, Some(from)) => joined(from, "/"),
            _ => Err(BuildError::NoServer),
        }
    }

    /// Returns the URL of an operation with a server of its own, and what is to be said of it.
    pub(crate) fn own_base(&self, server: &str, base: &Url, origins: &[Origin]) -> Option<Url> {
        let own = joined(self.fetched_from.as_ref().unwrap_or(base), server).ok()?;
        (self.base_url.is_none() || origins[1..].contains(&own.origin())).then_some(own)
    }

    /// Returns the name of the API: the given one, or its title as a word.
    pub(crate) fn source_name(&self) -> Option<String> {
        let title = || {
            let title = self.document.root.get("info")?.get("title")?.as_str()?;
            let name = excerpt(title, 60);
            (!name.is_empty()).then_some(name)
        };
        self.source.clone().or_else(title)
    }
}

/// Fetches a file of a description.
pub(crate) async fn fetched(client: &GuardedClient, url: &Url) -> Result<String, String> {
    let request = GuardedRequest::new("GET", url.as_str()).header(
        "accept",
        "application/vnd.oai.openapi+json, application/json, application/yaml, */*;q=0.5",
    );
    let response = client.send(request).await.map_err(|error| error.to_string())?;
    match response.status {
        200 if response.is_cut => Err("the URL answers with more than 64 MiB".to_owned()),
        200 => Ok(String::from_utf8_lossy(&response.body).into_owned()),
        status => Err(format!("the URL answers with {status}")),
    }
}

/// Reads a URL of HTTP.
fn parsed(url: &str) -> Result<Url, BuildError> {
    let shown = shown(url.split('?').next().unwrap_or_default());
    match Url::parse(url) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Ok(_) => Err(BuildError::Url(format!("`{shown}` is no URL of HTTP"))),
        Err(error) => Err(BuildError::Url(format!("`{shown}` is no URL: {error}"))),
    }
}

fn joined(base: &Url, server: &str) -> Result<Url, BuildError> {
    let url = base
        .join(server)
        .map_err(|error| BuildError::Url(format!("`{}` is no URL: {error}", shown(server))))?;
    parsed(url.as_str())
}
