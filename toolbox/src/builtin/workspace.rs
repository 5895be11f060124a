//! A folder held by its handle: paths of a model are resolved inside of it, and nowhere else.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

#[cfg(feature = "files")]
use super::protected::ProtectedPaths;

/// A folder that tools may work in.
///
/// It is held as a handle, not as a path: every lookup starts at the handle and is resolved step by
/// step inside of it (with `openat2` where the system has it), so that neither `..`, nor an
/// absolute path, nor a symbolic link, nor a folder that is exchanged for a link in the middle of a
/// lookup leads out. Links that stay inside work. Renaming or replacing the folder itself does not
/// move the handle.
///
/// Cloning is cheap, and gives the same folder.
///
/// Two things are beyond a handle. A *hard link* inside to a file outside is the same file to the
/// system: files with several names are refused, unless
/// [`allow_hard_links`](Self::allow_hard_links) is set. And another program in the folder, such as
/// a shell, has to be confined by the program that starts it.
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::builtin::Workspace;
/// use toolbox::builtin::files::Files;
///
/// # fn folder() -> std::io::Result<()> {
/// let workspace = Workspace::open("project")?;
/// let toolbox = ToolBox::from(Files::new(workspace)); // nothing outside of `project`
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Workspace {
    dir: Arc<Dir>,
    path: Arc<Path>,
    /// The files that are read and not changed.
    #[cfg(feature = "files")]
    pub(super) protected: Arc<ProtectedPaths>,
    /// `true` if files with several names may be read.
    pub(super) hard_links: bool,
}

impl Workspace {
    /// Opens a folder. The path may be relative, and may end with a slash.
    ///
    /// # Errors
    ///
    /// Those of the system: it is not there, is no folder, or may not be opened.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self {
            dir: Arc::new(dir),
            path: std::path::absolute(path)?.into(),
            #[cfg(feature = "files")]
            protected: Arc::default(),
            hard_links: false,
        })
    }

    /// Replaces the list of files and folders that [`Files`](super::files::Files) may read, but not
    /// change.
    ///
    /// Default: [`ProtectedPaths::default`], the paths that other programs take for configuration
    /// that runs something.
    #[cfg(feature = "files")]
    #[must_use]
    pub fn protect(mut self, paths: impl Into<ProtectedPaths>) -> Self {
        self.protected = Arc::new(paths.into());
        self
    }

    /// Allows files with several names to be read. Default: they may not, since one of the names
    /// may be outside.
    ///
    /// They are never written through: a write puts a new file in place of the name.
    #[must_use]
    pub fn allow_hard_links(mut self, allow: bool) -> Self {
        self.hard_links = allow;
        self
    }

    /// Returns the path it was opened by, made absolute. It is for messages and for programs that
    /// run in the folder; no lookup uses it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the handle.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").field("path", &self.path).finish_non_exhaustive()
    }
}
