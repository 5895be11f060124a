//! A client that reaches the public web only: every address is checked before the connection, on
//! every hop.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};
use tokio::time::Instant;

use crate::address::is_public;
use crate::future::BoxFuture;

/// Resolves the addresses of a host.
///
/// The addresses are checked before a connection is made, and the connection uses just those: a
/// name that resolves differently the next time gains nothing by it.
///
/// ```
/// use std::io;
/// use std::net::IpAddr;
/// use toolbox::BoxFuture;
/// use toolbox::builtin::http::{Http, Resolver};
///
/// /// Knows one host.
/// struct Pinned(IpAddr);
///
/// impl Resolver for Pinned {
///     fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
///         let known = (host == "docs.example.com").then_some(self.0);
///         Box::pin(async move { Ok(known.into_iter().collect()) })
///     }
/// }
///
/// let http = Http::new().resolver(Pinned(IpAddr::from([203, 0, 113, 7])));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resolver of hosts",
    label = "this returns no addresses",
    note = "implement `toolbox::builtin::http::Resolver` for it, or leave it out: the system's is the default"
)]
pub trait Resolver: Send + Sync {
    /// Returns the addresses of a host.
    ///
    /// # Errors
    ///
    /// Those of the lookup.
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system.
struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
        })
    }
}

/// The ports, addresses and hosts that may be reached.
#[derive(Clone)]
pub(super) struct AllowedTargets {
    pub(super) ports: Vec<u16>,
    pub(super) private: Vec<IpAddr>,
    pub(super) hosts: Option<Vec<String>>,
    /// Hosts and ports that the program names, which may be reached at whatever address they have.
    pub(super) named: Vec<(String, u16)>,
    pub(super) resolver: Arc<dyn Resolver>,
}

impl Default for AllowedTargets {
    fn default() -> Self {
        Self {
            ports: vec![80, 443],
            private: Vec::new(),
            hosts: None,
            named: Vec::new(),
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl AllowedTargets {
    fn permits(&self, address: IpAddr) -> bool {
        is_public(address) || self.private.contains(&address)
    }

    /// Returns the ports of a host that the program named.
    fn named_ports(&self, host: &str) -> Option<Vec<u16>> {
        let of_host = self.named.iter().filter(|(named, _)| named.eq_ignore_ascii_case(host));
        let ports: Vec<u16> = of_host.map(|(_, port)| *port).collect();
        (!ports.is_empty()).then_some(ports)
    }

    /// Checks a URL before anything is sent there. IP addresses never come to the resolver, so they
    /// are checked here.
    fn check(&self, url: &Url) -> Result<(), FetchError> {
        let refused = |why: String| Err(FetchError::Refused { url: url.to_string(), why });
        if !matches!(url.scheme(), "http" | "https") {
            return refused("only http and https are fetched".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("it holds a user name or a password".to_owned());
        }
        let Some(host) = url.host_str() else { return refused("it names no host".to_owned()) };
        if let Some(ports) = self.named_ports(host) {
            return match url.port_or_known_default() {
                Some(port) if ports.contains(&port) => Ok(()),
                _ => refused("its host may be used on another port only".to_owned()),
            };
        }
        if let Some(port) = url.port_or_known_default()
            && !self.ports.contains(&port)
        {
            return refused(format!("port {port} is not among those that may be used"));
        }
        let bare = host.trim_matches(['[', ']']);
        if let Ok(address) = bare.parse::<IpAddr>()
            && !self.permits(address)
        {
            return refused(format!("{address} is no address of the public Internet"));
        }
        let name = bare.trim_end_matches('.');
        if let Some(hosts) = &self.hosts
            && !hosts.iter().any(|allowed| is_within(name, allowed))
        {
            return refused(format!("`{name}` is not among the hosts that may be used"));
        }
        Ok(())
    }
}

/// Returns `true` if a host is `allowed` or below it.
fn is_within(host: &str, allowed: &str) -> bool {
    let (host, allowed) = (host.to_ascii_lowercase(), allowed.to_ascii_lowercase());
    host.strip_suffix(&allowed).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The resolver of the connections: it returns only addresses that are allowed.
struct GuardedResolver(AllowedTargets);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0.clone();
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let addresses = allowed.resolver.resolve(host.clone()).await?;
            // One private address refuses them all: the client chooses which of them is tried
            // first.
            let private = addresses.iter().find(|address| !allowed.permits(**address));
            if let Some(private) = private.filter(|_| allowed.named_ports(&host).is_none()) {
                return Err(PrivateAddress { host, address: *private }.into());
            }
            // The port is set by the connection.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

#[derive(Debug)]
struct PrivateAddress {
    host: String,
    address: IpAddr,
}

impl fmt::Display for PrivateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is at {}, which is no address of the public Internet",
            self.host, self.address
        )
    }
}

impl StdError for PrivateAddress {}

/// An error of a fetch. Its text is for the model.
#[derive(Debug)]
pub(super) enum FetchError {
    Url(String),
    Refused { url: String, why: String },
    Redirects { url: String, most: usize },
    Failed { url: String, why: String },
}

impl FetchError {
    fn failed(url: &Url, error: &reqwest::Error) -> Self {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
        let mut last = "the request failed".to_owned();
        while let Some(error) = cause {
            if let Some(private) = error.downcast_ref::<PrivateAddress>() {
                return Self::Refused { url: url.to_string(), why: private.to_string() };
            }
            // The text of the client's own error may repeat the URL.
            if !error.is::<reqwest::Error>() {
                last = error.to_string();
            }
            cause = error.source();
        }
        let why = if error.is_timeout() { "it took too long".to_owned() } else { last };
        Self::Failed { url: url.to_string(), why }
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(why) => write!(
                f,
                "`url` cannot be read: {why}; it must be whole, such as `https://example.com/page`"
            ),
            Self::Refused { url, why } => write!(f, "`{url}` is not fetched, for security: {why}"),
            Self::Redirects { url, most } => {
                write!(f, "`{url}` was redirected more than {most} times")
            }
            Self::Failed { url, why } => write!(f, "`{url}` could not be fetched: {why}"),
        }
    }
}

/// A response.
pub(super) struct Fetched {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    /// `true` if the body was longer than the limit.
    pub(super) cut: bool,
}

/// The limits of a fetch: bytes, time and redirects.
#[derive(Debug, Clone, Copy)]
pub(super) struct FetchBounds {
    pub(super) bytes: usize,
    pub(super) time: Duration,
    pub(super) redirects: usize,
}

/// A client, with the addresses that it may reach.
pub(super) struct Guarded {
    client: Client,
    allowed: AllowedTargets,
}

impl Guarded {
    pub(super) fn new(allowed: AllowedTargets, user_agent: &str) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .redirect(Policy::none())
            // A proxy would connect in place of this client, past its checks.
            .no_proxy()
            .referer(false)
            .user_agent(user_agent)
            .connect_timeout(Duration::from_secs(10))
            .dns_resolver(Arc::new(GuardedResolver(allowed.clone())))
            .build()?;
        Ok(Self { client, allowed })
    }

    /// Fetches a page, over redirects, each of which is checked like the first URL.
    pub(super) async fn get(
        &self,
        url: &str,
        headers: HeaderMap,
        bounds: &FetchBounds,
        deadline: Instant,
    ) -> Result<Fetched, FetchError> {
        let url = Url::parse(url).map_err(|error| FetchError::Url(error.to_string()))?;
        self.send(FetchRequest { method: Method::GET, url, headers, body: None }, bounds, deadline)
            .await
    }

    /// Sends a request, and follows redirects, each of which is checked like the first URL.
    pub(super) async fn send(
        &self,
        request: FetchRequest,
        bounds: &FetchBounds,
        deadline: Instant,
    ) -> Result<Fetched, FetchError> {
        let FetchRequest { mut method, mut url, mut headers, mut body } = request;
        // A fragment is not sent.
        url.set_fragment(None);
        let first = url.clone();
        let sending = async {
            for _ in 0..=bounds.redirects {
                self.allowed.check(&url)?;
                let own =
                    if url.origin() == first.origin() { headers.clone() } else { HeaderMap::new() };
                let mut sent = self.client.request(method.clone(), url.clone()).headers(own);
                if let Some(body) = &body {
                    sent = sent.body(body.clone());
                }
                let response =
                    sent.send().await.map_err(|error| FetchError::failed(&url, &error))?;
                let Some(onward) = next(&url, &response)? else {
                    return read(url, response, bounds.bytes).await;
                };
                let status = response.status();
                let turns_to_get = status == StatusCode::SEE_OTHER && method != Method::HEAD
                    || matches!(status.as_u16(), 301 | 302) && method == Method::POST;
                if turns_to_get {
                    (method, body) = (Method::GET, None);
                    headers.remove(CONTENT_TYPE);
                }
                if onward.origin() != first.origin() {
                    if !method.is_safe() {
                        let why = format!("its redirect takes a {method} to another origin");
                        return Err(FetchError::Refused { url: url.to_string(), why });
                    }
                    body = None;
                }
                url = onward;
            }
            Err(FetchError::Redirects { url: first.to_string(), most: bounds.redirects })
        };
        match tokio::time::timeout_at(deadline, sending).await {
            Ok(fetched) => fetched,
            Err(_) => {
                let why = format!("it took longer than {:?}", bounds.time);
                Err(FetchError::Failed { url: first.to_string(), why })
            }
        }
    }
}

/// A request to be sent.
pub(super) struct FetchRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
}

/// Returns the target of a redirect.
fn next(url: &Url, response: &Response) -> Result<Option<Url>, FetchError> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| redirects) else {
        return Ok(None);
    };
    let refused = |why: &str| FetchError::Refused {
        url: url.to_string(),
        why: format!("its redirect {why}"),
    };
    let location = location.to_str().map_err(|_| refused("cannot be read"))?;
    let mut onward = url.join(location).map_err(|_| refused("cannot be read"))?;
    if url.scheme() == "https" && onward.scheme() == "http" {
        return Err(refused("leads from https to http"));
    }
    onward.set_fragment(None);
    Ok(Some(onward))
}

/// Reads a decoded body, up to the limit.
async fn read(url: Url, mut response: Response, most: usize) -> Result<Fetched, FetchError> {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    let status = response.status();
    let headers = response.headers().clone();
    let (mut body, mut cut) = (Vec::new(), false);
    while let Some(chunk) =
        response.chunk().await.map_err(|error| FetchError::failed(&url, &error))?
    {
        let room = most - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            cut = true;
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched { url, status, headers, content_type, body, cut })
}
