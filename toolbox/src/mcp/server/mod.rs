//! Serves a box as an MCP server: over standard streams, and, in `http`, over HTTP.

mod call;
mod caller;
mod error;
mod handler;
mod head;
#[cfg(feature = "mcp-server-http")]
mod http;
#[cfg_attr(
    not(feature = "mcp-server-http"),
    allow(dead_code, reason = "some of it is for HTTP alone")
)]
mod in_flight;
mod info;
mod lines;
#[cfg_attr(
    not(feature = "mcp-server-http"),
    allow(dead_code, reason = "some of it is for HTTP alone")
)]
mod list;
mod pace;
mod result;
#[cfg_attr(
    not(feature = "mcp-server-http"),
    allow(dead_code, reason = "some of it is for HTTP alone")
)]
mod running;
mod service;
mod shared;
mod stdio;
#[cfg_attr(
    not(feature = "mcp-server-http"),
    allow(dead_code, reason = "some of it is for HTTP alone")
)]
mod text;
mod version;

pub use caller::{Caller, MissingCapability};
pub use error::ServeError;
#[cfg(feature = "mcp-server-http")]
pub use http::{AccessToken, BearerToken, TokenVerifier, VerifyTokenError};
pub use info::ServerInfo;
pub use service::{Service, serve_stdio, serve_stdio_as};
