//! Models by their names on the command line, with the keys in the environment.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::model::{Model, ModelError};
use crate::provider::{Anthropic, Gemini, OpenAi};

/// The variable with the key of a server that is named by its URL. That of another service is not
/// sent to it.
const KEY: &str = "TOOLBOX_CHAT_KEY";

/// A model as the command line names it: `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL`, or the
/// URL of a server with the chat completions of `OpenAI`, as `http://127.0.0.1:11434/v1#MODEL`.
///
/// ```
/// use toolbox::cli::NamedModel;
///
/// let named: NamedModel = "http://127.0.0.1:11434/v1#qwen3".parse()?;
/// assert_eq!(named.model()?.name(), "qwen3");
/// let error = "qwen3".parse::<NamedModel>().unwrap_err();
/// assert!(error.to_string().starts_with("no such service is known"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedModel(ModelPlace);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ModelPlace {
    OpenAi(String),
    Anthropic(String),
    Gemini(String),
    Server { url: String, model: String },
}

impl NamedModel {
    /// Returns the model. Its key is in `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY`;
    /// that of a server in `TOOLBOX_CHAT_KEY`, if it takes one.
    ///
    /// # Errors
    ///
    /// The error of the provider, such as that of a missing key.
    pub fn model(&self) -> Result<Arc<dyn Model>, ModelError> {
        match &self.0 {
            ModelPlace::OpenAi(model) => OpenAi::from_env(model).map(shared),
            ModelPlace::Anthropic(model) => Anthropic::from_env(model).map(shared),
            ModelPlace::Gemini(model) => Gemini::from_env(model).map(shared),
            ModelPlace::Server { url, model } => {
                let key = std::env::var(KEY).unwrap_or_default();
                Ok(shared(OpenAi::new(key, model).base_url(url)))
            }
        }
    }
}

impl FromStr for NamedModel {
    type Err = InvalidModelNameError;

    fn from_str(text: &str) -> Result<Self, InvalidModelNameError> {
        let forms = "write openai:MODEL, anthropic:MODEL, gemini:MODEL or URL#MODEL, such as http://127.0.0.1:11434/v1#qwen3";
        if text.starts_with("http://") || text.starts_with("https://") {
            let (url, model) = text.split_once('#').unwrap_or((text, ""));
            if model.is_empty() {
                let url = url.trim_end_matches('/');
                let why = format!("the URL names no model: write {url}#MODEL");
                return Err(InvalidModelNameError(why));
            }
            let (url, model) = (url.to_owned(), model.to_owned());
            return Ok(Self(ModelPlace::Server { url, model }));
        }
        let (service, model) = text.split_once(':').unwrap_or((text, ""));
        let of = match service {
            "openai" => ModelPlace::OpenAi,
            "anthropic" => ModelPlace::Anthropic,
            "gemini" => ModelPlace::Gemini,
            _ => {
                return Err(InvalidModelNameError(format!("no such service is known: {forms}")));
            }
        };
        if model.is_empty() {
            let why = format!("the model has no name: write {service}:MODEL");
            return Err(InvalidModelNameError(why));
        }
        Ok(Self(of(model.to_owned())))
    }
}

/// The reason why a text names no model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidModelNameError(String);

impl fmt::Display for InvalidModelNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidModelNameError {}

fn shared(model: impl Model) -> Arc<dyn Model> {
    Arc::new(model)
}
