//! Errors of models.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::call::SharedError;
use crate::call::chain;

/// The kind of a [`ModelError`].
///
/// ```
/// use toolbox::model::{ModelError, ModelErrorKind};
///
/// let error = ModelError::new(ModelErrorKind::Unauthorized, "the key is not valid");
/// assert!(!error.kind().is_retryable());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The service could not be reached, or the connection broke.
    #[serde(rename = "model.connection")]
    Connection,
    /// The service did not answer in time.
    #[serde(rename = "model.timed_out")]
    TimedOut,
    /// The service limits the rate of requests (429, or a quota).
    #[serde(rename = "model.rate_limited")]
    RateLimited,
    /// The service failed (500 to 599, overloaded).
    #[serde(rename = "model.unavailable")]
    Unavailable,
    /// The key is missing, wrong, or may not do this (401, 403).
    #[serde(rename = "model.unauthorized")]
    Unauthorized,
    /// The service does not accept the request (400, 404, 422).
    #[serde(rename = "model.invalid_request")]
    InvalidRequest,
    /// The transcript is longer than the model can read.
    #[serde(rename = "model.context_too_long")]
    ContextTooLong,
    /// The response is not a reply.
    #[serde(rename = "model.invalid_response")]
    InvalidResponse,
    /// Another error.
    #[serde(rename = "model.failed")]
    Other,
}

impl ModelErrorKind {
    /// Returns the stable code of this kind, such as `model.rate_limited`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Connection => "model.connection",
            Self::TimedOut => "model.timed_out",
            Self::RateLimited => "model.rate_limited",
            Self::Unavailable => "model.unavailable",
            Self::Unauthorized => "model.unauthorized",
            Self::InvalidRequest => "model.invalid_request",
            Self::ContextTooLong => "model.context_too_long",
            Self::InvalidResponse => "model.invalid_response",
            Self::Other => "model.failed",
        }
    }

    /// Returns `true` if the same request may succeed a little later.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Connection
                | Self::TimedOut
                | Self::RateLimited
                | Self::Unavailable
                | Self::InvalidResponse
        )
    }
}

/// An error of a model that gave no reply.
///
/// Never contains a key: parts of one that a service echoes are removed.
///
/// ```
/// use std::time::Duration;
/// use toolbox::model::{ModelError, ModelErrorKind};
///
/// let error = ModelError::new(ModelErrorKind::RateLimited, "too many requests")
///     .with_status(429)
///     .with_retry_after(Duration::from_secs(3));
/// assert!(error.kind().is_retryable());
/// ```
#[derive(Debug, Clone)]
pub struct ModelError(Box<ModelErrorInner>);

#[derive(Debug, Clone)]
struct ModelErrorInner {
    kind: ModelErrorKind,
    message: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    source: Option<SharedError>,
}

impl ModelError {
    /// Returns an error of a kind, with a message for the programmer.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(ModelErrorInner {
            kind,
            message,
            status: None,
            retry_after: None,
            source: None,
        }))
    }

    /// Returns an error of a kind from the error beneath it.
    pub fn from_source(
        kind: ModelErrorKind,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let source: SharedError = SharedError::from(source.into());
        let mut error = Self::new(kind, chain(source.as_ref()));
        error.0.source = Some(source);
        error
    }

    /// Adds the status of the HTTP response.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Adds the time that the service asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Returns the kind of error.
    #[must_use]
    pub fn kind(&self) -> ModelErrorKind {
        self.0.kind
    }

    /// Returns the message, without the status.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the status of the HTTP response, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns the time that the service asked to wait, if it did.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match self.0.status {
            Some(status) => write!(f, " (status {status})"),
            None => Ok(()),
        }
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // The message of an error made from another already contains that one's.
        self.0.source.as_deref().and_then(Error::source)
    }
}
