//! Addresses that a server names, and that a user, a secret or a request goes to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::{is_public, reached};

/// The variables that name a proxy.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressKind {
    Public,
    Loopback,
    Private,
    /// Never reached: link-local, where clouds serve their credentials, and all that is reserved.
    Special,
}

/// The addresses that may be reached on behalf of one server: public ones, and those of this
/// machine or of a private network if the server's own URL names one.
#[derive(Debug, Clone)]
pub(super) struct AllowedAddresses {
    own: Option<AddressKind>,
    own_literal: Option<IpAddr>,
    /// Hosts of proxies, which connect in place of this client.
    proxies: Arc<[String]>,
}

impl AllowedAddresses {
    pub(super) fn of(server: &Url) -> Self {
        let proxies = PROXIES.iter().filter_map(|name| std::env::var(name).ok());
        let proxies = proxies.filter_map(|proxy| {
            let url = if proxy.contains("://") { proxy } else { format!("http://{proxy}") };
            Some(Url::parse(&url).ok()?.host_str()?.to_ascii_lowercase())
        });
        Self { own: kind_of(server), own_literal: literal(server), proxies: proxies.collect() }
    }

    /// Returns `true` unless the host of a URL is an address, or `localhost`, that is not allowed.
    pub(super) fn permits_url(&self, url: &Url) -> bool {
        let is_own = self.own_literal.is_some() && self.own_literal == literal(url);
        is_own || kind_of(url).is_none_or(|kind| self.permits(kind))
    }

    fn permits(&self, kind: AddressKind) -> bool {
        match kind {
            AddressKind::Public => true,
            AddressKind::Loopback | AddressKind::Private => self.own == Some(kind),
            AddressKind::Special => false,
        }
    }
}

/// The resolver of a client: it returns only addresses that are allowed.
impl Resolve for AllowedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.clone();
        let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let is_proxy = allowed.proxies.contains(&host);
            let fits = |address: &SocketAddr| is_proxy || allowed.permits(kind(address.ip()));
            let found: Vec<SocketAddr> = found.filter(fits).collect();
            if found.is_empty() {
                return Err(format!(
                    "`{host}` has no address that may be reached on behalf of this server"
                )
                .into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Returns a URL that is safe for a page to open or for credentials: `https`, or `http` on this
/// machine if the server is too, at an address that is [allowed](AllowedAddresses) for the server.
pub(super) fn safe_url(url: &str, server: &str) -> Option<Url> {
    let (url, server) = (Url::parse(url).ok()?, Url::parse(server).ok()?);
    let is_here = |url: &Url| kind_of(url) == Some(AddressKind::Loopback);
    let is_plain = url.scheme() == "http" && is_here(&url) && is_here(&server);
    let is_reachable = AllowedAddresses::of(&server).permits_url(&url);
    ((url.scheme() == "https" || is_plain) && is_reachable).then_some(url)
}

/// Returns the kind of the address that a host is; `None` if it is a name.
fn kind_of(url: &Url) -> Option<AddressKind> {
    let host = url.host_str()?.trim_end_matches('.');
    if host == "localhost" || host.ends_with(".localhost") {
        return Some(AddressKind::Loopback);
    }
    literal(url).map(kind)
}

fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn kind(address: IpAddr) -> AddressKind {
    let address = reached(address);
    let is_private = match address {
        // The second block is shared by the customers of a provider (RFC 6598).
        IpAddr::V4(address) => address.is_private() || address.to_bits() >> 22 == 0x6440_0000 >> 22,
        IpAddr::V6(address) => address.is_unique_local(),
    };
    match () {
        () if is_public(address) => AddressKind::Public,
        () if address.is_loopback() => AddressKind::Loopback,
        () if is_private => AddressKind::Private,
        () => AddressKind::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, url: &str, expected: bool) {
        let server = Url::parse(server).unwrap();
        let allowed = AllowedAddresses::of(&server).permits_url(&Url::parse(url).unwrap());
        assert_eq!(allowed, expected, "{url} for {server}");
    }

    #[test]
    fn a_server_leads_to_public_addresses_and_to_those_of_its_own_kind() {
        let (public, here, private) =
            ("https://a.example", "http://127.0.0.1:8", "http://10.1.2.3");
        for (url, for_public, for_here, for_private) in [
            ("https://93.184.216.34", true, true, true),
            ("https://b.example", true, true, true),
            ("https://127.8.9.1", false, true, false),
            ("https://localhost.:9", false, true, false),
            ("https://x.localhost", false, true, false),
            ("https://[::1]", false, true, false),
            ("https://[::ffff:127.0.0.1]", false, true, false),
            ("https://[64:ff9b::a00:1]", false, false, true),
            ("https://192.168.0.1", false, false, true),
            ("https://100.64.0.1", false, false, true),
            ("https://[fd00::1]", false, false, true),
            ("https://169.254.169.254", false, false, false),
            ("https://[::ffff:169.254.169.254]", false, false, false),
            ("https://[fe80::1]", false, false, false),
            ("https://0.0.0.0", false, false, false),
            ("https://[::]", false, false, false),
            ("https://224.0.0.1", false, false, false),
            ("https://255.255.255.255", false, false, false),
        ] {
            check(public, url, for_public);
            check(here, url, for_here);
            check(private, url, for_private);
        }
        check("http://169.254.7.7/mcp", "http://169.254.7.7/token", true);
        check("http://169.254.7.7/mcp", "http://169.254.7.8/token", false);
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_an_address_that_is_not_allowed_has_none() {
        let found = |server: &'static str| async move {
            let allowed = AllowedAddresses::of(&Url::parse(server).unwrap());
            let found = allowed.resolve("localhost".parse().unwrap()).await;
            found.map(Iterator::count).map_err(|error| error.to_string())
        };
        assert!(found("http://localhost:1").await.unwrap() > 0);
        let refused = found("https://a.example").await.unwrap_err();
        assert!(refused.contains("`localhost` has no address"), "{refused}");
    }
}
