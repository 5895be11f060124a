//! The file of a recording.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::entry::{Header, RecordedEntry, VERSION};
use super::{Recording, RecordingError};
use crate::model::Model;
use crate::testing::variable;

/// The variable that makes a [`RecordingFile`] record.
const RECORD: &str = "TOOLBOX_RECORD";

/// The file of a recording, which a test plays, or records anew where the variable
/// `TOOLBOX_RECORD` is set to anything but `0` and `false`. Made by [`Recording::at`].
///
/// ```no_run
/// use toolbox::agent::Agent;
/// use toolbox::testing::{Recording, ScriptedModel};
///
/// # async fn test() -> Result<(), Box<dyn std::error::Error>> {
/// # let real_model = || ScriptedModel::answering("Hello.");
/// let model = Recording::at("tests/greeting.jsonl").model(real_model)?;
/// let outcome = Agent::builder(model).build()?.run("Hi").await?;
/// assert_eq!(outcome.content, "Hello.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RecordingFile {
    path: PathBuf,
    is_loose: bool,
}

impl RecordingFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, is_loose: false }
    }

    /// Returns the file so that the nearest recorded request is played where none is equal; see
    /// [`PlayedModel::loose`](super::PlayedModel::loose).
    #[must_use]
    pub fn loose(mut self) -> Self {
        self.is_loose = true;
        self
    }

    /// Returns a model that plays the file; where the variable `TOOLBOX_RECORD` is set, the model
    /// of `real`, whose requests and replies are written to the file as they come.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no recording; if it cannot be written.
    pub fn model<M: Model>(
        &self,
        real: impl FnOnce() -> M,
    ) -> Result<Box<dyn Model>, RecordingError> {
        if variable::is_set(RECORD) {
            return Ok(Box::new(Recording::create(&self.path)?.model(real())));
        }
        let played = match Recording::load(&self.path) {
            Err(RecordingError::Read { path, source }) if source.kind() == ErrorKind::NotFound => {
                return Err(RecordingError::Missing { path });
            }
            loaded => loaded?.play(),
        };
        Ok(Box::new(if self.is_loose { played.loose() } else { played }))
    }
}

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
