//! The check of an audit log.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::error::{AuditError, BrokenLine, ChainBreak};
use super::file::full_files;
use super::line::{self, GENESIS};

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

/// Checks the files of an audit log, in the order in which they were written.
///
/// # Errors
///
/// [`AuditError::Broken`] names the first line that was altered, removed or inserted;
/// [`AuditError::Io`] a file that cannot be read.
pub fn verify(files: &[impl AsRef<Path>]) -> Result<AuditReport, AuditError> {
    let files: Vec<PathBuf> = files.iter().map(|file| file.as_ref().to_owned()).collect();
    let mut state = ChainState::new(None);
    state.read_all(&files)?;
    Ok(state.report)
}

/// Checks an audit log by the file that is written: that, and the full ones beside it.
///
/// # Errors
///
/// As for [`verify`].
pub fn verify_log(path: impl AsRef<Path>) -> Result<AuditReport, AuditError> {
    verify(&files_of(path.as_ref())?)
}

/// Checks an audit log as [`verify_log`] does, and that it holds a line of this hash: the
/// [head](AuditReport::head) of an earlier check.
///
/// # Errors
///
/// As for [`verify`], and [`AuditError::Shortened`] without such a line.
pub fn verify_log_since(path: impl AsRef<Path>, head: &str) -> Result<AuditReport, AuditError> {
    let mut state = ChainState::new(Some(head));
    state.read_all(&files_of(path.as_ref())?)?;
    if state.has_head { Ok(state.report) } else { Err(AuditError::Shortened) }
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
    head: Option<&'a str>,
    has_head: bool,
}

impl<'a> ChainState<'a> {
    fn new(head: Option<&'a str>) -> Self {
        let genesis = GENESIS.to_owned();
        let report = AuditReport { lines: 0, first: 0, last: 0, head: genesis, torn_bytes: 0 };
        Self { report, head, has_head: false }
    }

    fn read_all(&mut self, files: &[PathBuf]) -> Result<(), AuditError> {
        for (at, file) in files.iter().enumerate() {
            self.read(file, at + 1 == files.len())?;
        }
        Ok(())
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
        // A log may be checked from a later file on.
        let begins = report.lines == 0 && link.seq > 1;
        if !follows && !begins {
            let is_later = link.seq > report.last + 1;
            return Err(if is_later { ChainBreak::Removed } else { ChainBreak::Inserted });
        }
        if report.lines == 0 {
            report.first = link.seq;
        }
        self.has_head |= self.head.is_some_and(|head| head == link.hash);
        (report.last, report.head) = (link.seq, link.hash);
        report.lines += 1;
        Ok(())
    }
}
