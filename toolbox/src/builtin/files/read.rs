//! Reading: some lines of a text, or an image.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::access::{FileAccess, FileLimits};
use super::error::{FileError, counted};
use super::lookup::display_path;
use super::versions::FileReader;
use crate::call::{Content, ToolResult};
use crate::context::ToolContext;

/// The longest line that is shown whole, in bytes. The rest of it is counted.
const LINE_BYTES: usize = 4096;

/// The largest image that is returned, in bytes.
const IMAGE_BYTES: u64 = 4 << 20;

/// Reads lines of a file, as many as fit into a reply.
pub(super) fn read(
    files: &FileAccess,
    path: &Path,
    lines: RangeInclusive<u64>,
    context: &ToolContext,
) -> Result<ToolResult, FileError> {
    let limits = &files.limits;
    if lines.is_empty() {
        return Err(FileError::Message(format!(
            "`end_line` {} is before `start_line` {}",
            lines.end(),
            lines.start()
        )));
    }
    let failed = |error| FileError::io(path, error);
    let (file, metadata) = files.workspace.open_file(path)?;
    // A file that can be written is read at once, so that lines and version are of the same moment.
    let mut begin = Vec::new();
    let mut rest = file.take(limits.scan);
    let version = if metadata.len() > limits.write as u64 {
        files.marks(&metadata)
    } else {
        rest.by_ref().take(limits.write as u64 + 1).read_to_end(&mut begin).map_err(failed)?;
        files.versions.of(&begin)
    };
    let mut file = begin.as_slice().chain(BufReader::with_capacity(64 << 10, rest));
    let head = file.fill_buf().map_err(failed)?;
    if let Some(kind) = image(head) {
        if metadata.len() > IMAGE_BYTES {
            let message = format!(
                "`{}` is an image ({kind}) of {} bytes; at most {IMAGE_BYTES} can be shown",
                display_path(path),
                metadata.len()
            );
            return Err(FileError::Message(message));
        }
        let mut bytes = Vec::new();
        let read = file.take(IMAGE_BYTES).read_to_end(&mut bytes);
        read.map_err(failed)?;
        return Ok(ToolResult::from(Content::image(bytes, kind)));
    }
    if is_binary(head) {
        let message = format!(
            "`{}` is a binary file of {} bytes; it is not shown",
            display_path(path),
            metadata.len()
        );
        return Err(FileError::Message(message));
    }
    let passage = Passage::read(&mut file, path, &lines, limits, context)?;
    if let Ok((names, _)) = files.workspace.resolve(path) {
        let whole: PathBuf = names.iter().collect();
        files.versions.learn(FileReader::of(context), &whole, version);
    }
    Ok(passage.into_result(path, &lines))
}

/// The lines read of a file.
#[derive(Default)]
struct Passage {
    text: String,
    /// The last line that is in the text, counted from 1; 0 when there is none.
    last: u64,
    /// The number of lines skipped or read.
    counted_lines: u64,
    /// `true` if the end of the file was reached.
    ended: bool,
    /// The numbers of lines that were cut, and of bytes that are no UTF-8.
    cut: u64,
    odd: usize,
}

impl Passage {
    fn read(
        file: &mut impl BufRead,
        path: &Path,
        lines: &RangeInclusive<u64>,
        limits: &FileLimits,
        context: &ToolContext,
    ) -> Result<Self, FileError> {
        let mut passage = Self::default();
        let mut line = Vec::new();
        let mut scanned = 0;
        loop {
            if context.is_cancelled() {
                return Ok(passage);
            }
            let (kept, length) = next_line(file, &mut line, LINE_BYTES)
                .map_err(|error| FileError::io(path, error))?;
            if length == 0 {
                passage.ended = scanned < limits.scan;
                return Ok(passage);
            }
            scanned += length;
            passage.counted_lines += 1;
            if !lines.contains(&passage.counted_lines) {
                if passage.counted_lines > *lines.end() {
                    passage.counted_lines -= 1;
                    return Ok(passage);
                }
                continue;
            }
            let before = passage.text.len();
            passage.odd += push_text(&mut passage.text, &line);
            if kept < length {
                passage.cut += 1;
                let _ = writeln!(passage.text, " [.. {} more bytes of this line]", length - kept);
            }
            // The first line is always included, so that reading on makes progress.
            if passage.text.len() > limits.reply && before > 0 {
                passage.text.truncate(before);
                passage.counted_lines -= 1;
                return Ok(passage);
            }
            passage.last = passage.counted_lines;
        }
    }

    fn into_result(mut self, path: &Path, lines: &RangeInclusive<u64>) -> ToolResult {
        if self.last == 0 {
            let message = match (self.ended, self.counted_lines) {
                (true, 0) => format!("`{}` is empty", display_path(path)),
                (true, 1) => format!("`{}` has 1 line", display_path(path)),
                (true, counted_lines) => {
                    format!("`{}` has {counted_lines} lines", display_path(path))
                }
                (false, counted_lines) => {
                    format!(
                        "line {} of `{}` is too far down: {counted_lines} lines were skipped",
                        lines.start(),
                        display_path(path)
                    )
                }
            };
            let empty = self.ended && self.counted_lines == 0;
            return if empty { ToolResult::new(message) } else { ToolResult::error(message) };
        }
        let mut notes = Vec::new();
        if !self.ended && self.last < *lines.end() {
            notes.push(format!(
                "lines {} to {}; there is more: read on with `start_line` {}",
                lines.start(),
                self.last,
                self.last + 1
            ));
        }
        if self.odd > 0 {
            notes
                .push(format!("what is no UTF-8 is shown as \\xNN: {}", counted(self.odd, "byte")));
        }
        if !notes.is_empty() {
            if !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            let _ = write!(self.text, "[{}]", notes.join("; "));
        }
        ToolResult::new(self.text)
    }
}

/// Reads a line, its break included, and keeps at most `keep` bytes of it, whole characters.
/// Returns the number of bytes kept and the length of the line, which is 0 at the end of the file.
pub(super) fn next_line(
    file: &mut impl BufRead,
    line: &mut Vec<u8>,
    keep: usize,
) -> io::Result<(u64, u64)> {
    line.clear();
    let mut length = 0;
    loop {
        let buffer = file.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', buffer).map(|at| at + 1);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        let room = keep.saturating_sub(line.len()).min(piece.len());
        line.extend_from_slice(&piece[..room]);
        length += piece.len() as u64;
        let used = piece.len();
        file.consume(used);
        if end.is_some() {
            break;
        }
    }
    if (line.len() as u64) < length {
        // A character that was cut is left out.
        let end = line.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(0);
        if std::str::from_utf8(&line[end..]).is_err() {
            line.truncate(end);
        }
    }
    Ok((line.len() as u64, length))
}

/// Appends bytes as text, those that are no UTF-8 as `\xNN`. Returns the number of the latter.
pub(super) fn push_text(text: &mut String, bytes: &[u8]) -> usize {
    let mut odd = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            odd += 1;
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    odd
}

/// Returns `true` if a file that begins like this is no text.
pub(super) fn is_binary(head: &[u8]) -> bool {
    memchr::memchr(0, &head[..head.len().min(8192)]).is_some()
}

/// Returns the MIME type of an image that begins like this.
fn image(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns a path below a folder, relative to the workspace.
pub(super) fn below(folder: &Path, name: &Path) -> PathBuf {
    if folder == Path::new(".") { name.to_owned() } else { folder.join(name) }
}
