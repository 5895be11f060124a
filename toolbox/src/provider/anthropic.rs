//! Anthropic.

use super::http::{Auth, Endpoint, HttpModel};
use super::settings::{missing, settings, variable};
use crate::future::BoxFuture;
use crate::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse};
use crate::wire;

/// A model of Anthropic, or of any server with its Messages API.
///
/// Cloning shares the connections.
///
/// ```no_run
/// use toolbox::model::{Deltas, History, Model, ModelRequest};
/// use toolbox::provider::Anthropic;
///
/// # async fn run() -> Result<(), toolbox::model::ModelError> {
/// let model = Anthropic::from_env("claude-sonnet-4-5")?;
/// let request = ModelRequest::new(History::from("Why is the sky blue?"));
/// let response = model.respond(&request, Deltas::none()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Anthropic {
    http: HttpModel,
}

settings!(Anthropic);

impl Anthropic {
    /// The model of an agent whose builder was given this service and no name of a model.
    ///
    /// May change in a later version: name the model where that matters.
    pub const DEFAULT_MODEL: &'static str = "claude-sonnet-4-5";

    /// Returns a model at `https://api.anthropic.com`. Without a key (`""`), none is sent.
    pub fn new(key: impl Into<String>, model: impl Into<String>) -> Self {
        let mut http =
            HttpModel::new("anthropic", &key.into(), Auth::Header("x-api-key"), model.into());
        http.set(|settings| settings.version = Some(("anthropic-version", "2023-06-01")));
        Self { http }.base_url("https://api.anthropic.com")
    }

    /// Returns a model with the key in `ANTHROPIC_API_KEY`, at `ANTHROPIC_BASE_URL` if that is set.
    ///
    /// # Errors
    ///
    /// [`Unauthorized`](crate::model::ModelErrorKind::Unauthorized) if neither variable is set.
    pub fn from_env(model: impl Into<String>) -> Result<Self, ModelError> {
        const KEY: &str = "ANTHROPIC_API_KEY";
        match (variable(KEY), variable("ANTHROPIC_BASE_URL")) {
            (None, None) => Err(missing(KEY)),
            (key, None) => Ok(Self::new(key.unwrap_or_default(), model)),
            (key, Some(url)) => Ok(Self::new(key.unwrap_or_default(), model).base_url(url)),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Model for Anthropic {
    fn name(&self) -> &str {
        self.http.model()
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        let endpoint = Endpoint::of("v1/messages");
        Box::pin(self.http.respond::<wire::Anthropic>(endpoint, request, deltas))
    }
}
