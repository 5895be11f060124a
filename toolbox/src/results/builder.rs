//! The way in: a box that keeps results.

use std::sync::Arc;

use super::keeper::Keeper;
#[cfg(feature = "agent")]
use super::memory::MemoryResults;
use super::reader::Reader;
use super::resource::kept_results;
use super::store::ResultStore;
#[cfg(feature = "cli")]
use crate::collection::ToolBox;
use crate::collection::ToolBoxBuilder;
#[cfg(feature = "agent")]
use crate::tool::{IntoTools as _, Tool};

impl ToolBoxBuilder {
    /// Keeps results that are larger than [`max_result_tokens`](Self::max_result_tokens) in a
    /// store, and adds the tool `result_read`, which reads them by handle, and the resource
    /// `result://{handle}`, which is the whole; see [`results`](crate::results).
    ///
    /// Without a store, the middle of a text beyond
    /// [`max_result_bytes`](Self::max_result_bytes) is left out.
    #[track_caller]
    pub fn keep_results(self, store: impl ResultStore) -> Self {
        let keeper = Keeper::new(Arc::new(store));
        let tools = Reader::new(&keeper);
        let resources: Vec<_> = kept_results(&keeper).into_iter().collect();
        self.keeper(keeper).tools(tools).resources(resources)
    }

    /// Keeps results in a store, without `result_read` and the resource: they join the box that the
    /// returned value is given, with the first result that is kept.
    #[cfg(feature = "cli")]
    pub(crate) fn keep_results_joining(self, store: impl ResultStore) -> (Self, JoiningReader) {
        let keeper = Keeper::new(Arc::new(store));
        (self.keeper(Arc::clone(&keeper) as Arc<_>), JoiningReader(keeper))
    }

    /// Keeps the large results of each transcript in memory, for as long as the transcript is
    /// there, and offers `result_read` once there is something to read.
    #[cfg(feature = "agent")]
    pub(crate) fn keep_results_by_transcript(self) -> Self {
        let keeper = Keeper::new(Arc::new(MemoryResults::new()));
        let tools: Vec<_> =
            Reader::new(&keeper).into_tools().into_iter().map(Tool::deferred).collect();
        for tool in &tools {
            keeper.keep_by_transcript(Arc::clone(tool.shared_definition().arc()));
        }
        self.keeper(keeper).tools(tools)
    }
}

/// The reader of results that joins a box once there is something to read.
#[cfg(feature = "cli")]
pub(crate) struct JoiningReader(Arc<Keeper>);

#[cfg(feature = "cli")]
impl JoiningReader {
    pub(crate) fn join(self, toolbox: &ToolBox) {
        let (keeper, toolbox) = (Arc::downgrade(&self.0), toolbox.downgrade());
        self.0.on_first(move || {
            let (Some(keeper), Some(toolbox)) = (keeper.upgrade(), toolbox.upgrade()) else {
                return false;
            };
            let resources: Vec<_> = kept_results(&keeper).into_iter().collect();
            toolbox.resources().register(resources);
            // A tool of a server may have its name.
            toolbox.try_register(Reader::new(&keeper)).is_ok()
        });
    }
}
