//! Files of a workspace: `file_read`, `file_list`, `file_search`, `file_write`, `file_edit`.

mod access;
mod error;
mod lock;
mod lookup;
mod read;
mod staged;
mod versions;
mod walk;
mod write;

use std::io;
use std::path::Path;
use std::time::Duration;

use self::access::{FileAccess, FileLimits};
use self::error::FileError;
use self::versions::Versions;
use super::workspace::Workspace;
use crate::call::ToolResult;
use crate::context::ToolContext;
use crate::toolset;

/// The files of a workspace as tools.
///
/// | tool | does |
/// |---|---|
/// | `file_read` | gives the text of a file or of some of its lines; an image as an image |
/// | `file_list` | lists a folder, or everything below it |
/// | `file_search` | finds the lines that match a regular expression |
/// | `file_write` | puts a file in place, whole |
/// | `file_edit` | replaces a piece of text in a file |
///
/// None of them leaves the [`Workspace`]. The size of writes is limited
/// ([`max_write_bytes`](Self::max_write_bytes)), and so is the size of replies. Files that other
/// programs take for configuration are read and not changed: see
/// [`ProtectedPaths`](super::ProtectedPaths).
///
/// # Changes
///
/// A change is complete or did not happen: the text goes to a new file, to the disk, and then takes
/// the name of the old one. A result that says so is given when the folder is on the disk too.
///
/// - *Concurrent changes.* A change holds a lock of the folder that the file is in (`flock` on
///   Unix, which ends with the process): other calls, other `Files` and other processes on this
///   machine that use this crate wait, each at most [`lock_timeout`](Self::lock_timeout), and no
///   change is lost to another. On other systems it is a lock of the process. A network file system
///   may keep such locks to one machine.
/// - *Changes since it was read.* `file_edit` applies to the content of the file at that moment, so
///   it needs no earlier read. `file_write` fails if the conversation has read or written the file
///   before, whole or in part, and it holds something else by now. A conversation is identified by
///   the [`Principal`](crate::context::Principal) and the
///   [`Conversation`](crate::context::Conversation) of the call, or, without the latter, by the run
///   of the agent; calls that have none of these count as one. The last 8192 files are remembered.
/// - *Programs that take no lock.* Both read the file again right before the new file replaces it,
///   and fail if the content changed. A write of such a program between this check and the
///   renaming, some microseconds, is lost.
/// - *A process that is killed* leaves the old file or the new one. On Linux the new file has no
///   name until it is complete; where it had one already, as `.toolbox-` and 32 random digits, that
///   file is left behind. It can be deleted at any time.
///
/// # What a file keeps
///
/// The new file has the owner, the group, the permissions, the POSIX access list and the `user.`
/// attributes of the one that it replaces, and permits nothing more at any time; if one of them
/// cannot be kept, the call fails. Set-user-ID and set-group-ID bits, capabilities and other
/// attributes are not kept. A new file has the permissions of the `umask` and the folder. Replacing
/// a file is subject to the permissions of its folder, as any renaming is: a file without write
/// permission can be replaced. A hard link becomes a file of its own.
///
/// ```
/// use toolbox::builtin::files::Files;
/// use toolbox::{ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("toolbox-files-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let toolbox = ToolBox::from(Files::in_folder(&folder)?);
///
/// let arguments = r#"{"path": "notes/today.txt", "content": "water the plants\n"}"#;
/// let call = ToolCall::new("1", "file_write", arguments);
/// assert_eq!(toolbox.call(call).await.text(), "created `notes/today.txt`: 1 line, 17 bytes");
///
/// let call = ToolCall::new("2", "file_read", r#"{"path": "../secrets"}"#);
/// assert!(toolbox.call(call).await.is_error());
/// # std::fs::remove_dir_all(&folder)
/// # }
/// ```
#[derive(Debug)]
pub struct Files {
    access: FileAccess,
}

impl Files {
    /// Returns the tools for a workspace.
    #[must_use]
    pub fn new(workspace: Workspace) -> Self {
        let limits = FileLimits {
            reply: 48 << 10,
            write: 8 << 20,
            scan: 256 << 20,
            lock: Duration::from_secs(20),
        };
        Self { access: FileAccess { workspace, limits, versions: Versions::default() } }
    }

    /// Opens a folder as a workspace, and returns the tools for it.
    ///
    /// # Errors
    ///
    /// Those of [`Workspace::open`].
    pub fn in_folder(path: impl AsRef<Path>) -> io::Result<Self> {
        Workspace::open(path).map(Self::new)
    }

    /// Limits the text of one reply, in bytes. Default 48 KiB. The reply says what is left out, and
    /// how to read on.
    #[must_use]
    pub fn max_reply_bytes(mut self, bytes: usize) -> Self {
        self.access.limits.reply = bytes.max(256);
        self
    }

    /// Limits the size of a write, and of a file that can be edited, in bytes. Default 8 MiB.
    #[must_use]
    pub fn max_write_bytes(mut self, bytes: usize) -> Self {
        self.access.limits.write = bytes;
        self
    }

    /// Limits the time that a change waits for other changes in the same folder. Default 20
    /// seconds; then the call fails, and says so.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.access.limits.lock = timeout;
        self
    }
}

#[toolset]
impl Files {
    /// Reads a text file, or some of its lines. An image is returned as an image.
    #[tool(blocking, read_only, idempotent, open_world = false, tags("files"))]
    fn file_read(
        &self,
        /// Path relative to the workspace
        path: &str,
        /// First line to read, counted from 1
        #[arg(default = 1, range = 1..)]
        start_line: u64,
        /// Last line to read
        #[arg(range = 1..)]
        end_line: Option<u64>,
        context: &ToolContext,
    ) -> ToolResult {
        let lines = start_line..=end_line.unwrap_or(u64::MAX);
        let read = Workspace::relative(path).map_err(Into::into).and_then(|path| {
            let read = read::read(&self.access, &path, lines, context);
            self.access.workspace.after_read(&path, context);
            read
        });
        read.unwrap_or_else(FileError::into_result)
    }

    /// Lists the files and folders of a folder. Folders end with `/`.
    #[tool(blocking, read_only, idempotent, open_world = false, tags("files"))]
    fn file_list(
        &self,
        /// Folder relative to the workspace
        #[arg(default = ".")]
        path: &str,
        /// List everything below as well, without what `.gitignore` leaves out
        #[arg(default)]
        recursive: bool,
        /// List only files that match, such as `*.rs` or `src/**/*.rs`
        glob: Option<&str>,
        /// Where the list before ended; gives what follows
        after: Option<&str>,
        context: &ToolContext,
    ) -> ToolResult {
        let request = walk::ListRequest { recursive, glob, after };
        let listed = Workspace::relative(path).map_err(Into::into).and_then(|path| {
            walk::list(&self.access.workspace, &path, &request, &self.access.limits, context)
        });
        self.access.workspace.after_look(context);
        listed.map_or_else(FileError::into_result, ToolResult::new)
    }

    #[doc = " Finds the lines of text files that match a regular expression. Gives `path:line: \
        text`; leaves out what `.gitignore` does."]
    #[tool(blocking, read_only, idempotent, open_world = false, tags("files"))]
    fn file_search(
        &self,
        /// Regular expression, such as `fn \w+_test`; begin with `(?i)` to ignore case
        #[arg(length = 1..=1000)]
        pattern: &str,
        /// Folder or file to search, relative to the workspace
        #[arg(default = ".")]
        path: &str,
        /// Search only files that match, such as `*.rs`
        glob: Option<&str>,
        /// How many lines to return
        #[arg(default = 100, range = 1..=1000)]
        limit: usize,
        context: &ToolContext,
    ) -> ToolResult {
        let found = Workspace::relative(path).map_err(Into::into).and_then(|path| {
            let query = walk::SearchRequest { pattern, glob, limit };
            walk::search(&self.access.workspace, &path, &query, &self.access.limits, context)
        });
        self.access.workspace.after_look(context);
        found.map_or_else(FileError::into_result, ToolResult::new)
    }

    /// Writes a file whole. Makes the folders it needs; replaces a file that is there.
    #[tool(blocking, destructive, idempotent, open_world = false, tags("files"))]
    fn file_write(
        &self,
        /// Path relative to the workspace
        path: &str,
        /// The whole text of the file
        content: &str,
        call: &ToolContext,
    ) -> ToolResult {
        let written = Workspace::relative(path).map_err(Into::into).and_then(|path| {
            let is_tainted = self.access.workspace.before_write(&path, call, false);
            let written = write::write(&self.access, &path, content, call)?;
            self.access.workspace.after_write(&path, is_tainted);
            Ok(written)
        });
        written.map_or_else(FileError::into_result, ToolResult::new)
    }

    #[doc = " Replaces a piece of text in a file. The piece must be there exactly once, blanks and \
        line breaks included."]
    #[tool(blocking, destructive, open_world = false, tags("files"))]
    fn file_edit(
        &self,
        /// Path relative to the workspace
        path: &str,
        /// The text to replace, with enough around it to be the only such place
        #[arg(length = 1..)]
        old_text: &str,
        /// What stands there afterwards
        new_text: &str,
        /// Replace every place instead of the only one
        #[arg(default)]
        replace_all: bool,
        context: &ToolContext,
    ) -> ToolResult {
        let edit = write::Edit { old: old_text, new: new_text, everywhere: replace_all };
        let edited = Workspace::relative(path).map_err(Into::into).and_then(|path| {
            let is_tainted = self.access.workspace.before_write(&path, context, true);
            let edited = write::edit(&self.access, &path, &edit, context)?;
            self.access.workspace.after_write(&path, is_tainted);
            Ok(edited)
        });
        edited.map_or_else(FileError::into_result, ToolResult::new)
    }
}
