//! Audit logs that lost lines, by their next start and by a check.

use std::fs::{copy, read, read_dir, read_to_string, remove_file, rename, write};
use std::path::{Path, PathBuf};

use super::audit::{lines, written};
use super::audited::boxed;
use crate::bounded::tokio;
use toolbox::ToolCall;
use toolbox::audit::{self, AuditError, AuditLog, ChainBreak};

/// What was found of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Found {
    Whole,
    Incomplete,
    /// At the first line of a file (1), or after it (0).
    Broken(u64, ChainBreak),
    Missing,
}

use Found::{Broken, Incomplete, Missing, Whole};

impl<T> From<Result<T, AuditError>> for Found {
    fn from(result: Result<T, AuditError>) -> Self {
        match result {
            Ok(_) => Whole,
            Err(AuditError::Incomplete { .. }) => Incomplete,
            // The number of lines of a file differs: it says where within it, at 1 or after.
            Err(AuditError::Broken(broken)) => {
                Broken(u64::from(broken.line == 1), broken.break_kind)
            }
            Err(_) => Missing,
        }
    }
}

fn change(path: &Path, change: fn(&mut Vec<&str>)) {
    let text = read_to_string(path).unwrap();
    let mut lines = text.lines().collect();
    change(&mut lines);
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    write(path, text).unwrap();
}

/// Returns the full files of a log, the oldest first.
fn full(path: &Path) -> Vec<PathBuf> {
    let files = read_dir(path.parent().unwrap()).unwrap();
    let mut full: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    full.retain(|file| file.to_string_lossy().contains("jsonl.0"));
    full.sort();
    full
}

/// Loses something of the log at a path; the bytes are those of another log.
type Loss = fn(&Path, &[u8]);

const FIRST_REMOVED: Found = Broken(1, ChainBreak::Removed);
const FIRST_OTHER: Found = Broken(1, ChainBreak::Inserted);

const LATER_OTHER: Found = Broken(0, ChainBreak::Inserted);
const LAST_ALTERED: Found = Broken(0, ChainBreak::Altered);

fn swap(one: &Path, other: &Path) {
    let (of_one, of_other) = (read(one).unwrap(), read(other).unwrap());
    write(one, of_other).unwrap();
    write(other, of_one).unwrap();
}

/// Returns the number of a line.
fn number(line: &str) -> u64 {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["seq"].as_u64().expect("a line has a number")
}

/// What is lost, and what the next start and a check find: of a log that was closed, and of one whose
/// process was killed.
const LOSSES: [(&str, Loss, [Found; 2], [Found; 2]); 27] = [
    ("nothing", |_, _| {}, [Whole; 2], [Whole; 2]),
    (
        "the first line of all",
        |path, _| change(&full(path)[0], |lines| drop(lines.drain(..1))),
        [Whole, FIRST_REMOVED],
        [Whole, FIRST_REMOVED],
    ),
    (
        "the first lines of all",
        |path, _| change(&full(path)[0], |lines| drop(lines.drain(..2))),
        [Whole, FIRST_REMOVED],
        [Whole, FIRST_REMOVED],
    ),
    (
        "the oldest file",
        |path, _| remove_file(&full(path)[0]).unwrap(),
        [Whole, FIRST_REMOVED],
        [Whole, FIRST_REMOVED],
    ),
    (
        "the text of the oldest file",
        |path, _| write(&full(path)[0], "").unwrap(),
        [Whole, FIRST_REMOVED],
        [Whole, FIRST_REMOVED],
    ),
    (
        "the first line of the current file",
        |path, _| change(path, |lines| drop(lines.drain(..1))),
        [Whole, FIRST_REMOVED],
        [Whole, FIRST_REMOVED],
    ),
    (
        "all full files",
        |path, _| {
            for file in full(path) {
                remove_file(file).unwrap();
            }
        },
        [Whole, FIRST_REMOVED],
        [Whole, FIRST_REMOVED],
    ),
    ("the current file", |path, _| remove_file(path).unwrap(), [Incomplete; 2], [Incomplete; 2]),
    (
        "the name of the current file",
        |path, _| rename(path, path.with_extension("old")).unwrap(),
        [Incomplete; 2],
        [Incomplete; 2],
    ),
    (
        "the text of the current file",
        |path, _| write(path, "").unwrap(),
        [Incomplete; 2],
        [Incomplete; 2],
    ),
    (
        "all files but the lock file",
        |path, _| {
            for file in full(path).iter().map(PathBuf::as_path).chain([path]) {
                remove_file(file).unwrap();
            }
        },
        [Incomplete; 2],
        [Incomplete; 2],
    ),
    (
        "the last line",
        |path, _| change(path, |lines| drop(lines.drain(lines.len() - 1..))),
        [Incomplete; 2],
        [Whole; 2],
    ),
    (
        "the current file, for the beginning of another log",
        |path, other| {
            let lines: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
            write(path, lines[..4].concat()).unwrap();
        },
        [Incomplete, FIRST_OTHER],
        [Incomplete, FIRST_OTHER],
    ),
    (
        "the current file, for another log that is longer",
        |path, other| write(path, other).unwrap(),
        [Whole, FIRST_OTHER],
        [Whole, FIRST_OTHER],
    ),
    (
        "the current file, for an older one",
        |path, _| assert!(copy(&full(path)[0], path).unwrap() > 0),
        [Incomplete, FIRST_OTHER],
        [Incomplete, FIRST_OTHER],
    ),
    (
        "the middle file, for the one before it",
        |path, _| swap(&full(path)[0], &full(path)[1]),
        [Whole, FIRST_REMOVED],
        [Whole, FIRST_REMOVED],
    ),
    (
        "the current file, for the one before it",
        |path, _| swap(path, &full(path)[1]),
        [Incomplete, FIRST_REMOVED],
        [Incomplete, FIRST_REMOVED],
    ),
    (
        "the middle file, twice",
        |path, _| assert!(copy(&full(path)[0], &full(path)[1]).unwrap() > 0),
        [Whole, FIRST_OTHER],
        [Whole, FIRST_OTHER],
    ),
    (
        "half of the last line",
        |path, _| {
            let text = read(path).unwrap();
            write(path, &text[..text.len() - 40]).unwrap();
        },
        [Incomplete; 2],
        [Whole; 2],
    ),
    (
        "half of the last line of a full file",
        |path, _| {
            let text = read(&full(path)[0]).unwrap();
            write(&full(path)[0], &text[..text.len() - 40]).unwrap();
        },
        [Whole, LAST_ALTERED],
        [Whole, LAST_ALTERED],
    ),
    (
        "the end of the last line alone",
        |path, _| {
            let text = read(path).unwrap();
            write(path, &text[..text.len() - 1]).unwrap();
        },
        [Incomplete; 2],
        [Whole; 2],
    ),
    (
        "a line, for another log's of the same number",
        |path, other| {
            let text = read_to_string(path).unwrap();
            let other = String::from_utf8_lossy(other);
            let first = number(text.lines().next().unwrap());
            let own = other.lines().find(|line| number(line) == first);
            let same = own.expect("the other log is as long");
            let rest: String = text.lines().skip(1).flat_map(|line| [line, "\n"]).collect();
            write(path, format!("{same}\n{rest}")).unwrap();
        },
        [Whole, FIRST_OTHER],
        [Whole, FIRST_OTHER],
    ),
    (
        "the last line, for another log's of the same number",
        |path, other| {
            let text = read_to_string(path).unwrap();
            let other = String::from_utf8_lossy(other);
            let last = number(text.lines().last().unwrap());
            let own = other.lines().find(|line| number(line) == last);
            let same = own.expect("the other log is as long");
            let before = &text[..=text.trim_end().rfind('\n').unwrap()];
            write(path, format!("{before}{same}\n")).unwrap();
        },
        [Incomplete, LATER_OTHER],
        [Whole, LATER_OTHER],
    ),
    (
        "nothing, with another log after it",
        |path, other| write(path, [read(path).unwrap(), other.to_vec()].concat()).unwrap(),
        [Whole, LATER_OTHER],
        [Whole, LATER_OTHER],
    ),
    (
        "nothing, with another log before it",
        |path, other| write(path, [other.to_vec(), read(path).unwrap()].concat()).unwrap(),
        [Whole, FIRST_OTHER],
        [Whole, FIRST_OTHER],
    ),
    (
        "the text of the lock file",
        |path, _| write(path.with_extension("jsonl.lock"), "no\nend").unwrap(),
        [Whole; 2],
        [Whole; 2],
    ),
    (
        "all files",
        |path, _| {
            for file in read_dir(path.parent().unwrap()).unwrap() {
                remove_file(file.unwrap().path()).unwrap();
            }
        },
        [Whole, Missing],
        [Whole, Missing],
    ),
];

#[tokio::test]
async fn lines_that_are_gone_are_noticed() {
    let other = tempfile::tempdir().unwrap();
    let other = written(other.path(), 60).await;
    let files = full(&other).into_iter().chain([other]);
    let other: Vec<u8> = files.flat_map(|file| read(file).unwrap()).collect();
    for (name, lose, closed, killed) in &LOSSES {
        for (was, expected) in [("closed", closed), ("killed", killed)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("audit.jsonl");
            let lock = folder.path().join("audit.jsonl.lock");
            let log = AuditLog::builder(&path).max_bytes(1_500).synchronous(true).open().unwrap();
            let toolbox = boxed(&log);
            // Until the current file has some lines, beside full ones.
            while full(&path).len() < 2 || lines(&path).len() < 3 {
                toolbox.call(ToolCall::new("c", "ping", "{}")).await;
            }
            let before = read(&lock).unwrap();
            drop((toolbox, log));
            if was == "killed" {
                write(&lock, before).unwrap();
            }
            lose(&path, &other);
            let found = [Found::from(audit::verify_log(&path)), AuditLog::open(&path).into()];
            assert_eq!(found, [expected[1], expected[0]], "{name}, {was}");
            if expected[0] == Incomplete {
                let error = AuditLog::open(&path).unwrap_err().to_string();
                assert!(error.contains("audit.jsonl lacks lines up to number"), "{error}");
            }
        }
    }
}
