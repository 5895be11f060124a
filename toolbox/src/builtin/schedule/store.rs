//! A schedule, and where schedules are kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::repeat::Repeat;
use crate::builtin::store::StoreError;
use crate::context::{Conversation, Principal};
use crate::future::BoxFuture;

/// Something that is to be done at some times.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Schedule {
    /// Its number in the store; zero before it is there.
    pub id: u64,
    /// Grows with every change and every occurrence.
    pub version: u64,
    /// Whose it is.
    pub owner: Principal,
    /// What is to be done, in words.
    pub prompt: String,
    /// When.
    pub repeat: Repeat,
    /// The IANA name of the time zone whose clocks say when.
    pub time_zone: String,
    /// Where it was created.
    pub conversation: Option<Conversation>,
    /// The tools that whoever created it might not call: names, which may hold `*`.
    pub denied: Vec<String>,
    /// Whether it was created or changed in a conversation that was [tainted](crate::context::Taint).
    pub tainted: bool,
    /// The least time between two times of it.
    pub minimum_interval: Duration,
    /// Whether it happens at all.
    pub enabled: bool,
    /// When it happens next.
    pub next: Option<SystemTime>,
    /// The time it was last planned for, if it ever happened.
    pub last: Option<SystemTime>,
    /// What the clock said when it last happened.
    pub fired: Option<SystemTime>,
}

impl Schedule {
    /// Returns a schedule that is in no store yet, enabled, and without a next time.
    #[must_use]
    pub fn new(
        owner: Principal,
        prompt: impl Into<String>,
        repeat: Repeat,
        time_zone: impl Into<String>,
    ) -> Self {
        Self {
            id: 0,
            version: 0,
            owner,
            prompt: prompt.into(),
            repeat,
            time_zone: time_zone.into(),
            conversation: None,
            denied: Vec::new(),
            tainted: false,
            minimum_interval: Duration::from_secs(60),
            enabled: true,
            next: None,
            last: None,
            fired: None,
        }
    }
}

/// A schedule in a store that cannot be read: it does not happen, and the others do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableSchedule {
    /// Its number, by which it can be [deleted](Store::delete).
    pub id: u64,
    /// Which part of it cannot be read, such as `repeat`.
    pub column: String,
}

impl UnreadableSchedule {
    /// Returns a schedule that cannot be read, by its number and the part that is broken.
    #[must_use]
    pub fn new(id: u64, column: impl Into<String>) -> Self {
        Self { id, column: column.into() }
    }
}

/// Where schedules are kept. [`SqliteStore`](crate::builtin::SqliteStore) is one; write another over a server of yours.
///
/// Each method happens whole or not at all.
pub trait Store: Send + Sync {
    /// Keeps a schedule and returns its number, once it is safe; refuses it where its owner has `quota` already.
    ///
    /// # Errors
    ///
    /// [`StoreError::OverQuota`], and whatever keeps the store from its work.
    fn create(&self, schedule: Schedule, quota: usize) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Returns the schedules of a principal, in the order they were created.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn list(&self, owner: &Principal) -> BoxFuture<'_, Result<Vec<Schedule>, StoreError>>;

    /// Returns the schedules of a principal that [`list`](Self::list) leaves out because they cannot be read. Default: none.
    ///
    /// One that cannot be read must not keep the others from being found by any of these methods.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn unreadable(
        &self,
        owner: &Principal,
    ) -> BoxFuture<'_, Result<Vec<UnreadableSchedule>, StoreError>> {
        let _ = owner;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Puts a schedule in the place of the one of its number, owner and version, and gives it the next version. Returns
    /// false, and changes nothing, where there is none.
    ///
    /// Of several that change the same version, one succeeds: that is what makes an occurrence happen once.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn replace(&self, schedule: Schedule) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Deletes schedules of a principal, and returns how many.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn delete(&self, owner: &Principal, ids: Vec<u64>) -> BoxFuture<'_, Result<usize, StoreError>>;

    /// Returns the enabled schedule of any principal that happens first.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn earliest(&self) -> BoxFuture<'_, Result<Option<Schedule>, StoreError>>;

    /// Returns the enabled schedules of all principals that last happened after `now`: the clock went back since.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn ahead_of(&self, now: SystemTime) -> BoxFuture<'_, Result<Vec<Schedule>, StoreError>>;
}

macro_rules! forwarded {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        impl<S: Store + ?Sized> Store for Arc<S> {
            $(fn $name(&self, $($argument: $type),*) -> BoxFuture<'_, Result<$output, StoreError>> {
                (**self).$name($($argument),*)
            })*
        }
    };
}

forwarded! {
    fn create(schedule: Schedule, quota: usize) -> u64;
    fn list(owner: &Principal) -> Vec<Schedule>;
    fn unreadable(owner: &Principal) -> Vec<UnreadableSchedule>;
    fn replace(schedule: Schedule) -> bool;
    fn delete(owner: &Principal, ids: Vec<u64>) -> usize;
    fn earliest() -> Option<Schedule>;
    fn ahead_of(now: SystemTime) -> Vec<Schedule>;
}
