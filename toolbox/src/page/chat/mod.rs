//! Conversations with a model over the tools of an agent.
//!
//! A conversation belongs to one session and one tab of the browser. Its run goes on in the
//! program, and the page asks for what changed, so that a reload loses nothing.

mod conversation;
mod desk;
mod entry;
mod message;
mod run;
pub(super) mod store;
mod transcript;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use self::conversation::{CHANNEL, ChatBeginning, SeenChanges};
use self::message::WantedMessage;
use super::admission::Admitted;
use super::inner::{PageInner, PageState};
use super::reply::{json_of, refused};
use crate::context::CancellationToken;

/// The time that a page which asks for changes waits for one.
const LOOK: Duration = Duration::from_secs(1);

/// Returns the facts about the model that a page shows; `null` if there is none.
pub(super) fn facts(page: &PageInner) -> Value {
    page.chat.as_ref().map_or(Value::Null, |chat| {
        let model = chat.agent.model();
        json!({"model": model.name(), "provider": model.provider(), "agent": chat.agent.name()})
    })
}

/// Forgets the conversations of a session that ends.
pub(super) fn leave(page: &PageInner, session: u64) {
    if let Some(chat) = &page.chat {
        chat.forget(session, |_| true);
    }
}

/// Returns the routes of conversations.
pub(super) fn routes() -> Router<Arc<PageInner>> {
    Router::new()
        .route("/api/chat/send", post(send))
        .route("/api/chat/go_on", post(go_on))
        .route("/api/chat/stop", post(stop))
        .route("/api/chat/clear", post(clear))
        .route("/api/chat/show", post(show))
}

fn no_model() -> Response {
    refused(StatusCode::NOT_FOUND, "this page has no model to talk to")
}

/// Takes a message of the user, and lets the model work.
async fn send(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Extension(closing): Extension<CancellationToken>,
    Json(wanted): Json<WantedMessage>,
) -> Response {
    let chat = wanted.chat.clone();
    match wanted.checked(&page.options.toolbox) {
        Ok(message) => begin(&page, &caller, closing, &chat, ChatBeginning::Message(message)),
        Err((status, why)) => refused(status, why),
    }
}

#[derive(Deserialize)]
struct WantedConversation {
    chat: String,
}

/// Lets the model go on where its last run stopped.
async fn go_on(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Extension(closing): Extension<CancellationToken>,
    Json(wanted): Json<WantedConversation>,
) -> Response {
    begin(&page, &caller, closing, &wanted.chat, ChatBeginning::Again)
}

fn begin(
    page: &Arc<PageInner>,
    caller: &Admitted,
    closing: CancellationToken,
    id: &str,
    from: ChatBeginning,
) -> Response {
    let Some(chat) = &page.chat else { return no_model() };
    let talk = match chat.open(caller.number, id) {
        Ok(talk) => talk,
        Err((status, why)) => return refused(status, why),
    };
    match talk.begin(from) {
        Ok(run) => {
            let name = (caller.number, name_of(caller.number, id));
            let (page, agent) = (Arc::clone(page), chat.agent.clone());
            tokio::spawn(run::run(page, talk, agent, name, run, closing));
            json_of(&json!({}))
        }
        Err(why) => refused(StatusCode::CONFLICT, why),
    }
}

/// Stops the run of a conversation.
async fn stop(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Json(wanted): Json<WantedConversation>,
) -> Response {
    let talk = page.chat.as_ref().and_then(|chat| chat.find(caller.number, &wanted.chat));
    if talk.is_some_and(|talk| talk.stop()) {
        return json_of(&json!({}));
    }
    refused(StatusCode::NOT_FOUND, "the model does not work in this conversation")
}

/// Stops a conversation and forgets it.
async fn clear(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Json(wanted): Json<WantedConversation>,
) -> Response {
    let Some(chat) = &page.chat else { return no_model() };
    chat.forget(caller.number, |id| id == wanted.chat);
    json_of(&json!({}))
}

#[derive(Deserialize)]
struct WantedEntries {
    chat: String,
    #[serde(flatten)]
    seen: SeenChanges,
}

/// Returns what changed in a conversation since a page saw it. While the model works, it waits a
/// second for a change.
async fn show(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Json(wanted): Json<WantedEntries>,
) -> Response {
    let Some(chat) = &page.chat else { return no_model() };
    let Some(talk) = chat.find(caller.number, &wanted.chat) else {
        return json_of(&conversation::none());
    };
    talk.changed_since(&wanted.seen, LOOK).await;
    let mut shown = talk.show(&wanted.seen);
    shown["conversation"] = format!("{CHANNEL}/{}", name_of(caller.number, &wanted.chat)).into();
    json_of(&shown)
}

/// Returns the name of a conversation among those of all sessions.
fn name_of(session: u64, id: &str) -> String {
    format!("{session}-{id}")
}
