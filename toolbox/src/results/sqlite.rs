//! Results in an `SQLite` file.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::line_index::LineIndex;
use super::memory::summary;
use super::store::{KeptResult, Lookup, ResultOwner, ResultStore, ResultStoreError};
use crate::future::BoxFuture;
use crate::store::{SqliteStore, StoreError, invalid, readable};

/// The bytes of all results together; the oldest go first.
const MAX_BYTES: i64 = 256 << 20;
/// The highest count of bytes that is no damaged number: of results that are kept, and of one more.
const MAX_COUNTED: i64 = 1 << 40;
/// The highest number of a handle that is not a damaged one.
const MAX_NUMBER: i64 = 1 << 53;
/// The lines about results that are gone.
const MAX_GONE: i64 = 100_000;

/// Keeps results in the file, on the disk before their handles are told. The oldest go when they
/// have 256 MiB together.
impl ResultStore for SqliteStore {
    fn keep(
        &self,
        owner: ResultOwner,
        result: Arc<KeptResult>,
    ) -> BoxFuture<'_, Result<u64, ResultStoreError>> {
        Box::pin(async move {
            let owner = key(&owner);
            let write = self.write(move |file| {
                let content = json(&result.content)?;
                let structured = result.structured_content.as_ref().map(json).transpose()?;
                let bytes = i64::try_from(result.bytes()).unwrap_or(i64::MAX);
                // Equal bytes are compared only where there are as many.
                let same = file
                    .query_row(
                        "SELECT number FROM result WHERE owner = ?1 AND tool = ?2 AND bytes = ?3 \
                         AND untrusted = ?4 AND shows_urls = ?5 AND content IS NOT NULL AND content = ?6 AND structured IS ?7",
                        params![
                            owner,
                            result.tool,
                            bytes,
                            result.is_untrusted,
                            result.shows_urls,
                            content,
                            structured
                        ],
                        |row| row.get::<_, i64>(0),
                    )
                    .optional()?;
                if let Some(number) = same {
                    return Ok(number);
                }
                // A number that no counting reaches is a damaged one, and not counted on from.
                let number: i64 = file.query_row(
                    "SELECT coalesce(max(number), 0) + 1 FROM result \
                     WHERE owner = ?1 AND typeof(number) = 'integer' AND number BETWEEN 0 AND ?2",
                    params![owner, MAX_NUMBER],
                    |row| row.get(0),
                )?;
                file.execute(
                    "INSERT INTO result (owner, number, tool, bytes, untrusted, shows_urls, summary, content, structured) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    params![
                        owner,
                        number,
                        result.tool,
                        bytes,
                        result.is_untrusted,
                        result.shows_urls,
                        summary(&result),
                        content,
                        structured
                    ],
                )?;
                make_room(file, bytes, MAX_BYTES)?;
                Ok(number)
            });
            let number = write.await.map_err(failed)?;
            Ok(u64::try_from(number).unwrap_or_default())
        })
    }

    fn get(
        &self,
        owner: ResultOwner,
        number: u64,
    ) -> BoxFuture<'_, Result<Lookup, ResultStoreError>> {
        Box::pin(async move {
            let Ok(number) = i64::try_from(number) else { return Ok(Lookup::Unknown) };
            let owner = key(&owner);
            let read = self.read(move |file| {
                let sql = "SELECT id, tool, untrusted, shows_urls, content, structured, summary \
                     FROM result WHERE owner = ?1 AND number = ?2";
                let mut found = file.prepare_cached(sql)?;
                if !found.exists(params![owner, number])? {
                    return Ok(Lookup::Unknown);
                }
                let rows = found.query(params![owner, number])?;
                let read = readable(file, "result", rows, 1, lookup)?.pop();
                Ok(read.unwrap_or(Lookup::Unreadable))
            });
            read.await.map_err(failed)
        })
    }
}

fn lookup(row: &Row<'_>) -> rusqlite::Result<Lookup> {
    let (content, structured): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
    let Some(content) = content else { return Ok(Lookup::Gone(row.get(6)?)) };
    let content = serde_json::from_str(&content).map_err(|error| invalid(4, error))?;
    let structured = structured.map(|text| serde_json::from_str(&text));
    Ok(Lookup::Kept(Arc::new(KeptResult {
        tool: row.get(1)?,
        content,
        structured_content: structured.transpose().map_err(|error| invalid(5, error))?,
        is_untrusted: row.get(2)?,
        shows_urls: row.get(3)?,
        lines: LineIndex::default(),
    })))
}

/// Counts the bytes of a new result, and lets the oldest go until all fit.
fn make_room(file: &Connection, bytes: i64, most: i64) -> Result<(), StoreError> {
    let mut all = count(file, bytes)?;
    let mut has_gone = false;
    while all > most {
        let oldest = "UPDATE result SET content = NULL, structured = NULL WHERE id = ( \
             SELECT id FROM result WHERE content IS NOT NULL ORDER BY id LIMIT 1) \
             RETURNING CASE typeof(bytes) WHEN 'integer' THEN bytes END";
        let freed = file.query_row(oldest, [], |row| row.get::<_, Option<i64>>(0)).optional()?;
        let Some(freed) = freed else { break };
        all = match freed {
            Some(freed) if (1..=all).contains(&freed) => count(file, -freed)?,
            _ => recount(file)?,
        };
        has_gone = true;
    }
    if has_gone {
        file.execute(
            "DELETE FROM result WHERE content IS NULL AND id < (SELECT max(id) FROM result) - ?1",
            [MAX_GONE],
        )?;
    }
    Ok(())
}

/// Adds to the bytes of all results, and returns them.
fn count(file: &Connection, change: i64) -> Result<i64, StoreError> {
    let sql = "UPDATE result_bytes SET bytes = max(bytes + ?1, 0) \
         WHERE typeof(bytes) = 'integer' AND bytes BETWEEN 0 AND ?2 RETURNING bytes";
    let counted = file.query_row(sql, [change, MAX_COUNTED], |row| row.get(0)).optional()?;
    counted.map_or_else(|| recount(file), Ok)
}

/// Counts all results anew, where a damaged number cannot be counted on from. Its own counts as
/// none.
fn recount(file: &Connection) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(sum(bytes), 0) FROM result \
         WHERE content IS NOT NULL AND typeof(bytes) = 'integer' AND bytes BETWEEN 0 AND ?1";
    let all: i64 = file.query_row(sql, [MAX_BYTES], |row| row.get(0))?;
    file.execute("DELETE FROM result_bytes", [])?;
    file.execute("INSERT INTO result_bytes VALUES (?1)", [all])?;
    Ok(all)
}

fn key(owner: &ResultOwner) -> String {
    let place = owner.conversation.as_ref();
    let place = place.map(|place| (place.channel.as_str(), place.chat_id.as_str()));
    serde_json::to_string(&(owner.principal.as_str(), place)).unwrap_or_default()
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(damaged)
}

fn damaged(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(Arc::new(error))
}

fn failed(error: StoreError) -> ResultStoreError {
    ResultStoreError::new(error.to_string()).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Content;

    #[tokio::test]
    async fn the_oldest_go_until_the_rest_fits() {
        let store = SqliteStore::in_memory().unwrap();
        let owner = ResultOwner::default();
        for number in 1..=5 {
            let text = format!("{number}").repeat(1_000);
            let result = Arc::new(KeptResult::new("get", vec![Content::text(text)]));
            assert_eq!(store.keep(owner.clone(), result).await.unwrap(), number);
        }
        for (most, oldest) in [(5_000, 1), (4_999, 2), (2_500, 4), (2_500, 4), (0, 6)] {
            store.write(move |file| make_room(file, 0, most)).await.unwrap();
            for number in 1..=5 {
                let found = store.get(owner.clone(), number).await.unwrap();
                let is_there = matches!(found, Lookup::Kept(_));
                assert_eq!(is_there, number >= oldest, "{number} of {most}: {found:?}");
            }
        }
        // What is gone is no equal of what comes again.
        let again = Arc::new(KeptResult::new("get", vec![Content::text("1".repeat(1_000))]));
        assert_eq!(store.keep(owner, again).await.unwrap(), 6);
    }

    #[tokio::test]
    async fn a_damaged_size_frees_what_it_freed() {
        for damaged in [-7, 0, i64::MAX] {
            let store = SqliteStore::in_memory().unwrap();
            let owner = ResultOwner::default();
            for number in 1..=3 {
                let text = format!("{number}").repeat(1_000);
                let result = Arc::new(KeptResult::new("get", vec![Content::text(text)]));
                assert_eq!(store.keep(owner.clone(), result).await.unwrap(), number);
            }
            let make = store.write(move |file| {
                file.execute("UPDATE result SET bytes = ?1 WHERE number = 1", [damaged])?;
                make_room(file, 0, 2_500)
            });
            make.await.unwrap();
            let found = store.get(owner.clone(), 1).await.unwrap();
            assert!(matches!(found, Lookup::Gone(_)), "{damaged}: {found:?}");
            let counted = store.write(|file| count(file, 0)).await.unwrap();
            assert_eq!(counted, 2_000, "{damaged}");
        }
    }
}
