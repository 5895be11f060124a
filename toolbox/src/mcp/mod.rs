//! The Model Context Protocol both ways: the tools of servers in a box, and a box as a server.
//!
//! `Servers` starts or reaches MCP servers and registers their tools in a box (feature
//! `mcp-client`). `Service` serves a box to MCP clients, over standard streams (feature
//! `mcp-server`) or HTTP (feature `mcp-server-http`).
//!
#![cfg_attr(all(feature = "mcp-client", feature = "mcp-server"), doc = include_str!("../docs/mcp.md"))]
//! | to | see |
//! |---|---|
//! | use the tools of servers | `Servers`, `ServerConfig`, `ServerStatus`, `MountServersError` |
//! | read them from `toolbox.jsonc` | `Config`, `Settings`, `ConfigProblem` |
//! | follow its changes | `Config::watch`, `ConfigWatch`, `Servers::apply`, `ServerChanges` |
//! | sign in at servers | `SignIn`, `CredentialFile` (feature `mcp-oauth`) |
//! | look at the messages of servers | `ServersBuilder::on_frame`, `FrameLog`, `RecordedFrame`, `ProtocolFault` |
//! | serve a box | `Service`, `serve_stdio_as`, `ServerInfo`, `ServeError` |
//! | serve a folder of skills | `Service::skills`, `SkillFolder`, `OpenSkillFolderError` (feature `mcp-skills`) |
//! | let clients in over HTTP | `Service::bearer_token`, `TokenVerifier`, `AccessToken` |
//! | ask the client of a call something | `Caller`, `CallerError`, `LogLevel`, `MissingCapability` |

#[cfg(any(feature = "mcp-client", feature = "mcp-server"))]
mod apps;
#[cfg(feature = "mcp-client")]
mod client;
#[cfg(feature = "mcp-client")]
pub mod config;
mod count;
#[cfg(any(feature = "mcp-client", feature = "mcp-skills"))]
mod digest;
#[cfg(any(feature = "mcp-client", feature = "mcp-server"))]
mod elicitation;
#[cfg(feature = "mcp-client")]
mod file;
#[cfg(feature = "mcp-client")]
mod frames;
#[cfg(feature = "mcp-client")]
mod lock;
#[cfg(feature = "mcp-client")]
mod names;
#[cfg(feature = "mcp-server")]
mod server;
#[cfg(feature = "mcp-skills")]
mod skills;
#[cfg(any(feature = "mcp-client", feature = "mcp-server"))]
mod telemetry;

#[cfg(feature = "cli")]
pub(crate) use client::sign_in_again;
#[cfg(feature = "mcp-client")]
pub use client::{
    ApproveError, Connect, MountServersError, ServerChanges, ServerStartup, ServerState,
    ServerStatus, Servers, ServersBuilder, WithheldReason, WithheldTool,
};
#[cfg(feature = "mcp-oauth")]
pub use client::{CredentialFile, CredentialFileError, SignIn, SignInError};
#[cfg(all(feature = "mcp-client", feature = "page"))]
pub(crate) use client::{ServerLine, ServerLog};
#[cfg(feature = "mcp-oauth")]
pub use config::IdentityProvider;
#[cfg(feature = "mcp-client")]
pub use config::{Config, ConfigProblem, ConfigWatch, ScriptSettings, ServerConfig, Settings};
#[cfg(feature = "mcp-client")]
#[cfg(feature = "cli")]
pub(crate) use config::{OPENAPI, start_here as start_descriptions_here};
#[cfg(feature = "mcp-client")]
pub use frames::{
    Frame, FrameBatch, FrameDirection, FrameKind, FrameLog, ProtocolFault, RecordedFrame,
};
#[cfg(feature = "mcp-client")]
pub use lock::{LockFile, LockFileError};
#[cfg(feature = "cli")]
pub(crate) use names::fitting_server_name;
#[cfg(feature = "mcp-client")]
pub use names::{InvalidServerNameError, Names, check_server_name};
#[cfg(feature = "cli")]
pub(crate) use server::HostInput;
#[cfg(all(feature = "agent", feature = "mcp-client", feature = "mcp-server"))]
pub(crate) use server::standard_input;
#[cfg(feature = "mcp-server-http")]
pub use server::{AccessToken, BearerToken, TokenVerifier, VerifyTokenError};
#[cfg(feature = "page")]
pub(crate) use server::{AllowedOrigins, ConnectionLimits, accept, is_same};
#[cfg(feature = "mcp-server")]
pub use server::{
    Caller, CallerError, LogLevel, MissingCapability, ServeError, ServerInfo, Service, serve_stdio,
    serve_stdio_as,
};
#[cfg(feature = "mcp-skills")]
pub use skills::{OpenSkillFolderError, SkillFolder};
