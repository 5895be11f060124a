//! A message of the user, with the contexts of apps that the model reads before it.

use axum::http::StatusCode;
use serde::Deserialize;

use super::entry::ChatEntry;
use crate::call::Content;
use crate::collection::ToolBox;
use crate::context::Taint;
use crate::model::UserContent;
use crate::page::app_frames::opener;

/// The most bytes of a message.
const MAX_MESSAGE: usize = 256 << 10;

/// The most bytes of the context of an app, and of a message that an app wrote.
const MAX_OF_APP: usize = 16 << 10;

/// The most contexts that go with one message.
const MAX_CONTEXTS: usize = 8;

/// A message, as the page sends it.
#[derive(Deserialize)]
pub(super) struct WantedMessage {
    pub(super) chat: String,
    text: String,
    /// The tool whose app wrote the message; the user agreed to it.
    #[serde(default)]
    app: Option<String>,
    #[serde(default)]
    contexts: Vec<AppContext>,
}

/// What an app gives the model to read (`ui/update-model-context`).
#[derive(Deserialize)]
struct AppContext {
    /// The tool whose app it is.
    tool: String,
    text: String,
    /// The URI of the app.
    #[serde(skip)]
    uri: String,
}

/// A message within the limits, of apps that there are.
pub(super) struct UserMessage {
    text: String,
    app: Option<String>,
    contexts: Vec<AppContext>,
}

impl WantedMessage {
    /// Returns the message, or the reason why it is refused.
    pub(super) fn checked(self, toolbox: &ToolBox) -> Result<UserMessage, (StatusCode, String)> {
        let Self { text, app, mut contexts, .. } = self;
        if text.trim().is_empty() {
            return Err((StatusCode::BAD_REQUEST, "the message is empty".to_owned()));
        }
        let most = if app.is_some() { MAX_OF_APP } else { MAX_MESSAGE };
        within(&text, most, "the message")?;
        if contexts.len() > MAX_CONTEXTS {
            let why = format!("at most {MAX_CONTEXTS} contexts of apps are taken with a message");
            return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        let uri_of = |tool: &str| match opener(toolbox, tool) {
            Some((_, uri)) => Ok(uri),
            None => Err((StatusCode::UNPROCESSABLE_ENTITY, "this tool has no app".to_owned())),
        };
        app.as_deref().map(uri_of).transpose()?;
        for context in &mut contexts {
            within(&context.text, MAX_OF_APP, "the context of the app")?;
            context.uri = uri_of(&context.tool)?;
        }
        Ok(UserMessage { text, app, contexts })
    }
}

fn within(text: &str, most: usize, what: &str) -> Result<(), (StatusCode, String)> {
    if text.len() <= most {
        return Ok(());
    }
    let why = format!("{what} has {} bytes, and at most {most} are taken", text.len());
    Err((StatusCode::PAYLOAD_TOO_LARGE, why))
}

impl UserMessage {
    /// Marks the taint by the apps that wrote text of it.
    pub(super) fn mark(&self, taint: &Taint) {
        let apps = self.contexts.iter().map(|context| &context.tool).chain(&self.app);
        apps.for_each(|tool| taint.mark_by_app(tool));
    }

    /// Returns the entries that show it.
    pub(super) fn entries(&self) -> impl Iterator<Item = ChatEntry> {
        let contexts = self.contexts.iter().map(|own| ("context", &own.text, Some(&own.tool)));
        let message = ("user", &self.text, self.app.as_ref());
        contexts.chain([message]).map(|(kind, text, app)| {
            let mut entry = ChatEntry::text(kind, text);
            entry.shown["app"] = app.map(String::as_str).into();
            entry
        })
    }

    /// Returns what the model reads. Contexts are documents, so that nothing takes their text for
    /// words of the user.
    pub(super) fn into_content(self) -> UserContent {
        let contexts = self.contexts.into_iter().map(|AppContext { tool, text, uri }| {
            let head = format!(
                "The app of the tool `{tool}` shows this now. Its server wrote it, not the user:"
            );
            Content::resource_text(uri, "text/plain", format!("{head}\n{text}"))
        });
        contexts.chain([Content::text(self.text)]).collect::<Vec<_>>().into()
    }
}
