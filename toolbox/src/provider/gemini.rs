//! Gemini.

use std::borrow::Cow;

use super::http::{Auth, Endpoint, HttpModel};
use super::settings::{missing, settings, variable};
use crate::future::BoxFuture;
use crate::model::{Delta, Deltas, Model, ModelError, ModelRequest, ModelResponse};
use crate::wire::{self, GeminiInteractions};

/// The version of the API whose form is written.
const REVISION: (&str, &str) = ("api-revision", "2026-05-20");

/// The most requests for one reply that reaches the limit of each.
const MAX_REQUESTS: usize = 16;

/// A model of Gemini, through [Interactions](GeminiInteractions).
///
/// A reply that reaches the limit of one request is continued with further requests, 15 at most,
/// each with the time limits of one; their pieces are one reply.
/// [`generate_content`](Self::generate_content) uses the older form, for models and gateways that
/// have no other. Cloning shares the connections.
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
    form: GeminiForm,
}

#[derive(Clone, Copy)]
enum GeminiForm {
    Interactions,
    /// Interactions that the service keeps.
    Stored,
    GenerateContent,
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
        let mut http =
            HttpModel::new("gcp.gemini", &key.into(), Auth::Header("x-goog-api-key"), model.into());
        http.set(|settings| settings.version = Some(REVISION));
        Self { http, form: GeminiForm::Interactions }
            .base_url("https://generativelanguage.googleapis.com")
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

    /// Returns the model using [`generateContent`](wire::Gemini), the legacy form, instead of
    /// Interactions.
    ///
    /// The options of the two forms have different names.
    #[must_use]
    pub fn generate_content(mut self) -> Self {
        self.http.set(|settings| settings.version = None);
        self.form = GeminiForm::GenerateContent;
        self
    }

    /// Returns the model with interactions that the service keeps: a request names the last one in
    /// its transcript and sends only what came after it.
    ///
    /// The service keeps them for 55 days, or shorter without a paid plan. A transcript that was
    /// edited before that point is sent whole.
    ///
    /// ```
    /// let model = toolbox::provider::Gemini::new("key", "gemini-2.5-flash").stored();
    /// ```
    #[must_use]
    pub fn stored(mut self) -> Self {
        self.http.set(|settings| settings.version = Some(REVISION));
        self.form = GeminiForm::Stored;
        self
    }

    /// Asks through Interactions, until the reply is complete.
    async fn interact(
        &self,
        request: Cow<'_, ModelRequest>,
        deltas: Deltas<'_>,
    ) -> Result<ModelResponse, ModelError> {
        let ask = async |request: &ModelRequest, deltas: Deltas<'_>| {
            let endpoint = Endpoint::of("v1beta/interactions");
            self.http.respond::<GeminiInteractions>(endpoint, request, deltas).await
        };
        let mut response = ask(&request, deltas).await?;
        let mut sent = Cow::Borrowed(&*request);
        for _ in 1..MAX_REQUESTS {
            let Some(next) = GeminiInteractions::continuation(&request, &sent, &response) else {
                break;
            };
            let parts = response.reply.parts.len();
            let sink = |delta| deltas.send(behind(parts, delta));
            let shifted = if deltas.are_wanted() { Deltas::to(&sink) } else { Deltas::none() };
            let more = ask(&next, shifted).await?;
            response = GeminiInteractions::joined(response, more);
            sent = Cow::Owned(next);
        }
        Ok(GeminiInteractions::remembered(&request, response))
    }

    /// Asks through `generateContent`.
    async fn generate(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelResponse, ModelError> {
        let model = self.http.model();
        let collection = if model.contains('/') { "" } else { "models/" };
        let (method, query) = if deltas.are_wanted() {
            ("streamGenerateContent", Some(("alt", "sse")))
        } else {
            ("generateContent", None)
        };
        let path = format!("v1beta/{collection}{model}:{method}").into();
        self.http.respond::<wire::Gemini>(Endpoint { path, query }, request, deltas).await
    }
}

/// Returns a piece of a reply that goes on behind other parts.
fn behind(parts: usize, delta: Delta) -> Delta {
    match delta {
        Delta::Call { index, id, name } => Delta::Call { index: index + parts, id, name },
        Delta::Arguments { index, text } => Delta::Arguments { index: index + parts, text },
        text => text,
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
        match self.form {
            GeminiForm::GenerateContent => Box::pin(self.generate(request, deltas)),
            GeminiForm::Interactions => Box::pin(self.interact(Cow::Borrowed(request), deltas)),
            GeminiForm::Stored => {
                let request = request.clone().with_option("store", true);
                Box::pin(self.interact(Cow::Owned(request), deltas))
            }
        }
    }
}
