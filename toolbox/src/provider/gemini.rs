//! Gemini.

use super::http::{Auth, Endpoint, HttpModel};
use super::settings::{missing, settings, variable};
use crate::future::BoxFuture;
use crate::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse};
use crate::wire;

/// A model of Gemini, through `generateContent`.
///
/// Cloning shares the connections.
///
/// ```no_run
/// use toolbox::model::{Deltas, History, Model, ModelRequest};
/// use toolbox::provider::Gemini;
///
/// # async fn run() -> Result<(), toolbox::model::ModelError> {
/// let model = Gemini::from_env("gemini-2.5-flash")?;
/// let request = ModelRequest::new(History::from("Why is the sky blue?"));
/// let response = model.respond(&request, Deltas::none()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Gemini {
    http: HttpModel,
}

settings!(Gemini);

impl Gemini {
    /// The model of an agent whose builder was given this service and no name of a model.
    ///
    /// May change in a later version: name the model where that matters.
    pub const DEFAULT_MODEL: &'static str = "gemini-2.5-flash";

    /// Returns a model at `https://generativelanguage.googleapis.com`. Without a key (`""`), none
    /// is sent.
    ///
    /// The model is named with or without its collection: `gemini-2.5-flash`,
    /// `models/gemini-2.5-flash`, `tunedModels/mine`.
    pub fn new(key: impl Into<String>, model: impl Into<String>) -> Self {
        let http =
            HttpModel::new("gcp.gemini", &key.into(), Auth::Header("x-goog-api-key"), model.into());
        Self { http }.base_url("https://generativelanguage.googleapis.com")
    }

    /// Returns a model with the key in `GEMINI_API_KEY` or else `GOOGLE_API_KEY`, at
    /// `GOOGLE_GEMINI_BASE_URL` if that is set.
    ///
    /// # Errors
    ///
    /// [`Unauthorized`](crate::model::ModelErrorKind::Unauthorized) if none of them is set.
    pub fn from_env(model: impl Into<String>) -> Result<Self, ModelError> {
        const KEY: &str = "GEMINI_API_KEY";
        let key = variable(KEY).or_else(|| variable("GOOGLE_API_KEY"));
        match (key, variable("GOOGLE_GEMINI_BASE_URL")) {
            (None, None) => Err(missing(KEY)),
            (key, None) => Ok(Self::new(key.unwrap_or_default(), model)),
            (key, Some(url)) => Ok(Self::new(key.unwrap_or_default(), model).base_url(url)),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Model for Gemini {
    fn name(&self) -> &str {
        self.http.model()
    }

    fn provider(&self) -> &'static str {
        "gcp.gemini"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        let model = self.http.model();
        let collection = if model.contains('/') { "" } else { "models/" };
        let endpoint = if deltas.are_wanted() {
            let path = format!("v1beta/{collection}{model}:streamGenerateContent");
            Endpoint { path: path.into(), query: Some(("alt", "sse")) }
        } else {
            let path = format!("v1beta/{collection}{model}:generateContent");
            Endpoint { path: path.into(), query: None }
        };
        Box::pin(self.http.respond::<wire::Gemini>(endpoint, request, deltas))
    }
}
