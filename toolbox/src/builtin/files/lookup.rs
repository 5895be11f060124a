//! Resolves a path of the model to a file inside of the workspace, or to the reason why there is
//! none.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::builtin::workspace::Workspace;
use crate::text::is_invisible;

impl Workspace {
    /// Reads a path of the model: relative, and without `..`.
    pub(super) fn relative(path: &str) -> Result<PathBuf, WorkspaceError> {
        let refused = |why| Err(WorkspaceError::Path { path: path.to_owned(), why });
        if path.contains('\0') {
            return refused("it holds a NUL character");
        }
        if path.contains("://") || path.starts_with("file:") {
            return refused("it is a URL");
        }
        let drive =
            path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
        if path.starts_with(['/', '\\']) || drive {
            return refused("it is absolute");
        }
        if path == "~" || path.starts_with("~/") {
            return refused("`~` is outside of the workspace");
        }
        let mut relative = PathBuf::new();
        for component in Path::new(path).components() {
            match component {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir => return refused("it goes up with `..`"),
                Component::RootDir | Component::Prefix(_) => return refused("it is absolute"),
            }
        }
        if relative.as_os_str().is_empty() {
            relative.push(".");
        }
        Ok(relative)
    }

    /// Opens a file to read it. Anything but an ordinary file is refused, without waiting for it.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, Metadata), WorkspaceError> {
        self.open_file_in(self.dir(), path, path)
    }

    /// Opens a file of a folder to read it. `path` is its name in messages.
    pub(super) fn open_file_in(
        &self,
        dir: &Dir,
        name: &Path,
        path: &Path,
    ) -> Result<(File, Metadata), WorkspaceError> {
        let (file, metadata) =
            open_at_once(dir, name).map_err(|error| WorkspaceError::of(path, error))?;
        if !metadata.is_file() {
            let what = if metadata.is_dir() { "a folder" } else { "no ordinary file" };
            return Err(WorkspaceError::NotAFile { path: path.to_owned(), what });
        }
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            if !self.hard_links && metadata.nlink() > 1 {
                return Err(WorkspaceError::HardLink(path.to_owned()));
            }
        }
        Ok((file, metadata))
    }

    /// Finds the location at which a file may be written, without changing anything. Symbolic links
    /// are followed, as long as they stay inside.
    pub(super) fn locate(&self, path: &Path) -> Result<Location, WorkspaceError> {
        let names = names(path);
        self.permit(path, &names)?;
        // Protection applies to the real path, not only to its spelling.
        let (mut names, there) = self.resolve(path)?;
        self.permit(path, &names)?;
        let Some(name) = names.pop() else {
            return Err(WorkspaceError::NotAFile { path: path.to_owned(), what: "a folder" });
        };
        Ok(Location { folders: names, there, name })
    }

    /// Returns the names that lead to a path, without links, and the number of folders among them
    /// that exist. A name that does not exist yet is kept.
    pub(super) fn resolve(&self, path: &Path) -> Result<(Vec<OsString>, usize), WorkspaceError> {
        let failed = |error| WorkspaceError::of(path, error);
        let mut path_now = path.to_owned();
        // The number of links that the system follows.
        for _ in 0..40 {
            let (Some(name), Some(parent)) = (path_now.file_name(), path_now.parent()) else {
                let names = names(&self.dir().canonicalize(&path_now).map_err(failed)?);
                let there = names.len();
                return Ok((names, there));
            };
            let (mut folders, there) = self.resolve_folder(parent).map_err(failed)?;
            let folder: PathBuf = folders.iter().collect();
            let whole = folder.join(name);
            match self.dir().symlink_metadata(&whole) {
                Ok(metadata) if metadata.is_symlink() => {
                    let target = self.dir().read_link_contents(&whole).map_err(failed)?;
                    if target.is_absolute() {
                        return Err(WorkspaceError::Outside(path.to_owned()));
                    }
                    path_now = folder.join(target);
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                // A dangling link.
                Err(error) if path_now != path => return Err(failed(error)),
                _ => {
                    folders.push(name.to_owned());
                    return Ok((folders, there));
                }
            }
        }
        Err(WorkspaceError::Links(path.to_owned()))
    }

    /// Returns the names that lead to a folder, and the number of them that exist.
    ///
    /// A file is not resolved this way, since the system cannot return the path of one that is
    /// being replaced.
    fn resolve_folder(&self, path: &Path) -> io::Result<(Vec<OsString>, usize)> {
        let mut there = path;
        let mut missing = Vec::new();
        loop {
            let name = if there.as_os_str().is_empty() { Path::new(".") } else { there };
            match self.dir().canonicalize(name) {
                Ok(found) => {
                    let mut resolved = names(&found);
                    let there = resolved.len();
                    resolved.extend(missing.into_iter().rev());
                    return Ok((resolved, there));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let is_there = self.dir().symlink_metadata(name).is_ok();
                    let (Some(name), Some(parent), false) =
                        (there.file_name(), there.parent(), is_there)
                    else {
                        return Err(error);
                    };
                    missing.push(name.to_owned());
                    there = parent;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Refuses protected paths.
    fn permit(&self, path: &Path, names: &[OsString]) -> Result<(), WorkspaceError> {
        let stands = |folders: usize, entry: &str| {
            let folder: PathBuf = names[..folders].iter().collect();
            self.dir().symlink_metadata(folder.join(entry)).is_ok()
        };
        match self.protected.find(names, stands) {
            None => Ok(()),
            Some(protected) => Err(WorkspaceError::Protected {
                path: path.to_owned(),
                read_by: protected.read_by().to_owned(),
            }),
        }
    }
}

/// The location of a file that exists or could be created: the names of its folders, none of which
/// is a link, and its own.
pub(super) struct Location {
    folders: Vec<OsString>,
    /// The number of folders that exist.
    there: usize,
    pub(super) name: OsString,
}

impl Location {
    /// Returns the whole path, the same for every spelling of a file.
    pub(super) fn path(&self) -> PathBuf {
        self.folders.iter().chain([&self.name]).collect()
    }

    /// Opens the folder, name by name: a folder that became a link since it was located is not
    /// followed.
    pub(super) fn open_folder(&self, workspace: &Workspace) -> io::Result<Dir> {
        let mut dir = workspace.dir().try_clone()?;
        for name in &self.folders {
            dir = open_inner(&dir, name)?;
        }
        Ok(dir)
    }

    /// Opens the folder, and creates missing ones.
    pub(super) fn make_folder(&self, workspace: &Workspace) -> io::Result<Dir> {
        let mut dir = workspace.dir().try_clone()?;
        for (at, name) in self.folders.iter().enumerate() {
            dir = match open_inner(&dir, name) {
                // A folder that existed and is gone was moved: it is not created again at its old
                // place.
                Err(error) if error.kind() == io::ErrorKind::NotFound && at >= self.there => {
                    match dir.create_dir(name) {
                        // Another call created it first.
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        made => made?,
                    }
                    open_inner(&dir, name)?
                }
                opened => opened?,
            };
        }
        Ok(dir)
    }
}

/// Opens a folder in a folder, unless it is a link.
fn open_inner(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        let mut options = OpenOptions::new();
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        options.read(true).custom_flags(flags.bits().cast_signed());
        Ok(Dir::from_std_file(dir.open_with(name, &options)?.into_std()))
    }
    #[cfg(not(unix))]
    {
        if dir.symlink_metadata(name)?.is_symlink() {
            return Err(io::Error::other("a link took the place of the folder"));
        }
        dir.open_dir(name)
    }
}

/// The names of a path.
fn names(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

/// Opens an entry without blocking, as a pipe without a writer would.
pub(super) fn open_at_once(dir: &Dir, path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    let file = dir.open_with(path, &options)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// An error of a path or a file in a workspace. Its text is for the model.
#[derive(Debug)]
pub(super) enum WorkspaceError {
    Path {
        path: String,
        why: &'static str,
    },
    Outside(PathBuf),
    Links(PathBuf),
    NotFound(PathBuf),
    NotAFile {
        path: PathBuf,
        what: &'static str,
    },
    #[cfg_attr(not(unix), expect(dead_code, reason = "names are not counted there"))]
    HardLink(PathBuf),
    Protected {
        path: PathBuf,
        read_by: String,
    },
    Io {
        path: PathBuf,
        error: io::Error,
    },
}

impl WorkspaceError {
    pub(super) fn of(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path),
            // Errors of the system have a number; those without are of `cap_std`.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                Self::Outside(path)
            }
            _ => Self::Io { path, error },
        }
    }
}

impl fmt::Display for WorkspaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { path, why } => write!(
                f,
                "`{}` cannot be used: {why}; paths are relative to the workspace, such as `src/main.rs`",
                path.escape_debug()
            ),
            Self::Outside(path) => write!(f, "`{}` leads out of the workspace", display_path(path)),
            Self::Links(path) => write!(f, "`{}` is a link of too many links", display_path(path)),
            Self::NotFound(path) => {
                write!(
                    f,
                    "`{}` does not exist; `file_list` shows what there is",
                    display_path(path)
                )
            }
            Self::NotAFile { path, what } => write!(f, "`{}` is {what}", display_path(path)),
            Self::HardLink(path) => write!(
                f,
                "`{}` is a hard link, and may be a file outside of the workspace; it is not read",
                display_path(path)
            ),
            Self::Protected { path, read_by } => write!(
                f,
                "`{}` is protected: it can be read, but not changed, since it is configuration of {read_by}",
                display_path(path)
            ),
            Self::Io { path, error } => write!(f, "`{}`: {error}", display_path(path)),
        }
    }
}

impl std::error::Error for WorkspaceError {}

/// Returns a path as it is displayed to a model and a terminal: with `/`, and with control
/// characters escaped.
pub(super) fn display_path(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', if cfg!(windows) { "/" } else { "\\" });
    let mut display_path = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) || matches!(c, '\n' | '\t') {
            display_path.extend(c.escape_unicode());
        } else {
            display_path.push(c);
        }
    }
    display_path
}
