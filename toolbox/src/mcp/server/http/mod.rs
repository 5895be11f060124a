//! Streamable HTTP: who may come in, sessions, and what ends them.

mod authority;
mod bearer;
mod body;
mod listen;
mod options;
mod routes;
mod service;
mod share;

pub use bearer::{AccessToken, BearerToken, TokenVerifier, VerifyTokenError};
pub(super) use options::HttpOptions;
