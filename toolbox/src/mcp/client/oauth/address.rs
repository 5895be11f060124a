//! Addresses that a server names, and that a user or a secret goes to.

use std::net::IpAddr;

/// Returns a URL that is safe for a page to open or for credentials: `https`, or on this machine if
/// the server is too.
pub(super) fn safe_url(url: &str, server: &str) -> Option<reqwest::Url> {
    let url = reqwest::Url::parse(url).ok()?;
    let is_plain =
        url.scheme() == "http" && is_here(&url) && is_here(&reqwest::Url::parse(server).ok()?);
    (url.scheme() == "https" || is_plain).then_some(url)
}

fn is_here(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}
