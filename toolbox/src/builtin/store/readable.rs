//! Rows that cannot be read: passed over and told of, so that one takes down no other.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Error, Row, Rows};

use super::StoreError;

/// Rows that were told of are kept up to this many, so that a log is not filled by one row that is met every second.
const TOLD: usize = 1024;

/// Reads rows up to `limit`. One that does not hold what it should is told of in the log, and passed over.
pub(crate) fn readable<T>(
    file: &Connection,
    table: &'static str,
    rows: Rows<'_>,
    limit: usize,
    read: impl FnMut(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, StoreError> {
    let tell = |id: Option<i64>, error: &Error| told(file, table, id, error);
    each(rows, limit, read, tell)
}

/// Reads rows up to `limit`, and hands those that do not hold what they should to `bad`, with their number.
pub(crate) fn each<T>(
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

/// Whether an error is of what a row holds, and not of the file.
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
type Key = (String, &'static str, Option<i64>);

fn told(file: &Connection, table: &'static str, id: Option<i64>, error: &Error) {
    static KNOWN: Mutex<Option<HashSet<Key>>> = Mutex::new(None);
    let key = (file.path().unwrap_or_default().to_owned(), table, id);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() >= TOLD || !known.insert(key) {
        return;
    }
    // The text of the error may repeat what the row holds.
    let column = column_of(error);
    let id = id.map_or_else(|| "?".to_owned(), |id| id.to_string());
    tracing::error!(
        table,
        id,
        column,
        "a row of the store cannot be read and is passed over; `DELETE FROM {table} WHERE id = {id}` takes it out"
    );
}

/// Returns which column cannot be read, where the error says so.
pub(crate) fn column_of(error: &Error) -> Option<usize> {
    match error {
        Error::FromSqlConversionFailure(at, ..)
        | Error::IntegralValueOutOfRange(at, ..)
        | Error::InvalidColumnType(at, ..)
        | Error::Utf8Error(at, ..) => Some(*at),
        _ => None,
    }
}
