//! Responses over HTTP, and the statuses of refused requests.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::body::BodyFault;
use super::sessions::NoSession;
use crate::mcp::server::answer::Answer;
use crate::mcp::server::protocol::{ErrorCode, MessageFault, ProtocolError, RequestId};

/// The reason why a request is refused.
pub(super) enum Refusal {
    Text(StatusCode, Cow<'static, str>),
    /// The path takes other methods.
    Method(&'static str),
    /// The client may come back later.
    Busy(&'static str),
    /// The error of a request.
    Answer(Answer),
    /// The error of a body that is no request, and has no id.
    Invalid(ProtocolError),
    Failed,
}

impl Refusal {
    pub(super) fn bad_request(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(StatusCode::BAD_REQUEST, text.into())
    }

    pub(super) fn error(id: &RequestId, error: &ProtocolError) -> Self {
        Self::Answer(Answer::error(id, error))
    }

    /// Returns the refusal of a body of more than `limit` bytes, or that could not be read.
    pub(super) fn of_body(fault: BodyFault, limit: usize) -> Self {
        match fault {
            BodyFault::TooLarge => {
                let text = format!("a body may hold {limit} bytes at most");
                Self::Text(StatusCode::PAYLOAD_TOO_LARGE, text.into())
            }
            BodyFault::Late => {
                Self::Text(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".into())
            }
            BodyFault::Broken => Self::bad_request("the body cannot be read"),
        }
    }
}

impl From<MessageFault> for Refusal {
    fn from(MessageFault { id, error }: MessageFault) -> Self {
        match id {
            Some(id) => Self::error(&id, &error),
            None => Self::Invalid(error),
        }
    }
}

impl From<NoSession> for Refusal {
    fn from(reason: NoSession) -> Self {
        match reason {
            NoSession::Full => Self::Busy("too many sessions are open; come back later"),
            NoSession::NoRandomness(error) => {
                tracing::error!(%error, "there is no randomness for the id of a session");
                Self::Failed
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Text(status, text) => (status, text).into_response(),
            Self::Method(methods) => {
                let allow = [(header::ALLOW, methods)];
                (StatusCode::METHOD_NOT_ALLOWED, allow, "Method Not Allowed").into_response()
            }
            Self::Busy(text) => {
                let wait = [(header::RETRY_AFTER, "5")];
                (StatusCode::SERVICE_UNAVAILABLE, wait, text).into_response()
            }
            Self::Answer(answer) => answered(answer),
            Self::Invalid(error) => {
                let message = json!({ "jsonrpc": "2.0", "error": error }).to_string();
                json_response(StatusCode::BAD_REQUEST, message.into_bytes())
            }
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// Returns the answer to a request that stands alone, with the status of its error.
pub(super) fn answered(answer: Answer) -> Response {
    let status = match answer.error {
        Some(ErrorCode::MethodNotFound) => StatusCode::NOT_FOUND,
        Some(
            ErrorCode::ParseError
            | ErrorCode::InvalidRequest
            | ErrorCode::MissingParams
            | ErrorCode::HeaderMismatch
            | ErrorCode::MissingCapability
            | ErrorCode::UnsupportedVersion,
        ) => StatusCode::BAD_REQUEST,
        Some(ErrorCode::InvalidParams | ErrorCode::InternalError | ErrorCode::ResourceNotFound)
        | None => StatusCode::OK,
    };
    json_response(status, answer.message)
}

pub(super) fn json_response(status: StatusCode, message: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
