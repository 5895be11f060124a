//! The routes of the page.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::admission::{self, Admitted, cookie_name};
use super::assets::ASSETS;
use super::calls::{self, WantedCall};
use super::inbox::TooLate;
use super::inner::{PageInner, PageState};
use super::reply::{failed, json_of, json_text, refused};
use super::sessions::NoSession;
use super::{apps, chat, config_file, frames, large_parts, live, log, offers, servers, tools};
use crate::call::{Arguments, Faults};
use crate::context::{Answer, CancellationToken, Decision};

/// The greatest body of a call or a decision: the arguments that a box takes by default, as a
/// string of JSON, whose quotes take two bytes each.
const MAX_CALL: usize = 4 << 20;

/// The greatest body of any other request.
const MAX_BODY: usize = 64 << 10;

/// Returns the routes; the streams end with `closing`.
pub(super) fn router(page: Arc<PageInner>, closing: CancellationToken) -> Router {
    let receiver = page.options.events.lock().take();
    if let Some(receiver) = receiver {
        tokio::spawn(log::collect(Arc::downgrade(&page.live), receiver));
    }
    let large = Router::new()
        .route("/api/check", post(check))
        .route("/api/calls", post(call))
        .route("/api/decide", post(decide))
        .merge(chat::routes())
        .layer(DefaultBodyLimit::max(MAX_CALL));
    let small = Router::new()
        .route("/api/state", get(state))
        .route("/api/tools", get(list))
        .route("/api/tool", post(tool))
        .route("/api/apps/open", post(apps::open))
        .route("/api/offers", get(offers::list))
        .route("/api/complete", post(offers::complete))
        .route("/api/subscribe", post(offers::subscribe))
        .route("/api/frames", post(frames::since))
        .route("/api/search", post(search))
        .route("/api/waiting", get(waiting))
        .route("/api/events", get(events))
        .route("/api/cancel", post(cancel))
        .route("/api/result", post(large_parts::part))
        .route("/api/result/whole", post(large_parts::whole))
        .route("/api/link", post(link))
        .route("/api/leave", post(leave))
        .route("/api/config", get(config_file::show))
        .route("/api/config/change", post(config_file::change))
        .route("/api/config/import", post(config_file::import))
        .route("/api/approve", post(servers::approve))
        .route("/api/reconnect", post(servers::reconnect));
    #[cfg(feature = "durable")]
    let small = small.route("/api/spending", post(super::spending::of_period));
    let small = small.layer(DefaultBodyLimit::max(MAX_BODY));
    let session_checks = from_fn_with_state(Arc::clone(&page), admission::of_session);
    let with_session = large.merge(small).layer(session_checks).layer(Extension(closing));
    let open =
        Router::new().route("/api/session", post(session)).layer(DefaultBodyLimit::max(MAX_BODY));
    let files = ASSETS.iter().fold(Router::new(), |files, asset| {
        files.route(asset.path, get(async move |headers: HeaderMap| asset.response(&headers)))
    });
    let all_checks = from_fn_with_state(Arc::clone(&page), admission::of_all);
    files.merge(open).merge(with_session).layer(all_checks).with_state(page)
}

#[derive(Deserialize)]
struct WantedSession {
    token: String,
}

async fn session(
    State(page): PageState,
    headers: HeaderMap,
    Json(wanted): Json<WantedSession>,
) -> Response {
    match page.sessions.open(&wanted.token) {
        Ok(new) => {
            let mut response = json_of(&json!({"key": new.key}));
            let (name, cookie, life) = (cookie_name(&headers), new.cookie, new.life.as_secs());
            let cookie =
                format!("{name}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age={life}");
            if let Ok(cookie) = HeaderValue::try_from(cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(NoSession::Ended) => refused(
            StatusCode::FORBIDDEN,
            "this link was used before, is older than a day, or is of another start of the program",
        ),
        Err(NoSession::TooFast) => {
            refused(StatusCode::TOO_MANY_REQUESTS, "too many attempts; try again in a few seconds")
        }
    }
}

async fn state(State(page): PageState, headers: HeaderMap) -> Response {
    let options = &page.options;
    json_of(&json!({
        "title": options.title,
        "version": env!("CARGO_PKG_VERSION"),
        "boot": page.live.boot(),
        "generation": options.toolbox.generation(),
        "tools": options.toolbox.len(),
        "servers": servers::status(&page),
        "config_file": config_file::stamp(&page),
        "offers": offers::counts(&options.toolbox),
        "frames": frames::count(&page),
        "chat": chat::facts(&page),
        "spending": options.has_journal(),
        "streams": *page.live.streams.borrow(),
        "lock_file": servers::has_lock(&page),
        "mcp_url": options.mcp_url,
        "apps": page.apps.origin(&headers).is_some(),
    }))
}

async fn list(State(page): PageState) -> Response {
    let list = tokio::task::spawn_blocking(move || page.index.list(&page.options.toolbox)).await;
    list.map_or_else(|_| failed(), |list| json_text(list.as_bytes().to_vec()))
}

#[derive(Deserialize)]
struct WantedTool {
    name: String,
}

async fn tool(State(page): PageState, Json(wanted): Json<WantedTool>) -> Response {
    match tools::detail(&page.options.toolbox, &wanted.name) {
        Some(detail) => json_of(&detail),
        None => refused(StatusCode::NOT_FOUND, "there is no tool of this name"),
    }
}

#[derive(Deserialize)]
struct WantedSearch {
    text: String,
    #[serde(default)]
    pattern: bool,
    #[serde(default)]
    limit: usize,
}

async fn search(State(page): PageState, Json(wanted): Json<WantedSearch>) -> Response {
    let found = tokio::task::spawn_blocking(move || {
        let limit = if wanted.limit == 0 { 20 } else { wanted.limit };
        let catalog = page.index.catalog(&page.options.toolbox);
        tools::search(&catalog, page.options.ranking, &wanted.text, wanted.pattern, limit)
    });
    match found.await {
        Ok(Ok(found)) => json_of(&found),
        Ok(Err(fault)) => refused(StatusCode::BAD_REQUEST, fault),
        Err(_) => failed(),
    }
}

/// What is checked while it is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum WantedCheck {
    /// The form of an entry that waits: other arguments of its call, or the answer to its question.
    Entry {
        entry: u64,
        /// The value, as JSON text.
        arguments: String,
    },
    Call(WantedCall),
}

async fn check(State(page): PageState, Json(wanted): Json<WantedCheck>) -> Response {
    match wanted {
        WantedCheck::Call(call) => json_of(&calls::checked(&page, call)),
        WantedCheck::Entry { entry, arguments } => {
            let faults = page.options.inbox.check(entry, &arguments);
            json_of(&json!({"faults": calls::shown_faults(&faults)}))
        }
    }
}

/// Returns the refusal of a form whose value has faults.
fn unfit(faults: &Faults) -> Option<Response> {
    let first = faults.first()?;
    let shown = json!({"error": first.to_string(), "faults": calls::shown_faults(faults)});
    let mut response = json_of(&shown);
    *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    Some(response)
}

async fn call(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Json(wanted): Json<WantedCall>,
) -> Response {
    match apps::named_in_the_box(&page, wanted) {
        Ok(wanted) => calls::call(&page, wanted, &caller),
        Err(why) => refused(StatusCode::FORBIDDEN, why),
    }
}

#[derive(Deserialize)]
struct WantedCancellation {
    id: String,
}

async fn cancel(State(page): PageState, Json(wanted): Json<WantedCancellation>) -> Response {
    if calls::cancel(&page, &wanted.id) {
        return json_of(&json!({}));
    }
    refused(StatusCode::NOT_FOUND, "no call of this id runs")
}

/// Returns the first entries that wait, as a change of a page that shows none.
async fn waiting(State(page): PageState) -> Response {
    match page.options.inbox.change(&mut BTreeSet::new()) {
        Some(change) => json_text(change.text.into_bytes()),
        None => json_of(&json!({"added": [], "gone": [], "count": 0})),
    }
}

/// A word on an entry that waits: a decision on a call, or the answer to a question.
#[derive(Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
enum PersonsWord {
    Approve,
    Deny {
        reason: String,
    },
    /// Other arguments, as JSON text.
    Edit {
        arguments: String,
    },
    Defer,
    /// The value of the form, as JSON text.
    Accept {
        answer: String,
    },
    Decline,
}

#[derive(Deserialize)]
struct WantedWord {
    id: u64,
    #[serde(flatten)]
    word: PersonsWord,
}

async fn decide(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Json(wanted): Json<WantedWord>,
) -> Response {
    let inbox = &page.options.inbox;
    let by = format!("session {}", caller.number);
    let decision = match wanted.word {
        PersonsWord::Approve => Decision::Approve,
        PersonsWord::Deny { reason } if reason.trim().is_empty() => {
            Decision::Deny("the user denied the call".to_owned())
        }
        PersonsWord::Deny { reason } => Decision::Deny(reason),
        PersonsWord::Defer => Decision::Defer,
        PersonsWord::Edit { arguments } => {
            if let Some(refusal) = unfit(&inbox.check(wanted.id, &arguments)) {
                return refusal;
            }
            Decision::Edit(Arguments::from(arguments))
        }
        PersonsWord::Accept { answer } => match serde_json::from_str::<Value>(&answer) {
            Ok(value) => {
                // The value of an only field may be given alone, which its asker reads.
                if let Some(refusal) =
                    value.is_object().then(|| unfit(&inbox.check(wanted.id, &answer))).flatten()
                {
                    return refusal;
                }
                return settled(inbox.answer(wanted.id, Answer::Accepted(value), &by));
            }
            Err(error) => return refused(StatusCode::BAD_REQUEST, error.to_string()),
        },
        PersonsWord::Decline => return settled(inbox.answer(wanted.id, Answer::Declined, &by)),
    };
    settled(inbox.decide(wanted.id, decision, &by))
}

fn settled(outcome: Result<(), TooLate>) -> Response {
    match outcome {
        Ok(()) => json_of(&json!({})),
        Err(TooLate::Decided(what)) => {
            refused(StatusCode::CONFLICT, format!("somebody was earlier: {what}"))
        }
        Err(TooLate::Gone) => refused(StatusCode::GONE, "the call ended, and waits no longer"),
        Err(TooLate::Unfit(why)) => refused(StatusCode::BAD_REQUEST, why),
    }
}

async fn events(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Extension(closing): Extension<CancellationToken>,
    headers: HeaderMap,
) -> Response {
    live::events(&page, &caller, closing, &headers)
}

/// Returns a link for another browser.
async fn link(State(page): PageState, headers: HeaderMap) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let token = page.sessions.link();
    json_of(&json!({"link": format!("{}/#token={token}", origin.unwrap_or_default())}))
}

/// Ends the session.
async fn leave(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    headers: HeaderMap,
) -> Response {
    page.sessions.end(&caller.cookie);
    chat::leave(&page, caller.number);
    let mut response = json_of(&json!({}));
    let cookie =
        format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", cookie_name(&headers));
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
