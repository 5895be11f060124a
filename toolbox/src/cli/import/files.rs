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
/// An empty mark: the file was not there before it was written.
const ABSENT: &str = "toolbox-absent";
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

/// Keeps the current contents of a file beside it, under a number that all files of one run have;
/// of a missing file, a mark.
pub(super) fn back_up(path: &Path, number: u32) -> io::Result<PathBuf> {
    let is_there = path.symlink_metadata().is_ok();
    keep(path, if is_there { BACKUP } else { ABSENT }, number)
}

/// Returns the number of the last backup of a file.
pub(super) fn last_backup(path: &Path) -> Option<u32> {
    (1..=MAX_BACKUPS).rev().find(|number| backup(path, *number).is_some())
}

/// Returns the backup of a number, or the mark that the file was not there.
fn backup(path: &Path, number: u32) -> Option<(PathBuf, &'static str)> {
    let kept = [BACKUP, ABSENT].map(|kind| (numbered(path, kind, number), kind));
    kept.into_iter().find(|(kept, _)| kept.symlink_metadata().is_ok())
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

/// A file that is as it was.
pub(super) struct PutBack {
    /// The path of the contents that were replaced.
    pub(super) undone: PathBuf,
    /// `true` if the file was not there before, and is not now.
    pub(super) is_gone: bool,
}

/// Puts a file back from its backup of a number, byte for byte, and removes the backup.
pub(super) fn put_back(path: &Path, number: u32) -> io::Result<PutBack> {
    let (kept, kind) = backup(path, number).ok_or(io::ErrorKind::NotFound)?;
    let bytes = fs::read(&kept)?;
    // Each under a name of its own: it may hold what was written since.
    let undone = keep(path, UNDONE, 1)?;
    let is_gone = kind == ABSENT;
    if !is_gone {
        replace(path, &bytes, Access::Unchanged)?;
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(path)?;
    }
    fs::remove_file(kept)?;
    Ok(PutBack { undone, is_gone })
}

/// Returns the name of a kept file, beside the file itself.
fn numbered(path: &Path, kind: &str, number: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{kind}-{number}"));
    path.with_file_name(name)
}
