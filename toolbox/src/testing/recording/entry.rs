//! The lines of a recording.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{ModelError, ModelErrorKind, ModelResponse, Reply, Usage};
use crate::text::json_value;

/// The version of the format, which the first line names.
pub(super) const VERSION: u64 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) toolbox_recording: u64,
}

/// A line after the first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum RecordedEntry {
    /// A request to a model with its reply.
    Model(ModelEntry),
    /// A message between a client and an MCP server.
    Frame(FrameEntry),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ModelEntry {
    /// The name of the model.
    pub(super) model: String,
    /// The name of its service.
    pub(super) provider: String,
    /// The request, as it serializes.
    pub(super) request: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<StoredResponse>,
    /// The error, where there was no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<StoredError>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredResponse {
    reply: Value,
    #[serde(default)]
    usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredError {
    kind: ModelErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl ModelEntry {
    pub(super) fn new(
        (model, provider): (&str, &str),
        request: Value,
        outcome: Result<ModelResponse, ModelError>,
    ) -> Self {
        let (response, error) = match outcome {
            Ok(response) => (Some(StoredResponse::from(response)), None),
            Err(error) => (None, Some(StoredError::from(&error))),
        };
        let (model, provider) = (model.to_owned(), provider.to_owned());
        Self { model, provider, request, response, error }
    }

    /// Returns the reply, or the error.
    pub(super) fn outcome(&self) -> Result<ModelResponse, ModelError> {
        match (&self.response, &self.error) {
            (Some(response), _) => response.read(),
            (None, Some(error)) => Err(error.read()),
            (None, None) => {
                let text = "the recorded request has neither a response nor an error";
                Err(ModelError::new(ModelErrorKind::Other, text))
            }
        }
    }
}

impl From<ModelResponse> for StoredResponse {
    fn from(response: ModelResponse) -> Self {
        let ModelResponse { reply, usage, model, id } = response;
        // A reply always serializes: its keys are text.
        Self { reply: json_value(&reply).unwrap_or_default(), usage, model, id }
    }
}

impl StoredResponse {
    fn read(&self) -> Result<ModelResponse, ModelError> {
        // Arguments of calls are read as text.
        let reply: Reply = serde_json::from_str(&self.reply.to_string()).map_err(|error| {
            let text = format!("the recorded reply cannot be read: {error}");
            ModelError::new(ModelErrorKind::Other, text)
        })?;
        let mut response = ModelResponse::from(reply).with_usage(self.usage);
        response.model.clone_from(&self.model);
        response.id.clone_from(&self.id);
        Ok(response)
    }
}

impl From<&ModelError> for StoredError {
    fn from(error: &ModelError) -> Self {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self {
            kind: error.kind(),
            message: error.message().to_owned(),
            status: error.status(),
            retry_after_ms: error.retry_after().map(millis),
        }
    }
}

impl StoredError {
    fn read(&self) -> ModelError {
        let mut error = ModelError::new(self.kind, self.message.clone());
        if let Some(status) = self.status {
            error = error.with_status(status);
        }
        if let Some(wait) = self.retry_after_ms {
            error = error.with_retry_after(Duration::from_millis(wait));
        }
        error
    }
}

/// One message between a client and a server: JSON, or else the text of a line that is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FrameEntry {
    pub(super) server: String,
    /// The number of the connection; ids of requests are of one.
    pub(super) connection: u64,
    pub(super) direction: Direction,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) frame: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

/// The direction of a message, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Direction {
    /// From the client to the server.
    Sent,
    /// From the server to the client.
    Received,
}
