//! Serves a box as an MCP server: over standard streams, and, in `http`, over HTTP.

mod answer;
mod batch;
mod call;
mod caller;
mod changes;
mod channel;
mod client_link;
mod client_requests;
mod completion;
mod error;
mod exchange;
mod gated;
#[cfg(feature = "mcp-server-http")]
mod http;
mod info;
mod lines;
mod list;
mod log_level;
mod offers;
mod open_requests;
mod operation;
mod outlet;
mod pace;
mod pages;
mod prompts;
mod protocol;
mod reports;
mod requests;
mod resources;
mod result;
mod rounds;
#[cfg_attr(
    not(feature = "mcp-server-http"),
    allow(dead_code, reason = "some of it is for HTTP alone")
)]
mod running;
mod service;
mod session;
mod shared;
mod skills;
mod stdio;
mod subscribed;
mod tasks;

pub use caller::{Caller, CallerError, MissingCapability};
pub use error::ServeError;
#[cfg(feature = "mcp-server-http")]
pub use http::{AccessToken, BearerToken, TokenVerifier, VerifyTokenError};
#[cfg(feature = "page")]
pub(crate) use http::{AllowedOrigins, ConnectionLimits, accept, is_same};
pub use info::ServerInfo;
pub use log_level::LogLevel;
pub use service::{Service, serve_stdio, serve_stdio_as};
#[cfg(feature = "cli")]
pub(crate) use stdio::HostInput;
#[cfg(all(feature = "agent", feature = "mcp-client"))]
pub(crate) use stdio::standard_input;
