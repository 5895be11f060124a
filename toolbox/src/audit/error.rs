//! Errors of an audit log, and the places where a chain is broken.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The first line at which a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenLine {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from one.
    pub line: u64,
    /// The way in which it is broken.
    pub break_kind: ChainBreak,
}

/// The way in which a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainBreak {
    /// The text of the line is not what was written.
    Altered,
    /// Lines before this one are missing.
    Removed,
    /// The line was added: it does not follow from the one before, whose number it repeats or
    /// continues.
    Inserted,
}

impl fmt::Display for BrokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.break_kind {
            ChainBreak::Altered => "was altered",
            ChainBreak::Removed => "follows lines that were removed",
            ChainBreak::Inserted => "was inserted, or one before it was replaced",
        };
        write!(f, "line {} of {} {what}", self.line, self.file.display())
    }
}

/// The error of an audit log.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuditError {
    /// Another process writes the log.
    Locked(PathBuf),
    /// The last line of the log was altered, so the chain cannot go on.
    Altered(PathBuf),
    /// The chain is broken.
    Broken(BrokenLine),
    /// No line has the hash that was asked for: lines were removed from the end, or all was written
    /// anew.
    Shortened,
    /// Lines at the end of the log are missing that its lock file remembers, or its full files: the
    /// current file was removed, emptied or replaced. Removing the lock file and the full files
    /// begins another log.
    Incomplete {
        /// The file that is written.
        log: PathBuf,
        /// The number of the last line that is known to have been written.
        seq: u64,
    },
    /// A file cannot be read or written.
    Io(io::Error),
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked(path) => {
                write!(f, "the audit log {} is written by another process", path.display())
            }
            Self::Altered(path) => {
                write!(f, "the last line of the audit log {} was altered", path.display())
            }
            Self::Broken(line) => line.fmt(f),
            Self::Shortened => f.write_str(
                "no line has the hash that was asked for: lines were removed from the end, or all was written anew",
            ),
            Self::Incomplete { log, seq } => {
                let log = log.display();
                write!(
                    f,
                    "the audit log {log} lacks lines up to number {seq}, which was written: the file was removed, emptied or replaced \
                     (to begin another log, remove {log}.lock and the full files {log}.* too)"
                )
            }
            Self::Io(error) => write!(f, "the audit log cannot be read or written: {error}"),
        }
    }
}

impl std::error::Error for AuditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for AuditError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
