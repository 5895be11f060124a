//! The workspace of the file tools, with what conversations have read of it.

use std::io::{self, Read as _};
use std::time::Duration;

use cap_std::fs::{File, Metadata};

use super::versions::{Version, Versions};
use crate::builtin::workspace::Workspace;

/// Limits on sizes, in bytes, and on waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileLimits {
    pub(super) reply: usize,
    pub(super) write: usize,
    /// The maximum number of bytes of a file that are searched.
    pub(super) scan: u64,
    /// The time that a change waits for others.
    pub(super) lock: Duration,
}

/// The workspace that the file tools share.
#[derive(Debug)]
pub(super) struct FileAccess {
    pub(super) workspace: Workspace,
    pub(super) limits: FileLimits,
    /// The versions of files that conversations have read.
    pub(super) versions: Versions,
}

impl FileAccess {
    /// Returns the version of an open file. That of a file too large to be written is taken from
    /// its metadata.
    pub(super) fn version(&self, file: File, metadata: &Metadata) -> io::Result<Version> {
        let most = self.limits.write as u64;
        if metadata.len() > most {
            return Ok(self.marks(metadata));
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        Ok(self.versions.of(&bytes))
    }

    /// Returns the version of a large file.
    pub(super) fn marks(&self, metadata: &Metadata) -> Version {
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        self.versions.of(format!("{} {modified:?}", metadata.len()).as_bytes())
    }
}
