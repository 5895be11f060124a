//! Large results, part by part and as a whole.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::json;

use super::admission::Admitted;
use super::inner::PageState;
use super::large::part_of;
use super::reply::{json_of, refused};

/// A result by the id of its call.
#[derive(Deserialize)]
pub(super) struct WantedResult {
    id: String,
    /// The part, from 0.
    #[serde(default)]
    part: usize,
}

/// Returns one part of a large result.
pub(super) async fn part(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Json(wanted): Json<WantedResult>,
) -> Response {
    let Some(text) = page.large.find(&wanted.id, caller.number) else { return gone() };
    json_of(&json!({"text": part_of(&text, wanted.part)}))
}

/// Returns a large result as a whole.
pub(super) async fn whole(
    State(page): PageState,
    Extension(caller): Extension<Admitted>,
    Json(wanted): Json<WantedResult>,
) -> Response {
    let Some(text) = page.large.find(&wanted.id, caller.number) else { return gone() };
    let mut response = Response::new(Body::from(text.to_string()));
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}

fn gone() -> Response {
    let why = "the result is not kept any longer: later ones took its place; call the tool again";
    refused(StatusCode::GONE, why)
}
