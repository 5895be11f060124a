//! Rows of calls that cannot be read: a damage that stays with its row.
//!
//! They are skipped where calls are listed, ended where they would run, and listed and deleted by themselves.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::journal::Journal;
use super::results;
use super::sqlite::{Shared, query, read, stored};
use crate::call::JobId;
use crate::store::StoreError;

/// A call whose row cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableCall {
    /// The id, with a mark in place of what is no text.
    pub id: String,
    /// The name of its tool, as far as it can be read.
    pub tool: String,
    /// The reason, without the content of the row.
    pub reason: String,
    /// `true` if it has a time of its end: it holds nothing up.
    pub is_ended: bool,
}

impl Journal {
    /// Returns the calls whose rows cannot be read, in the order of their ids, up to 1000. They are in no
    /// other list; one that was open ends when a worker meets it, or its owner is gone.
    ///
    /// # Errors
    ///
    /// [`StoreError`], also where the journal has an engine without a file.
    pub async fn unreadable(&self) -> Result<Vec<UnreadableCall>, StoreError> {
        self.file()?.run(|connection, _| all(connection, 1000)).await
    }

    /// Deletes a call that has ended, or whose row cannot be read; returns `false` for any other, and if
    /// there is none of this id.
    ///
    /// # Errors
    ///
    /// As for [`Journal::unreadable`].
    pub async fn delete(&self, id: &JobId) -> Result<bool, StoreError> {
        let id = id.clone();
        let deleted = self.file()?.run(move |connection, shared| {
            let mut rows = connection.prepare(&query("id = ?"))?;
            let mut rows = rows.query([id.as_str()])?;
            let Some(row) = rows.next()? else { return Ok(false) };
            let (is_open, is_readable) = (is_open(row), read(row).is_ok());
            if is_open && is_readable {
                return Ok(false);
            }
            connection.execute("DELETE FROM call WHERE id = ?", [id.as_str()])?;
            if is_open {
                shared.closed();
            }
            Ok(true)
        });
        deleted.await
    }
}

/// Returns the unreadable calls, up to a limit.
pub(super) fn all(
    connection: &Connection,
    limit: usize,
) -> Result<Vec<UnreadableCall>, StoreError> {
    let mut statement = connection.prepare(&query("true"))?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        if let Err(error) = read(row) {
            let text = |column| String::from_utf8_lossy(bytes(row, column)).into_owned();
            let (id, tool) = (text("id"), text("tool"));
            found.push(UnreadableCall {
                id,
                tool,
                reason: reason(&error),
                is_ended: !is_open(row),
            });
        }
    }
    Ok(found)
}

/// Ends the calls that meet a condition and cannot be read; returns their number. Nobody knows the
/// outcome of one that was begun.
pub(super) fn end(
    connection: &Connection,
    shared: &Shared,
    (condition, values): (&str, Vec<Value>),
    at: i64,
) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(&query(condition))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        if read(row).is_err() {
            ids.push(bytes(row, "id").to_vec());
        }
    }
    drop(rows);
    let result = stored(&results::unreadable())?;
    for id in &ids {
        let ended = connection
            .prepare_cached(
                "UPDATE call SET ended = ?, result = ?, dead = 1, owner = NULL, \
                 state = CASE state WHEN 'waiting' THEN 'failed' ELSE 'outcome_unknown' END \
                 WHERE CAST(id AS BLOB) = ? AND ended IS NULL",
            )?
            .execute(params![at, result, id])?;
        if ended > 0 {
            shared.closed();
        }
    }
    Ok(ids.len() as u64)
}

/// Logs a row that is skipped.
pub(super) fn log(row: &Row<'_>, error: &StoreError) {
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

fn bytes<'a>(row: &'a Row<'_>, column: &str) -> &'a [u8] {
    let value = row.get_ref(column).ok();
    value.and_then(|value| value.as_bytes().ok()).unwrap_or_default()
}

fn is_open(row: &Row<'_>) -> bool {
    row.get_ref("ended").is_ok_and(|ended| ended == rusqlite::types::ValueRef::Null)
}
