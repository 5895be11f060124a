//! Reasons for failures of rmcp; the text fits after the name of a server.
//!
//! rmcp's own messages name its types, omit the cause, and contain the whole URL, which may be a
//! secret.

use std::error::Error;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::http::lost_session::MAY_HAVE_RUN;
use super::text;
use crate::call::chain;
use crate::text::cut;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Describes why the handshake failed.
pub(super) fn of_handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        // The older handshake was tried last, and its failure is more specific.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_handshake(fallback),
        // The texts of these hold debugging output of rmcp.
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "it answered the handshake with a message of another kind".to_owned()
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it answered the handshake under another id".to_owned()
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            let versions = text::clean(cut(&versions.join(", "), 256)).into_owned();
            format!("it speaks no version of the protocol that is spoken here, but {versions}")
        }
        other => cleaned(other),
    }
}

/// Describes why a request has no answer.
pub(super) fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => of_transport(error),
        ServiceError::UnexpectedResponse => "its answer is one to another request".to_owned(),
        ServiceError::Timeout { timeout } => {
            format!("it did not answer within {} seconds", timeout.as_secs_f32())
        }
        ServiceError::Cancelled { .. } => "the request was canceled".to_owned(),
        other => cleaned(other),
    }
}

/// Returns whether the server requires authorization.
pub(super) fn is_unauthorized(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => is_challenge(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_unauthorized(fallback),
        _ => false,
    }
}

/// Returns whether such an error says with a challenge that one can sign in.
pub(super) fn is_challenged(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => names_a_way(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_challenged(fallback),
        _ => false,
    }
}

/// Returns whether such an error says that what was granted to a user is good no more.
pub(super) fn is_grant_ended(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => is_ended(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_grant_ended(fallback),
        _ => false,
    }
}

/// Returns whether a demand for authorization is a challenge.
pub(super) fn names_a_way(error: &DynamicTransportError) -> bool {
    let error: &(dyn Error + 'static) = &*error.error;
    match error.downcast_ref() {
        Some(HttpError::AuthRequired(demand)) => !demand.www_authenticate_header.is_empty(),
        Some(HttpError::InsufficientScope(_)) => true,
        #[cfg(feature = "mcp-oauth")]
        Some(HttpError::Auth(error)) => super::oauth::ends_the_grant(error),
        _ => false,
    }
}

/// Returns whether the error is a server's demand for authorization.
pub(super) fn is_challenge(error: &DynamicTransportError) -> bool {
    is_ended(error)
        || matches!(
            (&*error.error as &(dyn Error + 'static)).downcast_ref(),
            Some(HttpError::AuthRequired(_) | HttpError::InsufficientScope(_))
        )
}

/// Returns whether what was granted to a user is good no more.
pub(super) fn is_ended(error: &DynamicTransportError) -> bool {
    let error: &(dyn Error + 'static) = &*error.error;
    match error.downcast_ref::<HttpError>() {
        #[cfg(feature = "mcp-oauth")]
        Some(HttpError::Auth(error)) => super::oauth::ends_the_grant(error),
        _ => false,
    }
}

/// Returns whether a session was lost in a call that may have run.
pub(super) fn is_session_lost(error: &DynamicTransportError) -> bool {
    let error: &(dyn Error + 'static) = &*error.error;
    matches!(
        error.downcast_ref(),
        Some(HttpError::UnexpectedServerResponse(reason)) if reason == MAY_HAVE_RUN
    )
}

/// Returns the scopes that a server requires beyond those granted.
pub(super) fn required_scopes(error: &DynamicTransportError) -> Option<String> {
    let error: &(dyn Error + 'static) = &*error.error;
    match error.downcast_ref() {
        Some(HttpError::InsufficientScope(error)) => error.required_scope.clone(),
        _ => None,
    }
}

fn of_transport(error: &DynamicTransportError) -> String {
    let error: &(dyn Error + 'static) = &*error.error;
    match error.downcast_ref() {
        Some(HttpError::Client(error)) => of_http(error),
        #[cfg(feature = "mcp-oauth")]
        Some(HttpError::Auth(error)) => super::oauth::no_token(error),
        Some(HttpError::InsufficientScope(error)) => match &error.required_scope {
            Some(scope) => {
                let scope = text::clean(cut(scope, 256));
                format!(
                    "it requires more scopes than were granted: sign in again, for the scope `{scope}` too"
                )
            }
            None => "it requires more scopes than were granted: sign in again".to_owned(),
        },
        Some(HttpError::SessionExpired) => {
            "it does not know its session, nor the one that was opened in its place".to_owned()
        }
        Some(HttpError::AuthRequired(demand)) if demand.www_authenticate_header.is_empty() => {
            "it answered with status 401, and not what it wants: configure a header `Authorization`, as its operator says"
                .to_owned()
        }
        Some(HttpError::AuthRequired(_)) => {
            "it requires authorization: sign in, or configure a header `Authorization`".to_owned()
        }
        Some(HttpError::UnexpectedServerResponse(reason)) => text::clean(reason).into_owned(),
        Some(HttpError::UnexpectedContentType(kind)) => {
            let due = "where `application/json` or `text/event-stream` is due";
            match kind {
                Some(kind) => {
                    let kind = text::clean(cut(kind, 128));
                    format!("its answer has the content type `{kind}`, {due}")
                }
                None => format!("its answer has no content type, {due}"),
            }
        }
        Some(other) => cleaned(other),
        None => cleaned(error),
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

fn cleaned(error: &(dyn Error + 'static)) -> String {
    text::clean(&chain(error)).into_owned()
}
