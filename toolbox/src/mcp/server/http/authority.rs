//! The host that a request is for and the page that it comes from, held against those that may be.
//!
//! Both are parsed by the strict grammar that browsers keep to, and compared as a whole: a name
//! that only begins or ends like one that is allowed is another name. What does not parse is
//! refused like what is not allowed.

use std::net::Ipv6Addr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::options::HttpOptions;

const LOCAL_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
const LOCAL_SCHEMES: [&str; 2] = ["http", "https"];

/// The hosts and pages that requests may name.
#[derive(Debug)]
pub(super) struct Allowed {
    /// Any, where there are none.
    hosts: Option<Vec<Authority>>,
    origins: Vec<Origin>,
}

/// A host, and a port if one is named.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// In small letters: a name, or an IPv4 address as it is written.
    Name(String),
    V6(Ipv6Addr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// A page that has none, such as one in a sandbox.
    Null,
    Page {
        scheme: String,
        host: Host,
        /// Any, where there is none.
        port: Option<u16>,
    },
}

impl Allowed {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let host = |text: &String| {
            let read = Authority::allowed(text);
            if read.is_none() {
                tracing::warn!(host = text, "no host has this name, so no request is for it");
            }
            read
        };
        let local = |text: &str| Authority::parse(text);
        let hosts = match &options.hosts[..] {
            [] if options.asks_for_token() => None,
            [] => Some(LOCAL_HOSTS.into_iter().filter_map(local).collect()),
            hosts => Some(hosts.iter().filter_map(host).collect()),
        };
        let origin = |text: &String| {
            let read = Origin::allowed(text);
            if read.is_none() {
                tracing::warn!(origin = text, "no page has this origin, so none is let in by it");
            }
            read
        };
        let local = |scheme: &'static str| {
            let hosts = LOCAL_HOSTS.into_iter().filter_map(Authority::parse);
            hosts.map(|own| Origin::Page { scheme: scheme.to_owned(), host: own.host, port: None })
        };
        let origins = match &options.origins[..] {
            [] => LOCAL_SCHEMES.into_iter().flat_map(local).collect(),
            origins => origins.iter().filter_map(origin).collect(),
        };
        Self { hosts, origins }
    }

    /// Refuses a request that is for another host, or of a page from elsewhere.
    pub(super) fn check(&self, request: &Request) -> Result<(), Refusal> {
        let refused = |status: StatusCode, text: &'static str| {
            tracing::warn!(text, "a request was refused");
            Err(Refusal(status, text))
        };
        let host = match only(request.headers(), &header::HOST) {
            Ok(host) => host,
            Err(Several) => return refused(StatusCode::BAD_REQUEST, "there are several hosts"),
        };
        // HTTP/2 names the host in the target, and so does a request to a proxy.
        let target = request.uri().authority().map(|target| target.as_str().as_bytes());
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
                return refused(StatusCode::FORBIDDEN, "the host is not one that may be named");
            }
        }
        let origin = match only(request.headers(), &header::ORIGIN) {
            Ok(origin) => origin,
            Err(Several) => return refused(StatusCode::FORBIDDEN, "there are several origins"),
        };
        let Some(origin) = origin else { return Ok(()) };
        let origin = std::str::from_utf8(origin).ok().and_then(Origin::parse);
        if origin.is_some_and(|origin| self.origins.iter().any(|own| own.covers(&origin))) {
            return Ok(());
        }
        refused(StatusCode::FORBIDDEN, "pages of this origin may not call")
    }
}

/// Why a request is not let in.
#[derive(Debug)]
pub(super) struct Refusal(StatusCode, &'static str);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

/// A header that may be there once is there several times.
struct Several;

fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a [u8]>, Several> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (one, None) => Ok(one.map(HeaderValue::as_bytes)),
        (_, Some(_)) => Err(Several),
    }
}

fn parse_bytes(bytes: &[u8]) -> Option<Authority> {
    Authority::parse(std::str::from_utf8(bytes).ok()?)
}

impl Authority {
    /// Reads `host` or `host:port`, and nothing around it.
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

    /// Reads a host as a program allows it, where an address needs no brackets.
    fn allowed(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.parse() {
            Ok(address) => Some(Self { host: Host::V6(address), port: None }),
            Err(_) => Self::parse(text),
        }
    }

    /// Whether `other` is this one: at any port, where this one names none.
    fn covers(&self, other: &Self) -> bool {
        self.host == other.host && (self.port.is_none() || self.port == other.port)
    }
}

impl Host {
    fn name(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        (!text.is_empty() && text.bytes().all(fits)).then(|| Self::Name(text.to_ascii_lowercase()))
    }
}

impl Origin {
    /// Reads an origin as browsers write it: scheme, host, port, and no path.
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

    /// Reads an origin as a program allows it, with `*` for any port.
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

/// Reads a port: digits alone, where Rust's own reader takes a sign.
fn number(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
