//! Streamable HTTP: admission, sessions and shutdown.

mod authority;
mod bearer;
mod body;
mod cors;
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

#[cfg(feature = "page")]
pub(crate) use authority::AllowedOrigins;
#[cfg(feature = "page")]
pub(crate) use bearer::is_same;
pub use bearer::{AccessToken, BearerToken, TokenVerifier, VerifyTokenError};
pub(super) use event_log::EventLog;
pub(super) use headers::ParamHeader;
#[cfg(feature = "page")]
pub(crate) use listen::{ConnectionLimits, accept};
pub(super) use options::HttpOptions;
