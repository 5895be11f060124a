//! A model that records the replies of another one.

use std::fmt;
use std::sync::Arc;

use crate::future::BoxFuture;
use crate::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse, Reply};
use crate::sync::Mutex;

/// A model that passes requests on to another and keeps its replies, to be played again by a
/// [`ScriptedModel`](super::ScriptedModel::from_recording).
///
/// ```
/// use toolbox::agent::Agent;
/// use toolbox::testing::{Recorder, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let real = ScriptedModel::answering("Hello.");
/// let recorder = Recorder::new(real);
/// Agent::builder(recorder.clone()).build()?.run("Hi").await?;
/// let script = recorder.recording(); // keep it in a file beside the test
///
/// let again = Agent::builder(ScriptedModel::from_recording(&script)?).build()?;
/// assert_eq!(again.run("Hi").await?.content, "Hello.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    model: Arc<dyn Model>,
    replies: Arc<Mutex<Vec<Reply>>>,
}

impl Recorder {
    /// Returns a recorder of a model. Clones write to the same recording.
    pub fn new(model: impl Model) -> Self {
        Self { model: Arc::new(model), replies: Arc::default() }
    }

    /// Returns the recording so far, as a JSON array of replies.
    #[must_use]
    pub fn recording(&self) -> String {
        let replies = self.replies.lock();
        // A reply always serializes: its keys are text.
        serde_json::to_string_pretty(&*replies).unwrap_or_default()
    }
}

#[diagnostic::do_not_recommend]
impl Model for Recorder {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let response = self.model.respond(request, deltas).await?;
            let mut replies = self.replies.lock();
            replies.push(response.reply.clone());
            Ok(response)
        })
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("model", &self.model.name()).finish_non_exhaustive()
    }
}
