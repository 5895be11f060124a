//! Errors of serving a box.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// An error that prevents serving a box.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The streams or the address cannot be used.
    Io(io::Error),
    /// The address is reachable from other machines without authentication, which would let anyone
    /// call every tool.
    PublicWithoutAuth {
        /// The address to listen on.
        address: SocketAddr,
    },
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the server cannot be reached: {error}"),
            Self::PublicWithoutAuth { address } => write!(
                f,
                "other machines reach {address}, and no token is required: listen on 127.0.0.1, set `.bearer_token(..)` or `.token_verifier(..)`, or say `.allow_public_without_auth()`"
            ),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::PublicWithoutAuth { .. } => None,
        }
    }
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
