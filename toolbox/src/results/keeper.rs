//! The gate's side: which results are kept, and what stands in their place.

use std::sync::{Arc, OnceLock};

use super::reader::Reader;
use super::shown::{shown, tokens};
use super::store::{KeptResult, ResultOwner, ResultStore};
use crate::call::{Content, ToolResult};
use crate::collection::ToolBoxBuilder;
use crate::context::ToolContext;
use crate::context::keeper::{RemovedContent, ResultKeeper, ResultLimits};
use crate::context::taint::ResultSource;
use crate::future::BoxFuture;
use crate::text::{QUOTED, quote};

/// The estimated bytes of a token, for the room that a part may take.
const BYTES: usize = 3;

/// Keeps large results in a store.
pub(super) struct Keeper {
    pub(super) store: Arc<dyn ResultStore>,
    limits: OnceLock<ResultLimits>,
}

impl Keeper {
    pub(super) fn limits(&self) -> ResultLimits {
        self.limits.get().copied().unwrap_or_default()
    }

    /// Returns the bytes of a text that is surely shown: most texts have more bytes in a token.
    pub(super) fn room(&self) -> usize {
        (self.limits().tokens * BYTES).min(self.limits().bytes / 2)
    }
}

impl ToolBoxBuilder {
    /// Keeps results that are larger than [`max_result_tokens`](Self::max_result_tokens) in a store,
    /// and adds the tool `result_read`, which reads them by handle; see
    /// [`results`](crate::results).
    ///
    /// Without a store, the middle of a text beyond
    /// [`max_result_bytes`](Self::max_result_bytes) is left out.
    #[track_caller]
    pub fn keep_results(self, store: impl ResultStore) -> Self {
        let keeper = Arc::new(Keeper { store: Arc::new(store), limits: OnceLock::new() });
        let tools = Reader::new(&keeper);
        self.keeper(keeper).tools(tools)
    }
}

impl ResultKeeper for Keeper {
    fn set_limits(&self, limits: ResultLimits) {
        let _ = self.limits.set(limits);
    }

    fn exceeds(&self, result: &ToolResult, own: Option<usize>) -> bool {
        let ResultLimits { tokens: of_box, bytes } = self.limits();
        let limit = own.unwrap_or(of_box);
        let texts = || result.content().iter().filter_map(Content::as_text);
        let length: usize = texts().map(str::len).sum();
        // A token has at least one byte, so most results need not be counted.
        let mut exceeds = length > limit && length > bytes;
        if length > limit && !exceeds {
            exceeds = texts().map(tokens).sum::<usize>() > limit;
        }
        exceeds || result.content().iter().map(Content::len).sum::<usize>() > bytes
    }

    fn keep<'a>(
        &'a self,
        context: &'a ToolContext,
        source: ResultSource<'a>,
        own: Option<usize>,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, ()> {
        let limit = own.unwrap_or(self.limits().tokens);
        Box::pin(async move {
            let (parts, structured_content) = result.take_content();
            let whole = Arc::new(KeptResult {
                tool: source.definition.name.clone(),
                content: parts,
                structured_content,
                is_untrusted: source.is_untrusted,
                shows_urls: source.shows_urls,
            });
            let shown = shown(&whole, limit * BYTES / 4);
            let kept = self.store.keep(ResultOwner::of(context), Arc::clone(&whole)).await;
            let about = shown.about;
            let text = match kept {
                Ok(number) => {
                    let handle = format!("r{number}");
                    let read_on = shown.read_on;
                    let text = format!(
                        "[{handle}: {about}. A part of it follows. Read on with result_read: {{\"handle\": \"{handle}\", {read_on}}}]\n{}",
                        shown.part
                    );
                    result.set_handle(handle);
                    text
                }
                Err(error) => {
                    tracing::warn!(%error, tool = %source.definition.name, "a result could not be kept");
                    format!(
                        "[{about}. A part of it follows; the rest is gone, since it could not be kept: {}]\n{}",
                        quote(&error.to_string(), QUOTED),
                        shown.part
                    )
                }
            };
            let left_out = whole.bytes().saturating_sub(shown.part.len());
            result.replace_content(text, left_out);
        })
    }

    fn keep_removed<'a>(
        &'a self,
        context: &'a ToolContext,
        removed: RemovedContent,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let RemovedContent { tool, content, is_untrusted, shows_urls } = removed;
            let whole = KeptResult { is_untrusted, shows_urls, ..KeptResult::new(tool, content) };
            let kept = self.store.keep(ResultOwner::of(context), Arc::new(whole)).await;
            kept.map(|number| format!("r{number}")).map_err(|error| {
                tracing::warn!(%error, "what was taken out of a transcript could not be kept");
                error.to_string()
            })
        })
    }
}
