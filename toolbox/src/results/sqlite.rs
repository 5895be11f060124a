//! Results in an `SQLite` file.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::line_index::LineIndex;
use super::memory::summary;
use super::store::{KeptResult, Lookup, ResultOwner, ResultStore, ResultStoreError};
use crate::future::BoxFuture;
use crate::store::{SqliteStore, StoreError};

/// The bytes of all results together; the oldest go first.
const MAX_BYTES: i64 = 256 << 20;
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
                let number: i64 = file.query_row(
                    "SELECT coalesce(max(number), 0) + 1 FROM result WHERE owner = ?1",
                    [&owner],
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
                let row = file
                    .query_row(
                        "SELECT tool, untrusted, shows_urls, content, structured, summary FROM result \
                         WHERE owner = ?1 AND number = ?2",
                        params![owner, number],
                        |row| {
                            let texts: (Option<String>, Option<String>, String) =
                                (row.get(3)?, row.get(4)?, row.get(5)?);
                            Ok((row.get(0)?, row.get(1)?, row.get(2)?, texts))
                        },
                    )
                    .optional()?;
                let Some((tool, is_untrusted, shows_urls, texts)) = row else {
                    return Ok(Lookup::Unknown);
                };
                let (Some(content), structured, _) = texts else {
                    return Ok(Lookup::Gone(texts.2));
                };
                let content = serde_json::from_str(&content).map_err(damaged)?;
                let structured_content =
                    structured.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()?;
                Ok(Lookup::Kept(Arc::new(KeptResult {
                    tool,
                    content,
                    structured_content,
                    is_untrusted,
                    shows_urls,
                    lines: LineIndex::default(),
                })))
            });
            read.await.map_err(failed)
        })
    }
}

/// Counts the bytes of a new result, and lets the oldest go until all fit.
fn make_room(file: &Connection, bytes: i64, most: i64) -> Result<(), StoreError> {
    let count = "UPDATE result_bytes SET bytes = max(bytes + ?1, 0) RETURNING bytes";
    let mut all: i64 = file.query_row(count, [bytes], |row| row.get(0))?;
    let mut has_gone = false;
    while all > most {
        let oldest = "UPDATE result SET content = NULL, structured = NULL WHERE id = ( \
             SELECT id FROM result WHERE content IS NOT NULL ORDER BY id LIMIT 1) RETURNING bytes";
        let Some(freed) = file.query_row(oldest, [], |row| row.get::<_, i64>(0)).optional()? else {
            break;
        };
        all = file.query_row(count, [-freed], |row| row.get(0))?;
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
}
