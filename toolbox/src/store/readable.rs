//! Rows that cannot be read: skipped and logged, so that one does not make the others unavailable.

use std::collections::HashSet;
#[cfg(any(feature = "knowledge", feature = "schedule"))]
use std::time::SystemTime;

use rusqlite::types::Type;
use rusqlite::{Connection, Error, Row, Rows};

use super::error::StoreError;
#[cfg(any(feature = "knowledge", feature = "schedule"))]
use crate::context::Conversation;
use crate::sync::Mutex;

/// The maximum number of rows remembered as logged, so that one row that is read every second does
/// not fill the log.
const MAX_LOGGED: usize = 1024;

/// Reads rows up to `limit`. An invalid one is logged and skipped.
pub(crate) fn readable<T>(
    file: &Connection,
    table: &'static str,
    rows: Rows<'_>,
    limit: usize,
    read: impl FnMut(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, StoreError> {
    let log = |id: Option<i64>, error: &Error| log_once(file, table, id, error);
    each(rows, limit, read, log)
}

/// Reads rows up to `limit`, and passes invalid ones to `bad`, with their number.
fn each<T>(
    mut rows: Rows<'_>,
    limit: usize,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    mut bad: impl FnMut(Option<i64>, &Error),
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        match read(row) {
            Ok(value) => found.push(value),
            Err(error) if is_of_row(&error) => bad(row.get(0).ok(), &error),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Returns the number of each row that cannot be read, with the name of the column at fault.
#[cfg(any(feature = "knowledge", feature = "schedule"))]
pub(crate) fn unreadable<T>(
    rows: Rows<'_>,
    columns: &str,
    read: impl FnMut(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<(u64, String)>, StoreError> {
    let mut bad = Vec::new();
    each(rows, usize::MAX, read, |number, error| {
        let Some(id) = number.and_then(|id| u64::try_from(id).ok()) else { return };
        let column = column_of(error).and_then(|at| columns.split(", ").nth(at));
        bad.push((id, column.unwrap_or("?").to_owned()));
    })?;
    Ok(bad)
}

/// Returns the error of a column whose value has the right type and no meaning.
pub(crate) fn invalid(
    at: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::FromSqlConversionFailure(at, Type::Text, error.into())
}

/// Reads a channel and a chat. Both are there, or neither is.
#[cfg(any(feature = "knowledge", feature = "schedule"))]
pub(crate) fn conversation(
    row: &Row<'_>,
    channel: usize,
    chat: usize,
) -> Result<Option<Conversation>, Error> {
    match (row.get::<_, Option<String>>(channel)?, row.get::<_, Option<String>>(chat)?) {
        (Some(channel), Some(chat)) => Ok(Some(Conversation::new(channel, chat))),
        (None, None) => Ok(None),
        (None, _) => Err(invalid(channel, "a chat without a channel")),
        (_, None) => Err(invalid(chat, "a channel without a chat")),
    }
}

/// Reads a time that calendars have.
#[cfg(any(feature = "knowledge", feature = "schedule"))]
pub(crate) fn time(row: &Row<'_>, at: usize) -> Result<Option<SystemTime>, Error> {
    let Some(millis) = row.get::<_, Option<i64>>(at)? else { return Ok(None) };
    jiff::Timestamp::from_millisecond(millis).map_err(|error| invalid(at, error))?;
    Ok(Some(super::millis::from_millis(millis)))
}

/// Returns `true` if an error is of the content of a row, and not of the file.
fn is_of_row(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}

/// A row of a table of a file.
type RowKey = (String, &'static str, Option<i64>);

fn log_once(file: &Connection, table: &'static str, id: Option<i64>, error: &Error) {
    static KNOWN: Mutex<Option<HashSet<RowKey>>> = Mutex::new(None);
    let key = (file.path().unwrap_or_default().to_owned(), table, id);
    let mut known = KNOWN.lock();
    let known = known.get_or_insert_default();
    if known.len() >= MAX_LOGGED || !known.insert(key) {
        return;
    }
    // The text of the error may repeat the content of the row.
    let column = column_of(error);
    let id = id.map_or_else(|| "?".to_owned(), |id| id.to_string());
    tracing::error!(
        table,
        id,
        column,
        "a row of the store cannot be read and is skipped; `DELETE FROM {table} WHERE id = {id}` removes it"
    );
}

/// Returns the column that cannot be read, where the error names one.
fn column_of(error: &Error) -> Option<usize> {
    match error {
        Error::FromSqlConversionFailure(at, ..)
        | Error::IntegralValueOutOfRange(at, ..)
        | Error::InvalidColumnType(at, ..)
        | Error::Utf8Error(at, ..) => Some(*at),
        _ => None,
    }
}
