//! One `SQLite` file for the data of an agent: knowledge, schedules, notes, the journal of calls.
//!
//! ```
//! use toolbox::store::SqliteStore;
//!
//! # fn main() -> Result<(), toolbox::store::StoreError> {
//! # let folder = std::env::temp_dir().join(format!("toolbox-store-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! let store = SqliteStore::open(folder.join("agent.db"))?.max_file_bytes(64 << 20)?;
//! # drop(store);
//! # std::fs::remove_dir_all(folder).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | open a file, or keep all in memory | [`SqliteStore`] |
//! | know why a store refused | [`StoreError`] |

mod error;
mod millis;
#[cfg(any(feature = "knowledge", feature = "results", feature = "schedule"))]
mod readable;
#[cfg(feature = "durable")]
mod writer;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::sync::Mutex;

pub use error::StoreError;
#[cfg(any(feature = "durable", feature = "knowledge", feature = "schedule"))]
pub(crate) use millis::from_millis;
pub(crate) use millis::to_millis;
#[cfg(any(feature = "knowledge", feature = "schedule"))]
pub(crate) use readable::{conversation, time, unreadable};
#[cfg(any(feature = "knowledge", feature = "results", feature = "schedule"))]
pub(crate) use readable::{invalid, readable};
#[cfg(feature = "durable")]
pub(crate) use writer::Writer;

use crate::disk::SyncCheck;

/// The version of a file that this crate writes.
const KNOWN: u32 = 7;

/// The time that opening a file waits for others that open or write it.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The migrations: the nth turns a file of version n into one of version n + 1. A released one is
/// never changed.
const STEPS: [&str; KNOWN as usize] = [
    include_str!("1.sql"),
    include_str!("2.sql"),
    include_str!("3.sql"),
    include_str!("4.sql"),
    include_str!("5.sql"),
    include_str!("6.sql"),
    include_str!("7.sql"),
];

/// A store in one `SQLite` file, which comes with the crate: no server, no library of the system.
///
/// Data that it acknowledges is on the disk (`synchronous=FULL`, a write-ahead log): neither a
/// killed process nor a computer that loses its power undoes it, and a partial write never remains.
/// Several programs may use one file; their writes wait for each other, up to
/// [`busy_timeout`](Self::busy_timeout). The file must lie on a disk of this computer. On Unix, a
/// new file can be read by its owner only.
///
/// Cloning is cheap and shares the connection. Work is done on the threads of the runtime for
/// blocking work, one piece at a time.
///
/// # Cancellation
///
/// A write whose future is dropped is made completely, or not at all.
///
/// ```
/// use std::time::Duration;
/// use toolbox::store::{SqliteStore, StoreError};
///
/// # fn store() -> Result<SqliteStore, StoreError> {
/// let store = SqliteStore::open("agent.db")?
///     .busy_timeout(Duration::from_secs(2))?
///     .max_file_bytes(64 << 20)?;
/// # Ok(store)
/// # }
/// let only_for_a_test = SqliteStore::in_memory().unwrap();
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    database: Arc<Mutex<Database>>,
    path: Option<PathBuf>,
}

impl SqliteStore {
    /// Opens a file, and creates it if it does not exist. Its folder must exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if the file is no database, [`StoreError::Newer`] if a later version
    /// of this crate wrote it, [`StoreError::Busy`] if another program holds it,
    /// [`StoreError::Failed`] if it cannot be opened, or has a second name (a hard link).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Ok(Self::over(Database::open(Some(path))?, Some(path.to_owned())))
    }

    /// Returns a store that is deleted with its last clone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if there is no memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        Ok(Self::over(Database::open(None)?, None))
    }

    fn over(database: Database, path: Option<PathBuf>) -> Self {
        Self { database: Arc::new(Mutex::new(database)), path }
    }

    /// Sets the time that a call waits for another program that holds the file. Default 5 seconds.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if the store is in use already: set it first.
    pub fn busy_timeout(self, timeout: Duration) -> Result<Self, StoreError> {
        self.set(|connection| connection.busy_timeout(timeout))
    }

    /// Limits the size of the file, in bytes; writes that would exceed it are refused with
    /// [`StoreError::Full`]. Default: none.
    ///
    /// The write-ahead log beside the file adds a few megabytes.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if the store is in use already: set it first.
    pub fn max_file_bytes(self, bytes: u64) -> Result<Self, StoreError> {
        self.set(|connection| limit(connection, bytes))
    }

    fn set(
        self,
        set: impl FnOnce(&Connection) -> Result<(), rusqlite::Error>,
    ) -> Result<Self, StoreError> {
        let in_use = || StoreError::Failed(Arc::new(std::io::Error::other("the store is in use")));
        set(&self.database.try_lock().map_err(|_| in_use())?.connection)?;
        Ok(self)
    }

    /// Reads in one transaction, so that all data is of one moment.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(TransactionBehavior::Deferred, work).await
    }

    /// Writes in one transaction: all of it is on the disk when this returns, or nothing if it
    /// fails.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(TransactionBehavior::Immediate, work).await
    }

    async fn run<T: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // Waiting here holds no thread.
        let mut database = Arc::clone(&self.database).lock_owned().await;
        let run = tokio::task::spawn_blocking(move || {
            let Database { connection, synced } = &mut *database;
            let transaction = connection.transaction_with_behavior(behavior)?;
            let done = work(&transaction)?;
            match behavior {
                TransactionBehavior::Deferred => transaction.commit()?,
                _ => commit(transaction, synced.as_ref())?,
            }
            Ok(done)
        });
        run.await.unwrap_or_else(|error| Err(StoreError::Failed(Arc::new(error))))
    }
}

/// A connection to a file, or to memory, and the check that its commits are on the disk.
struct Database {
    connection: Connection,
    synced: Option<SyncCheck>,
}

impl Database {
    fn open(path: Option<&Path>) -> Result<Self, StoreError> {
        let synced = path.map(SyncCheck::of);
        Ok(Self { connection: connection(path)?, synced })
    }
}

/// Commits a transaction, so that the disk has it.
fn commit(transaction: Transaction<'_>, synced: Option<&SyncCheck>) -> Result<(), StoreError> {
    transaction.commit()?;
    let checked = synced.map_or(Ok(()), SyncCheck::check);
    checked.map_err(|error| StoreError::Failed(Arc::new(error)))
}

/// Limits the size of the file of a connection.
fn limit(connection: &Connection, bytes: u64) -> Result<(), rusqlite::Error> {
    let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = u32::try_from(bytes / u64::from(page.max(1))).unwrap_or(u32::MAX).max(1);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}

/// Opens a file, or memory, and brings it to the version of this crate.
fn connection(path: Option<&Path>) -> Result<Connection, StoreError> {
    let mut connection = match path {
        Some(path) => {
            create(path).map_err(|error| StoreError::Failed(Arc::new(error)))?;
            Connection::open(path)?
        }
        None => Connection::open_in_memory()?,
    };
    connection.busy_timeout(OPEN_TIMEOUT)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    switch_to_wal(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // A file of this version is only read: opening does not wait for those who write.
    if version(&connection)? != KNOWN {
        migrate(&mut connection)?;
    }
    Ok(connection)
}

/// Creates a file that does not exist, for its owner only, and refuses one with a second name.
///
/// `SQLite` keeps the write-ahead log beside the name by which it opens the file: by two names,
/// each would miss what the other wrote.
fn create(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // It is not opened again: closing it would end the locks that this process has on it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        opened => return opened.map(drop),
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&std::fs::metadata(path)?) > 1 {
        return Err(io::Error::other(
            "the file has another name (a hard link), by which others would miss what is written",
        ));
    }
    Ok(())
}

/// Switches a file to a write-ahead log, which it keeps from then on.
///
/// `SQLite` does not wait for others during the switch itself: two that open a new file at once
/// would wait for each other. One of them gets `SQLITE_BUSY` at once and asks again here.
fn switch_to_wal(connection: &Connection) -> Result<(), rusqlite::Error> {
    let give_up = Instant::now() + OPEN_TIMEOUT;
    loop {
        let switched = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match switched {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < give_up =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            switched => return switched,
        }
    }
}

/// Returns the number of steps that a file has taken.
fn version(connection: &Connection) -> Result<u32, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Takes the steps that a file lacks, in one transaction.
fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have taken them since.
    let file = version(&step)?;
    if file > KNOWN {
        return Err(StoreError::Newer { file, known: KNOWN });
    }
    for sql in &STEPS[file as usize..] {
        step.execute_batch(sql)?;
    }
    step.pragma_update(None, "user_version", KNOWN)?;
    step.commit()?;
    Ok(())
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}
