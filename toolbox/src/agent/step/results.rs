//! The large results that a run keeps for its transcript.

use super::Start;
use crate::agent::paused::Paused;
use crate::agent::settings::AgentSettings;
use crate::call::ToolResult;
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::context::keeper::{TranscriptResults, named_handle};
use crate::context::promotion::Promotions;
use crate::model::History;

/// Offers the tool that reads results in each step, where it joins and there is something to read,
/// or may be before the next step.
pub(super) fn offer_reader(
    toolbox: &ToolBox,
    context: &ToolContext,
    settings: &AgentSettings,
    promotions: &Promotions,
) {
    let Some(reader) = toolbox.keeper().and_then(|keeper| keeper.joining_reader()) else { return };
    let results = context.extension::<TranscriptResults>();
    let is_used = results.is_some_and(|results| !results.0.is_unused());
    if is_used || !settings.context.is_off() {
        promotions.add(std::iter::once(reader), u32::MAX);
    }
}

/// Returns the context of a run with the results of its transcript: those that it names
/// already, else those of the run above, or none yet.
pub(super) fn with_results(context: &ToolContext, start: &Start, toolbox: &ToolBox) -> ToolContext {
    let (before, done) = match start {
        Start::Fresh(history) => (Some(history), None),
        Start::Resumed(paused, _) => (Some(paused.open.before()), Some(&**paused)),
        Start::Recorded => (None, None),
    };
    // A stored transcript names results of another process. No handle gets a second meaning:
    // neither in the results that follow, nor in those of the run above.
    let named = before.and_then(History::named_handle);
    let named = named.max(done.and_then(|paused: &Paused| highest_handle(&paused.done)));
    let above = || context.extension::<TranscriptResults>().filter(|_| named.is_none());
    let results = before
        .and_then(History::results)
        .or_else(above)
        .cloned()
        .or_else(|| toolbox.keeper()?.new_transcript());
    match results {
        Some(results) => {
            results.0.number_above(named.unwrap_or_default());
            context.clone().with_extension(results)
        }
        // What the transcript names is not what the run above has.
        None => context.clone().without_extension::<TranscriptResults>(),
    }
}

/// Returns the highest number of a handle that results name.
pub(super) fn highest_handle(results: &[ToolResult]) -> Option<u64> {
    results.iter().filter_map(|result| named_handle(result.content())).max()
}
