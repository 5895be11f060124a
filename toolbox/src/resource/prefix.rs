//! The prefix that tells resources of several servers with the same URI apart.

use std::fmt::Write as _;

/// The scheme of a URI with a prefix.
pub(crate) const SERVER_SCHEME: &str = "mcp://";

/// Returns a URI of a server with its prefix.
pub(crate) fn prefixed(server: &str, own: &str) -> String {
    format!("{}{own}", prefix(server))
}

/// Returns the URI at a server of one in the box.
pub(crate) fn at_server<'u>(server: &str, uri: &'u str) -> &'u str {
    if !uri.starts_with(SERVER_SCHEME) {
        return uri;
    }
    uri.strip_prefix(&*prefix(server)).unwrap_or(uri)
}

fn prefix(server: &str) -> String {
    let mut prefix = SERVER_SCHEME.to_owned();
    for byte in server.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            prefix.push(char::from(byte));
        } else {
            let _ = write!(prefix, "%{byte:02X}");
        }
    }
    prefix.push('/');
    prefix
}
