//! Which files of a workspace were written in a conversation that had read what others wrote.
//!
//! Such a file carries an extended attribute, which other processes see and which goes along when it is renamed; the folder
//! of the workspace carries one as well. Where the file system keeps no such attributes, this process remembers. A command can
//! write whatever it likes, so while one runs in a tainted conversation, all of the workspace is marked, and afterwards what
//! was changed since: the time of the last change of a file's entry is the kernel's to set.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(unix)]
use cap_std::fs::MetadataExt as _;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::workspace::Workspace;
use crate::context::{Taint, ToolContext};

/// The attribute. On the folder it says how much of it is meant.
const NAME: &str = "user.toolbox.tainted";
const FILE: &[u8] = b"file";
const SOME: &[u8] = b"some";
const ALL: &[u8] = b"all";

/// How far the times of a file system may lie behind the clock.
const GRAIN: Duration = Duration::from_millis(50);

/// Entries that are looked at after a command; where there are more, all of the workspace is marked.
const LOOKED_AT: usize = 20_000;

/// How deep folders are looked into.
const DEEPEST: usize = 64;

/// What this process knows of a workspace, by the device and the number of its folder.
#[derive(Default)]
struct Known {
    some: bool,
    all: bool,
    files: HashSet<String>,
    /// Commands of tainted conversations at work.
    commands: usize,
    /// Whether all was marked before the first of them.
    was_all: bool,
}

fn known() -> MutexGuard<'static, HashMap<(u64, u64), Known>> {
    static KNOWN: LazyLock<Mutex<HashMap<(u64, u64), Known>>> = LazyLock::new(Mutex::default);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the name under which a file is remembered: file systems without attributes tend to ignore case.
fn key(path: &Path) -> String {
    path.to_string_lossy().to_lowercase()
}

impl Workspace {
    /// Returns whether something in the workspace was written in a [tainted](crate::context::Taint) conversation: by a tool, or by a command.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.with_known(|known| known.some || known.all) || self.mark().is_some()
    }

    /// Takes the mark off the workspace, for a person who has looked through it. A single file keeps its own until it is written
    /// anew in a conversation that is not tainted, or until the attribute `user.toolbox.tainted` is taken off it.
    ///
    /// # Errors
    ///
    /// Those of the system, where the attribute cannot be removed.
    pub fn forget_taint(&self) -> io::Result<()> {
        self.with_known(|known| *known = Known::default());
        if self.mark().is_none() {
            return Ok(());
        }
        attribute::remove(&self.dir().open(".")?)
    }

    /// Takes note that a file is about to be written; returns whether it has to carry the mark then. `keeps` says that a part of
    /// what is in it stays.
    pub(super) fn before_write(&self, path: &Path, context: &ToolContext, keeps: bool) -> bool {
        if !context.is_tainted() {
            return keeps && self.is_file_tainted(path);
        }
        // Before the file is there, so that nobody reads it clean.
        self.with_known(|known| {
            known.some = true;
            known.files.insert(key(path));
        });
        if self.mark().is_none() {
            self.set_mark(SOME);
        }
        true
    }

    /// Marks a file that was written, or takes note that it holds nothing of others any more.
    pub(super) fn after_write(&self, path: &Path, is_tainted: bool) {
        if !is_tainted {
            self.with_known(|known| known.files.remove(&key(path)));
            // A file that is replaced leaves its attributes to the new one.
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

    /// Taints the conversation that has read a file, where others had a hand in it.
    pub(super) fn after_read(&self, path: &Path, context: &ToolContext) {
        if let Some(taint) = context.get::<Taint>()
            && (self.is_file_tainted(path) || self.is_all_tainted())
        {
            taint.mark();
        }
    }

    /// Taints the conversation that has seen names or lines of any files, where others had a hand in some.
    pub(super) fn after_look(&self, context: &ToolContext) {
        if let Some(taint) = context.get::<Taint>()
            && self.is_tainted()
        {
            taint.mark();
        }
    }

    /// Takes note that a command runs, which may read and write anything, until the returned value is dropped.
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

    /// Marks what was changed since a command began, and all of the workspace where that cannot be told.
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
        // The command may have taken off what was marked before, and it runs no longer.
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

    fn with_known<T>(&self, with: impl FnOnce(&mut Known) -> T) -> T {
        #[cfg(unix)]
        let id = self.dir().dir_metadata().map(|about| (about.dev(), about.ino()));
        #[cfg(not(unix))]
        let id: io::Result<(u64, u64)> = Ok((0, 0));
        with(known().entry(id.unwrap_or_default()).or_default())
    }
}

/// A command at work in a workspace.
pub(super) struct Command<'a> {
    workspace: &'a Workspace,
    context: &'a ToolContext,
    /// When it began, in a conversation that is tainted.
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

/// Finds the files below a folder that were changed since a time. Fails where it cannot tell: a folder that cannot be read, or
/// more than `left` entries, or folders that nest too deep.
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

/// Returns when the entry of a file was last changed: no program can set that.
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

/// Opens what is at a path, a pipe that nobody writes to included.
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

/// Elsewhere this process remembers, and no other knows.
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
