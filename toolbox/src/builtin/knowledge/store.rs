//! Entries of knowledge, and the store that keeps them.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::context::{Conversation, Principal};
use crate::future::BoxFuture;
use crate::store::StoreError;

/// A text in the store, with its source.
///
/// ```
/// use std::time::SystemTime;
/// use toolbox::builtin::knowledge::{Entry, Source};
///
/// let source = Source::Document { name: "handbook".to_owned(), part: 1 };
/// let entry = Entry::new("Invoices are due in 30 days.", source, SystemTime::UNIX_EPOCH);
/// assert_eq!(entry.text, "Invoices are due in 30 days.");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its number in the store; zero before it is there.
    pub id: u64,
    /// The text.
    pub text: String,
    /// The source of the text.
    pub source: Source,
    /// When it was kept.
    pub at: SystemTime,
}

impl Entry {
    /// Returns an entry that is in no store yet.
    #[must_use]
    pub fn new(text: impl Into<String>, source: Source, at: SystemTime) -> Self {
        Self { id: 0, text: text.into(), source, at }
    }
}

/// The source of a text.
///
/// ```
/// use toolbox::builtin::knowledge::Source;
///
/// let source = Source::Remembered { conversation: None };
/// assert_eq!(source, Source::Remembered { conversation: None });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A model asked `remember` to keep it.
    Remembered {
        /// The conversation, if the program names one.
        conversation: Option<Conversation>,
    },
    /// A piece of a document that the program added.
    Document {
        /// The name of the document.
        name: String,
        /// The number of the piece, from 1.
        part: u32,
    },
    /// A message that the program added.
    Message {
        /// The conversation of the message.
        conversation: Conversation,
        /// The author of the message, such as `user`.
        role: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |conversation: &Conversation| {
            format!("{}/{}", conversation.channel, conversation.chat_id)
        };
        match self {
            Self::Remembered { conversation: None } => f.write_str("remembered"),
            Self::Remembered { conversation: Some(conversation) } => {
                write!(f, "remembered in {}", place(conversation))
            }
            Self::Document { name, part } => write!(f, "document {name}, part {part}"),
            Self::Message { conversation, role } => {
                write!(f, "message of {role} in {}", place(conversation))
            }
        }
    }
}

/// The limits on the entries of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// The maximum number of entries, the pieces of documents and messages included. Default
    /// 10 000.
    pub entries: usize,
    /// The maximum size of one entry's text, in bytes. Default 16 KiB.
    pub entry_bytes: usize,
    /// The maximum size of all entries' texts, in bytes. Default 64 MiB.
    pub bytes: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Self { entries: 10_000, entry_bytes: 16 << 10, bytes: 64 << 20 }
    }
}

impl Quota {
    /// Sets the maximum number of entries of a principal.
    #[must_use]
    pub fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// Sets the maximum size of one entry's text, in bytes.
    #[must_use]
    pub fn entry_bytes(mut self, bytes: usize) -> Self {
        self.entry_bytes = bytes;
        self
    }

    /// Sets the maximum size of all texts of a principal, in bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

/// The entries to remove.
///
/// ```
/// use toolbox::builtin::knowledge::{Forget, Knowledge};
/// use toolbox::context::Principal;
/// use toolbox::store::{SqliteStore, StoreError};
///
/// # async fn forget() -> Result<(), StoreError> {
/// let knowledge = Knowledge::new(SqliteStore::in_memory()?);
/// let handbook = Forget::Document("handbook".to_owned());
/// let gone = knowledge.forget(&Principal::new("ada"), handbook).await?;
/// println!("{gone} pieces are gone");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forget {
    /// One entry, by its number.
    Entry(u64),
    /// All pieces of a document.
    Document(String),
    /// All messages and remembered texts of a conversation.
    Conversation(Conversation),
    /// All entries of the principal.
    Everything,
}

/// An entry in a store that cannot be read: it is never found, and does not affect the others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableEntry {
    /// Its number, by which it can be [removed](Forget::Entry).
    pub id: u64,
    /// The part of it that cannot be read, such as `text`.
    pub column: String,
}

impl UnreadableEntry {
    /// Returns an entry that cannot be read, by its number and the part that is broken.
    #[must_use]
    pub fn new(id: u64, column: impl Into<String>) -> Self {
        Self { id, column: column.into() }
    }
}

/// A store of knowledge. [`SqliteStore`](crate::store::SqliteStore) is one; implement it for a
/// server of your own.
///
/// Each method sees and changes only entries of its principal, and is atomic.
///
/// ```
/// use toolbox::builtin::knowledge::{Entry, Store};
/// use toolbox::context::Principal;
/// use toolbox::store::{SqliteStore, StoreError};
///
/// async fn about(
///     store: &impl Store,
///     owner: &Principal,
///     words: &str,
/// ) -> Result<Vec<Entry>, StoreError> {
///     store.by_words(owner, words, 10).await
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let store = SqliteStore::in_memory().unwrap();
/// assert!(about(&store, &Principal::new("ada"), "invoices").await.unwrap().is_empty());
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store of knowledge",
    label = "this keeps no knowledge",
    note = "take `toolbox::store::SqliteStore`, or implement `toolbox::builtin::knowledge::Store` for it"
)]
pub trait Store: Send + Sync {
    /// Adds entries and returns their numbers, once they are safe; refuses all of them if they
    /// would exceed the quota.
    ///
    /// Pieces of a document replace all pieces of that name. A text that is remembered already is
    /// not added again: its number is returned.
    ///
    /// # Errors
    ///
    /// [`StoreError::OverQuota`], and any other error of the store.
    fn add(
        &self,
        owner: &Principal,
        entries: Vec<Entry>,
        quota: Quota,
    ) -> BoxFuture<'_, Result<Vec<u64>, StoreError>>;

    /// Returns the entries that share words with the query, best first. The query is any text.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn by_words(
        &self,
        owner: &Principal,
        query: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Returns the entries whose vectors have the greatest cosine with this one, best first: those
    /// that are above zero, among vectors of the same length.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn by_meaning(
        &self,
        owner: &Principal,
        vector: Vec<f32>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Returns entries that have no vector, or one of another length than `length`: those with a
    /// number above `after`, the least number first.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn without_vector(
        &self,
        owner: &Principal,
        length: Option<usize>,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Sets the vectors of entries. An entry that is gone is skipped.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn set_vectors(
        &self,
        owner: &Principal,
        vectors: Vec<(u64, Vec<f32>)>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the entries that no other method returns because they cannot be read. Default:
    /// none.
    ///
    /// An unreadable entry must not keep the others from being found by any of these methods.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn unreadable(
        &self,
        owner: &Principal,
    ) -> BoxFuture<'_, Result<Vec<UnreadableEntry>, StoreError>> {
        let _ = owner;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Removes entries, and returns their number.
    ///
    /// # Errors
    ///
    /// Those of the store.
    fn forget(&self, owner: &Principal, what: Forget) -> BoxFuture<'_, Result<usize, StoreError>>;
}

macro_rules! forwarded {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        #[diagnostic::do_not_recommend]
        impl<S: Store + ?Sized> Store for Arc<S> {
            $(fn $name(&self, owner: &Principal, $($argument: $type),*) -> BoxFuture<'_, Result<$output, StoreError>> {
                (**self).$name(owner, $($argument),*)
            })*
        }
    };
}

forwarded! {
    fn add(entries: Vec<Entry>, quota: Quota) -> Vec<u64>;
    fn by_words(query: &str, limit: usize) -> Vec<Entry>;
    fn by_meaning(vector: Vec<f32>, limit: usize) -> Vec<Entry>;
    fn without_vector(length: Option<usize>, after: u64, limit: usize) -> Vec<Entry>;
    fn set_vectors(vectors: Vec<(u64, Vec<f32>)>) -> ();
    fn unreadable() -> Vec<UnreadableEntry>;
    fn forget(what: Forget) -> usize;
}
