//! `--save`: the parts of a result as files.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::arguments::SaveArguments;
use super::outcome::{Exit, Outcome};
use super::text::{counted, line};
use crate::call::Content;
use crate::disk::{Access, create, replace};

/// The file that the parts of a result are written to.
pub(super) struct SaveTarget<'a> {
    path: &'a Path,
    force: bool,
}

/// The files that a result was written to, and the parts that were not.
pub(super) struct SavedParts<'a> {
    pub(super) files: Vec<SavedFile>,
    pub(super) rest: Vec<&'a Content>,
}

#[derive(Debug, Serialize)]
pub(super) struct SavedFile {
    file: PathBuf,
    mime_type: String,
    bytes: usize,
}

impl SavedFile {
    /// Returns the line for the user.
    pub(super) fn displayed(&self) -> String {
        let (file, size) = (shown(&self.file), counted(self.bytes, "byte"));
        format!("wrote {file} ({}, {size})", line(&self.mime_type))
    }
}

/// The bytes of a part and their MIME type.
type Bytes<'a> = (Cow<'a, [u8]>, &'a str);

impl<'a> SaveTarget<'a> {
    /// Returns the target that the options name, if they name one. It is checked before anything is
    /// called, so that no result is lost to a file that cannot be written.
    pub(super) fn of(wanted: &'a SaveArguments) -> Result<Option<Self>, Box<Outcome>> {
        let Some(path) = &wanted.file else { return Ok(None) };
        let target = Self { path, force: wanted.force };
        match target.fault() {
            None => Ok(Some(target)),
            Some((exit, fault)) => Err(Box::new(Outcome::failed(exit, fault))),
        }
    }

    /// Returns the reason why the file cannot be written.
    fn fault(&self) -> Option<(Exit, String)> {
        let file = shown(self.path);
        if self.path == Path::new("-") || self.path.file_name().is_none() {
            let what = "--save takes the name of a file; text goes to standard output without it";
            return Some((Exit::Usage, what.to_owned()));
        }
        let folder = folder_of(self.path);
        if !folder.is_dir() {
            let what = format!("{file} cannot be written: there is no folder {}", shown(folder));
            return Some((Exit::Failed, what));
        }
        // A device or a pipe is not replaced by a file.
        if fs::metadata(self.path).is_ok_and(|there| !there.is_file()) {
            return Some((
                Exit::Failed,
                format!("{file} cannot be written: it is no regular file"),
            ));
        }
        let is_taken = self.path.symlink_metadata().is_ok() && !self.force;
        is_taken.then(|| (Exit::Failed, taken(self.path)))
    }

    /// Writes the images, sounds and documents of a result to files, or its texts if it has none of
    /// them: the first to the file of the option, each further one to a file with a number.
    ///
    /// Nothing is written if one of the parts cannot be read.
    pub(super) fn save<'c>(
        &self,
        parts: impl IntoIterator<Item = &'c Content>,
    ) -> Result<SavedParts<'c>, String> {
        let parts: Vec<&Content> = parts.into_iter().collect();
        let has_media = parts.iter().any(|part| is_media(part));
        let is_saved = |part: &&Content| {
            if has_media { is_media(part) } else { part.as_text().is_some() }
        };
        let (saved, rest): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_saved);
        if saved.is_empty() {
            let links = rest.len();
            return Err(match links {
                0 => "the result is empty".to_owned(),
                _ => format!("the result has {} and no contents", counted(links, "link")),
            });
        }
        let saved: Vec<Bytes<'_>> = saved.into_iter().map(bytes_of).collect::<Result<_, _>>()?;
        let mut files: Vec<SavedFile> = Vec::new();
        let mut number = 0;
        for (bytes, mime_type) in saved {
            let path = self.next(&mut number);
            self.write(&path, &bytes).map_err(|fault| {
                let before: Vec<_> = files.iter().map(SavedFile::displayed).collect();
                [before, vec![fault]].concat().join("; ")
            })?;
            let mime_type = mime_type.to_owned();
            files.push(SavedFile { file: path, mime_type, bytes: bytes.len() });
        }
        Ok(SavedParts { files, rest })
    }

    /// Returns the path of the next part: `FILE`, then `FILE-2` with its extension, and so on.
    /// Numbers whose files are there are left out, unless files may be replaced.
    fn next(&self, number: &mut usize) -> PathBuf {
        loop {
            *number += 1;
            if *number == 1 {
                return self.path.to_owned();
            }
            let mut name = self.path.file_stem().unwrap_or_default().to_owned();
            name.push(format!("-{number}"));
            if let Some(extension) = self.path.extension() {
                name.push(".");
                name.push(extension);
            }
            let path = self.path.with_file_name(name);
            let is_free = match path.symlink_metadata() {
                Ok(there) => self.force && there.is_file(),
                Err(_) => true,
            };
            if is_free {
                return path;
            }
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        let written =
            if self.force { replace(path, bytes, Access::Owner) } else { create(path, bytes) };
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => taken(path),
            _ => format!("{} cannot be written: {error}", shown(path)),
        })
    }
}

fn is_media(part: &Content) -> bool {
    matches!(part, Content::Image(_) | Content::Audio(_) | Content::Resource(_))
}

/// Returns the bytes of a part.
fn bytes_of(part: &Content) -> Result<Bytes<'_>, String> {
    let unreadable = |what: &str, mime: &str| {
        format!("the {what} ({}) cannot be read: its data is not base64", line(mime))
    };
    match part {
        Content::Image(media) | Content::Audio(media) => {
            let mime = media.mime_type.as_str();
            let what = if matches!(part, Content::Image(_)) { "image" } else { "audio" };
            let bytes = media.raw_bytes().ok_or_else(|| unreadable(what, mime))?;
            Ok((Cow::Owned(bytes), mime))
        }
        Content::Resource(resource) => {
            let mime = resource.mime_type.as_deref();
            let mime = mime.unwrap_or(if resource.text.is_some() { "text" } else { "bytes" });
            let bytes = resource.raw_bytes().ok_or_else(|| unreadable("document", mime))?;
            Ok((bytes, mime))
        }
        Content::Text(text) => Ok((Cow::Borrowed(text.as_bytes()), "text")),
        Content::ResourceLink(_) => Err("a link has no contents".to_owned()),
    }
}

/// Formats a part of a result as text; a part that is none by its type and its size.
pub(super) fn displayed(part: &Content) -> String {
    let sized = |what: &str| match bytes_of(part) {
        Ok((bytes, mime)) => {
            let size = counted(bytes.len(), "byte");
            format!("[{what}, {mime}, {size}: --save FILE writes it]")
        }
        Err(fault) => format!("[{fault}]"),
    };
    match part {
        Content::Text(text) => text.to_string(),
        Content::Image(_) => sized("image"),
        Content::Audio(_) => sized("audio"),
        Content::ResourceLink(link) => link.to_string(),
        Content::Resource(resource) => match &resource.text {
            Some(text) => text.clone(),
            None => sized(&format!("document {}", resource.uri)),
        },
    }
}

fn taken(path: &Path) -> String {
    format!("{} is there already: add --force to replace it", shown(path))
}

fn shown(path: &Path) -> String {
    line(&path.display().to_string())
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
