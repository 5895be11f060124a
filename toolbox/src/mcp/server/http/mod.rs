//! Streamable HTTP: admission, sessions and shutdown.

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
