//! Errors of recordings.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of a file with a recording.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file cannot be written.
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A line is none of a recording.
    Invalid {
        /// The file.
        path: PathBuf,
        /// The number of the line, from one.
        line: usize,
        /// The reason.
        message: String,
    },
    /// There is no such recording, and it is not to be made.
    Missing {
        /// The file.
        path: PathBuf,
    },
}

impl RecordingError {
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Read { path, source }
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Write { path, source }
    }
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => {
                write!(f, "the recording {} cannot be read: {source}", path.display())
            }
            Self::Write { path, source } => {
                write!(f, "the recording {} cannot be written: {source}", path.display())
            }
            Self::Invalid { path, line, message } => {
                write!(f, "line {line} of the recording {}: {message}", path.display())
            }
            Self::Missing { path } => write!(
                f,
                "there is no recording {}: record it with TOOLBOX_RECORD=1",
                path.display()
            ),
        }
    }
}

impl Error for RecordingError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => Some(source),
            Self::Invalid { .. } | Self::Missing { .. } => None,
        }
    }
}
