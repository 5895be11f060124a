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
    /// `None`: as the service at the base URL needs it.
    short_call_ids: Option<bool>,
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
        Self { http, responses: false, short_call_ids: None }.base_url("https://api.openai.com/v1")
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

    /// Sends ids of calls as exactly nine letters and digits, the only ones that Mistral accepts,
    /// to Chat Completions. Default: `true` at hosts of `mistral.ai`, else `false`.
    ///
    /// The transcript keeps the ids that it has. Other servers of Mistral's models may want it too,
    /// such as vLLM with a tokenizer of `mistral_common`.
    #[must_use]
    pub fn short_call_ids(mut self, short: bool) -> Self {
        self.short_call_ids = Some(short);
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
            if !self.short_call_ids.unwrap_or_else(|| self.http.is_at("mistral.ai")) {
                return Box::pin(self.http.respond::<OpenAiChat>(endpoint, request, deltas));
            }
            let mut request = request.clone();
            request.history = request.history.with_short_call_ids();
            Box::pin(
                async move { self.http.respond::<OpenAiChat>(endpoint, &request, deltas).await },
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OpenAi;

    #[test]
    fn a_domain_is_a_host_or_what_is_below_it() {
        for (url, expected) in [
            ("https://api.mistral.ai/v1", true),
            ("https://mistral.ai", true),
            ("https://MISTRAL.AI:443/v1", true),
            ("https://notmistral.ai/v1", false),
            ("https://mistral.ai.example/v1", false),
            ("https://example/mistral.ai", false),
            ("no url", false),
        ] {
            let model = OpenAi::new("", "m").base_url(url);
            assert_eq!(model.http.is_at("mistral.ai"), expected, "{url}");
        }
    }
}
