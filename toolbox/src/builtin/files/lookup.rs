//! From what a model wrote as a path to a file inside of the workspace, or the reason why there is none.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::builtin::workspace::{Workspace, folded};
use crate::unseen::is_unseen;

impl Workspace {
    /// Reads what a model wrote as a path: relative, and without `..`.
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

    /// Opens a file to read it. Whatever is no ordinary file is refused, without waiting for it.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, Metadata), WorkspaceError> {
        let (file, metadata) =
            open_at_once(self.dir(), path).map_err(|error| WorkspaceError::of(path, error))?;
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

    /// Finds where a file may be written: its folder, which is made if it is not there, and its name in it. A symbolic link
    /// is followed, as long as it stays inside.
    pub(super) fn place(&self, path: &Path) -> Result<(Dir, PathBuf), WorkspaceError> {
        let failed = |error| WorkspaceError::of(path, error);
        self.permit(path)?;
        let resolved = match self.dir().symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                self.dir().canonicalize(path).map_err(failed)?
            }
            _ => path.to_owned(),
        };
        let Some(name) = resolved.file_name() else {
            return Err(WorkspaceError::NotAFile { path: path.to_owned(), what: "a folder" });
        };
        let folder = resolved.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        self.dir().create_dir_all(folder).map_err(failed)?;
        // Where the folder really is decides what is protected, not how it was spelled.
        self.permit(&self.dir().canonicalize(folder).map_err(failed)?.join(name))?;
        let dir = self.dir().open_dir(folder).map_err(failed)?;
        Ok((dir, name.into()))
    }

    /// Refuses what is protected.
    fn permit(&self, path: &Path) -> Result<(), WorkspaceError> {
        let folded = folded(&path.to_string_lossy());
        let inside = |protected: &String| {
            folded.strip_prefix(protected.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                // A repository below the root has hooks as well.
                || folded.contains(&format!("/{protected}/"))
                || folded.ends_with(&format!("/{protected}"))
        };
        if self.protected.iter().any(inside) {
            return Err(WorkspaceError::Protected(path.to_owned()));
        }
        Ok(())
    }
}

/// Opens whatever has this name, without waiting for it as a pipe that nobody writes to would make one.
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

/// Why nothing was done in a workspace. It speaks to the model.
#[derive(Debug)]
pub(super) enum WorkspaceError {
    Path { path: String, why: &'static str },
    Outside(PathBuf),
    NotFound(PathBuf),
    NotAFile { path: PathBuf, what: &'static str },
    HardLink(PathBuf),
    Protected(PathBuf),
    Io { path: PathBuf, error: io::Error },
}

impl WorkspaceError {
    pub(super) fn of(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path),
            // What the system itself refuses has a number.
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
            Self::Outside(path) => write!(f, "`{}` leads out of the workspace", shown(path)),
            Self::NotFound(path) => {
                write!(f, "`{}` does not exist; `file_list` shows what there is", shown(path))
            }
            Self::NotAFile { path, what } => write!(f, "`{}` is {what}", shown(path)),
            Self::HardLink(path) => write!(
                f,
                "`{}` is a hard link, and may be a file outside of the workspace; it is not read",
                shown(path)
            ),
            Self::Protected(path) => {
                write!(f, "`{}` is protected: it can be read, but not changed", shown(path))
            }
            Self::Io { path, error } => write!(f, "`{}`: {error}", shown(path)),
        }
    }
}

impl std::error::Error for WorkspaceError {}

/// A path as a model and a terminal may read it: with `/`, and with control characters escaped.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', if cfg!(windows) { "/" } else { "\\" });
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) || c == '\n' || c == '\t' {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}
