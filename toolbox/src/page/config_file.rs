//! The file that the servers are configured in: shown and changed on the page, where a program has
//! one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::inner::{PageInner, PageState};
use super::reply::{json_of, refused};
use super::routes::failed;

/// A configuration file behind the servers of a page. Its methods read and write files.
///
/// No value of a variable or a header is in what they return.
pub(crate) trait ConfigFile: Send + Sync {
    /// Returns what changes whenever the file does.
    fn stamp(&self) -> String;

    /// Returns the file for display, with the digest that a change has to name.
    fn show(&self) -> Value;

    /// Changes the file as a whole, or not at all; returns what the user is told of it, if
    /// anything.
    fn change(&self, wanted: &WantedChange) -> Result<Option<String>, ChangeRefusal>;

    /// Returns the servers of other programs that can be taken over, and takes them over if `write`
    /// names what was shown.
    fn import(&self, wanted: &WantedImport) -> Result<Value, ChangeRefusal>;
}

/// A change of the file that was shown with a digest.
#[derive(Debug, Deserialize)]
pub(crate) struct WantedChange {
    pub(crate) digest: String,
    #[serde(flatten)]
    pub(crate) change: FileChange,
}

/// A change of the file.
#[derive(Debug, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum FileChange {
    Add { server: String, entry: EntryChange },
    Set { list: String, server: String, entry: EntryChange },
    Enable { list: String, server: String, on: bool },
    Remove { list: String, server: String },
    Tool { tool: String, on: bool },
}

/// Values of the entry of a server; what is `None` stays. An empty text removes its key.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EntryChange {
    /// The program and its arguments.
    pub(crate) command: Option<Vec<String>>,
    pub(crate) cwd: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) timeout: Option<String>,
    /// The variables that change, in order; one without a value is removed.
    pub(crate) environment: Vec<(String, Option<String>)>,
    /// The headers that change, likewise.
    pub(crate) headers: Vec<(String, Option<String>)>,
}

/// The import of the servers of other programs.
#[derive(Debug, Deserialize)]
pub(crate) struct WantedImport {
    /// `true` if the files of the project in the current directory are read, too.
    #[serde(default)]
    pub(crate) project: bool,
    /// The digest of the plan that was shown and is carried out; without one, nothing is written.
    pub(crate) write: Option<String>,
}

/// The reason why a file was not changed.
#[derive(Debug)]
pub(crate) enum ChangeRefusal {
    /// Something else changed it since it was shown.
    Stale(String),
    /// The change does not fit, with the faults that the file would have.
    Unfit(String, Vec<String>),
    /// The file cannot be read or written.
    Failed(String),
}

impl ChangeRefusal {
    fn response(self) -> Response {
        match self {
            Self::Stale(why) => refused(StatusCode::CONFLICT, why),
            Self::Failed(why) => refused(StatusCode::INTERNAL_SERVER_ERROR, why),
            Self::Unfit(why, problems) => {
                let mut response = json_of(&json!({"error": why, "problems": problems}));
                *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
                response
            }
        }
    }
}

/// Returns the stamp of the file; `null` if there is none behind the page.
pub(super) fn stamp(page: &PageInner) -> Value {
    page.options.config_file.as_ref().map(|file| file.stamp()).into()
}

pub(super) async fn show(State(page): PageState) -> Response {
    with_file(page, |file| Ok(file.show())).await
}

/// Changes the file, and returns it as it is then.
pub(super) async fn change(State(page): PageState, Json(wanted): Json<WantedChange>) -> Response {
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
        Ok(Err(refusal)) => refusal.response(),
        // The text of a panic may hold a part of the file.
        Err(_) => failed(),
    }
}
