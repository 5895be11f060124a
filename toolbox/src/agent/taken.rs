//! Pauses that were taken: a run goes on from each once.

use super::outcome::RunErrorKind;
use super::paused::{Decisions, Paused, PausedTranscript};
use super::run_scope::RunScope;
use crate::context::recorder::CallRecorder;
use crate::context::{Decision, ToolContext};

/// Takes the pause of a run that is to go on, for the run of a key in a journal or for this start
/// alone. A run below goes on with that above.
pub(super) async fn take(
    journal: &dyn CallRecorder,
    key: Option<&str>,
    given: &ToolContext,
    paused: &Paused,
    decisions: &Decisions,
) -> Result<(), RunErrorKind> {
    let waits_on = matches!(paused.open, PausedTranscript::Calls(_))
        && decisions.values().all(|decision| matches!(decision, Decision::Defer));
    if waits_on || paused.id.is_empty() || given.get::<RunScope>().is_some() {
        return Ok(());
    }
    match journal.take_pause(&paused.id, key).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(RunErrorKind::AlreadyResumed { paused: Box::new(paused.clone()) }),
        Err(error) => Err(RunErrorKind::Journal(error)),
    }
}
