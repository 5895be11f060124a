//! The spending of principals by day and month, as a journal has it.

use std::time::{Duration, SystemTime};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::inner::PageState;
use super::reply::{json_of, refused};
use crate::agent::SpendingPeriod;

/// The most principals that are shown: those with the most money.
const MAX_ROWS: usize = 1000;

/// The first millisecond of the year 10 000.
const MAX_TIME_MS: u64 = 253_402_300_800_000;

/// The period that holds a time.
#[derive(Deserialize)]
pub(super) struct WantedSpending {
    period: SpendingPeriod,
    time_ms: u64,
}

/// Returns what each principal spent in a period.
pub(super) async fn of_period(
    State(page): PageState,
    Json(wanted): Json<WantedSpending>,
) -> Response {
    let Some(journal) = &page.options.journal else {
        return refused(StatusCode::NOT_FOUND, "this page has no journal");
    };
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(wanted.time_ms));
    let Some(time) = time.filter(|_| wanted.time_ms < MAX_TIME_MS) else {
        return refused(StatusCode::BAD_REQUEST, "the time is after the year 9999");
    };
    let all = match journal.spending_of_all(wanted.period, time).await {
        Ok(all) => all,
        Err(error) => return refused(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
    };
    let rows = all.iter().take(MAX_ROWS).map(|(principal, spent)| {
        json!({
            "principal": principal.as_str(),
            "requests": spent.requests,
            "calls": spent.calls,
            "tokens": spent.tokens,
            "cost": spent.cost.to_string(),
        })
    });
    json_of(&json!({
        "period": wanted.period.key(time),
        "rows": rows.collect::<Vec<Value>>(),
        "omitted": all.len().saturating_sub(MAX_ROWS),
    }))
}
