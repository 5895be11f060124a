//! Changing: a file is put in place whole, or not at all.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, OpenOptions, Permissions};

use super::Limits;
use super::lookup::{WorkspaceError, shown};
use super::read::FileError;
use crate::builtin::workspace::Workspace;

/// A piece of text and what takes its place.
pub(super) struct Edit<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) everywhere: bool,
}

/// Writes a file whole, and says what changed.
pub(super) fn write(
    workspace: &Workspace,
    path: &Path,
    content: &str,
    limits: &Limits,
) -> Result<String, FileError> {
    if content.len() > limits.write {
        return Err(FileError::Told(format!(
            "the text has {} bytes; at most {} can be written at once",
            content.len(),
            limits.write
        )));
    }
    let before = replace(workspace, path, content)?;
    let told = match before {
        None => format!("created `{}`: {}", shown(path), size(content)),
        Some(bytes) => format!("replaced `{}`: {} ({bytes} before)", shown(path), size(content)),
    };
    Ok(told)
}

/// Replaces a piece of a file, and says where.
pub(super) fn edit(
    workspace: &Workspace,
    path: &Path,
    edit: &Edit<'_>,
    limits: &Limits,
) -> Result<String, FileError> {
    let text = whole(workspace, path, limits)?;
    let mut places = text.match_indices(edit.old).map(|(at, _)| line_of(&text, at));
    let Some(first) = places.next() else {
        return Err(missing(path, &text, edit.old));
    };
    if edit.old == edit.new {
        return Err(FileError::Told("`old_text` and `new_text` are the same".to_owned()));
    }
    let others: Vec<_> = places.take(20).collect();
    if !edit.everywhere && !others.is_empty() {
        let lines: Vec<_> =
            std::iter::once(first).chain(others).map(|line| line.to_string()).collect();
        return Err(FileError::Told(format!(
            "`old_text` stands in `{}` more than once, at the lines {}; take in more of what is around the place, or set `replace_all`",
            shown(path),
            lines.join(", ")
        )));
    }
    let edited = text.replace(edit.old, edit.new);
    if edited.len() > limits.write {
        return Err(FileError::Told(format!(
            "the edited text would have {} bytes; at most {} can be written",
            edited.len(),
            limits.write
        )));
    }
    let count = text.matches(edit.old).count();
    replace(workspace, path, &edited)?;
    Ok(if count == 1 {
        format!("edited `{}` at line {first}: {}", shown(path), size(&edited))
    } else {
        format!(
            "edited `{}` at {count} places, the first at line {first}: {}",
            shown(path),
            size(&edited)
        )
    })
}

/// Says why a piece was not found, and where something like it is.
fn missing(path: &Path, text: &str, old: &str) -> FileError {
    let bare = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = old.lines().map(bare).find(|line| !line.is_empty());
    let near = wanted.and_then(|wanted| {
        text.lines()
            .enumerate()
            .find(|(_, line)| bare(line).contains(&wanted))
            .map(|(at, _)| at + 1)
    });
    FileError::Told(match near {
        Some(line) => format!(
            "`old_text` is not in `{}`; line {line} reads alike but for blanks or what follows: read the file from there and copy it exactly",
            shown(path)
        ),
        None => format!(
            "`old_text` is not in `{}`; read the file and copy the text exactly",
            shown(path)
        ),
    })
}

/// Reads a text file whole, to change it.
fn whole(workspace: &Workspace, path: &Path, limits: &Limits) -> Result<String, FileError> {
    let (file, metadata) = workspace.open_file(path)?;
    let most = limits.write as u64;
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| FileError::io(path, error))?;
    if bytes.len() as u64 > most {
        return Err(FileError::Told(format!(
            "`{}` has {} bytes; at most {most} can be edited",
            shown(path),
            metadata.len()
        )));
    }
    String::from_utf8(bytes).map_err(|_| {
        FileError::Told(format!("`{}` is no UTF-8 text, and cannot be edited", shown(path)))
    })
}

/// Puts a file in place: a new file beside it, to the disk, then renamed. Returns how many bytes the file had before, if there was one.
fn replace(workspace: &Workspace, path: &Path, content: &str) -> Result<Option<u64>, FileError> {
    let failed = |error| FileError::io(path, error);
    let (dir, name) = workspace.place(path)?;
    let before = match dir.symlink_metadata(&name) {
        Ok(metadata) if metadata.is_file() => Some(metadata),
        Ok(metadata) => {
            let what = if metadata.is_dir() { "a folder" } else { "no ordinary file" };
            return Err(WorkspaceError::NotAFile { path: path.to_owned(), what }.into());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let permissions = before.as_ref().map(cap_std::fs::Metadata::permissions);
    let new = New::create(&dir, content, permissions).map_err(failed)?;
    dir.rename(&new.name, &dir, &name).map_err(failed)?;
    new.kept();
    // The name is on the disk only when the folder is.
    #[cfg(unix)]
    dir.open(".").and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(before.map(|metadata| metadata.len()))
}

/// A file that is taken away again, unless it is kept.
struct New<'a> {
    dir: &'a Dir,
    name: String,
    kept: bool,
}

impl<'a> New<'a> {
    fn create(dir: &'a Dir, content: &str, permissions: Option<Permissions>) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".toolbox-{}-{number}.tmp", std::process::id());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = match dir.open_with(&name, &options) {
            // Left there by a program that was killed, and had this number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                dir.remove_file(&name)?;
                dir.open_with(&name, &options)?
            }
            opened => opened?,
        };
        let new = Self { dir, name, kept: false };
        file.write_all(content.as_bytes())?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        Ok(new)
    }

    fn kept(mut self) {
        self.kept = true;
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if !self.kept {
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

/// Counts lines from 1.
fn line_of(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1
}

fn size(text: &str) -> String {
    format!("{}, {}", counted(text.lines().count(), "line"), counted(text.len(), "byte"))
}

/// `1 byte`, `2 bytes`.
pub(super) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
