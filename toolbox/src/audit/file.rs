//! The files of an audit log: one that is written, and those that were full before it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::AuditError;
use super::line::{self, AuditEntry, AuditLine, GENESIS};
use super::lock::{AuditLock, LogEnd, check_end};
use crate::disk::{SyncCheck, real};

/// The files of a log, held by this process alone.
pub(super) struct AuditFile {
    path: PathBuf,
    file: File,
    synced: SyncCheck,
    /// The length of the whole lines in it.
    length: u64,
    /// `true` if there may be a part of a line behind them.
    is_dirty: bool,
    max_bytes: u64,
    end: LogEnd,
    /// Locked as long as this exists, as `file` is: whoever has another name of the log, or finds
    /// no lock file, meets the lock of the file itself.
    lock: AuditLock,
    /// `true` once the lock file has an end within the current file.
    is_remembered: bool,
}

impl AuditFile {
    /// Opens a log, and goes on where the last line of it ends.
    pub(super) fn open(path: &Path, max_bytes: u64) -> Result<Self, AuditError> {
        let path = real(path)?;
        let lock = AuditLock::open(&path)?;
        check_current(&path, lock.end.as_ref())?;
        let mut file = current().create(true).truncate(false).open(&path)?;
        hold(&file, &path)?;
        let (length, torn) = whole_lines(&mut file)?;
        let last = match last_line(&mut file, length)? {
            Some(line) => Some((path.clone(), line)),
            None => last_of_full(&path)?,
        };
        let end = match last {
            None => LogEnd { seq: 0, hash: GENESIS.to_owned() },
            Some((of, text)) => match line::read(&text) {
                Some(link) => LogEnd { seq: link.seq, hash: link.hash },
                None => return Err(AuditError::Altered(of)),
            },
        };
        check_end(&path, &end, lock.end.as_ref())?;
        let mut own = Self {
            synced: SyncCheck::of(&path),
            path,
            file,
            length,
            is_dirty: !torn.is_empty(),
            max_bytes,
            end,
            lock,
            is_remembered: false,
        };
        if !torn.is_empty() {
            let (torn_bytes, torn_sha256) = (torn.len(), line::digest(&torn));
            own.append(&AuditEntry::Recovered { torn_bytes, torn_sha256 })?;
            own.file.sync_all()?;
        }
        Ok(own)
    }

    /// Appends a line. If that fails, the log is what it was before.
    pub(super) fn append(&mut self, entry: &AuditEntry) -> io::Result<()> {
        if self.is_dirty {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            self.is_dirty = false;
        }
        let time = line::rfc3339(SystemTime::now());
        let line = AuditLine { seq: self.end.seq + 1, time: &time, entry, prev: &self.end.hash };
        let (mut text, hash) = line::write(&line);
        text.push('\n');
        if self.length > 0 && self.length + text.len() as u64 > self.max_bytes {
            self.rotate()?;
        }
        self.is_dirty = true;
        self.file.write_all(text.as_bytes())?;
        self.is_dirty = false;
        self.length += text.len() as u64;
        self.end = LogEnd { seq: self.end.seq + 1, hash };
        Ok(())
    }

    /// Waits until all lines are on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.synced.check()?;
        // Once for each file: from then on it cannot be lost or emptied without a trace.
        if !self.is_remembered && self.length > 0 {
            self.lock.remember(&self.end)?;
            self.is_remembered = true;
        }
        Ok(())
    }

    /// Waits until all lines are on the disk, and remembers where they end.
    pub(super) fn close(mut self) -> io::Result<()> {
        self.sync()?;
        self.lock.remember(&self.end)
    }

    /// Begins a new file; the full one gets the number of its last line as a suffix.
    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let full = with_suffix(&self.path, &format!(".{:012}", self.end.seq));
        if full.try_exists()? {
            return Err(io::Error::other("the name of the full file is taken"));
        }
        // It appears under its name with its lock.
        let fresh = next_path(&self.path);
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A link that stands there meanwhile is not followed.
        let file = current().create_new(true).open(&fresh)?;
        file.lock()?;
        self.lock.remember(&self.end)?;
        std::fs::rename(&self.path, &full)?;
        if let Err(error) = std::fs::rename(&fresh, &self.path) {
            // The chain goes on in the full file.
            std::fs::rename(&full, &self.path)?;
            return Err(error);
        }
        self.file = file;
        self.length = 0;
        self.is_remembered = false;
        // The names are on the disk before what is written under them is.
        if let Some(folder) = self.path.parent()
            && cfg!(unix)
        {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for AuditFile {
    fn drop(&mut self) {
        // A process that another thread starts just now has it open until it is another program.
        let _ = self.file.unlock();
    }
}

/// Returns an error if the log has lines, and the file that is written is gone.
pub(super) fn check_current(path: &Path, remembered: Option<&LogEnd>) -> Result<(), AuditError> {
    // A process may have ended after it put the full file aside.
    if path.try_exists()? || next_path(path).try_exists()? {
        return Ok(());
    }
    let last = match (remembered, last_of_full(path)?) {
        (Some(end), _) => Some(end.seq),
        (None, full) => full.map(|(_, text)| line::read(&text).map_or(0, |link| link.seq)),
    };
    last.map_or(Ok(()), |seq| Err(AuditError::Incomplete { log: path.to_owned(), seq }))
}

/// Returns the path of the file that is going to be the current one.
fn next_path(log: &Path) -> PathBuf {
    with_suffix(log, ".new")
}

/// Locks a file of the log at a path.
pub(super) fn hold(file: &File, path: &Path) -> Result<(), AuditError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(AuditError::Locked(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Returns the options of a file that is written: for its user alone, and no link.
fn current() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the length of the whole lines of a file, and what stands behind them.
fn whole_lines(file: &mut File) -> io::Result<(u64, Vec<u8>)> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut tail = Vec::new();
    let mut from = end;
    loop {
        if let Some(at) = tail.iter().rposition(|byte| *byte == b'\n') {
            let torn = tail.split_off(at + 1);
            let length = end - torn.len() as u64;
            file.seek(SeekFrom::Start(length))?;
            return Ok((length, torn));
        }
        if from == 0 {
            file.seek(SeekFrom::Start(0))?;
            return Ok((0, tail));
        }
        from = read_before(file, from, &mut tail)?;
    }
}

/// Returns the last of the whole lines of a file.
fn last_line(file: &mut File, length: u64) -> io::Result<Option<String>> {
    let mut tail = Vec::new();
    let mut from = length;
    while from > 0 {
        from = read_before(file, from, &mut tail)?;
        let text = tail.strip_suffix(b"\n").unwrap_or(&tail);
        if let Some(at) = text.iter().rposition(|byte| *byte == b'\n') {
            tail = text[at + 1..].to_vec();
            break;
        }
    }
    file.seek(SeekFrom::Start(length))?;
    if length == 0 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&tail).into_owned();
    Ok(Some(text.trim_end_matches('\n').to_owned()))
}

/// Puts what stands before a position in front of `tail`; returns the position it begins at.
fn read_before(file: &mut File, end: u64, tail: &mut Vec<u8>) -> io::Result<u64> {
    let from = end.saturating_sub(64 << 10);
    file.seek(SeekFrom::Start(from))?;
    let mut part = Vec::new();
    Read::by_ref(file).take(end - from).read_to_end(&mut part)?;
    part.append(tail);
    *tail = part;
    Ok(from)
}

/// Returns the full file with the last line, and that line: a process may have ended after it put
/// the file aside.
fn last_of_full(path: &Path) -> io::Result<Option<(PathBuf, String)>> {
    let Some(newest) = full_files(path)?.pop() else { return Ok(None) };
    let mut file = File::open(&newest)?;
    let length = file.metadata()?.len();
    Ok(last_line(&mut file, length)?.map(|line| (newest, line)))
}

/// Returns the full files of a log, the oldest first.
pub(super) fn full_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Vec::new());
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let name = name.to_string_lossy();
    let mut full = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let own = entry.file_name().to_string_lossy().into_owned();
        let number = own.strip_prefix(&*name).and_then(|rest| rest.strip_prefix('.'));
        let number = number.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(number) = number.and_then(|digits| digits.parse::<u64>().ok()) {
            full.push((number, entry.path()));
        }
    }
    full.sort();
    Ok(full.into_iter().map(|(_, path)| path).collect())
}
