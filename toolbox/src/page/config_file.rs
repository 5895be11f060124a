//! The file that the servers are configured in: shown and changed on the page, where a program has
//! one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::config_change::{ChangeRefusal, ConfigFile, FileChange, WantedChange, WantedImport};
use super::inner::{PageInner, PageState};
use super::reply::{failed, json_of, refused};

/// Returns the stamp of the file; `null` if there is none behind the page.
pub(super) fn stamp(page: &PageInner) -> Value {
    page.options.config_file.as_ref().map(|file| file.stamp()).into()
}

pub(super) async fn show(State(page): PageState) -> Response {
    with_file(page, |file| Ok(file.show())).await
}

/// Changes the file, and returns it as it is then.
pub(super) async fn change(
    State(page): PageState,
    Json(mut wanted): Json<WantedChange>,
) -> Response {
    if let FileChange::Tool { tool, tags, .. } = &mut wanted.change
        && let Some(tool) = page.options.toolbox.get(tool)
    {
        tags.clone_from(&tool.definition().tags);
    }
    with_file(page, move |file| {
        let note = file.change(&wanted)?;
        let mut shown = file.show();
        shown["note"] = note.into();
        Ok(shown)
    })
    .await
}

pub(super) async fn import(State(page): PageState, Json(wanted): Json<WantedImport>) -> Response {
    with_file(page, move |file| file.import(&wanted)).await
}

async fn with_file(
    page: Arc<PageInner>,
    work: impl FnOnce(&dyn ConfigFile) -> Result<Value, ChangeRefusal> + Send + 'static,
) -> Response {
    let Some(file) = page.options.config_file.clone() else {
        return refused(StatusCode::NOT_FOUND, "there is no configuration file behind this page");
    };
    match tokio::task::spawn_blocking(move || work(&*file)).await {
        Ok(Ok(value)) => json_of(&value),
        Ok(Err(refusal)) => refusal_response(refusal),
        // The text of a panic may hold a part of the file.
        Err(_) => failed(),
    }
}

/// Returns the answer with the reason why the file was not changed.
fn refusal_response(refusal: ChangeRefusal) -> Response {
    match refusal {
        ChangeRefusal::Stale(why) => refused(StatusCode::CONFLICT, why),
        ChangeRefusal::Failed(why) => refused(StatusCode::INTERNAL_SERVER_ERROR, why),
        ChangeRefusal::Unfit(why, problems) => {
            let mut response = json_of(&json!({"error": why, "problems": problems}));
            *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            response
        }
    }
}
