//! Files that are read within bounds, replaced as a whole, and put back from backups.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::disk::{Access, replace};

/// The maximum size of a file of another program, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The most files of one kind that are kept of one file.
const MAX_BACKUPS: u32 = 1000;

/// What a file was before it was changed.
const BACKUP: &str = "toolbox-backup";
/// What a file was before its backup took its place.
const UNDONE: &str = "toolbox-undone";

/// Reads a file as text, or returns the reason why it cannot be used.
pub(in crate::cli) fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("it is longer than 16 MiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Keeps the current contents of a file beside it, under a number that all files of one run have.
/// Of a missing file, the backup is empty.
pub(super) fn back_up(path: &Path, number: u32) -> io::Result<PathBuf> {
    keep(path, BACKUP, number)
}

/// Returns the number of the last backup of a file.
pub(super) fn last_backup(path: &Path) -> Option<u32> {
    let is_there = |number: &u32| numbered(path, BACKUP, *number).symlink_metadata().is_ok();
    (1..=MAX_BACKUPS).rev().find(is_there)
}

/// Keeps the current contents of a file beside it, under the first free name of a kind from a
/// number on.
fn keep(path: &Path, kind: &str, first: u32) -> io::Result<PathBuf> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    for number in first..=MAX_BACKUPS {
        let kept = numbered(path, kind, number);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&kept) {
            Ok(mut file) => {
                file.write_all(&bytes)?;
                file.sync_all()?;
                return Ok(kept);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!(
        "there are {MAX_BACKUPS} files `{kind}` of it already: delete those you need no more"
    )))
}

/// Puts a file back from its backup of a number, byte for byte, and removes the backup. The
/// contents that are replaced are kept under the path that is returned.
pub(super) fn put_back(path: &Path, number: u32) -> io::Result<PathBuf> {
    let backup = numbered(path, BACKUP, number);
    let bytes = fs::read(&backup)?;
    // Each under a name of its own: it may hold what was written since.
    let undone = keep(path, UNDONE, 1)?;
    let is_there = path.symlink_metadata().is_ok();
    match bytes.is_empty() {
        true if is_there => fs::remove_file(path)?,
        true => {}
        false => replace(path, &bytes, Access::Unchanged)?,
    }
    fs::remove_file(backup)?;
    Ok(undone)
}

/// Returns the name of a kept file, beside the file itself.
fn numbered(path: &Path, kind: &str, number: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{kind}-{number}"));
    path.with_file_name(name)
}
