//! The lines of the file of a recording.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

use super::entry::{Header, RecordedEntry, VERSION};
use super::error::RecordingError;

/// Creates the file, with its first line.
pub(super) fn create(path: &Path) -> Result<File, RecordingError> {
    let created = File::create(path).and_then(|mut file| {
        file.write_all(&line(&Header { toolbox_recording: VERSION })?)?;
        Ok(file)
    });
    created.map_err(RecordingError::write(path))
}

/// Adds a line.
pub(super) fn append(
    file: &mut File,
    path: &Path,
    entry: &RecordedEntry,
) -> Result<(), RecordingError> {
    let written = line(entry).and_then(|line| file.write_all(&line));
    written.map_err(RecordingError::write(path))
}

pub(super) fn write(path: &Path, entries: &[RecordedEntry]) -> Result<(), RecordingError> {
    let mut file = create(path)?;
    entries.iter().try_for_each(|entry| append(&mut file, path, entry))
}

pub(super) fn read(path: &Path) -> Result<Vec<RecordedEntry>, RecordingError> {
    let text = fs::read_to_string(path).map_err(RecordingError::read(path))?;
    let invalid = |line: usize, message: String| RecordingError::Invalid {
        path: path.to_owned(),
        line,
        message,
    };
    // What follows the last line was not written in whole.
    let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
    let mut lines = whole.lines().enumerate();
    let header = lines.next().and_then(|(_, line)| serde_json::from_str(line).ok());
    match header {
        Some(Header { toolbox_recording: VERSION }) => {}
        Some(Header { toolbox_recording: version }) => {
            let text = format!("is of version {version}, and this program reads version {VERSION}");
            return Err(invalid(1, text));
        }
        None => {
            return Err(invalid(
                1,
                "is not that of a recording, `{\"toolbox_recording\":1}`".to_owned(),
            ));
        }
    }
    let entries = lines.map(|(index, line)| {
        serde_json::from_str(line).map_err(|error| invalid(index + 1, error.to_string()))
    });
    entries.collect()
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
