//! Rows of calls that cannot be read: a damage that stays with its row.
//!
//! They are skipped where calls are listed, ended where they would run, and listed and deleted by
//! themselves.

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::results;
use super::rows::{bytes, is_open, query, read, reason, stored};
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

/// Returns the id in the file of the call that is shown under an id, where that is no text.
pub(super) fn id_of(connection: &Connection, shown: &str) -> Result<Option<Vec<u8>>, StoreError> {
    if !shown.contains(char::REPLACEMENT_CHARACTER) {
        return Ok(None);
    }
    let mut statement = connection.prepare(&query("true"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = bytes(row, "id");
        if std::str::from_utf8(id).is_err() && String::from_utf8_lossy(id) == shown {
            return Ok(Some(id.to_vec()));
        }
    }
    Ok(None)
}

/// Ends the calls that meet a condition and cannot be read; returns their number. Nobody knows the
/// outcome of one that was begun.
pub(super) fn end(
    connection: &Connection,
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
    let mut ended = 0;
    for id in ids {
        ended += connection
            .prepare_cached(
                "UPDATE call SET ended = ?, result = ?, dead = 1, owner = NULL, \
                 state = CASE state WHEN 'waiting' THEN 'failed' ELSE 'outcome_unknown' END \
                 WHERE CAST(id AS BLOB) = ? AND ended IS NULL",
            )?
            .execute(params![at, result, id])? as u64;
    }
    Ok(ended)
}
