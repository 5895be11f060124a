//! The engine over an `SQLite` file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use super::alive::{self, OwnerLock};
use super::backlog::{
    Backlog, CallEnd, CallFilter, CallState, Claim, Hold, NewCall, PLACE, RecordedCall, Recovered,
};
use super::rows::{conversation_text, one, select, select_readable, stored};
use super::{results, unreadable};
use crate::call::{JobId, ToolResult};
use crate::context::now;
use crate::future::BoxFuture;
use crate::store::{StoreError, Writer, to_millis};
use crate::sync::Mutex;

/// Calls and runs in an `SQLite` file.
pub(super) struct SqliteBacklog {
    pub(super) writer: Writer,
    pub(super) shared: Arc<Shared>,
    /// Kept for its lock.
    _lock: Option<OwnerLock>,
}

/// The state that work on the thread of the file needs.
pub(super) struct Shared {
    pub(super) id: String,
    path: Option<PathBuf>,
    /// The number that each other journal showed last, and the time at which it was first seen.
    seen: Mutex<HashMap<String, (i64, Instant)>>,
    /// The number of calls without a final state: counted at each heartbeat, and kept by the thread
    /// of the file between them.
    open: AtomicU64,
}

impl SqliteBacklog {
    pub(super) fn open(path: Option<&Path>, max_bytes: Option<u64>) -> Result<Self, StoreError> {
        let id = JobId::new().as_str().replacen("job_", "journal_", 1);
        let writer = Writer::open(path, max_bytes)?;
        let failed = |error: std::io::Error| StoreError::Failed(Arc::new(error));
        // Each name of the file leads to one folder of lock files, wherever the process goes.
        let path = path.map(Path::canonicalize).transpose().map_err(failed)?;
        let lock = path.as_deref().map(|path| OwnerLock::create(path, &id));
        let lock = lock.transpose().map_err(failed)?;
        let shared = Shared { id, path, seen: Mutex::default(), open: AtomicU64::new(0) };
        Ok(Self { writer, shared: Arc::new(shared), _lock: lock })
    }

    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let shared = Arc::clone(&self.shared);
        self.writer.run(move |connection| work(connection, &shared))
    }
}

impl Shared {
    pub(super) fn closed(&self, calls: u64) {
        let fewer = |open: u64| Some(open.saturating_sub(calls));
        let _ = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }

    /// Returns the journals among `owners` that are gone.
    ///
    /// The time of a heartbeat is taken by the clock of this process, from when the number was
    /// first seen: clocks of others, and clocks that are set, do not matter.
    pub(super) fn gone(
        &self,
        connection: &Connection,
        owners: Vec<String>,
        lease: Duration,
        at: Instant,
    ) -> Result<Vec<String>, StoreError> {
        let mut seen = self.seen.lock();
        let mut gone = Vec::new();
        for owner in owners {
            let beat = connection
                .prepare_cached("SELECT beat FROM worker WHERE id = ?")?
                .query_row([&owner], |row| row.get::<_, i64>(0))
                .optional()?;
            let beat = beat.unwrap_or_default();
            let (last, since) = seen.entry(owner.clone()).or_insert((beat, at));
            if *last != beat {
                (*last, *since) = (beat, at);
            }
            let is_silent = at.saturating_duration_since(*since) >= lease;
            if is_silent || self.path.as_ref().is_some_and(|path| alive::is_gone(path, &owner)) {
                connection.prepare_cached("DELETE FROM worker WHERE id = ?")?.execute([&owner])?;
                seen.remove(&owner);
                gone.push(owner);
            }
        }
        Ok(gone)
    }
}

#[diagnostic::do_not_recommend]
impl Backlog for SqliteBacklog {
    fn id(&self) -> &str {
        &self.shared.id
    }

    fn accept(
        &self,
        call: NewCall,
        hold: Hold,
        max_open: u64,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let accepted = to_millis(SystemTime::now());
        self.run(move |connection, shared| {
            if shared.open.load(Ordering::Relaxed) >= max_open {
                let text = format!("{max_open} calls wait already. Try again later");
                return Err(StoreError::OverQuota(text));
            }
            let (state, attempt) = match hold {
                Hold::Free | Hold::Held => (CallState::Waiting, 0),
                Hold::Begun => (CallState::Running, 1),
            };
            let owner = (hold != Hold::Free).then_some(&shared.id);
            connection
                .prepare_cached(
                    "INSERT INTO call (id, tool, digest, arguments, context, call_id, conversation, \
                     idempotent, state, attempt, owner, accepted, expires) \
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    call.id.as_str(),
                    call.tool,
                    call.digest,
                    call.arguments.as_str(),
                    call.context,
                    call.call_id,
                    call.conversation.as_ref().map(conversation_text),
                    call.idempotent,
                    state.code(),
                    attempt,
                    owner,
                    accepted,
                    to_millis(call.expires),
                ])?;
            shared.open.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    }

    fn claim(
        &self,
        tools: Vec<(String, String)>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>> {
        let at = to_millis(SystemTime::now());
        self.run(move |connection, shared| {
            let mut take = connection.prepare_cached(
                "UPDATE call SET state = 'running', attempt = attempt + 1, owner = ? WHERE id = ?",
            )?;
            let mut claimed = Vec::new();
            for call in waiting(connection, shared, &tools, most, at)? {
                take.execute([&shared.id, call.id.as_str()])?;
                claimed.extend(one(connection, call.id.as_str())?);
            }
            Ok(claimed)
        })
    }

    fn waiting(
        &self,
        tools: Vec<(String, String)>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>> {
        let at = to_millis(SystemTime::now());
        self.run(move |connection, shared| waiting(connection, shared, &tools, most, at))
    }

    fn hand_over(
        &self,
        ids: Vec<JobId>,
        place: String,
    ) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>> {
        self.run(move |connection, _| {
            let mut take = connection.prepare_cached(
                "UPDATE call SET state = 'running', attempt = attempt + 1, owner = ? \
                 WHERE id = ? AND state = 'waiting' AND owner IS NULL",
            )?;
            let mut taken = Vec::with_capacity(ids.len());
            for id in ids {
                if take.execute([&place, id.as_str()])? == 1 {
                    taken.extend(one(connection, id.as_str())?);
                }
            }
            Ok(taken)
        })
    }

    fn begin(&self, id: &JobId) -> BoxFuture<'_, Result<Option<Claim>, StoreError>> {
        let id = id.clone();
        self.run(move |connection, shared| {
            let attempt = connection
                .prepare_cached(
                    "UPDATE call SET state = 'running', attempt = attempt + 1 \
                     WHERE id = ? AND owner = ? AND state = 'waiting' AND cancel = 0 \
                     RETURNING attempt",
                )?
                .query_row([id.as_str(), &shared.id], |row| row.get(0))
                .optional()?;
            Ok(attempt.map(|attempt| Claim::new(id, attempt)))
        })
    }

    fn finish(&self, claim: Claim, end: CallEnd) -> BoxFuture<'_, Result<bool, StoreError>> {
        let at = to_millis(SystemTime::now());
        let result = stored(&end.result);
        self.run(move |connection, shared| {
            let ended = connection
                .prepare_cached(
                    "UPDATE call SET state = ?1, result = ?2, ended = ?3, dead = ?4, owner = NULL \
                     WHERE id = ?5 AND attempt = ?6 AND owner = ?7 AND ended IS NULL",
                )?
                .execute(params![
                    end.state.code(),
                    result?,
                    at,
                    end.is_dead,
                    claim.id.as_str(),
                    claim.attempt,
                    claim.place.as_ref().unwrap_or(&shared.id)
                ])?;
            if ended == 1 {
                shared.closed(1);
            } else {
                connection
                    .prepare_cached("UPDATE call SET late = late + 1 WHERE id = ?")?
                    .execute([claim.id.as_str()])?;
            }
            Ok(ended == 1)
        })
    }

    fn release(&self, claim: Claim) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.run(move |connection, shared| {
            let released = connection
                .prepare_cached(
                    "UPDATE call SET state = 'waiting', owner = NULL, attempt = attempt - ? \
                     WHERE id = ? AND attempt = ? AND owner = ? AND state = 'running'",
                )?
                .execute(params![
                    claim.place.is_some(),
                    claim.id.as_str(),
                    claim.attempt,
                    claim.place.as_ref().unwrap_or(&shared.id)
                ])?;
            Ok(released == 1)
        })
    }

    fn cancel(&self, id: &JobId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let id = id.clone();
        let at = to_millis(SystemTime::now());
        self.run(move |connection, shared| {
            let Some(call) = one(connection, id.as_str())?.filter(|call| !call.state.is_final())
            else {
                return Ok(false);
            };
            if call.state == CallState::Waiting && call.owner.is_none() {
                let end = CallEnd::new(CallState::Cancelled, results::cancelled(&call));
                close(connection, shared, &call, &end, at)?;
            } else {
                connection
                    .prepare_cached("UPDATE call SET cancel = 1 WHERE id = ?")?
                    .execute([id.as_str()])?;
            }
            Ok(true)
        })
    }

    fn beat(&self) -> BoxFuture<'_, Result<Vec<JobId>, StoreError>> {
        self.run(|connection, shared| {
            connection
                .prepare_cached(
                    "INSERT INTO worker (id, beat) VALUES (?, 1) \
                     ON CONFLICT (id) DO UPDATE SET beat = beat + 1",
                )?
                .execute([&shared.id])?;
            let cancelled = connection
                .prepare_cached("SELECT id FROM call WHERE owner = ? AND cancel = 1")?
                .query_map([&shared.id], |row| row.get::<_, String>(0))?
                .map(|id| id.map(JobId::from_text))
                .collect::<Result<_, _>>()?;
            let open = connection
                .prepare_cached("SELECT count(*) FROM call WHERE ended IS NULL")?
                .query_row([], |row| row.get::<_, i64>(0))?;
            shared.open.store(open.unsigned_abs(), Ordering::Relaxed);
            Ok(cancelled)
        })
    }

    fn recover(
        &self,
        lease: Duration,
        max_attempts: u32,
    ) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        let (at, monotonic) = (to_millis(SystemTime::now()), now());
        self.run(move |connection, shared| {
            let mut recovered = Recovered::default();
            let owners = connection
                .prepare_cached(
                    "SELECT owner FROM call WHERE owner IS NOT NULL AND owner != ?1 \
                     UNION SELECT owner FROM run WHERE owner IS NOT NULL AND owner != ?1",
                )?
                .query_map([&shared.id], |row| Ok(row.get_ref(0)?.as_bytes()?.to_vec()))?
                .filter(|owner| !owner.as_ref().is_ok_and(|own| own.starts_with(PLACE.as_bytes())))
                .collect::<Result<Vec<Vec<u8>>, _>>()?;
            // No journal has an id that is no text.
            let (owners, damaged): (Vec<_>, Vec<_>) =
                owners.into_iter().map(String::from_utf8).partition(Result::is_ok);
            let owners: Vec<String> = owners.into_iter().flatten().collect();
            for owner in damaged.into_iter().filter_map(Result::err) {
                let of_owner = "CAST(owner AS BLOB) = ? AND ended IS NULL";
                let of_owner = (of_owner, vec![owner.into_bytes().into()]);
                let unreadable = unreadable::end(connection, of_owner, at)?;
                shared.closed(unreadable);
                recovered.unreadable += unreadable;
            }
            if let Some(path) = &shared.path {
                alive::sweep(path, &owners);
            }
            for owner in shared.gone(connection, owners, lease, monotonic)? {
                let held = select(connection, "owner = ?", vec![owner.clone().into()], usize::MAX)?;
                for call in held {
                    free(connection, shared, &call, max_attempts, at, &mut recovered)?;
                }
                let of_owner = ("owner = ? AND ended IS NULL", vec![owner.clone().into()]);
                let unreadable = unreadable::end(connection, of_owner, at)?;
                shared.closed(unreadable);
                recovered.unreadable += unreadable;
                recovered.runs += connection
                    .prepare_cached("UPDATE run SET owner = NULL WHERE owner = ?")?
                    .execute([&owner])? as u64;
            }
            let late = vec![at.into()];
            let condition =
                "ended IS NULL AND expires <= ? AND state = 'waiting' AND owner IS NULL";
            for call in select(connection, condition, late, 1000)? {
                let end = CallEnd::new(CallState::Expired, results::expired(&call));
                close(connection, shared, &call, &end, at)?;
                recovered.expired += 1;
            }
            let free = "ended IS NULL AND owner IS NULL AND expires <= ?";
            let of_nobody = (free, vec![at.into()]);
            let unreadable = unreadable::end(connection, of_nobody, at)?;
            shared.closed(unreadable);
            recovered.unreadable += unreadable;
            Ok(recovered)
        })
    }

    fn get(&self, id: &JobId) -> BoxFuture<'_, Result<Option<RecordedCall>, StoreError>> {
        let id = id.clone();
        self.run(move |connection, _| one(connection, id.as_str()))
    }

    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>> {
        self.run(move |connection, _| {
            let mut conditions = vec!["id > ?".to_owned()];
            let after = filter.after.as_ref().map_or("", JobId::as_str).to_owned();
            let mut values: Vec<Value> = vec![after.into()];
            if !filter.states.is_empty() {
                let marks = vec!["?"; filter.states.len()].join(", ");
                conditions.push(format!("state IN ({marks})"));
                values.extend(filter.states.iter().map(|state| state.code().to_owned().into()));
            }
            if let Some(conversation) = &filter.conversation {
                conditions.push("conversation = ?".to_owned());
                values.push(conversation_text(conversation).into());
            }
            if filter.undelivered {
                conditions.push("ended IS NOT NULL AND delivered IS NULL".to_owned());
            }
            if filter.dead {
                conditions.push("dead = 1".to_owned());
            }
            if let Some(places) = filter.held_by {
                conditions.push("owner IS NOT NULL AND substr(owner, 1, length(?)) = ?".to_owned());
                values.extend([places.clone().into(), places.into()]);
            }
            if filter.cancelled {
                conditions.push("cancel = 1 AND ended IS NULL".to_owned());
            }
            select(connection, &conditions.join(" AND "), values, filter.limit)
        })
    }

    fn deliver(&self, ids: Vec<JobId>) -> BoxFuture<'_, Result<Vec<JobId>, StoreError>> {
        let at = to_millis(SystemTime::now());
        self.run(move |connection, _| deliver(connection, ids, at))
    }

    fn purge(&self, ended_before: SystemTime) -> BoxFuture<'_, Result<u64, StoreError>> {
        let before = to_millis(ended_before);
        self.run(move |connection, _| {
            let deleted = connection
                .prepare_cached(
                    "DELETE FROM call WHERE id IN \
                     (SELECT id FROM call WHERE ended IS NOT NULL AND ended < ? LIMIT 1000)",
                )?
                .execute([before])?;
            Ok(deleted as u64)
        })
    }
}

impl SqliteBacklog {
    /// Deletes runs that ended before a time, and pauses that were taken before.
    pub(super) async fn purge_runs(&self, ended_before: SystemTime) -> Result<(), StoreError> {
        let before = to_millis(ended_before);
        self.run(move |connection, _| {
            let ended = "SELECT key FROM run WHERE state = 'ended' AND changed < ?";
            connection
                .prepare_cached(&format!("DELETE FROM run_entry WHERE key IN ({ended})"))?
                .execute([before])?;
            connection
                .prepare_cached("DELETE FROM run WHERE state = 'ended' AND changed < ?")?
                .execute([before])?;
            connection.prepare_cached("DELETE FROM pause WHERE at < ?")?.execute([before])?;
            Ok(())
        })
        .await
    }
}

/// Marks results as delivered; returns the ids for which that is new.
pub(super) fn deliver(
    connection: &Connection,
    ids: Vec<JobId>,
    at: i64,
) -> Result<Vec<JobId>, StoreError> {
    let mut mark = connection.prepare_cached(
        "UPDATE call SET delivered = ? WHERE id = ? AND ended IS NOT NULL AND delivered IS NULL",
    )?;
    let mut new = Vec::new();
    for id in ids {
        if mark.execute(params![at, id.as_str()])? == 1 {
            new.push(id);
        }
    }
    Ok(new)
}

/// Returns calls that may be claimed, the oldest first. Those that cannot be read are ended on the
/// way.
fn waiting(
    connection: &Connection,
    shared: &Shared,
    tools: &[(String, String)],
    most: usize,
    at: i64,
) -> Result<Vec<RecordedCall>, StoreError> {
    let condition =
        "state = 'waiting' AND owner IS NULL AND tool = ? AND digest = ? AND expires > ?";
    let mut calls: Vec<RecordedCall> = Vec::new();
    for (tool, digest) in tools {
        let values =
            || -> Vec<Value> { vec![tool.clone().into(), digest.clone().into(), at.into()] };
        let (found, skipped) = select_readable(connection, condition, values(), most)?;
        calls.extend(found);
        if skipped > 0 {
            shared.closed(unreadable::end(connection, (condition, values()), at)?);
        }
    }
    calls.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    calls.truncate(most);
    Ok(calls)
}

/// Frees or ends a call whose owner is gone.
fn free(
    connection: &Connection,
    shared: &Shared,
    call: &RecordedCall,
    max_attempts: u32,
    at: i64,
    recovered: &mut Recovered,
) -> Result<(), StoreError> {
    let cancel: bool = connection
        .prepare_cached("SELECT cancel FROM call WHERE id = ?")?
        .query_row([call.id.as_str()], |row| row.get(0))?;
    let may_run_again = call.state == CallState::Waiting || call.idempotent;
    let end = if !may_run_again {
        recovered.unknown += 1;
        CallEnd::new(CallState::OutcomeUnknown, ToolResult::outcome_unknown(&call.tool))
    } else if cancel {
        CallEnd::new(CallState::Cancelled, results::cancelled(call))
    } else if call.attempt >= max_attempts {
        recovered.dead += 1;
        CallEnd { is_dead: true, ..CallEnd::new(CallState::Failed, results::dead(call)) }
    } else {
        recovered.waiting += 1;
        connection
            .prepare_cached("UPDATE call SET state = 'waiting', owner = NULL WHERE id = ?")?
            .execute([call.id.as_str()])?;
        return Ok(());
    };
    close(connection, shared, call, &end, at)
}

/// Ends a call that no claim holds.
fn close(
    connection: &Connection,
    shared: &Shared,
    call: &RecordedCall,
    end: &CallEnd,
    at: i64,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE call SET state = ?, result = ?, ended = ?, dead = ?, owner = NULL \
             WHERE id = ? AND ended IS NULL",
        )?
        .execute(params![
            end.state.code(),
            stored(&end.result)?,
            at,
            end.is_dead,
            call.id.as_str()
        ])?;
    shared.closed(1);
    Ok(())
}
