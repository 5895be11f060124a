//! Errors of the connection to a fleet.

use std::error::Error;
use std::fmt;

/// An error that prevents offering or mounting tools.
///
/// Texts name the server without its user and password.
#[derive(Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// The name of the fleet is not 1 to 32 of the characters `A-Z a-z 0-9 _ -`.
    Name(String),
    /// The credentials or certificates cannot be used.
    Credentials(String),
    /// The server cannot be reached, or refuses the connection.
    Connect {
        /// The server.
        server: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server lacks a feature that a fleet needs.
    Unsupported(String),
    /// The bucket of the offers can be neither read nor made.
    Offers {
        /// The name of the bucket.
        bucket: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The queue of durable calls can be neither read nor made.
    Queue {
        /// The name of its stream.
        stream: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The thread that reports which calls are under way cannot be started.
    Thread(std::io::Error),
    /// The connection was closed.
    Closed,
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "fleet name {name:?} is invalid; use 1 to 32 letters, digits, `_` and `-`"
            ),
            Self::Credentials(reason) => write!(f, "the credentials cannot be used: {reason}"),
            Self::Connect { server, source } => {
                write!(f, "the NATS server {server} cannot be connected to: {source}")
            }
            Self::Unsupported(reason) => f.write_str(reason),
            Self::Offers { bucket, source } => write!(
                f,
                "the bucket `{bucket}` of the fleet's offers can be neither read nor made: {source}"
            ),
            Self::Queue { stream, source } => write!(
                f,
                "the queue `{stream}` of durable calls can be neither read nor made: {source}"
            ),
            Self::Thread(error) => write!(f, "a thread cannot be started: {error}"),
            Self::Closed => f.write_str("the connection to the NATS server was closed"),
        }
    }
}

impl Error for FleetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect { source, .. }
            | Self::Offers { source, .. }
            | Self::Queue { source, .. } => Some(&**source),
            Self::Thread(source) => Some(source),
            _ => None,
        }
    }
}
