//! Streamable HTTP: admission, sessions and shutdown.

mod authority;
mod bearer;
mod body;
mod endpoint;
mod event_log;
mod event_stream;
mod headers;
mod listen;
mod options;
mod responses;
mod service;
mod sessions;
mod share;

pub use bearer::{AccessToken, BearerToken, TokenVerifier, VerifyTokenError};
pub(super) use event_log::EventLog;
pub(super) use headers::ParamHeader;
pub(super) use options::HttpOptions;
