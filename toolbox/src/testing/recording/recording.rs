//! The entries of a recording, in memory and in its file.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::RecordedEntry;
use super::error::RecordingError;
use super::lines;
use crate::sync::Mutex;

/// The requests and replies of models, and the frames of MCP servers, in the order in which they
/// came.
///
/// Its file has one JSON object a line: `{"toolbox_recording":1}`, then the entries. Arguments that
/// the schema of a tool marks as secret (`writeOnly`, `format: password`) are `"***"` in it, as in
/// [events](crate::event::EventKind); so are all arguments of a tool whose schema is not known.
/// Texts of users, results and replies are kept as they are. Clones are the same recording.
///
/// ```
/// use toolbox::agent::Agent;
/// use toolbox::testing::{Recording, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let real = ScriptedModel::answering("Hello.");
/// let recording = Recording::new();
/// Agent::builder(recording.model(real)).build()?.run("Hi").await?;
///
/// let agent = Agent::builder(recording.play()).build()?;
/// assert_eq!(agent.run("Hi").await?.content, "Hello.");
///
/// let changed = Agent::builder(recording.play()).build()?.run("Ho").await;
/// let error = changed.unwrap_err().to_string();
/// let differs = r#"at messages[0].content[0].text: recorded "Hi", now "Ho""#;
/// assert!(error.contains(differs), "{error}");
/// # Ok(())
/// # }
/// ```
///
/// A test that records where `TOOLBOX_RECORD=1` is set, and plays otherwise, uses
/// [`Recording::at`].
#[derive(Clone, Default)]
pub struct Recording(Arc<Mutex<RecordingInner>>);

#[derive(Default)]
struct RecordingInner {
    entries: Vec<RecordedEntry>,
    /// The file that each entry is written to as it comes.
    file: Option<(File, PathBuf)>,
    /// The number of sessions that were recorded one by one.
    #[cfg(feature = "mcp-client")]
    connections: u64,
}

impl Recording {
    /// Returns an empty recording, in memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty recording whose entries are written to a file as they come, a line each, so
    /// that they are there however the process ends. A file that exists is replaced.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let file = lines::create(path)?;
        let inner = RecordingInner { file: Some((file, path.to_owned())), ..Default::default() };
        Ok(Self(Arc::new(Mutex::new(inner))))
    }

    /// Reads a recording from its file.
    ///
    /// A last line without an end was not written in whole, and is left out.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no recording, with the line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let entries = lines::read(path.as_ref())?;
        let inner = RecordingInner { entries, ..Default::default() };
        Ok(Self(Arc::new(Mutex::new(inner))))
    }

    /// Writes the recording to a file, in place of what is in it.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), RecordingError> {
        lines::write(path.as_ref(), &self.0.lock().entries)
    }

    /// Returns the number of requests to models, and of frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().entries.len()
    }

    /// Returns `true` if nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a copy of the entries so far.
    pub(super) fn entries(&self) -> Vec<RecordedEntry> {
        self.0.lock().entries.clone()
    }

    #[cfg(feature = "mcp-client")]
    pub(super) fn next_connection(&self) -> u64 {
        let inner = &mut *self.0.lock();
        inner.connections += 1;
        inner.connections
    }

    pub(super) fn push(&self, entry: RecordedEntry) -> Result<(), RecordingError> {
        let inner = &mut *self.0.lock();
        if let Some((file, path)) = &mut inner.file {
            lines::append(file, path, &entry)?;
        }
        inner.entries.push(entry);
        Ok(())
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("len", &self.len()).finish_non_exhaustive()
    }
}
