//! Files that are replaced as a whole.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// The users who may read a file that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its owner, on systems with file permissions.
    Owner,
    /// Those who could read it before; of a new file, its owner.
    #[cfg(feature = "cli")]
    Unchanged,
}

/// Replaces a file as a whole, and makes it if it does not exist. A link stays, and the file it
/// leads to is replaced. Nothing that lies beside it is written to.
pub(crate) fn replace(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let path = super::real(path)?;
    let staged = staged(&path, bytes)?;
    if access != Access::Owner
        && let Ok(metadata) = fs::metadata(&path)
    {
        staged.as_file().set_permissions(metadata.permissions())?;
    }
    staged.as_file().sync_all()?;
    staged.persist(&path)?;
    Ok(())
}

/// Makes a file for its owner, whole or not at all. A file or a link that is there is an error.
#[cfg(feature = "cli")]
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let staged = staged(&path, bytes)?;
    staged.as_file().sync_all()?;
    staged.persist_noclobber(&path)?;
    Ok(())
}

/// Returns a file beside `path` with its bytes, for its owner from the first byte.
fn staged(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let mut staged = NamedTempFile::new_in(folder)?;
    staged.write_all(bytes)?;
    Ok(staged)
}
