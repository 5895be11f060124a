//! The lock file by which others see that a process lives.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::StoreError;

/// A file that is locked as long as this process lives, in a folder beside the database.
///
/// The system unlocks it when the process ends, however it ends.
pub(super) struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// Makes the file of an id. It appears under its name with its lock, so that nobody ever sees
    /// it unlocked.
    pub(super) fn create(database: &Path, id: &str) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::Failed(Arc::new(error));
        let folder = folder(database);
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => {}
        }
        let path = folder.join(format!("{id}.lock"));
        let hidden = folder.join(format!("{id}.new"));
        let file = File::create(&hidden).map_err(failed)?;
        file.lock().map_err(failed)?;
        std::fs::rename(&hidden, &path).map_err(failed)?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // One that stays is found unlocked, and deleted by the next who looks.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Returns `true` if the process behind an id is gone for certain.
pub(super) fn is_gone(database: &Path, id: &str) -> bool {
    let path = folder(database).join(format!("{id}.lock"));
    match File::open(&path) {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => {
                let _ = std::fs::remove_file(&path);
                true
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
    }
}

fn folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".workers");
    PathBuf::from(name)
}
