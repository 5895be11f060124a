//! Schedules, and the store that keeps them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::repeat::Repeat;
use crate::context::{Conversation, Principal};
use crate::future::BoxFuture;
use crate::store::StoreError;

/// A prompt with the times at which it is run.
///
/// ```
/// use toolbox::builtin::schedule::{Repeat, Schedule};
/// use toolbox::context::Principal;
///
/// let daily = Repeat::Daily { time: "08:00".to_owned() };
/// let schedule = Schedule::new(Principal::new("ada"), "Sum up my mail", daily, "Europe/Berlin");
/// assert!(schedule.enabled && schedule.next.is_none());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Schedule {
    /// Its number in the store; zero before it is there.
    pub id: u64,
    /// The version, which grows with every change and every occurrence.
    pub version: u64,
    /// The principal that it belongs to.
    pub owner: Principal,
    /// The prompt: the text that the agent gets.
    pub prompt: String,
    /// The rule of its times.
    pub repeat: Repeat,
    /// The IANA name of the time zone of its times.
    pub time_zone: String,
    /// The conversation it was created in.
    pub conversation: Option<Conversation>,
    /// The tools that its creator might not call: names, which may hold `*`.
    pub denied: Vec<String>,
    /// `true` if it was created or changed in a conversation that was
    /// [tainted](crate::context::Taint).
    pub tainted: bool,
    /// The least time between two times of it.
    pub minimum_interval: Duration,
    /// `true` if it is switched on.
    pub enabled: bool,
    /// The next time it is due.
    pub next: Option<SystemTime>,
    /// The time it was last planned for, if it ever occurred.
    pub last: Option<SystemTime>,
    /// The clock's time of the last occurrence.
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

/// A schedule in a store that cannot be read: it never occurs, and does not affect the others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableSchedule {
    /// Its number, by which it can be [deleted](Store::delete).
    pub id: u64,
    /// The part of it that cannot be read, such as `repeat`.
    pub column: String,
}

impl UnreadableSchedule {
    /// Returns a schedule that cannot be read, by its number and the part that is broken.
    #[must_use]
    pub fn new(id: u64, column: impl Into<String>) -> Self {
        Self { id, column: column.into() }
    }
}

/// A store of schedules. [`SqliteStore`](crate::store::SqliteStore) is one; implement it for a
/// server of your own.
///
/// Each method is atomic.
///
/// ```
/// use toolbox::builtin::schedule::{Schedule, Store};
/// use toolbox::context::Principal;
/// use toolbox::store::{SqliteStore, StoreError};
///
/// async fn prompts(store: &impl Store, owner: &Principal) -> Result<Vec<String>, StoreError> {
///     let all: Vec<Schedule> = store.list(owner).await?;
///     Ok(all.into_iter().map(|schedule| schedule.prompt).collect())
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let store = SqliteStore::in_memory().unwrap();
/// assert!(prompts(&store, &Principal::new("ada")).await.unwrap().is_empty());
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store of schedules",
    label = "this keeps no schedules",
    note = "take `toolbox::store::SqliteStore`, or implement `toolbox::builtin::schedule::Store` for it"
)]
pub trait Store: Send + Sync {
    /// Adds a schedule and returns its number, once it is safe; refuses it where its owner has
    /// `quota` already.
    ///
    /// # Errors
    ///
    /// [`StoreError::OverQuota`], and any other error of the store.
    fn create(&self, schedule: Schedule, quota: usize) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Returns the schedules of a principal, in the order they were created.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn list(&self, owner: &Principal) -> BoxFuture<'_, Result<Vec<Schedule>, StoreError>>;

    /// Returns the schedules of a principal that [`list`](Self::list) leaves out because they
    /// cannot be read. Default: none.
    ///
    /// An unreadable schedule must not keep the others from being found by any of these methods.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn unreadable(
        &self,
        owner: &Principal,
    ) -> BoxFuture<'_, Result<Vec<UnreadableSchedule>, StoreError>> {
        let _ = owner;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Replaces the schedule of its number, owner and version, and gives it the next version.
    /// Returns false, and changes nothing, where there is none.
    ///
    /// Of several that change the same version, one succeeds: that is what makes an occurrence
    /// happen once.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn replace(&self, schedule: Schedule) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Deletes schedules of a principal, and returns their number.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn delete(&self, owner: &Principal, ids: Vec<u64>) -> BoxFuture<'_, Result<usize, StoreError>>;

    /// Returns the enabled schedule of any principal that is due first.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn earliest(&self) -> BoxFuture<'_, Result<Option<Schedule>, StoreError>>;

    /// Returns the enabled schedules of all principals that last occurred after `now`: the clock
    /// went back since.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn ahead_of(&self, now: SystemTime) -> BoxFuture<'_, Result<Vec<Schedule>, StoreError>>;
}

macro_rules! forwarded {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        #[diagnostic::do_not_recommend]
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
