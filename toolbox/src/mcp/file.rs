//! A small file that several programs change.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::disk::real;

/// A file that is read as a whole, and replaced atomically.
#[derive(Debug, Clone)]
pub(super) struct SharedFile {
    path: PathBuf,
    /// `true` if only its owner may read it, on systems with file permissions.
    #[cfg_attr(not(unix), expect(dead_code, reason = "files have no such permissions there"))]
    private: bool,
}

/// An exclusive lock against other programs, released when dropped.
#[derive(Debug)]
pub(super) struct FileLock(#[expect(dead_code, reason = "the lock ends with the handle")] File);

impl SharedFile {
    pub(super) fn new(path: PathBuf) -> Self {
        // Each name of the file leads to one lock, and a link to it is not replaced.
        Self { path: real(&path).unwrap_or(path), private: false }
    }

    /// Returns a file that only its owner can read.
    #[cfg(feature = "mcp-oauth")]
    pub(super) fn private(path: PathBuf) -> Self {
        Self { private: true, ..Self::new(path) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the contents, or `None` if there is no file.
    pub(super) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(&self.path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for the lock named `what`, such as `guard` for writing.
    ///
    /// The lock is a separate file, since each write replaces the one with the data. Blocks the
    /// thread.
    pub(super) fn turn(&self, what: &str, patience: Duration) -> io::Result<FileLock> {
        let guard = self.options().truncate(false).open(self.beside(what))?;
        let began = Instant::now();
        loop {
            match guard.try_lock() {
                Ok(()) => return Ok(FileLock(guard)),
                // Some network file systems have no locks, and a single program needs none.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(FileLock(guard));
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if began.elapsed() > patience => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another program has been writing it for seconds; end that one",
                    ));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Replaces the contents.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let beside = self.beside(&format!("{}.new", std::process::id()));
        let written = (|| {
            // An existing file was left by a program that ended midway, or is a link to a foreign
            // file.
            let _ = std::fs::remove_file(&beside);
            let mut file = self.options().create_new(true).open(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        })();
        written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
    }

    fn options(&self) -> OpenOptions {
        let mut options = File::options();
        options.write(true).create(true);
        #[cfg(unix)]
        if self.private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        options
    }

    /// Returns the path of a file beside it, which is hidden on Unix.
    fn beside(&self, end: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{end}"))
    }
}
