//! The client of `http_fetch` for requests of a program's own tools.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use tokio::time::Instant;

use super::A_YEAR;
use super::client::{AllowedTargets, FetchBounds, FetchError, FetchRequest, Guarded, Resolver};

/// A client for tools whose URLs a program does not write itself: each address is checked before
/// the connection, on every hop.
///
/// It reaches the public Internet over `http` and `https` on the ports 80 and 443, and what the
/// program [names](Self::allow_origin). Names are resolved once, refused if any of their addresses
/// is refused, and connected to at just those addresses. Proxies that the environment names are not
/// used. A redirect to another origin is followed for `GET` and `HEAD` alone, and takes none of the
/// headers along; one from `https` to `http` is refused.
///
/// ```
/// use toolbox::builtin::http::{GuardedClient, GuardedRequest, SendError};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let client = GuardedClient::new();
/// let request = GuardedRequest::new("GET", "http://169.254.169.254/latest/meta-data");
/// let error = client.send(request).await.unwrap_err();
/// assert!(matches!(error, SendError::Refused(_)));
/// # }
/// ```
pub struct GuardedClient {
    allowed: AllowedTargets,
    bounds: FetchBounds,
    user_agent: String,
    client: OnceLock<Result<Guarded, String>>,
}

/// A request for a [`GuardedClient`].
///
/// ```
/// use toolbox::builtin::http::GuardedRequest;
///
/// let request = GuardedRequest::new("POST", "https://api.example.com/pets?key=s3cr3t")
///     .header("content-type", "application/json")
///     .body(r#"{"name":"Rex"}"#);
/// assert!(!format!("{request:?}").contains("s3cr3t"));
/// ```
#[derive(Clone)]
pub struct GuardedRequest {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// A response, read up to the limit of the client.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GuardedResponse {
    /// The URL that answered, after redirects.
    pub url: String,
    /// The status, such as 200.
    pub status: u16,
    /// The headers: names in lower case, in the order of the response. Values that are no text are
    /// left out.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// `true` if the body was longer than the limit; `body` has its beginning then.
    pub is_cut: bool,
}

/// The reason why a [`GuardedClient`] has no response. No text of it holds the URL, whose query may
/// carry a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The method, the URL or a header cannot be sent.
    Invalid(String),
    /// The URL, or that of a redirect, may not be reached.
    Refused(String),
    /// The connection failed, took longer than the limit, or was redirected too often.
    Failed(String),
}

impl GuardedClient {
    /// Returns a client with its defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            allowed: AllowedTargets::default(),
            bounds: FetchBounds { bytes: 5 << 20, time: Duration::from_secs(30), redirects: 5 },
            user_agent: concat!("toolbox/", env!("CARGO_PKG_VERSION")).to_owned(),
            client: OnceLock::new(),
        }
    }

    /// Reaches the host and port of this URL as well, at whatever address they have: for a service
    /// of your own. Other ports of the host are refused then.
    ///
    /// # Errors
    ///
    /// [`SendError::Invalid`] if it is no URL with a host.
    pub fn allow_origin(mut self, url: &str) -> Result<Self, SendError> {
        let url = parsed(url)?;
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(SendError::Invalid("the URL names no host".to_owned()));
        };
        self.allowed.named.push((host.to_owned(), port));
        Ok(self)
    }

    /// Reaches an address that is not of the public Internet as well.
    #[must_use]
    pub fn allow_address(mut self, address: IpAddr) -> Self {
        self.allowed.private.push(address);
        self
    }

    /// Replaces the resolver of names. Default: the system's.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.allowed.resolver = Arc::new(resolver);
        self
    }

    /// Limits the body of a response, decompressed, in bytes. Default 5 MiB; the rest is not read.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.bounds.bytes = bytes;
        self
    }

    /// Limits the time of a request: redirects, and the body. Default 30 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.bounds.time = timeout;
        self
    }

    /// Limits the number of redirects. Default 5.
    #[must_use]
    pub fn max_redirects(mut self, redirects: usize) -> Self {
        self.bounds.redirects = redirects;
        self
    }

    /// Sets the `User-Agent` of requests. Default `toolbox/` and the version.
    #[must_use]
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = name.into();
        self
    }

    /// Sends a request and reads its response, whatever its status.
    ///
    /// # Errors
    ///
    /// [`SendError`] if there is no response.
    pub async fn send(&self, request: GuardedRequest) -> Result<GuardedResponse, SendError> {
        let made = self.client.get_or_init(|| {
            Guarded::new(self.allowed.clone(), &self.user_agent).map_err(|error| error.to_string())
        });
        let client = made.as_ref().map_err(|error| SendError::Failed(error.clone()))?;
        let deadline = Instant::now() + self.bounds.time.min(A_YEAR);
        let fetched = client.send(request.read()?, &self.bounds, deadline).await?;
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        Ok(GuardedResponse {
            url: fetched.url.to_string(),
            status: fetched.status.as_u16(),
            headers: fetched.headers.iter().filter_map(text).collect(),
            body: fetched.body,
            is_cut: fetched.cut,
        })
    }
}

impl GuardedRequest {
    /// Returns a request without headers and body. The URL is whole.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self { method: method.into(), url: url.into(), headers: Vec::new(), body: None }
    }

    /// Adds a header. It is sent to the origin of the URL, and to no other that redirects lead to.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body. Its `Content-Type` is a header like any other.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    fn read(self) -> Result<FetchRequest, SendError> {
        let invalid = |what: String| SendError::Invalid(what);
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| invalid(format!("`{}` is no method", self.method.escape_debug())))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
            let (Some(parsed), Ok(value)) = (parsed, HeaderValue::from_str(value)) else {
                let name = name.escape_debug();
                return Err(invalid(format!("header `{name}` has a value that cannot be sent")));
            };
            headers.append(parsed, value);
        }
        Ok(FetchRequest { method, url: parsed(&self.url)?, headers, body: self.body })
    }
}

impl GuardedResponse {
    /// Returns the first value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

fn parsed(url: &str) -> Result<Url, SendError> {
    Url::parse(url).map_err(|error| SendError::Invalid(format!("the URL cannot be read: {error}")))
}

impl From<FetchError> for SendError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Url(why) => Self::Invalid(format!("the URL cannot be read: {why}")),
            FetchError::Refused { why, .. } => Self::Refused(why),
            FetchError::Redirects { most, .. } => {
                Self::Failed(format!("it was redirected more than {most} times"))
            }
            FetchError::Failed { why, .. } => Self::Failed(why),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::Refused(why) => write!(f, "it is not sent, for security: {why}"),
            Self::Failed(why) => write!(f, "it failed: {why}"),
        }
    }
}

impl std::error::Error for SendError {}

impl Default for GuardedClient {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedClient")
            .field("named", &self.allowed.named)
            .field("private", &self.allowed.private)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// Headers and query may carry credentials, and are left out.
impl fmt::Debug for GuardedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split('?').next().unwrap_or_default();
        f.debug_struct("GuardedRequest")
            .field("method", &self.method)
            .field("url", &url)
            .finish_non_exhaustive()
    }
}
