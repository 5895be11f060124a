//! Looking around: what is in a folder, and which lines match.

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
use super::lookup::{open_at_once, shown};
use super::read::{below, is_binary, next_line, push_text};
use crate::builtin::workspace::Workspace;
use crate::context::ToolContext;

/// How many names one list shows.
const NAMES: usize = 500;
/// How many entries of a folder are looked at before it is given up.
const ENTRIES: usize = 2_000_000;
/// How deep folders are followed.
const DEPTH: usize = 64;
/// The longest line that is searched and shown, in bytes.
const SEARCHED_LINE: usize = 64 << 10;
const SHOWN_LINE: usize = 300;
/// The largest `.gitignore` that is read, in bytes.
const IGNORE_BYTES: u64 = 256 << 10;

/// What is to be listed.
pub(super) struct Asked<'a> {
    pub(super) recursive: bool,
    pub(super) glob: Option<&'a str>,
    pub(super) after: Option<&'a str>,
}

/// What is to be found.
pub(super) struct Query<'a> {
    pub(super) pattern: &'a str,
    pub(super) glob: Option<&'a str>,
    pub(super) limit: usize,
}

/// Lists a folder, in the order of the names.
pub(super) fn list(
    workspace: &Workspace,
    folder: &Path,
    asked: &Asked<'_>,
    limits: &FileLimits,
    context: &ToolContext,
) -> Result<String, FileError> {
    let dir = workspace.dir().open_dir(folder).map_err(|error| FileError::io(folder, error))?;
    let mut walk =
        Walk { glob: matcher(asked.glob)?, recursive: asked.recursive, looked: 0, context };
    // The smallest names after the last one, however many there are.
    let mut names = BinaryHeap::new();
    let mut rest = 0_usize;
    walk.each(&dir, folder, &mut Vec::new(), &mut |path, entry| {
        let mut name = shown(path);
        if entry == Entry::Folder {
            name.push('/');
        }
        if asked.after.is_some_and(|after| name.as_str() <= after) {
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
        return Ok(format!("nothing in `{}`", shown(folder)));
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
    if walk.looked >= ENTRIES || context.is_cancelled() {
        text.push_str("\n[not everything was looked at]");
    }
    Ok(text)
}

/// Finds lines that match.
pub(super) fn search(
    workspace: &Workspace,
    path: &Path,
    query: &Query<'_>,
    limits: &FileLimits,
    context: &ToolContext,
) -> Result<String, FileError> {
    let regex =
        RegexBuilder::new(query.pattern).size_limit(1 << 20).dfa_size_limit(4 << 20).build();
    let regex =
        regex.map_err(|error| FileError::Told(format!("`pattern` cannot be used: {error}")))?;
    let mut found = Found {
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
        let mut walk = Walk { glob: matcher(query.glob)?, recursive: true, looked: 0, context };
        walk.each(&dir, path, &mut Vec::new(), &mut |path, entry| {
            if entry == Entry::Other {
                // What cannot be read, or is outside, has nothing to find.
                let _ = found.in_file(workspace, path, limits.scan, context);
            }
            !found.full
        });
        unfinished = walk.looked >= ENTRIES;
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

/// What a search found so far.
struct Found {
    regex: Regex,
    text: String,
    lines: usize,
    files: usize,
    limit: usize,
    bytes: usize,
    full: bool,
}

impl Found {
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

/// Shows a line that matched, or what is around the place where a long one did.
fn row(path: &Path, number: u64, line: &[u8], at: usize) -> String {
    let mut row = format!("{}:{number}: ", shown(path));
    let mut text = String::new();
    let from = if line.len() > SHOWN_LINE { at.saturating_sub(SHOWN_LINE / 3) } else { 0 };
    // The piece begins and ends with a whole character.
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

/// A walk over a folder. Links are shown and not followed, so it ends.
struct Walk<'a> {
    glob: Option<Override>,
    recursive: bool,
    looked: usize,
    context: &'a ToolContext,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Folder,
    Link,
    Other,
}

impl Walk<'_> {
    /// Visits what is in a folder in the order of the names, until a visit returns false. Returns whether none did.
    fn each(
        &mut self,
        dir: &Dir,
        folder: &Path,
        ignored: &mut Vec<Gitignore>,
        visit: &mut dyn FnMut(&Path, Entry) -> bool,
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
        visit: &mut dyn FnMut(&Path, Entry) -> bool,
    ) -> bool {
        // A folder that cannot be read, or went away, has nothing to show.
        let Ok(entries) = dir.entries() else { return true };
        let left = ENTRIES.saturating_sub(self.looked);
        let mut names: Vec<(PathBuf, Entry)> = entries
            .take(left)
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let kind = match entry.file_type().ok()? {
                    kind if kind.is_dir() => Entry::Folder,
                    kind if kind.is_symlink() => Entry::Link,
                    _ => Entry::Other,
                };
                Some((PathBuf::from(entry.file_name()), kind))
            })
            .collect();
        self.looked += names.len();
        names.sort();
        for (name, entry) in names {
            let is_dir = entry == Entry::Folder;
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

/// Reads what a folder leaves out. A line that means nothing is passed over, as git does.
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
        return Err(FileError::Told(
            "`glob` names files to keep, such as `*.rs`, in at most 1000 bytes".to_owned(),
        ));
    }
    let mut builder = OverrideBuilder::new("");
    builder
        .add(glob)
        .and_then(|builder| builder.build())
        .map(Some)
        .map_err(|error| FileError::Told(format!("`glob` cannot be used: {error}")))
}
