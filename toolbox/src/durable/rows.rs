//! Rows of calls in an `SQLite` file: reading them and the texts they hold.

use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::backlog::{CallState, RecordedCall};
use crate::call::{Arguments, CarriedResult, CarriedResultRef, JobId, ToolResult};
use crate::context::Conversation;
use crate::store::{StoreError, from_millis};

pub(super) fn one(connection: &Connection, id: &str) -> Result<Option<RecordedCall>, StoreError> {
    Ok(select(connection, "id = ?", vec![id.to_owned().into()], 1)?.pop())
}

pub(super) fn select(
    connection: &Connection,
    condition: &str,
    values: Vec<Value>,
    limit: usize,
) -> Result<Vec<RecordedCall>, StoreError> {
    Ok(select_readable(connection, condition, values, limit)?.0)
}

/// Returns calls up to a limit, and the number of rows that were skipped because they cannot be
/// read.
pub(super) fn select_readable(
    connection: &Connection,
    condition: &str,
    values: Vec<Value>,
    limit: usize,
) -> Result<(Vec<RecordedCall>, usize), StoreError> {
    let mut statement = connection.prepare_cached(&query(condition))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let (mut calls, mut skipped) = (Vec::new(), 0);
    while calls.len() < limit
        && let Some(row) = rows.next()?
    {
        match read(row) {
            Ok(call) => calls.push(call),
            Err(error) => {
                skipped += 1;
                log(row, &error);
            }
        }
    }
    Ok((calls, skipped))
}

/// Returns the query for the rows of calls.
pub(super) fn query(condition: &str) -> String {
    format!(
        "SELECT id, tool, digest, arguments, context, call_id, conversation, idempotent, state, \
         attempt, owner, cancel, dead, late, accepted, expires, ended, delivered, result \
         FROM call WHERE {condition} ORDER BY id"
    )
}

pub(super) fn read(row: &Row<'_>) -> Result<RecordedCall, StoreError> {
    let state: String = row.get("state")?;
    let state = CallState::ALL
        .into_iter()
        .find(|own| own.code() == state)
        .ok_or_else(|| damaged(format!("no call has the state {state:?}")))?;
    let call_id: String = row.get("call_id")?;
    let result = row
        .get::<_, Option<String>>("result")?
        .map(|text| {
            serde_json::from_str::<CarriedResult<'_>>(&text).map(ToolResult::from).map_err(damaged)
        })
        .transpose()?;
    let time = |column| row.get::<_, Option<i64>>(column).map(|time| time.map(from_millis));
    Ok(RecordedCall {
        id: JobId::from_text(row.get::<_, String>("id")?),
        tool: row.get("tool")?,
        digest: row.get("digest")?,
        arguments: Arguments::from(row.get::<_, String>("arguments")?),
        context: row.get("context")?,
        call_id,
        conversation: row
            .get::<_, Option<String>>("conversation")?
            .map(|text| conversation(&text))
            .transpose()?,
        idempotent: row.get("idempotent")?,
        state,
        attempt: row.get("attempt")?,
        owner: row.get("owner")?,
        is_cancelled: row.get("cancel")?,
        is_dead: row.get("dead")?,
        late: row.get("late")?,
        accepted: time("accepted")?.unwrap_or(SystemTime::UNIX_EPOCH),
        expires: time("expires")?.unwrap_or(SystemTime::UNIX_EPOCH),
        ended: time("ended")?,
        delivered: time("delivered")?,
        result,
    })
}

pub(super) fn stored(result: &ToolResult) -> Result<String, StoreError> {
    serde_json::to_string(&CarriedResultRef::from(result))
        .map_err(|error| StoreError::Failed(Arc::new(error)))
}

pub(super) fn conversation_text(conversation: &Conversation) -> String {
    serde_json::json!([conversation.channel, conversation.chat_id]).to_string()
}

pub(super) fn conversation(text: &str) -> Result<Conversation, StoreError> {
    let (channel, chat): (String, String) = serde_json::from_str(text).map_err(damaged)?;
    Ok(Conversation::new(channel, chat))
}

pub(super) fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Damaged(Arc::from(error.into()))
}

/// Logs a row that is skipped.
fn log(row: &Row<'_>, error: &StoreError) {
    let (id, reason) = (String::from_utf8_lossy(bytes(row, "id")), reason(error));
    tracing::warn!(%id, reason, "a call in the journal cannot be read and is skipped");
}

/// Returns the reason, without the content of the row that the text of a source may repeat.
pub(super) fn reason(error: &StoreError) -> String {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<serde_json::Error>() {
            return format!("it is no JSON as it was written, from byte {}", error.column());
        }
        if source.and_then(std::error::Error::source).is_none() {
            return crate::text::clean(&error.to_string()).chars().take(200).collect();
        }
        source = error.source();
    }
    error.to_string()
}

pub(super) fn bytes<'a>(row: &'a Row<'_>, column: &str) -> &'a [u8] {
    let value = row.get_ref(column).ok();
    value.and_then(|value| value.as_bytes().ok()).unwrap_or_default()
}

pub(super) fn is_open(row: &Row<'_>) -> bool {
    row.get_ref("ended").is_ok_and(|ended| ended == rusqlite::types::ValueRef::Null)
}
