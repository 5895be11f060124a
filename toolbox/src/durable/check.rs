//! The check of a journal's file, and the calls in it that cannot be read.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::journal::Journal;
use super::rows::{self, damaged};
use super::runs::read_run;
use super::unreadable::{self, UnreadableCall};
use crate::agent::log::Entry;
use crate::call::JobId;
use crate::store::StoreError;

/// The contents of a journal, counted, and what is wrong with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalCheck {
    /// The number of calls in each state, by its [code](super::CallState::code).
    pub calls: Vec<(String, u64)>,
    /// The number of runs, those of agents below among them.
    pub runs: u64,
    /// The number of entries in the logs of the runs.
    pub entries: u64,
    /// The faults, each a sentence; empty for a whole journal.
    pub faults: Vec<String>,
}

/// The conditions that no row meets, each with what it would mean.
const RULES: [(&str, &str); 5] = [
    (
        "SELECT count(*) FROM call WHERE (ended IS NULL) != (state IN ('waiting', 'running'))",
        "calls have a time of their end and no final state, or the other way round",
    ),
    (
        "SELECT count(*) FROM call WHERE ended IS NOT NULL AND result IS NULL",
        "calls have a final state and no result",
    ),
    (
        "SELECT count(*) FROM call WHERE state = 'running' AND owner IS NULL",
        "calls run, and nobody runs them",
    ),
    (
        "SELECT count(*) FROM call WHERE ended IS NOT NULL AND owner IS NOT NULL",
        "calls have a final state, and somebody still holds them",
    ),
    (
        "SELECT count(*) FROM run_entry WHERE key NOT IN (SELECT key FROM run)",
        "entries belong to no run",
    ),
];

impl Journal {
    /// Reads the whole file, and checks that it is whole: the pages of the database, the states of
    /// the calls, each entry of each run.
    ///
    /// # Errors
    ///
    /// Those of the store; [`StoreError::Failed`] where the journal is over an engine without a
    /// file.
    pub async fn check(&self) -> Result<JournalCheck, StoreError> {
        self.file()?.run(|connection, _| check(connection)).await
    }

    /// Returns the calls whose rows cannot be read, in the order of their ids, up to 1000. They are
    /// in no other list; one that was open ends when a worker meets it, or its owner is gone.
    ///
    /// # Errors
    ///
    /// [`StoreError`], also where the journal has an engine without a file.
    pub async fn unreadable(&self) -> Result<Vec<UnreadableCall>, StoreError> {
        self.file()?.run(|connection, _| unreadable::all(connection, 1000)).await
    }

    /// Deletes a call that has ended, or whose row cannot be read, by its id or by that of
    /// [`UnreadableCall::id`]; returns `false` for any other, and if there is none of this id.
    ///
    /// # Errors
    ///
    /// As for [`Journal::unreadable`].
    pub async fn delete(&self, id: &JobId) -> Result<bool, StoreError> {
        let id = id.clone();
        let deleted = self.file()?.run(move |connection, shared| {
            let (condition, value) = match unreadable::id_of(connection, id.as_str())? {
                Some(bytes) => ("CAST(id AS BLOB) = ?", Value::from(bytes)),
                None => ("id = ?", Value::from(id.as_str().to_owned())),
            };
            let mut statement = connection.prepare(&rows::query(condition))?;
            let mut found = statement.query([&value])?;
            let Some(row) = found.next()? else { return Ok(false) };
            let (is_open, is_readable) = (rows::is_open(row), rows::read(row).is_ok());
            if is_open && is_readable {
                return Ok(false);
            }
            connection.execute(&format!("DELETE FROM call WHERE {condition}"), [&value])?;
            if is_open {
                shared.closed(1);
            }
            Ok(true)
        });
        deleted.await
    }
}

fn check(connection: &Connection) -> Result<JournalCheck, StoreError> {
    let mut found = JournalCheck::default();
    connection.pragma_query(None, "integrity_check", |row| {
        let line: String = row.get(0)?;
        if line != "ok" {
            found.faults.push(line);
        }
        Ok(())
    })?;
    found.calls = connection
        .prepare("SELECT state, count(*) FROM call GROUP BY state ORDER BY state")?
        .query_map([], |row| {
            let state = String::from_utf8_lossy(row.get_ref(0)?.as_bytes().unwrap_or_default());
            Ok((state.into_owned(), row.get::<_, i64>(1)?.unsigned_abs()))
        })?
        .collect::<Result<_, _>>()?;
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    for (sql, meaning) in RULES {
        let rows = count(sql)?;
        if rows > 0 {
            found.faults.push(format!("{rows} {meaning}"));
        }
    }
    for call in unreadable::all(connection, usize::MAX)? {
        found
            .faults
            .push(format!("call `{}` of `{}` cannot be read: {}", call.id, call.tool, call.reason));
    }
    found.runs = count("SELECT count(*) FROM run")?.unsigned_abs();
    let mut runs = connection
        .prepare("SELECT key, agent, state, owner, attempt, started, changed FROM run")?;
    let mut rows = runs.query([])?;
    while let Some(row) = rows.next()? {
        if let Err(error) = read_run(row) {
            let key = String::from_utf8_lossy(row.get_ref(0)?.as_bytes().unwrap_or_default());
            found.faults.push(format!("run `{key}` cannot be read: {error}"));
        }
    }
    let mut entries = connection.prepare("SELECT key, number, entry FROM run_entry")?;
    let mut rows = entries.query([])?;
    while let Some(row) = rows.next()? {
        found.entries += 1;
        let text = row.get_ref(2)?.as_str().map_err(damaged);
        let read = text.and_then(|text| serde_json::from_str::<Entry>(text).map_err(damaged));
        if let Err(error) = read {
            let key = String::from_utf8_lossy(row.get_ref(0)?.as_bytes().unwrap_or_default());
            let number: i64 = row.get(1)?;
            let reason = rows::reason(&error);
            found.faults.push(format!("entry {number} of run `{key}` cannot be read: {reason}"));
        }
    }
    Ok(found)
}
