//! The check of an audit log.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::error::{AuditError, BrokenLine, ChainBreak};
use super::file::{check_current, full_files};
use super::line::{self, GENESIS};
use super::lock::{LogEnd, check_end, remembered_end};
use crate::disk::real;

/// The longest line that is read, in bytes: arguments are 1 MiB at most by default, and escapes are
/// six times as long.
const MAX_LINE: u64 = 64 << 20;

/// The state of an audit log whose chain is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditReport {
    /// The number of lines.
    pub lines: u64,
    /// The sequence number of the first line: 1, unless older files were left out.
    pub first: u64,
    /// The sequence number of the last line.
    pub last: u64,
    /// The hash of the last line. Keep it elsewhere: only beside it does a log show that lines were
    /// removed from its end.
    pub head: String,
    /// The bytes of a line at the end that was not written whole: its process ended, or is still
    /// writing.
    pub torn_bytes: usize,
}

/// Checks the files of an audit log, in the order in which they were written. The first line is
/// number 1: [`AuditCheck`] takes a log whose older files are kept elsewhere.
///
/// # Errors
///
/// [`AuditError::Broken`] names the first line that was altered, removed or inserted;
/// [`AuditError::Io`] a file that cannot be read.
pub fn verify(files: &[impl AsRef<Path>]) -> Result<AuditReport, AuditError> {
    AuditCheck::of_files(files).run()
}

/// Checks an audit log by the file that is written: that, and the full ones beside it.
///
/// # Errors
///
/// As for [`verify`], and [`AuditError::Incomplete`] without lines that the log is known to have
/// had.
pub fn verify_log(path: impl AsRef<Path>) -> Result<AuditReport, AuditError> {
    AuditCheck::of_log(path).run()
}

/// A check of an audit log of which more is known.
///
/// ```
/// use toolbox::audit::{AuditCheck, AuditLog};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("audit.jsonl");
/// # drop(AuditLog::open(&path)?);
/// // Lines 1 to 40 000 were moved to an archive.
/// let report = AuditCheck::of_log(&path).from(40_001).run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a check does nothing until `run`"]
pub struct AuditCheck {
    files: CheckedFiles,
    from: u64,
    head: Option<String>,
}

#[derive(Debug, Clone)]
enum CheckedFiles {
    /// The file that is written, and the full ones beside it.
    Log(PathBuf),
    Listed(Vec<PathBuf>),
}

impl AuditCheck {
    /// Checks a log by the file that is written: that, and the full ones beside it.
    pub fn of_log(path: impl AsRef<Path>) -> Self {
        Self::new(CheckedFiles::Log(path.as_ref().to_owned()))
    }

    /// Checks files, in the order in which they were written.
    pub fn of_files(files: &[impl AsRef<Path>]) -> Self {
        Self::new(CheckedFiles::Listed(files.iter().map(|file| file.as_ref().to_owned()).collect()))
    }

    fn new(files: CheckedFiles) -> Self {
        Self { files, from: 1, head: None }
    }

    /// Takes a log that lacks the lines before this number. Default 1: a log without its first
    /// lines is broken.
    pub fn from(mut self, seq: u64) -> Self {
        self.from = seq;
        self
    }

    /// Demands a line of this hash: the [head](AuditReport::head) of an earlier check.
    pub fn head(mut self, hash: impl Into<String>) -> Self {
        self.head = Some(hash.into());
        self
    }

    /// Reads the files.
    ///
    /// # Errors
    ///
    /// As for [`verify_log`], and [`AuditError::Shortened`] without a line of the demanded hash.
    pub fn run(&self) -> Result<AuditReport, AuditError> {
        match &self.files {
            CheckedFiles::Listed(files) => Ok(self.read(files, None)?.report),
            CheckedFiles::Log(path) => {
                let path = real(path)?;
                // Before the lines, for a process may write on.
                let remembered = remembered_end(&path)?;
                check_current(&path, remembered.as_ref())?;
                let state = self.read(&files_of(&path)?, remembered.as_ref())?;
                let end = LogEnd { seq: state.report.last, hash: state.report.head.clone() };
                check_end(&path, &end, remembered.as_ref())?;
                Ok(state.report)
            }
        }
    }

    fn read<'a>(
        &'a self,
        files: &[PathBuf],
        remembered: Option<&'a LogEnd>,
    ) -> Result<ChainState<'a>, AuditError> {
        let mut state = ChainState::new(self, remembered);
        for (at, file) in files.iter().enumerate() {
            state.read(file, at + 1 == files.len())?;
        }
        if self.head.is_some() && !state.has_head { Err(AuditError::Shortened) } else { Ok(state) }
    }
}

/// Returns the files of a log, the oldest first.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, AuditError> {
    let mut files = full_files(path)?;
    // A process may have ended between two files.
    if path.try_exists()? || files.is_empty() {
        files.push(path.to_owned());
    }
    Ok(files)
}

/// The chain so far.
struct ChainState<'a> {
    report: AuditReport,
    check: &'a AuditCheck,
    remembered: Option<&'a LogEnd>,
    has_head: bool,
}

impl<'a> ChainState<'a> {
    fn new(check: &'a AuditCheck, remembered: Option<&'a LogEnd>) -> Self {
        let genesis = GENESIS.to_owned();
        let report = AuditReport { lines: 0, first: 0, last: 0, head: genesis, torn_bytes: 0 };
        Self { report, check, remembered, has_head: false }
    }

    fn read(&mut self, path: &Path, is_last: bool) -> Result<(), AuditError> {
        let mut reader = BufReader::new(File::open(path)?);
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            let mut limited = std::io::Read::take(&mut reader, MAX_LINE);
            if limited.read_until(b'\n', &mut bytes)? == 0 {
                return Ok(());
            }
            let broken = |break_kind| {
                AuditError::Broken(BrokenLine { file: path.to_owned(), line, break_kind })
            };
            let Some(text) = bytes.strip_suffix(b"\n") else {
                if !is_last || bytes.len() as u64 == MAX_LINE {
                    return Err(broken(ChainBreak::Altered));
                }
                self.report.torn_bytes = bytes.len();
                return Ok(());
            };
            self.follow(text).map_err(broken)?;
        }
        Ok(())
    }

    fn follow(&mut self, text: &[u8]) -> Result<(), ChainBreak> {
        let text = std::str::from_utf8(text).map_err(|_| ChainBreak::Altered)?;
        let link = line::read(text).ok_or(ChainBreak::Altered)?;
        let report = &mut self.report;
        let follows = link.prev == report.head && link.seq == report.last + 1;
        // Its first lines may be kept elsewhere.
        let begins = report.lines == 0 && (2..=self.check.from).contains(&link.seq);
        if !follows && !begins {
            let is_later = link.seq > report.last + 1;
            return Err(if is_later { ChainBreak::Removed } else { ChainBreak::Inserted });
        }
        if self.remembered.is_some_and(|end| end.seq == link.seq && end.hash != link.hash) {
            return Err(ChainBreak::Inserted);
        }
        if report.lines == 0 {
            report.first = link.seq;
        }
        self.has_head |= self.check.head.as_deref() == Some(link.hash.as_str());
        (report.last, report.head) = (link.seq, link.hash);
        report.lines += 1;
        Ok(())
    }
}
