//! Checks of the `Host` and `Origin` headers against the allowed ones.
//!
//! Both are parsed by the strict grammar of browsers, and compared as a whole: a name that merely
//! starts or ends like an allowed one is a different name. Invalid headers are refused.

use std::fmt;
use std::net::Ipv6Addr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

const LOCAL_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
const LOCAL_SCHEMES: [&str; 2] = ["http", "https"];

/// The allowed hosts and origins of requests.
#[derive(Debug)]
pub(crate) struct AllowedOrigins {
    /// `None` allows any host.
    hosts: Option<Vec<Authority>>,
    origins: Vec<PageOrigin>,
}

/// A host with an optional port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// In lower case: a name, or an IPv4 address as written.
    Name(String),
    V6(Ipv6Addr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PageOrigin {
    /// An opaque origin, such as a sandboxed page.
    Null,
    Page {
        scheme: String,
        host: Host,
        /// `None` matches any port.
        port: Option<u16>,
    },
}

impl AllowedOrigins {
    /// Allows this machine and more hosts, or any host if none are named and `any_host`; and the
    /// pages of these hosts, and of this machine unless `origins` are named.
    pub(crate) fn new(hosts: &[String], origins: &[String], any_host: bool) -> Self {
        let host = |text: &String| {
            let read = Authority::allowed(text);
            if read.is_none() {
                tracing::warn!(host = text, "no host has this name, so no request is for it");
            }
            read
        };
        let named: Vec<Authority> = hosts.iter().filter_map(host).collect();
        let local = LOCAL_HOSTS.into_iter().filter_map(Authority::parse);
        let is_any = any_host && hosts.is_empty();
        let hosts = (!is_any).then(|| local.chain(named.iter().cloned()).collect());
        let pages = named.iter().flat_map(|own| {
            LOCAL_SCHEMES.map(|scheme| PageOrigin::Page {
                scheme: scheme.to_owned(),
                host: own.host.clone(),
                port: own.port,
            })
        });
        let origin = |text: &String| {
            let read = PageOrigin::allowed(text);
            if read.is_none() {
                tracing::warn!(origin = text, "no page has this origin, so none is let in by it");
            }
            read
        };
        let local = |scheme: &'static str| {
            let hosts = LOCAL_HOSTS.into_iter().filter_map(Authority::parse);
            hosts.map(|own| PageOrigin::Page {
                scheme: scheme.to_owned(),
                host: own.host,
                port: None,
            })
        };
        let origins: Vec<PageOrigin> = match origins {
            [] => LOCAL_SCHEMES.into_iter().flat_map(local).collect(),
            origins => origins.iter().filter_map(origin).collect(),
        };
        let origins = origins.into_iter().chain(pages).collect();
        Self { hosts, origins }
    }

    /// Refuses a request for another host, or from a page of another origin.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), RefusedRequest> {
        let refused = |status: StatusCode, text: &str| {
            tracing::warn!(text, "a request was refused");
            Err(RefusedRequest(status, text.to_owned()))
        };
        let host = match only(headers, &header::HOST) {
            Ok(host) => host,
            Err(DuplicateHeader) => {
                return refused(StatusCode::BAD_REQUEST, "there are several hosts");
            }
        };
        // HTTP/2 names the host in the target, and so does a request to a proxy.
        let target = uri.authority().map(|target| target.as_str().as_bytes());
        if host.is_none() && target.is_none() {
            return refused(StatusCode::BAD_REQUEST, "there is no host");
        }
        if let Some(allowed) = &self.hosts {
            let named: Vec<_> = [host, target].into_iter().flatten().map(parse_bytes).collect();
            let is_same = named.iter().all(|one| *one == named[0]);
            let is_allowed = |one: &Option<Authority>| {
                one.as_ref().is_some_and(|one| allowed.iter().any(|own| own.covers(one)))
            };
            if !is_same || !named.iter().all(is_allowed) {
                let other = named.iter().flatten().find(|one| !is_allowed(&Some((*one).clone())));
                let text = match other {
                    Some(other) => format!(
                        "the host `{other}` is not one that may be named: allow it with `--allow-host {other}`, or `allow_host` of the service"
                    ),
                    None => "the host is not one that may be named".to_owned(),
                };
                return refused(StatusCode::FORBIDDEN, &text);
            }
        }
        let origin = match only(headers, &header::ORIGIN) {
            Ok(origin) => origin,
            Err(DuplicateHeader) => {
                return refused(StatusCode::FORBIDDEN, "there are several origins");
            }
        };
        let Some(origin) = origin else { return Ok(()) };
        let origin = std::str::from_utf8(origin).ok().and_then(PageOrigin::parse);
        if origin.is_some_and(|origin| self.origins.iter().any(|own| own.covers(&origin))) {
            return Ok(());
        }
        let text = "pages of this origin may not call: `--allow-host` admits those of a host, and `allow_origin` of the service any";
        refused(StatusCode::FORBIDDEN, text)
    }
}

/// A refused request: the status and the message.
#[derive(Debug)]
pub(crate) struct RefusedRequest(StatusCode, String);

impl IntoResponse for RefusedRequest {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

/// A header that must occur once occurs several times.
struct DuplicateHeader;

fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a [u8]>, DuplicateHeader> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (one, None) => Ok(one.map(HeaderValue::as_bytes)),
        (_, Some(_)) => Err(DuplicateHeader),
    }
}

fn parse_bytes(bytes: &[u8]) -> Option<Authority> {
    Authority::parse(std::str::from_utf8(bytes).ok()?)
}

impl Authority {
    /// Parses `host` or `host:port`, with nothing around it.
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                (Host::V6(address.parse().ok()?), rest)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                (Host::name(&text[..end])?, &text[end..])
            }
        };
        let port = match port.strip_prefix(':') {
            Some(port) => Some(number(port)?),
            None if port.is_empty() => None,
            None => return None,
        };
        Some(Self { host, port })
    }

    /// Parses a host in a program's allow list, where an address needs no brackets.
    fn allowed(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.parse() {
            Ok(address) => Some(Self { host: Host::V6(address), port: None }),
            Err(_) => Self::parse(text),
        }
    }

    /// Returns whether `other` matches; a missing port in `self` matches any.
    fn covers(&self, other: &Self) -> bool {
        self.host == other.host && (self.port.is_none() || self.port == other.port)
    }
}

/// Displays the name without a port, as it is allowed.
impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => f.write_str(crate::text::cut(name, 100)),
            Host::V6(address) => write!(f, "[{address}]"),
        }
    }
}

impl Host {
    /// Reads a name; a dot at its end is that of the root, and says nothing.
    fn name(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        (!text.is_empty() && text.bytes().all(fits)).then(|| Self::Name(text.to_ascii_lowercase()))
    }
}

impl PageOrigin {
    /// Parses an origin as browsers write it: scheme, host, port, and no path.
    fn parse(text: &str) -> Option<Self> {
        if text == "null" {
            return Some(Self::Null);
        }
        let (scheme, rest) = text.split_once("://")?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(fits) {
            return None;
        }
        let Authority { host, port } = Authority::parse(rest)?;
        let scheme = scheme.to_ascii_lowercase();
        let port = port.or_else(|| usual_port(&scheme));
        Some(Self::Page { scheme, host, port })
    }

    /// Parses an origin in a program's allow list, with `*` for any port.
    fn allowed(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.strip_suffix(":*") {
            None => Self::parse(text),
            Some(base) => match Self::parse(base)? {
                Self::Page { scheme, host, .. } => Some(Self::Page { scheme, host, port: None }),
                Self::Null => None,
            },
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Page { scheme, host, port: None }, Self::Page { scheme: of, host: at, .. }) => {
                scheme == of && host == at
            }
            _ => self == other,
        }
    }
}

fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Parses a port: digits only, while Rust's parser accepts a sign.
fn number(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
