//! Errors of a store.

use std::fmt;

use crate::call::{SharedError, ToolError};

/// An error of a store.
///
/// The operation had no effect. The exception is a disk that fails at the very end of a write
/// ([`StoreError::Failed`]): that is never acknowledged, and may yet be found there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StoreError {
    /// A limit set by the program would be exceeded; the text says which, for the model.
    OverQuota(String),
    /// Another program held the file for longer than
    /// [`busy_timeout`](super::SqliteStore::busy_timeout).
    Busy(SharedError),
    /// The disk is full, or the file has reached
    /// [`max_file_bytes`](super::SqliteStore::max_file_bytes).
    Full(SharedError),
    /// The file is damaged, or no database at all.
    Damaged(SharedError),
    /// A later version of this crate wrote the file.
    Newer {
        /// The version of the file.
        file: u32,
        /// The latest version known here.
        known: u32,
    },
    /// Any other error: missing rights, no such folder, a failure of the disk.
    Failed(SharedError),
}

impl StoreError {
    /// Returns the text for the model, which holds no path and no data.
    fn model_text(&self) -> String {
        let text = match self {
            Self::OverQuota(text) => text,
            Self::Busy(_) => "the store is busy, and nothing was done; try again later",
            Self::Full(_) => "the store is full, and nothing was kept",
            Self::Damaged(_) | Self::Newer { .. } => {
                "the store cannot be read, and nothing was done; the program that runs it has to be mended"
            }
            Self::Failed(_) => "the store failed; what was asked is not sure to be done",
        };
        text.to_owned()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OverQuota(text) => f.write_str(text),
            Self::Busy(_) => f.write_str("another program holds the store"),
            Self::Full(_) => f.write_str("the store is full"),
            Self::Damaged(_) => f.write_str("the file of the store is damaged, or no store"),
            Self::Newer { file, known } => write!(
                f,
                "the store has version {file}, and this program knows versions up to {known}; use a newer one"
            ),
            Self::Failed(_) => f.write_str("the store failed"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Busy(source)
            | Self::Full(source)
            | Self::Damaged(source)
            | Self::Failed(source) => Some(source.as_ref()),
            Self::OverQuota(_) | Self::Newer { .. } => None,
        }
    }
}

/// The model reads what it can do about it; the causes are for logs.
impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::OverQuota(text) => Self::reported(text),
            error => {
                let model_text = error.model_text();
                Self::infrastructure(error).with_message(model_text)
            }
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase,
        };
        let code = error.sqlite_error_code();
        let source: SharedError = std::sync::Arc::new(error);
        match code {
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy(source),
            Some(DiskFull) => Self::Full(source),
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(source),
            _ => Self::Failed(source),
        }
    }
}
