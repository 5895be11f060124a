//! A folder that is held by its handle: what a model names is looked up inside of it, and nowhere else.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::unseen::is_unseen;

/// A folder that tools may work in.
///
/// It is held as a handle, not as a path: every lookup starts at the handle and is resolved step by step inside of it (with
/// `openat2` where the system has it), so that neither `..`, nor an absolute path, nor a symbolic link, nor a folder that
/// is exchanged for a link in the middle of a lookup leads out. Links that stay inside work. Renaming or replacing the folder
/// itself does not move the handle.
///
/// Cloning is cheap, and gives the same folder.
///
/// Two things are beyond a handle. A *hard link* inside to a file outside is the same file to the system: files with several
/// names are refused, unless [`allow_hard_links`](Self::allow_hard_links) says otherwise. And what another program does in
/// the folder, such as a shell, is confined by whoever starts that program.
#[derive(Clone)]
pub struct Workspace {
    dir: Arc<Dir>,
    path: Arc<Path>,
    /// Folded paths of what is read and not changed.
    pub(super) protected: Arc<[String]>,
    /// Whether a file with several names is read.
    pub(super) hard_links: bool,
}

/// What cannot be changed by tools, unless [`Workspace::protect`] says otherwise: files that other programs obey.
const PROTECTED: [&str; 8] = [
    ".git/config",
    ".git/hooks",
    ".git/info",
    ".git/modules",
    ".mcp.json",
    ".vscode/mcp.json",
    ".cursor/mcp.json",
    "toolbox.jsonc",
];

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
            protected: PROTECTED.iter().map(|&path| folded(path)).collect(),
            hard_links: false,
        })
    }

    /// Replaces the list of files and folders that tools may read, but not change. They are compared without regard to case
    /// and to characters that cannot be seen, as some file systems do.
    ///
    /// Default: what decides over other programs, namely `config`, `hooks`, `info` and `modules` in `.git`, the files `mcp.json` of
    /// editors, `.mcp.json` and `toolbox.jsonc`.
    #[must_use]
    pub fn protect<P: AsRef<str>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.protected =
            paths.into_iter().map(|path| folded(path.as_ref().trim_matches('/'))).collect();
        self
    }

    /// Says whether files that have several names may be read. Default no, since one of the names may be outside.
    ///
    /// They are never written through: a write puts a new file in place of the name.
    #[must_use]
    pub fn allow_hard_links(mut self, allow: bool) -> Self {
        self.hard_links = allow;
        self
    }

    /// Returns the path it was opened by, made absolute. It is for messages and for programs that run in the folder; no lookup uses it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The handle.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Spells a path as a forgiving file system would compare it: in small letters, without dots and blanks at the ends of names
/// and without characters that cannot be seen.
pub(super) fn folded(path: &str) -> String {
    let seen = |c: &char| !is_unseen(*c);
    let names = path.split(['/', '\\']).map(|name| {
        let name: String = name.chars().filter(seen).flat_map(char::to_lowercase).collect();
        let short = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
        if short == "git~1" { ".git".to_owned() } else { short.to_owned() }
    });
    names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/")
}
