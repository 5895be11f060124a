//! Writes and edits files: a file is replaced as a whole, or not at all.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::Path;

use cap_std::fs::Dir;

use super::access::FileAccess;
use super::error::{FileError, counted};
use super::lock::FolderLock;
use super::lookup::{Location, WorkspaceError, display_path, open_at_once};
use super::staged::{Replaced, StageError, Staged};
use super::versions::{FileReader, Version};
use crate::context::ToolContext;

/// A text and its replacement.
pub(super) struct Edit<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) everywhere: bool,
}

/// Writes a whole file, and reports the change.
pub(super) fn write(
    files: &FileAccess,
    path: &Path,
    content: &str,
    call: &ToolContext,
) -> Result<String, FileError> {
    let most = files.limits.write;
    if content.len() > most {
        return Err(FileError::Message(format!(
            "the text has {} bytes; at most {most} can be written at once",
            content.len(),
        )));
    }
    let location = files.workspace.locate(path)?;
    let dir = location.make_folder(&files.workspace).map_err(|error| FileError::io(path, error))?;
    let change = BeganWrite::begin(files, path, location, &dir, call)?;
    let replaced = change.replaced()?;
    let known = change.known().filter(|_| replaced.is_some());
    let before = replaced.as_ref().map(|replaced| replaced.metadata.len());
    change.put(content, replaced.as_ref(), known)?;
    change.learn(content);
    Ok(match before {
        None => format!("created `{}`: {}", display_path(path), size(content)),
        Some(bytes) => {
            format!("replaced `{}`: {} ({bytes} before)", display_path(path), size(content))
        }
    })
}

/// Replaces a text in a file, and reports the line.
pub(super) fn edit(
    files: &FileAccess,
    path: &Path,
    edit: &Edit<'_>,
    context: &ToolContext,
) -> Result<String, FileError> {
    let location = files.workspace.locate(path)?;
    let dir = location.open_folder(&files.workspace).map_err(|error| FileError::io(path, error))?;
    let change = BeganWrite::begin(files, path, location, &dir, context)?;
    let (text, replaced) = change.whole()?;
    let mut places = text.match_indices(edit.old).map(|(at, _)| line_of(&text, at));
    let Some(first) = places.next() else {
        return Err(missing(path, &text, edit.old));
    };
    if edit.old == edit.new {
        return Err(FileError::Message("`old_text` and `new_text` are the same".to_owned()));
    }
    let others: Vec<_> = places.take(20).collect();
    if !edit.everywhere && !others.is_empty() {
        let lines: Vec<_> =
            std::iter::once(first).chain(others).map(|line| line.to_string()).collect();
        return Err(FileError::Message(format!(
            "`old_text` stands in `{}` more than once, at the lines {}; take in more of what is around the place, or set `replace_all`",
            display_path(path),
            lines.join(", ")
        )));
    }
    let edited = text.replace(edit.old, edit.new);
    if edited.len() > files.limits.write {
        return Err(FileError::Message(format!(
            "the edited text would have {} bytes; at most {} can be written",
            edited.len(),
            files.limits.write
        )));
    }
    let count = text.matches(edit.old).count();
    let read = files.versions.of(text.as_bytes());
    change.put(&edited, Some(&replaced), Some(read))?;
    // A conversation that knew the old content knows the new one. Any other has seen only a part of
    // it.
    if change.known() == Some(read) {
        change.learn(&edited);
    }
    Ok(if count == 1 {
        format!("edited `{}` at line {first}: {}", display_path(path), size(&edited))
    } else {
        format!(
            "edited `{}` at {count} places, the first at line {first}: {}",
            display_path(path),
            size(&edited)
        )
    })
}

/// Returns the error of a text that was not found, with the place of a similar one.
fn missing(path: &Path, text: &str, old: &str) -> FileError {
    let bare = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = old.lines().map(bare).find(|line| !line.is_empty());
    let near = wanted.and_then(|wanted| {
        text.lines()
            .enumerate()
            .find(|(_, line)| bare(line).contains(&wanted))
            .map(|(at, _)| at + 1)
    });
    FileError::Message(match near {
        Some(line) => format!(
            "`old_text` is not in `{}`; line {line} reads alike but for blanks or what follows: read the file from there and copy it exactly",
            display_path(path)
        ),
        None => format!(
            "`old_text` is not in `{}`; read the file and copy the text exactly",
            display_path(path)
        ),
    })
}

/// A change of one file, under the lock of its folder.
struct BeganWrite<'a> {
    files: &'a FileAccess,
    path: &'a Path,
    location: Location,
    dir: &'a Dir,
    lock: FolderLock,
    context: &'a ToolContext,
}

impl<'a> BeganWrite<'a> {
    fn begin(
        files: &'a FileAccess,
        path: &'a Path,
        location: Location,
        dir: &'a Dir,
        context: &'a ToolContext,
    ) -> Result<Self, FileError> {
        let lock = FolderLock::acquire(dir, files.limits.lock, context)
            .map_err(|error| FileError::Message(format!("`{}`: {error}", display_path(path))))?;
        Ok(Self { files, path, location, dir, lock, context })
    }

    fn name(&self) -> &OsStr {
        &self.location.name
    }

    fn failed(&self, error: io::Error) -> FileError {
        FileError::io(self.path, error)
    }

    fn changed(&self) -> FileError {
        FileError::Message(format!(
            "`{}` has changed since it was read; nothing was written: read it again",
            display_path(self.path)
        ))
    }

    /// Returns the version of the file that the conversation knows.
    fn known(&self) -> Option<Version> {
        self.files.versions.known(FileReader::of(self.context), &self.location.path())
    }

    fn learn(&self, content: &str) {
        let version = self.files.versions.of(content.as_bytes());
        self.files.versions.learn(FileReader::of(self.context), &self.location.path(), version);
    }

    /// Finds the existing file.
    fn replaced(&self) -> Result<Option<Replaced>, FileError> {
        let metadata = match self.dir.symlink_metadata(self.name()) {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(metadata) => {
                let what = if metadata.is_dir() { "a folder" } else { "no ordinary file" };
                return Err(WorkspaceError::NotAFile { path: self.path.to_owned(), what }.into());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        Ok(Some(match open_at_once(self.dir, Path::new(self.name())) {
            Ok((file, metadata)) => Replaced { file: Some(file), metadata },
            // An unreadable file can be replaced.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Replaced { file: None, metadata }
            }
            Err(error) => return Err(self.failed(error)),
        }))
    }

    /// Reads a whole text file, to change it.
    fn whole(&self) -> Result<(String, Replaced), FileError> {
        let name = Path::new(self.name());
        let (file, metadata) = self.files.workspace.open_file_in(self.dir, name, self.path)?;
        let most = self.files.limits.write as u64;
        let mut bytes = Vec::new();
        let read = (&file).take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(error))?;
        if bytes.len() as u64 > most {
            return Err(FileError::Message(format!(
                "`{}` has {} bytes; at most {most} can be edited",
                display_path(self.path),
                metadata.len()
            )));
        }
        let text = String::from_utf8(bytes).map_err(|_| {
            let path = display_path(self.path);
            FileError::Message(format!("`{path}` is no UTF-8 text, and cannot be edited"))
        })?;
        Ok((text, Replaced { file: Some(file), metadata }))
    }

    /// Replaces the content: writes a new file to the disk, and renames it. The version must still
    /// be `expected`.
    fn put(
        &self,
        content: &str,
        replaced: Option<&Replaced>,
        expected: Option<Version>,
    ) -> Result<(), FileError> {
        let staged = Staged::write(self.dir, content.as_bytes(), replaced)
            .map_err(|error| self.refused(error))?;
        if let Some(expected) = expected {
            // Programs that take no lock may have written in the meantime.
            let now = open_at_once(self.dir, Path::new(self.name()))
                .and_then(|(file, metadata)| self.files.version(file, &metadata));
            if now.ok() != Some(expected) {
                return Err(self.changed());
            }
        }
        if self.context.is_cancelled() {
            return Err(FileError::Message(
                "the call was cancelled; nothing was changed".to_owned(),
            ));
        }
        staged.place(self.name(), replaced.is_none()).map_err(|error| self.refused(error))?;
        // The name is on the disk only once the folder is.
        self.lock.sync().map_err(|error| self.failed(error))
    }

    fn refused(&self, error: StageError) -> FileError {
        match error {
            StageError::Io(error) => self.failed(error),
            StageError::Exists => FileError::Message(format!(
                "`{}` was created by another program in the meantime; nothing was written: read it",
                display_path(self.path)
            )),
            StageError::Lost(why) => {
                FileError::Message(format!("`{}` is not changed: {why}", display_path(self.path)))
            }
        }
    }
}

/// Returns the line of a position, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1
}

fn size(text: &str) -> String {
    format!("{}, {}", counted(text.lines().count(), "line"), counted(text.len(), "byte"))
}
