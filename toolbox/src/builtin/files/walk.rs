//! Lists folders and searches files.

use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use regex::bytes::{Regex, RegexBuilder};

use super::access::FileLimits;
use super::error::FileError;
use super::lookup::{display_path, open_at_once};
use super::read::{below, is_binary, next_line, push_text};
use crate::builtin::workspace::Workspace;
use crate::context::ToolContext;

/// The maximum number of names in one list.
const NAMES: usize = 500;
/// The maximum number of entries that are visited.
const ENTRIES: usize = 2_000_000;
/// The maximum depth of folders that are visited.
const DEPTH: usize = 64;
/// The longest line that is searched and shown, in bytes.
const SEARCHED_LINE: usize = 64 << 10;
const SHOWN_LINE: usize = 300;
/// The largest `.gitignore` that is read, in bytes.
const IGNORE_BYTES: u64 = 256 << 10;

/// The options of a list.
pub(super) struct ListRequest<'a> {
    pub(super) recursive: bool,
    pub(super) glob: Option<&'a str>,
    pub(super) after: Option<&'a str>,
}

/// The options of a search.
pub(super) struct SearchRequest<'a> {
    pub(super) pattern: &'a str,
    pub(super) glob: Option<&'a str>,
    pub(super) limit: usize,
}

/// Lists a folder, in the order of the names.
pub(super) fn list(
    workspace: &Workspace,
    folder: &Path,
    request: &ListRequest<'_>,
    limits: &FileLimits,
    context: &ToolContext,
) -> Result<String, FileError> {
    let dir = workspace.dir().open_dir(folder).map_err(|error| FileError::io(folder, error))?;
    let mut walk =
        Walk { glob: matcher(request.glob)?, recursive: request.recursive, visited: 0, context };
    // The smallest names after `after`, however many there are.
    let mut names = BinaryHeap::new();
    let mut rest = 0_usize;
    walk.each(&dir, folder, &mut Vec::new(), &mut |path, entry| {
        let mut name = display_path(path);
        if entry == WalkEntry::Folder {
            name.push('/');
        }
        if request.after.is_some_and(|after| name.as_str() <= after) {
            return true;
        }
        names.push(name);
        if names.len() > NAMES {
            names.pop();
            rest += 1;
        }
        true
    });
    let names = names.into_sorted_vec();
    if names.is_empty() {
        return Ok(format!("nothing in `{}`", display_path(folder)));
    }
    let mut text = String::new();
    let mut last = None;
    for (at, name) in names.iter().enumerate() {
        if text.len() + name.len() > limits.reply {
            rest += names.len() - at;
            break;
        }
        let _ = writeln!(text, "{name}");
        last = Some(name);
    }
    match last {
        Some(last) if rest > 0 => {
            let _ = write!(text, "[{rest} more; go on with `after` {last:?}]");
        }
        _ => {
            text.pop();
        }
    }
    if walk.visited >= ENTRIES || context.is_cancelled() {
        text.push_str("\n[not every entry was visited]");
    }
    Ok(text)
}

/// Finds lines that match.
pub(super) fn search(
    workspace: &Workspace,
    path: &Path,
    query: &SearchRequest<'_>,
    limits: &FileLimits,
    context: &ToolContext,
) -> Result<String, FileError> {
    let regex =
        RegexBuilder::new(query.pattern).size_limit(1 << 20).dfa_size_limit(4 << 20).build();
    let regex =
        regex.map_err(|error| FileError::Message(format!("`pattern` cannot be used: {error}")))?;
    let mut found = SearchHits {
        regex,
        text: String::new(),
        lines: 0,
        files: 0,
        limit: query.limit,
        bytes: limits.reply,
        full: false,
    };
    let metadata = workspace.dir().metadata(path).map_err(|error| FileError::io(path, error))?;
    let mut unfinished = false;
    if metadata.is_dir() {
        let dir = workspace.dir().open_dir(path).map_err(|error| FileError::io(path, error))?;
        let mut walk = Walk { glob: matcher(query.glob)?, recursive: true, visited: 0, context };
        walk.each(&dir, path, &mut Vec::new(), &mut |path, entry| {
            if entry == WalkEntry::Other {
                // A file that cannot be read, or is outside, has no hits.
                let _ = found.in_file(workspace, path, limits.scan, context);
            }
            !found.full
        });
        unfinished = walk.visited >= ENTRIES;
    } else {
        found.in_file(workspace, path, limits.scan, context)?;
    }
    let mut text = found.text;
    if found.lines == 0 {
        text = format!("no line matches in {} files", found.files);
    }
    if found.full {
        text.push_str("[there is more; narrow `pattern`, `path` or `glob`]");
    } else if unfinished || context.is_cancelled() {
        text.push_str("[not everything was searched]");
    } else {
        text.truncate(text.trim_end_matches('\n').len());
    }
    Ok(text)
}

/// The hits of a search so far.
struct SearchHits {
    regex: Regex,
    text: String,
    lines: usize,
    files: usize,
    limit: usize,
    bytes: usize,
    full: bool,
}

impl SearchHits {
    fn in_file(
        &mut self,
        workspace: &Workspace,
        path: &Path,
        scan_bytes: u64,
        context: &ToolContext,
    ) -> Result<(), FileError> {
        let failed = |error| FileError::io(path, error);
        let (file, _) = workspace.open_file(path)?;
        let mut file = BufReader::with_capacity(64 << 10, file.take(scan_bytes));
        if is_binary(file.fill_buf().map_err(failed)?) {
            return Ok(());
        }
        self.files += 1;
        let mut line = Vec::new();
        for number in 1_u64.. {
            if number % 1024 == 0 && context.is_cancelled() {
                break;
            }
            if next_line(&mut file, &mut line, SEARCHED_LINE).map_err(failed)?.1 == 0 {
                break;
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let Some(hit) = self.regex.find(text) else { continue };
            let row = row(path, number, text, hit.start());
            if self.lines == self.limit || self.text.len() + row.len() > self.bytes {
                self.full = true;
                break;
            }
            self.text.push_str(&row);
            self.lines += 1;
        }
        Ok(())
    }
}

/// Returns the row of a line that matched, or of the part around the match in a long one.
fn row(path: &Path, number: u64, line: &[u8], at: usize) -> String {
    let mut row = format!("{}:{number}: ", display_path(path));
    let mut text = String::new();
    let from = if line.len() > SHOWN_LINE { at.saturating_sub(SHOWN_LINE / 3) } else { 0 };
    // The part begins and ends with a whole character.
    let whole = |mut at: usize| {
        while line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
            at += 1;
        }
        at
    };
    let (from, to) = (whole(from), whole((from + SHOWN_LINE).min(line.len())));
    push_text(&mut text, &line[from..to]);
    let ends = (if from > 0 { ".." } else { "" }, if to < line.len() { ".." } else { "" });
    let _ = writeln!(row, "{}{text}{}", ends.0, ends.1);
    row
}

/// A walk over a folder. Links are listed and not followed, so it ends.
struct Walk<'a> {
    glob: Option<Override>,
    recursive: bool,
    visited: usize,
    context: &'a ToolContext,
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WalkEntry {
    Folder,
    Link,
    Other,
}

impl Walk<'_> {
    /// Visits the entries of a folder in the order of the names, until a visit returns false.
    /// Returns `true` if none did.
    fn each(
        &mut self,
        dir: &Dir,
        folder: &Path,
        ignored: &mut Vec<Gitignore>,
        visit: &mut dyn FnMut(&Path, WalkEntry) -> bool,
    ) -> bool {
        if self.recursive {
            ignored.push(ignore_file(dir, folder));
        }
        let goes_on = self.entries(dir, folder, ignored, visit);
        if self.recursive {
            ignored.pop();
        }
        goes_on
    }

    fn entries(
        &mut self,
        dir: &Dir,
        folder: &Path,
        ignored: &mut Vec<Gitignore>,
        visit: &mut dyn FnMut(&Path, WalkEntry) -> bool,
    ) -> bool {
        // A folder that cannot be read, or is gone, has no entries.
        let Ok(entries) = dir.entries() else { return true };
        let left = ENTRIES.saturating_sub(self.visited);
        let mut names: Vec<(PathBuf, WalkEntry)> = entries
            .take(left)
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let kind = match entry.file_type().ok()? {
                    kind if kind.is_dir() => WalkEntry::Folder,
                    kind if kind.is_symlink() => WalkEntry::Link,
                    _ => WalkEntry::Other,
                };
                Some((PathBuf::from(entry.file_name()), kind))
            })
            .collect();
        self.visited += names.len();
        names.sort();
        for (name, entry) in names {
            let is_dir = entry == WalkEntry::Folder;
            if self.context.is_cancelled() {
                return false;
            }
            let path = below(folder, &name);
            if self.recursive && (name == Path::new(".git") || is_ignored(ignored, &path, is_dir)) {
                continue;
            }
            let wanted = match &self.glob {
                Some(glob) => !is_dir && !glob.matched(&path, false).is_ignore(),
                None => true,
            };
            if wanted && !visit(&path, entry) {
                return false;
            }
            let follow = is_dir && self.recursive && ignored.len() < DEPTH;
            if follow
                && let Ok(inner) = dir.open_dir(&name)
                && !self.each(&inner, &path, ignored, visit)
            {
                return false;
            }
        }
        true
    }
}

/// Reads the ignore file of a folder. Invalid lines are skipped, as git does.
fn ignore_file(dir: &Dir, folder: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    let mut text = String::new();
    if let Ok((file, metadata)) = open_at_once(dir, Path::new(".gitignore"))
        && metadata.is_file()
        && file.take(IGNORE_BYTES).read_to_string(&mut text).is_ok()
    {
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn is_ignored(ignored: &[Gitignore], path: &Path, is_dir: bool) -> bool {
    let decided = ignored.iter().rev().map(|ignore| ignore.matched(path, is_dir));
    decided
        .into_iter()
        .find(|decided| !decided.is_none())
        .is_some_and(|decided| decided.is_ignore())
}

fn matcher(glob: Option<&str>) -> Result<Option<Override>, FileError> {
    let Some(glob) = glob else { return Ok(None) };
    if glob.len() > 1000 || glob.starts_with('!') {
        return Err(FileError::Message(
            "`glob` names files to keep, such as `*.rs`, in at most 1000 bytes".to_owned(),
        ));
    }
    let mut builder = OverrideBuilder::new("");
    builder
        .add(glob)
        .and_then(|builder| builder.build())
        .map(Some)
        .map_err(|error| FileError::Message(format!("`glob` cannot be used: {error}")))
}
