//! Models that record, and that play what was recorded.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde_json::Value;

use super::difference::{ValueDifference, distance};
use super::entry::{ModelEntry, RecordedEntry};
use super::recording::Recording;
use super::shown::{shown_reply, shown_request};
use crate::future::BoxFuture;
use crate::model::{
    Deltas, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse, PrefixChanged,
};
use crate::sync::Mutex;
use crate::testing::script::stream;

impl Recording {
    /// Returns a model that passes requests on to `model`, and adds them to the recording with
    /// their replies.
    pub fn model(&self, model: impl Model) -> RecordingModel {
        RecordingModel::new(Arc::new(model), self.clone())
    }

    /// Returns a model that plays the requests recorded so far, strictly.
    #[must_use]
    pub fn play(&self) -> PlayedModel {
        PlayedModel::new(self.model_entries())
    }

    fn model_entries(&self) -> Vec<ModelEntry> {
        let models = self.entries().into_iter().filter_map(|entry| match entry {
            RecordedEntry::Model(entry) => Some(entry),
            RecordedEntry::Frame(_) => None,
        });
        models.collect()
    }
}

/// A model that passes requests on to another, and keeps them with their replies in a recording.
/// Made by [`Recording::model`].
///
/// An error of the model is kept as well. A request that is dropped before its reply is not.
#[derive(Clone)]
pub struct RecordingModel {
    model: Arc<dyn Model>,
    recording: Recording,
}

impl RecordingModel {
    pub(super) fn new(model: Arc<dyn Model>, recording: Recording) -> Self {
        Self { model, recording }
    }

    fn keep(
        &self,
        request: &ModelRequest,
        outcome: Result<ModelResponse, ModelError>,
    ) -> Result<(), ModelError> {
        let outcome = outcome.map(|mut response| {
            response.reply = shown_reply(request, response.reply);
            response
        });
        let names = (self.model.name(), self.model.provider());
        let entry = ModelEntry::new(names, shown_request(request), outcome);
        let kept = self.recording.push(RecordedEntry::Model(entry));
        kept.map_err(|error| ModelError::new(ModelErrorKind::Other, error.to_string()))
    }
}

#[diagnostic::do_not_recommend]
impl Model for RecordingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn is_program(&self) -> bool {
        self.model.is_program()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let outcome = self.model.respond(request, deltas).await;
            self.keep(request, outcome.clone())?;
            outcome
        })
    }
}

impl fmt::Debug for RecordingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingModel").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

/// A model that plays a recording. Made by [`Recording::play`].
///
/// Strictly, which is the default, a request has to be one that was recorded and was not played
/// yet: everything that a model gets, with secrets hidden. Another is a [`ModelError`] that names
/// its number, the first difference with both values, and where the cached prefix of the prompt
/// ends. [Loosely](Self::loose), the nearest one is played. Requests of agents that run at the same
/// time may come in another order than they were recorded in.
///
/// Where an agent listens to deltas, replies come in pieces, word by word. Clones play the same
/// recording.
#[derive(Clone)]
pub struct PlayedModel {
    entries: Arc<[ModelEntry]>,
    state: Arc<Mutex<PlayState>>,
    is_loose: bool,
}

#[derive(Default)]
struct PlayState {
    /// The indexes of the entries that are left.
    left: Vec<usize>,
    asked: usize,
}

impl PlayedModel {
    pub(super) fn new(entries: Vec<ModelEntry>) -> Self {
        let state = PlayState { left: (0..entries.len()).collect(), asked: 0 };
        Self { entries: entries.into(), state: Arc::new(Mutex::new(state)), is_loose: false }
    }

    /// Returns the model so that it plays the nearest recorded request that is left, where none is
    /// equal.
    #[must_use]
    pub fn loose(mut self) -> Self {
        self.is_loose = true;
        self
    }

    /// Returns the number of recorded requests that were not played yet.
    #[must_use]
    pub fn requests_left(&self) -> usize {
        self.state.lock().left.len()
    }

    /// Takes the entry that a request plays.
    fn take(&self, now: &Value) -> Result<&ModelEntry, ModelError> {
        let mut state = self.state.lock();
        state.asked += 1;
        let distances = state.left.iter().map(|index| {
            let recorded = &self.entries[*index].request;
            if self.is_loose { distance(recorded, now) } else { usize::from(recorded != now) }
        });
        let nearest = distances.enumerate().min_by_key(|(_, distance)| *distance);
        match nearest {
            Some((at, distance)) if self.is_loose || distance == 0 => {
                Ok(&self.entries[state.left.remove(at)])
            }
            Some(_) => Err(self.refusal(&state, now)),
            None => Err(error(format!(
                "the recording is over: it has {} requests to a model, and this is request {}",
                self.entries.len(),
                state.asked
            ))),
        }
    }

    /// Returns the error of a request that is none of the recording.
    fn refusal(&self, state: &PlayState, now: &Value) -> ModelError {
        let by_distance = |index: &&usize| distance(&self.entries[**index].request, now);
        let index = state.left.iter().min_by_key(by_distance).copied().unwrap_or_default();
        let recorded = &self.entries[index].request;
        let mut text = format!("request {} is not the recorded request {}", state.asked, index + 1);
        if let Some(difference) = ValueDifference::between(recorded, now) {
            let _ = write!(text, ": {difference}");
        }
        if let Some(change) = PrefixChanged::between(recorded, now) {
            let _ = write!(text, "; {change}");
        }
        error(text)
    }
}

fn error(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Other, message)
}

#[diagnostic::do_not_recommend]
impl Model for PlayedModel {
    fn name(&self) -> &str {
        self.entries.first().map_or("recorded", |entry| &entry.model)
    }

    fn provider(&self) -> &'static str {
        match self.entries.first().map(|entry| entry.provider.as_str()) {
            Some("anthropic") => "anthropic",
            Some("gcp.gemini") => "gcp.gemini",
            Some("openai") => "openai",
            _ => "custom",
        }
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let response = self.take(&shown_request(request))?.outcome()?;
            if deltas.are_wanted() {
                stream(&response.reply, deltas);
            }
            Ok(response)
        })
    }
}

impl fmt::Debug for PlayedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayedModel")
            .field("requests_left", &self.requests_left())
            .finish_non_exhaustive()
    }
}
