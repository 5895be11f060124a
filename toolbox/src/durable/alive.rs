//! The lock file by which others see that a process lives.
//!
//! A file that is there, is the one that its process made, and is not locked, shows that the
//! process has ended. One that is missing, is a copy, or cannot be opened shows nothing: then the
//! lease decides.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A file that is locked as long as this process lives, in a folder beside the database.
///
/// The system unlocks it when the process ends, however it ends. It stays until nothing belongs to
/// its owner any more.
pub(super) struct OwnerLock(File);

impl OwnerLock {
    /// Makes the file of an id. It appears under its name with its lock, so that nobody ever sees
    /// it unlocked.
    pub(super) fn create(database: &Path, id: &str) -> io::Result<Self> {
        let folder = folder(database);
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let hidden = folder.join(format!("{id}.new"));
        let mut file = File::create_new(&hidden)?;
        file.lock()?;
        file.write_all(identity(&file.metadata()?).as_bytes())?;
        std::fs::rename(&hidden, folder.join(format!("{id}.lock")))?;
        // It is there after a loss of power, too, and shows at once that nobody holds it.
        file.sync_all()?;
        if cfg!(unix) {
            File::open(&folder)?.sync_all()?;
            File::open(folder.parent().unwrap_or(&folder))?.sync_all()?;
        }
        Ok(Self(file))
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // A process that another thread starts just now has it open until it is another program.
        let _ = self.0.unlock();
    }
}

/// Returns `true` if the process behind an id is gone for certain.
pub(super) fn is_gone(database: &Path, id: &str) -> bool {
    is_abandoned(&folder(database).join(format!("{id}.lock"))).unwrap_or(false)
}

/// Deletes the files of processes that are gone and own nothing.
pub(super) fn sweep(database: &Path, owners: &[String]) {
    let Ok(files) = std::fs::read_dir(folder(database)) else { return };
    for path in files.flatten().map(|file| file.path()) {
        let name = path.file_name().and_then(|name| name.to_str());
        let id = name.and_then(|name| name.strip_suffix(".lock"));
        if id.is_some_and(|id| !owners.iter().any(|owner| owner == id))
            && is_abandoned(&path).unwrap_or(false)
        {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Returns whether a file is the one that its process made, and is not locked any more.
fn is_abandoned(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    if file.try_lock_shared().is_err() {
        return Ok(false);
    }
    let mut text = String::new();
    (&file).take(64).read_to_string(&mut text)?;
    Ok(text == identity(&file.metadata()?))
}

/// Returns the device and the inode of a file; a copy of it has others.
#[cfg(unix)]
fn identity(file: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;

    format!("{} {}", file.dev(), file.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> String {
    "made here".to_owned()
}

fn folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".workers");
    PathBuf::from(name)
}
