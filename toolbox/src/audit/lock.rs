//! The lock file of an audit log, which remembers where the log ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::AuditError;
use super::file::{hold, with_suffix};

/// The number and the hash of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogEnd {
    pub(super) seq: u64,
    pub(super) hash: String,
}

impl LogEnd {
    /// Returns whether a log that ends here holds the line that was remembered.
    fn reaches(&self, remembered: &Self) -> bool {
        self.seq > remembered.seq || self == remembered
    }

    /// Reads what [`AuditLock::remember`] wrote. What is there from another program is nothing.
    fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = text.strip_suffix('\n')?.split_once(' ')?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then_some(Self { seq: seq.parse().ok()?, hash: hash.to_owned() })
    }
}

/// Returns the path of the lock file of a log.
pub(super) fn lock_path(log: &Path) -> PathBuf {
    with_suffix(log, ".lock")
}

/// Returns where a log ended when its lock file was written last, if there is one.
pub(super) fn remembered_end(log: &Path) -> io::Result<Option<LogEnd>> {
    match options().read(true).open(lock_path(log)) {
        Ok(file) => read_end(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns an error unless a log that ends at `end` holds the remembered line.
pub(super) fn check_end(
    log: &Path,
    end: &LogEnd,
    remembered: Option<&LogEnd>,
) -> Result<(), AuditError> {
    match remembered {
        Some(remembered) if !end.reaches(remembered) => {
            Err(AuditError::Incomplete { log: log.to_owned(), seq: remembered.seq })
        }
        _ => Ok(()),
    }
}

/// The lock file of a log, locked as long as this exists.
pub(super) struct AuditLock {
    file: File,
    /// The end that is in it.
    pub(super) end: Option<LogEnd>,
}

impl AuditLock {
    /// Opens and locks the file, for its user alone. A link in its place is an error.
    pub(super) fn open(log: &Path) -> Result<Self, AuditError> {
        let file =
            options().create(true).truncate(false).read(true).write(true).open(lock_path(log))?;
        hold(&file, log)?;
        let end = read_end(&file)?;
        Ok(Self { file, end })
    }

    /// Remembers an end of the log that is on the disk.
    pub(super) fn remember(&mut self, end: &LogEnd) -> io::Result<()> {
        if self.end.as_ref() == Some(end) {
            return Ok(());
        }
        // Of one length, so that it is replaced in one piece.
        let text = format!("{:020} {}\n", end.seq, end.hash);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)?;
        self.end = Some(end.clone());
        Ok(())
    }
}

impl Drop for AuditLock {
    fn drop(&mut self) {
        // A process that another thread starts just now has it open until it is another program.
        let _ = self.file.unlock();
    }
}

fn read_end(file: &File) -> io::Result<Option<LogEnd>> {
    let mut text = String::new();
    match file.take(1 << 10).read_to_string(&mut text) {
        Ok(_) => Ok(LogEnd::parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn options() -> OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
    options
}

/// Links are followed there, and a file has the access of its folder.
#[cfg(not(unix))]
fn options() -> OpenOptions {
    OpenOptions::new()
}
