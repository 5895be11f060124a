//! A recording that a test plays, or makes anew.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::error::RecordingError;
use super::recording::Recording;
use crate::model::Model;
use crate::testing::variable;

/// The variable that makes a [`RecordingFile`] record.
const RECORD: &str = "TOOLBOX_RECORD";

impl Recording {
    /// Returns the file of a recording, which a test plays, or records anew where the variable
    /// `TOOLBOX_RECORD` is set.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> RecordingFile {
        RecordingFile::new(path.into())
    }
}

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
            // First: without a model, as without its key, the file stays as it is.
            let real = real();
            return Ok(Box::new(Recording::create(&self.path)?.model(real)));
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
