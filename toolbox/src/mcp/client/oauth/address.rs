//! Addresses that a server names, and that a user or a secret goes to.

use std::net::IpAddr;

/// Returns a URL that is safe for a page to open or for credentials: `https`, or on this machine if
/// the server is too. A private address is one for a server at a private address alone, and a
/// link-local one, where clouds serve their credentials, is never safe.
pub(super) fn safe_url(url: &str, server: &str) -> Option<reqwest::Url> {
    let (url, server) = (reqwest::Url::parse(url).ok()?, reqwest::Url::parse(server).ok()?);
    let is_plain = url.scheme() == "http" && is_here(&url) && is_here(&server);
    let is_reachable = !is_link_local(&url) && (!is_private(&url) || is_private(&server));
    ((url.scheme() == "https" || is_plain) && is_reachable).then_some(url)
}

fn host(url: &reqwest::Url) -> &str {
    url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

fn ip(url: &reqwest::Url) -> Option<IpAddr> {
    host(url).parse().ok().map(|ip: IpAddr| ip.to_canonical())
}

fn is_here(url: &reqwest::Url) -> bool {
    host(url) == "localhost" || ip(url).is_some_and(|ip| ip.is_loopback())
}

fn is_link_local(url: &reqwest::Url) -> bool {
    ip(url).is_some_and(|ip| match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.is_unspecified(),
    })
}

fn is_private(url: &reqwest::Url) -> bool {
    ip(url).is_some_and(|ip| match ip {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => ip.is_unique_local(),
    })
}
