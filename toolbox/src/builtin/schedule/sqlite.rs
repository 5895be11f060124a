//! Schedules in an `SQLite` file.

use std::time::{Duration, SystemTime};

use rusqlite::{Row, params};
use serde::de::DeserializeOwned;

use super::repeat::{RepeatRule, time_zone};
use super::store::{Schedule, Store, UnreadableSchedule};
use crate::context::Principal;
use crate::future::BoxFuture;
use crate::store::{
    SqliteStore, StoreError, conversation, invalid, readable, time, to_millis, unreadable,
};

const TABLE: &str = "schedule";

const COLUMNS: &str = "id, version, principal, prompt, repeat, zone, channel, chat, denied, enabled, next, last, fired, minimum, tainted";

#[diagnostic::do_not_recommend]
impl Store for SqliteStore {
    fn create(&self, schedule: Schedule, quota: usize) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.write(move |file| {
            let owner = schedule.owner.as_str();
            let sql = "SELECT count(*) FROM schedule WHERE principal = ?1";
            let count: i64 = file.query_row(sql, [owner], |row| row.get(0))?;
            if usize::try_from(count).is_ok_and(|count| count >= quota) {
                return Err(StoreError::OverQuota(format!(
                    "there are {count} schedules, and no more can be created; delete what is not needed"
                )));
            }
            let (repeat, denied) = written(&schedule)?;
            file.execute(
                "INSERT INTO schedule (principal, prompt, repeat, zone, channel, chat, denied, enabled, next, last, fired, minimum, tainted)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                params![
                    owner,
                    schedule.prompt,
                    repeat,
                    schedule.time_zone,
                    schedule.conversation.as_ref().map(|of| &of.channel),
                    schedule.conversation.as_ref().map(|of| &of.chat_id),
                    denied,
                    schedule.enabled,
                    schedule.next.map(to_millis),
                    schedule.last.map(to_millis),
                    schedule.fired.map(to_millis),
                    millis(schedule.minimum_interval),
                    schedule.tainted,
                ],
            )?;
            Ok(file.last_insert_rowid().unsigned_abs())
        }))
    }

    fn list(&self, owner: &Principal) -> BoxFuture<'_, Result<Vec<Schedule>, StoreError>> {
        let owner = owner.clone();
        Box::pin(self.read(move |file| {
            let sql = format!("SELECT {COLUMNS} FROM schedule WHERE principal = ?1 ORDER BY id");
            let mut all = file.prepare_cached(&sql)?;
            let rows = all.query([owner.as_str()])?;
            readable(file, TABLE, rows, usize::MAX, schedule)
        }))
    }

    fn unreadable(
        &self,
        owner: &Principal,
    ) -> BoxFuture<'_, Result<Vec<UnreadableSchedule>, StoreError>> {
        let owner = owner.clone();
        Box::pin(self.read(move |file| {
            let sql = format!("SELECT {COLUMNS} FROM schedule WHERE principal = ?1 ORDER BY id");
            let mut all = file.prepare_cached(&sql)?;
            let rows = all.query([owner.as_str()])?;
            let bad = unreadable(rows, COLUMNS, schedule)?;
            Ok(bad.into_iter().map(|(id, column)| UnreadableSchedule { id, column }).collect())
        }))
    }

    fn replace(&self, schedule: Schedule) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(self.write(move |file| {
            let (repeat, denied) = written(&schedule)?;
            let changed = file.execute(
                "UPDATE schedule SET version = version + 1, prompt = ?4, repeat = ?5, zone = ?6, denied = ?7,
                 enabled = ?8, next = ?9, last = ?10, fired = ?11, minimum = ?12, tainted = ?13
                 WHERE id = ?1 AND version = ?2 AND principal = ?3",
                params![
                    id(schedule.id),
                    id(schedule.version),
                    schedule.owner.as_str(),
                    schedule.prompt,
                    repeat,
                    schedule.time_zone,
                    denied,
                    schedule.enabled,
                    schedule.next.map(to_millis),
                    schedule.last.map(to_millis),
                    schedule.fired.map(to_millis),
                    millis(schedule.minimum_interval),
                    schedule.tainted,
                ],
            )?;
            Ok(changed == 1)
        }))
    }

    fn delete(&self, owner: &Principal, ids: Vec<u64>) -> BoxFuture<'_, Result<usize, StoreError>> {
        let owner = owner.clone();
        Box::pin(self.write(move |file| {
            let mut delete =
                file.prepare_cached("DELETE FROM schedule WHERE id = ?1 AND principal = ?2")?;
            let mut deleted = 0;
            for of in ids {
                deleted += delete.execute(params![id(of), owner.as_str()])?;
            }
            Ok(deleted)
        }))
    }

    fn earliest(&self) -> BoxFuture<'_, Result<Option<Schedule>, StoreError>> {
        Box::pin(self.read(|file| {
            let sql = format!(
                "SELECT {COLUMNS} FROM schedule WHERE enabled AND next IS NOT NULL ORDER BY next, id"
            );
            let mut all = file.prepare_cached(&sql)?;
            let rows = all.query([])?;
            Ok(readable(file, TABLE, rows, 1, schedule)?.pop())
        }))
    }

    fn ahead_of(&self, now: SystemTime) -> BoxFuture<'_, Result<Vec<Schedule>, StoreError>> {
        Box::pin(self.read(move |file| {
            let sql =
                format!("SELECT {COLUMNS} FROM schedule WHERE enabled AND fired > ?1 ORDER BY id");
            let mut ahead = file.prepare_cached(&sql)?;
            let rows = ahead.query([to_millis(now)])?;
            readable(file, TABLE, rows, usize::MAX, schedule)
        }))
    }
}

fn written(schedule: &Schedule) -> Result<(String, String), StoreError> {
    let failed = |error| StoreError::Failed(std::sync::Arc::new(error));
    let repeat = serde_json::to_string(&schedule.repeat).map_err(failed)?;
    Ok((repeat, serde_json::to_string(&schedule.denied).map_err(failed)?))
}

fn schedule(row: &Row<'_>) -> rusqlite::Result<Schedule> {
    let schedule = Schedule {
        id: number(row, 0)?,
        version: number(row, 1)?,
        owner: Principal::new(row.get::<_, String>(2)?),
        prompt: row.get(3)?,
        repeat: json(row, 4)?,
        time_zone: row.get(5)?,
        conversation: conversation(row, 6, 7)?,
        denied: json(row, 8)?,
        enabled: row.get(9)?,
        next: time(row, 10)?,
        last: time(row, 11)?,
        fired: time(row, 12)?,
        minimum_interval: Duration::from_millis(unsigned(row, 13)?),
        tainted: row.get(14)?,
    };
    let zone = &schedule.time_zone;
    time_zone(zone).map_err(|error| invalid(5, error))?;
    RepeatRule::new(&schedule.repeat, zone, schedule.minimum_interval)
        .map_err(|error| invalid(4, error))?;
    Ok(schedule)
}

/// Reads a number that can be incremented. The schedule of any other could never be replaced, and
/// would be due for ever.
fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let number = unsigned(row, at)?;
    let usable = Some(number).filter(|number| *number < i64::MAX.unsigned_abs());
    usable.ok_or(rusqlite::Error::IntegralValueOutOfRange(at, i64::MAX))
}

fn unsigned(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str().map_err(|error| invalid(at, error))?;
    serde_json::from_str(text).map_err(|error| invalid(at, error))
}

/// `SQLite`'s numbers are signed.
fn id(of: u64) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

fn millis(of: Duration) -> i64 {
    i64::try_from(of.as_millis()).unwrap_or(i64::MAX)
}
