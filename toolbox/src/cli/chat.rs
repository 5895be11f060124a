//! The model of the tab *Chat*: its name on the command line, its key in the environment.

#![allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "the comments are the texts of `--help`, where no markup is shown"
)]

use std::sync::Arc;

use clap::Args;

use crate::agent::Agent;
use crate::collection::ToolBox;
use crate::model::{Model, ModelError};
use crate::page::Page;
use crate::provider::{Anthropic, Gemini, OpenAi};

/// The variable with the key of a server that is named by its URL. That of another service is not
/// sent to it.
const KEY: &str = "TOOLBOX_CHAT_KEY";

/// The model that people at the page talk to.
#[derive(Debug, Args)]
pub(super) struct ChatArguments {
    /// Let people at the page talk to a model over the tools: openai:MODEL, anthropic:MODEL,
    /// gemini:MODEL with the key in OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or the URL
    /// of a server with the chat completions of OpenAI, as http://127.0.0.1:11434/v1#MODEL, with a
    /// key in TOOLBOX_CHAT_KEY if it takes one
    #[arg(long, value_name = "MODEL", value_parser = wanted)]
    pub(super) chat: Option<WantedModel>,
    /// Tell that model this before each conversation
    #[arg(long, value_name = "TEXT", requires = "chat")]
    pub(super) chat_system: Option<String>,
}

/// A model as the command line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WantedModel {
    OpenAi(String),
    Anthropic(String),
    Gemini(String),
    Server { url: String, model: String },
}

fn wanted(text: &str) -> Result<WantedModel, String> {
    let forms = "write openai:MODEL, anthropic:MODEL, gemini:MODEL or URL#MODEL, such as http://127.0.0.1:11434/v1#qwen3";
    if text.starts_with("http://") || text.starts_with("https://") {
        let (url, model) = text.split_once('#').unwrap_or((text, ""));
        if model.is_empty() {
            return Err(format!(
                "the URL names no model: write {}#MODEL",
                url.trim_end_matches('/')
            ));
        }
        return Ok(WantedModel::Server { url: url.to_owned(), model: model.to_owned() });
    }
    let (service, model) = text.split_once(':').unwrap_or((text, ""));
    let of = match service {
        "openai" => WantedModel::OpenAi,
        "anthropic" => WantedModel::Anthropic,
        "gemini" => WantedModel::Gemini,
        _ => return Err(format!("no such service is known: {forms}")),
    };
    if model.is_empty() {
        return Err(format!("the model has no name: write {service}:MODEL"));
    }
    Ok(of(model.to_owned()))
}

impl ChatArguments {
    /// Returns the model, before any server is started for it.
    pub(super) fn model(&self) -> Result<ChatModel, String> {
        let model: Result<Arc<dyn Model>, ModelError> = match &self.chat {
            None => return Ok(ChatModel(None)),
            Some(WantedModel::OpenAi(model)) => OpenAi::from_env(model).map(shared),
            Some(WantedModel::Anthropic(model)) => Anthropic::from_env(model).map(shared),
            Some(WantedModel::Gemini(model)) => Gemini::from_env(model).map(shared),
            Some(WantedModel::Server { url, model }) => {
                let key = std::env::var(KEY).unwrap_or_default();
                Ok(shared(OpenAi::new(key, model).base_url(url)))
            }
        };
        let model = model.map_err(|error| failed(&error))?;
        Ok(ChatModel(Some((model, self.chat_system.clone()))))
    }
}

/// The model that people at a page talk to, if there is one, and its system prompt.
pub(super) struct ChatModel(Option<(Arc<dyn Model>, Option<String>)>);

impl ChatModel {
    /// Returns the page with the model, over the tools of a box.
    pub(super) fn on(self, page: Page, toolbox: &ToolBox) -> Result<Page, String> {
        let Some((model, system)) = self.0 else { return Ok(page) };
        let mut builder = Agent::builder(model)
            .name("chat")
            .toolbox(toolbox.clone())
            .prices(crate::prices::GenaiPrices);
        if let Some(system) = system {
            builder = builder.system(system);
        }
        builder.build().map(|agent| page.chat(agent)).map_err(|error| failed(&error))
    }
}

fn shared(model: impl Model) -> Arc<dyn Model> {
    Arc::new(model)
}

fn failed(error: &dyn std::error::Error) -> String {
    format!("--chat: {error}")
}
