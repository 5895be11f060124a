//! `OpenAI`, and the servers that imitate it.

use super::http::{Auth, Endpoint, HttpModel};
use super::settings::{missing, settings, variable};
use crate::future::BoxFuture;
use crate::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse};
use crate::wire::{OpenAiChat, OpenAiResponses};

/// A model of `OpenAI`, or of any server that imitates it.
///
/// Uses [Chat Completions](OpenAiChat), which most servers understand, or
/// [`responses`](Self::responses). Cloning shares the connections.
///
/// ```no_run
/// use toolbox::model::{Deltas, History, Model, ModelRequest};
/// use toolbox::provider::OpenAi;
///
/// # async fn run() -> Result<(), toolbox::model::ModelError> {
/// let model = OpenAi::from_env("gpt-4.1")?;
/// let local = OpenAi::new("", "qwen3").base_url("http://localhost:11434/v1");
///
/// let request = ModelRequest::new(History::from("Why is the sky blue?"));
/// let response = model.respond(&request, Deltas::none()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAi {
    http: HttpModel,
    responses: bool,
}

settings!(OpenAi);

impl OpenAi {
    /// The model of an agent whose builder was given this service and no name of a model.
    ///
    /// May change in a later version: name the model where that matters.
    pub const DEFAULT_MODEL: &'static str = "gpt-4.1";

    /// Returns a model at `https://api.openai.com/v1`. Without a key (`""`), none is sent, as for
    /// local servers.
    pub fn new(key: impl Into<String>, model: impl Into<String>) -> Self {
        let http = HttpModel::new("openai", &key.into(), Auth::Bearer, model.into());
        Self { http, responses: false }.base_url("https://api.openai.com/v1")
    }

    /// Returns a model with the key in `OPENAI_API_KEY`, at `OPENAI_BASE_URL` if that is set.
    ///
    /// # Errors
    ///
    /// [`Unauthorized`](crate::model::ModelErrorKind::Unauthorized) if neither variable is set.
    pub fn from_env(model: impl Into<String>) -> Result<Self, ModelError> {
        const KEY: &str = "OPENAI_API_KEY";
        match (variable(KEY), variable("OPENAI_BASE_URL")) {
            (None, None) => Err(missing(KEY)),
            (key, None) => Ok(Self::new(key.unwrap_or_default(), model)),
            (key, Some(url)) => Ok(Self::new(key.unwrap_or_default(), model).base_url(url)),
        }
    }

    /// Returns the model using the [Responses](OpenAiResponses) API instead of Chat Completions.
    #[must_use]
    pub fn responses(mut self) -> Self {
        self.responses = true;
        self
    }
}

#[diagnostic::do_not_recommend]
impl Model for OpenAi {
    fn name(&self) -> &str {
        self.http.model()
    }

    fn provider(&self) -> &'static str {
        "openai"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        if self.responses {
            let endpoint = Endpoint::of("responses");
            Box::pin(self.http.respond::<OpenAiResponses>(endpoint, request, deltas))
        } else {
            let endpoint = Endpoint::of("chat/completions");
            Box::pin(self.http.respond::<OpenAiChat>(endpoint, request, deltas))
        }
    }
}
