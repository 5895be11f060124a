//! The check that what was synced is on the disk.

use std::fs::File;
use std::io;
use std::path::Path;

/// A check that the syncs of a file wrote it.
///
/// Where an error makes a file system read-only (`errors=remount-ro`), Linux reports a sync as done
/// that comes between the end of its journal and that state, and what was appended is gone. Such a
/// file system allocates no block any more, so this allocates one, again and again the same, in a
/// file without a name in the same folder. Where there are no such files, nothing is checked.
#[derive(Debug)]
pub(crate) struct SyncCheck(Option<File>);

impl SyncCheck {
    /// Returns the check for a file.
    pub(crate) fn of(file: &Path) -> Self {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Self(unnamed(folder.unwrap_or(Path::new("."))))
    }

    /// Returns an error if a sync that has just succeeded may have written nothing.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), allocate)
    }
}

#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};

    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    open(folder, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
}

#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;

    match fallocate(file, FallocateFlags::empty(), 0, 1) {
        Err(error @ (Errno::ROFS | Errno::IO)) => Err(error.into()),
        // A full disk has what was written to it.
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File) -> io::Result<()> {
    Ok(())
}
