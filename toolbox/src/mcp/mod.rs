//! The Model Context Protocol both ways: the tools of servers in a box, and a box as a server.

#[cfg(feature = "mcp-client")]
pub mod config;
#[cfg(feature = "mcp-server")]
mod server;
mod trace;

#[cfg(feature = "mcp-client")]
pub use config::ServerConfig;

#[cfg(feature = "mcp-server")]
pub use server::{Caller, MissingCapability, Principal, ServeError, Service, serve_stdio};
pub use trace::TraceContext;
