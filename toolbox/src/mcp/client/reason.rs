//! Why rmcp could not do something, in words that fit after the name of a server.
//!
//! rmcp's own texts name its types, leave out what lies beneath, and hold the whole URL, which may be a secret.

use std::error::Error;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::text;
use crate::call::chain;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Says why the handshake failed.
pub(super) fn of_handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        // The older handshake was tried last, and its failure says more.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_handshake(fallback),
        other => shown(other),
    }
}

/// Says why a request has no answer.
pub(super) fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => of_transport(error),
        other => shown(other),
    }
}

/// Tells whether a server wants to know who asks.
pub(super) fn is_unauthorized(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => is_challenge(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_unauthorized(fallback),
        _ => false,
    }
}

/// Tells whether an answer was that the server wants to know who asks.
pub(super) fn is_challenge(error: &DynamicTransportError) -> bool {
    let error: &(dyn Error + 'static) = &*error.error;
    matches!(
        error.downcast_ref(),
        Some(HttpError::AuthRequired(_) | HttpError::InsufficientScope(_))
    )
}

fn of_transport(error: &DynamicTransportError) -> String {
    let error: &(dyn Error + 'static) = &*error.error;
    match error.downcast_ref() {
        Some(HttpError::Client(error)) => of_http(error),
        #[cfg(feature = "mcp-oauth")]
        Some(HttpError::Auth(error)) => {
            format!("what was granted cannot be used: {}", super::oauth::told(error))
        }
        Some(HttpError::InsufficientScope(error)) => match &error.required_scope {
            Some(scope) => {
                let scope = text::clean(text::cut(scope, 256));
                format!(
                    "it wants more than was granted: sign in again, for the scope `{scope}` too"
                )
            }
            None => "it wants more than was granted: sign in again".to_owned(),
        },
        Some(HttpError::AuthRequired(_)) => {
            "it wants to know who asks: sign in, or give it a header `Authorization`".to_owned()
        }
        Some(other) => shown(other),
        None => shown(error),
    }
}

fn of_http(error: &reqwest::Error) -> String {
    let what = match error.status() {
        Some(status) => format!("it answered with status {status}"),
        None if error.is_timeout() => "it did not answer in time".to_owned(),
        None if error.is_connect() => "no connection to it could be made".to_owned(),
        None => "the request to it failed".to_owned(),
    };
    match error.source() {
        Some(cause) => text::clean(&format!("{what}: {}", chain(cause))).into_owned(),
        None => what,
    }
}

fn shown(error: &(dyn Error + 'static)) -> String {
    text::clean(&chain(error)).into_owned()
}
