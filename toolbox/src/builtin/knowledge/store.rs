//! What is known, and where it is kept.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::builtin::store::StoreError;
use crate::context::{Conversation, Principal};
use crate::future::BoxFuture;

/// A text that is known, with where it comes from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its number in the store; zero before it is there.
    pub id: u64,
    /// The text.
    pub text: String,
    /// Where it comes from.
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

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A model asked `remember` to keep it.
    Remembered {
        /// In which conversation, if the program said so.
        conversation: Option<Conversation>,
    },
    /// A piece of a document that the program added.
    Document {
        /// The name of the document.
        name: String,
        /// Which piece of it, counted from 1.
        part: u32,
    },
    /// A message that the program added.
    Message {
        /// Where it was said.
        conversation: Conversation,
        /// Who said it, such as `user`.
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

/// How much a principal may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// How many entries, the pieces of documents and messages included. Default 10 000.
    pub entries: usize,
    /// How many bytes of text one entry may have. Default 16 KiB.
    pub entry_bytes: usize,
    /// How many bytes of text all entries may have. Default 64 MiB.
    pub bytes: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Self { entries: 10_000, entry_bytes: 16 << 10, bytes: 64 << 20 }
    }
}

impl Quota {
    /// Sets how many entries a principal may keep.
    #[must_use]
    pub fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// Sets how many bytes of text one entry may have.
    #[must_use]
    pub fn entry_bytes(mut self, bytes: usize) -> Self {
        self.entry_bytes = bytes;
        self
    }

    /// Sets how many bytes of text all entries of a principal may have.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forget {
    /// One entry, by its number.
    Entry(u64),
    /// All pieces of a document.
    Document(String),
    /// All that was said or remembered in a conversation.
    Conversation(Conversation),
    /// All that the principal has.
    Everything,
}

/// Where knowledge is kept. [`SqliteStore`](crate::builtin::SqliteStore) is one; write another over a server of yours.
///
/// Each method sees and changes only what belongs to its principal, and happens whole or not at all.
pub trait Store: Send + Sync {
    /// Keeps entries and returns their numbers, once they are safe; refuses all of them where the quota would be passed.
    ///
    /// Pieces of a document replace all pieces of that name. A text that is remembered already is not kept again:
    /// its number is returned.
    ///
    /// # Errors
    ///
    /// [`StoreError::OverQuota`], and whatever keeps the store from its work.
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
    /// Whatever keeps the store from its work.
    fn by_words(
        &self,
        owner: &Principal,
        query: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Returns the entries whose vectors have the greatest cosine with this one, best first: those that are above zero,
    /// among vectors of the same length.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn by_meaning(
        &self,
        owner: &Principal,
        vector: Vec<f32>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Returns entries that have no vector, or one of another length than `length`: those with a number above `after`,
    /// the least number first.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn without_vector(
        &self,
        owner: &Principal,
        length: Option<usize>,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Keeps vectors of entries. An entry that is gone is left out.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn set_vectors(
        &self,
        owner: &Principal,
        vectors: Vec<(u64, Vec<f32>)>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Forgets entries, and returns how many.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from its work.
    fn forget(&self, owner: &Principal, what: Forget) -> BoxFuture<'_, Result<usize, StoreError>>;
}

macro_rules! forwarded {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
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
    fn forget(what: Forget) -> usize;
}
