//! The model of the tab *Chat*: its name on the command line, its key in the environment.

#![allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "the comments are the texts of `--help`, where no markup is shown"
)]

use std::sync::Arc;

use clap::Args;

use super::named_model::NamedModel;
use crate::agent::Agent;
use crate::collection::ToolBox;
use crate::model::Model;
use crate::page::Page;

/// The model that people at the page talk to.
#[derive(Debug, Args)]
pub(super) struct ChatArguments {
    /// Let people at the page talk to a model over the tools: openai:MODEL, anthropic:MODEL,
    /// gemini:MODEL with the key in OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or the URL
    /// of a server with the chat completions of OpenAI, as http://127.0.0.1:11434/v1#MODEL, with a
    /// key in TOOLBOX_CHAT_KEY if it takes one
    #[arg(long, value_name = "MODEL")]
    pub(super) chat: Option<NamedModel>,
    /// Tell that model this before each conversation
    #[arg(long, value_name = "TEXT", requires = "chat")]
    pub(super) chat_system: Option<String>,
}

impl ChatArguments {
    /// Returns the model, before any server is started for it.
    pub(super) fn model(&self) -> Result<ChatModel, String> {
        let Some(named) = &self.chat else { return Ok(ChatModel(None)) };
        let model = named.model().map_err(|error| failed(&error))?;
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

fn failed(error: &dyn std::error::Error) -> String {
    format!("--chat: {error}")
}
