//! Marks files of a workspace that were written in a tainted conversation.
//!
//! Such a file carries an extended attribute, which other processes see and which is kept when the
//! file is renamed; the folder of the workspace carries one as well. On file systems without such
//! attributes, this process remembers the files. A command can write anything, so while one runs in
//! a tainted conversation, the whole workspace is marked, and afterwards the files that were
//! changed since: the change time of a file's entry can only be set by the kernel.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(unix)]
use cap_std::fs::MetadataExt as _;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::workspace::Workspace;
use crate::context::{Taint, ToolContext};
use crate::sync::Mutex;

/// The attribute. Its value on the folder says which part of it is marked.
const NAME: &str = "user.toolbox.tainted";
const FILE: &[u8] = b"file";
const SOME: &[u8] = b"some";
const ALL: &[u8] = b"all";

/// The maximum lag of a file system's times behind the clock.
const GRAIN: Duration = Duration::from_millis(50);

/// The maximum number of entries that are visited after a command; where there are more, the whole
/// workspace is marked.
const LOOKED_AT: usize = 20_000;

/// The maximum depth of folders that are visited.
const DEEPEST: usize = 64;

/// The taint of a workspace known to this process, by the device and the number of its folder.
#[derive(Default)]
struct WorkspaceTaint {
    some: bool,
    all: bool,
    files: HashSet<String>,
    /// The number of running commands of tainted conversations.
    commands: usize,
    /// `true` if the whole workspace was marked before the first of them.
    was_all: bool,
}

fn known() -> MutexGuard<'static, HashMap<(u64, u64), WorkspaceTaint>> {
    static KNOWN: LazyLock<Mutex<HashMap<(u64, u64), WorkspaceTaint>>> =
        LazyLock::new(Mutex::default);
    KNOWN.lock()
}

/// Returns the key of a file: file systems without attributes tend to ignore case.
fn key(path: &Path) -> String {
    path.to_string_lossy().to_lowercase()
}

impl Workspace {
    /// Returns `true` if something in the workspace was written in a
    /// [tainted](crate::context::Taint) conversation: by a tool, or by a command.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.with_known(|known| known.some || known.all) || self.mark().is_some()
    }

    /// Removes the mark from the workspace, after a person has reviewed it. A single file keeps its
    /// own until it is written again in a conversation that is not tainted, or until the attribute
    /// `user.toolbox.tainted` is removed from it.
    ///
    /// # Errors
    ///
    /// Those of the system, where the attribute cannot be removed.
    pub fn forget_taint(&self) -> io::Result<()> {
        self.with_known(|known| *known = WorkspaceTaint::default());
        if self.mark().is_none() {
            return Ok(());
        }
        attribute::remove(&self.dir().open(".")?)
    }

    /// Records that a file is about to be written; returns `true` if it has to be marked then.
    /// `keeps` is `true` if a part of its content stays.
    pub(super) fn before_write(&self, path: &Path, context: &ToolContext, keeps: bool) -> bool {
        if !context.is_tainted() {
            return keeps && self.is_file_tainted(path);
        }
        // Before the file exists, so that no reader finds it unmarked.
        self.with_known(|known| {
            known.some = true;
            known.files.insert(key(path));
        });
        if self.mark().is_none() {
            self.set_mark(SOME);
        }
        true
    }

    /// Marks a file that was written, or records that it holds no text of others any more.
    pub(super) fn after_write(&self, path: &Path, is_tainted: bool) {
        if !is_tainted {
            self.with_known(|known| known.files.remove(&key(path)));
            // A file that is replaced passes its attributes on to the new one.
            if let Ok(file) = open(self.dir(), path)
                && attribute::get(&file).is_some()
                && let Err(error) = attribute::remove(&file)
            {
                tracing::debug!(%error, "the mark of a file cannot be taken off");
            }
            return;
        }
        let marked = open(self.dir(), path).and_then(|file| attribute::set(&file, FILE));
        if let Err(error) = marked {
            tracing::debug!(%error, "a file cannot be marked; this process remembers it");
        }
    }

    /// Taints the conversation that has read a file, if the file is marked.
    pub(super) fn after_read(&self, path: &Path, context: &ToolContext) {
        if let Some(taint) = context.get::<Taint>()
            && (self.is_file_tainted(path) || self.is_all_tainted())
        {
            taint.mark();
        }
    }

    /// Taints the conversation that has seen names or lines of any files, if some are marked.
    pub(super) fn after_look(&self, context: &ToolContext) {
        if let Some(taint) = context.get::<Taint>()
            && self.is_tainted()
        {
            taint.mark();
        }
    }

    /// Records that a command runs, which may read and write anything, until the returned value is
    /// dropped.
    pub(super) fn command<'a>(&'a self, context: &'a ToolContext) -> Command<'a> {
        let since = context.is_tainted().then(|| {
            let was_all = self.is_all_tainted();
            self.with_known(|known| {
                if known.commands == 0 {
                    known.was_all = was_all;
                }
                known.commands += 1;
                known.all = true;
            });
            self.set_mark(ALL);
            SystemTime::now().checked_sub(GRAIN).unwrap_or(UNIX_EPOCH)
        });
        Command { workspace: self, context, since }
    }

    /// Marks the files that were changed since a command began, or the whole workspace if they
    /// cannot be determined.
    fn after_command(&self, since: SystemTime) {
        let mut changed = Vec::new();
        let mut left = LOOKED_AT;
        let has_looked = walk(self.dir(), Path::new(""), since, &mut left, &mut changed).is_ok();
        for path in &changed {
            self.with_known(|known| {
                known.some = true;
                known.files.insert(key(path));
            });
            self.after_write(path, true);
        }
        let stays = self.with_known(|known| {
            known.commands = known.commands.saturating_sub(1);
            known.all = known.was_all || !has_looked || known.commands > 0;
            known.was_all |= !has_looked;
            (known.all, known.some || !changed.is_empty())
        });
        // The command may have removed earlier marks, and it runs no longer.
        match stays {
            (true, _) => self.set_mark(ALL),
            (false, true) => self.set_mark(SOME),
            (false, false) => drop(self.dir().open(".").map(|folder| attribute::remove(&folder))),
        }
    }

    fn is_file_tainted(&self, path: &Path) -> bool {
        let name = key(path);
        self.with_known(|known| known.files.contains(&name))
            || open(self.dir(), path).is_ok_and(|file| attribute::get(&file).is_some())
    }

    fn is_all_tainted(&self) -> bool {
        self.with_known(|known| known.all) || self.mark().as_deref() == Some(ALL)
    }

    fn mark(&self) -> Option<Vec<u8>> {
        attribute::get(&self.dir().open(".").ok()?)
    }

    fn set_mark(&self, how: &[u8]) {
        let set = self.dir().open(".").and_then(|folder| attribute::set(&folder, how));
        if let Err(error) = set {
            tracing::debug!(%error, "a workspace cannot be marked; this process remembers it");
        }
    }

    fn with_known<T>(&self, with: impl FnOnce(&mut WorkspaceTaint) -> T) -> T {
        #[cfg(unix)]
        let id = self.dir().dir_metadata().map(|about| (about.dev(), about.ino()));
        #[cfg(not(unix))]
        let id: io::Result<(u64, u64)> = Ok((0, 0));
        with(known().entry(id.unwrap_or_default()).or_default())
    }
}

/// A running command in a workspace.
pub(super) struct Command<'a> {
    workspace: &'a Workspace,
    context: &'a ToolContext,
    /// The time it began, in a tainted conversation.
    since: Option<SystemTime>,
}

impl Drop for Command<'_> {
    fn drop(&mut self) {
        match self.since {
            Some(since) => self.workspace.after_command(since),
            None => self.workspace.after_look(self.context),
        }
    }
}

/// Finds the files below a folder that were changed since a time. Fails if a folder cannot be read,
/// if there are more than `left` entries, or if folders nest too deep.
fn walk(
    dir: &Dir,
    at: &Path,
    since: SystemTime,
    left: &mut usize,
    changed: &mut Vec<PathBuf>,
) -> io::Result<()> {
    if at.components().count() > DEEPEST {
        return Err(io::ErrorKind::QuotaExceeded.into());
    }
    for entry in dir.entries()? {
        let entry = entry?;
        *left = left.checked_sub(1).ok_or(io::ErrorKind::QuotaExceeded)?;
        let (path, kind) = (at.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            walk(&entry.open_dir()?, &path, since, left, changed)?;
        } else if kind.is_file() && changed_at(&entry.metadata()?) >= since {
            changed.push(path);
        }
    }
    Ok(())
}

/// Returns the change time of the entry of a file, which no program can set.
#[cfg(unix)]
fn changed_at(metadata: &Metadata) -> SystemTime {
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    let after = Duration::new(u64::try_from(metadata.ctime()).unwrap_or_default(), nanoseconds);
    UNIX_EPOCH.checked_add(after).unwrap_or_else(SystemTime::now)
}

#[cfg(not(unix))]
fn changed_at(_: &Metadata) -> SystemTime {
    SystemTime::now()
}

/// Opens the file at a path without blocking, a pipe without a writer included.
fn open(dir: &Dir, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;

        let at_once = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(i32::try_from(at_once).unwrap_or_default());
    }
    dir.open_with(path, &options)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod attribute {
    use std::io;

    use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};

    pub(super) fn get(file: &cap_std::fs::File) -> Option<Vec<u8>> {
        let mut value = vec![0; 16];
        let length = fgetxattr(file, super::NAME, &mut value[..]).ok()?;
        value.truncate(length);
        Some(value)
    }

    pub(super) fn set(file: &cap_std::fs::File, value: &[u8]) -> io::Result<()> {
        Ok(fsetxattr(file, super::NAME, value, XattrFlags::empty())?)
    }

    pub(super) fn remove(file: &cap_std::fs::File) -> io::Result<()> {
        Ok(fremovexattr(file, super::NAME)?)
    }
}

/// On other systems only this process remembers the files.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod attribute {
    use std::io;

    pub(super) fn get(_: &cap_std::fs::File) -> Option<Vec<u8>> {
        None
    }

    pub(super) fn set(_: &cap_std::fs::File, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn remove(_: &cap_std::fs::File) -> io::Result<()> {
        Ok(())
    }
}
