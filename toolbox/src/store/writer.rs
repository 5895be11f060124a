//! A connection with a thread of its own, which commits writes that come together at once.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::{Database, StoreError, commit};
use crate::future::BoxFuture;

/// The most pieces of work in one transaction.
const MOST: usize = 512;

/// One piece of work in a transaction, or the reason why there is none.
type Work = Box<dyn FnOnce(Result<&Connection, StoreError>) -> (Option<StoreError>, Answer) + Send>;
/// Answers a caller, with the error of the transaction if it failed.
type Answer = Box<dyn FnOnce(Option<StoreError>) + Send>;

/// A connection to a file, for work that is on the disk when it is answered.
///
/// Pieces of work that arrive while a transaction is written share the next one, so that many
/// callers pay for one wait for the disk. Each piece succeeds or fails on its own.
pub(crate) struct Writer {
    sender: Sender<Work>,
}

impl Writer {
    /// Opens a file; without a path, memory.
    pub(crate) fn open(path: Option<&Path>, max_bytes: Option<u64>) -> Result<Self, StoreError> {
        let database = Database::open(path)?;
        if let Some(bytes) = max_bytes {
            super::limit(&database.connection, bytes)?;
        }
        let (sender, receiver) = channel();
        let thread = thread::Builder::new().name("toolbox-journal".to_owned());
        thread
            .spawn(move || write(database, &receiver))
            .map_err(|error| StoreError::Failed(std::sync::Arc::new(error)))?;
        Ok(Self { sender })
    }

    /// Does one piece of work, completely or not at all. It is done even if the future is dropped.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (sender, receiver) = oneshot::channel();
        let work: Work = Box::new(move |begun| match begun.and_then(work) {
            Ok(value) => {
                let answer = move |failed: Option<StoreError>| {
                    let _ = sender.send(failed.map_or(Ok(value), Err));
                };
                (None, Box::new(answer))
            }
            Err(error) => {
                let own = error.clone();
                (Some(error), Box::new(move |_| drop(sender.send(Err(own)))))
            }
        });
        // Without the thread the answer never comes, and its channel says so.
        let _ = self.sender.send(work);
        Box::pin(async move { receiver.await.unwrap_or_else(|_| Err(gone())) })
    }
}

fn gone() -> StoreError {
    StoreError::Failed(std::sync::Arc::new(std::io::Error::other("the thread of the file is gone")))
}

/// Writes until nobody can send any more.
fn write(mut database: Database, receiver: &Receiver<Work>) {
    while let Ok(first) = receiver.recv() {
        let mut batch = std::iter::once(first).chain(receiver.try_iter().take(MOST - 1));
        let mut answers = Vec::new();
        let failed = transact(&mut database, &mut batch, &mut answers).err();
        for answer in answers {
            answer(failed.clone());
        }
        if let Some(error) = failed {
            for work in batch {
                work(Err(error.clone())).1(None);
            }
        }
    }
}

fn transact(
    database: &mut Database,
    batch: &mut dyn Iterator<Item = Work>,
    answers: &mut Vec<Answer>,
) -> Result<(), StoreError> {
    let Database { connection, synced } = database;
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for work in batch {
        let savepoint = match transaction.savepoint() {
            Ok(savepoint) => savepoint,
            Err(error) => {
                let error = StoreError::from(error);
                work(Err(error.clone())).1(None);
                return Err(error);
            }
        };
        let (failed, answer) = work(Ok(&savepoint));
        answers.push(answer);
        match failed {
            None => savepoint.commit()?,
            // Dropping the savepoint undoes the work.
            Some(error) => {
                drop(savepoint);
                // A full disk ends the whole transaction, and what follows would be in none.
                if transaction.is_autocommit() {
                    return Err(error);
                }
            }
        }
    }
    commit(transaction, synced.as_ref())
}
