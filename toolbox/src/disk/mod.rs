//! Files: their real paths, replacing them as a whole, and the check that what was synced is on the
//! disk.

#[cfg(feature = "page")]
mod replaced;
#[cfg(feature = "_disk")]
mod synced;

use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "cli")]
pub(crate) use replaced::create;
#[cfg(feature = "page")]
pub(crate) use replaced::{Access, replace};
#[cfg(feature = "_disk")]
pub(crate) use synced::SyncCheck;

/// Returns the absolute path of a file, which may not exist yet, without links in it: each of its
/// names leads to the same file and to the same files beside it.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let path = std::path::absolute(path)?;
            match (path.parent(), path.file_name()) {
                (Some(folder), Some(name)) => {
                    Ok(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name))
                }
                _ => Ok(path),
            }
        }
        path => path,
    }
}
