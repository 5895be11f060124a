//! Results that are larger than a model is to see, kept elsewhere.

use std::any::Any;
use std::sync::Arc;

use super::context::ToolContext;
use super::taint::ResultSource;
use crate::call::{Content, ToolResult};
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;

/// The template of the URIs under which kept results are read whole.
pub(crate) const KEPT_RESULT_URI: &str = "result://{handle}";

/// Returns the URI under which a kept result is read whole.
#[allow(dead_code, reason = "for servers")]
pub(crate) fn kept_result_uri(handle: &str) -> String {
    KEPT_RESULT_URI.replace("{handle}", handle)
}

/// The limits of a box on the results that are passed on whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultLimits {
    pub(crate) tokens: usize,
    pub(crate) bytes: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self { tokens: 4_000, bytes: 256 << 10 }
    }
}

/// Text and other content that is taken out of a transcript.
pub(crate) struct RemovedContent {
    /// The tool it is a result of, or the reason why there is none.
    pub(crate) tool: String,
    pub(crate) content: Vec<Content>,
    /// `true` if reading it taints the conversation.
    pub(crate) is_untrusted: bool,
    /// `true` if its URLs count as shown to the model when it is read.
    pub(crate) shows_urls: bool,
}

/// The tokens of results that are passed on whole, in place of the limits of tools and boxes; an
/// extension of the context of calls.
pub(crate) struct ResultTokens(pub(crate) usize);

/// The results that a transcript refers to: they live as long as it and the runs that go on with
/// it. An extension of the context of their calls.
#[derive(Clone)]
pub(crate) struct TranscriptResults(pub(crate) Arc<dyn TranscriptStore>);

/// A store of the results of one transcript.
pub(crate) trait TranscriptStore: Any + Send + Sync {
    /// Returns `true` if it never kept a result.
    fn is_unused(&self) -> bool;

    /// Gives the next results numbers above this one.
    fn number_above(&self, number: u64);
}

/// Returns the highest number of a handle that texts name where handles stand: at the beginning of
/// a result, and in the notes about what was removed.
pub(crate) fn named_handle(content: &[Content]) -> Option<u64> {
    content.iter().filter_map(Content::as_text).filter_map(named_in).max()
}

fn named_in(text: &str) -> Option<u64> {
    let at_start = text.strip_prefix("[r");
    let in_notes = text.match_indices("kept as r").map(|(at, words)| &text[at + words.len()..]);
    let number = |rest: &str| {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        // Nobody has a billion results.
        rest.get(..digits).filter(|digits| digits.len() < 10)?.parse().ok()
    };
    at_start.into_iter().chain(in_notes).filter_map(number).max()
}

/// Keeps results that are too large, and leaves a short form of each.
pub(crate) trait ResultKeeper: Send + Sync {
    /// Tells the limits of its box.
    fn set_limits(&self, limits: ResultLimits);

    /// Returns `true` if a result is larger than `tokens`, or than the limit of the box.
    fn exceeds(&self, result: &ToolResult, tokens: Option<usize>) -> bool;

    /// Keeps a result and leaves a short form of at most `tokens` in its place, which says how to
    /// read on if that is allowed.
    fn keep<'a>(
        &'a self,
        context: &'a ToolContext,
        source: ResultSource<'a>,
        tokens: Option<usize>,
        may_read: bool,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, ()>;

    /// Returns what is kept under a handle as one text, if the handle is one of this principal and
    /// conversation.
    #[allow(dead_code, reason = "for the page")]
    fn whole<'a>(
        &'a self,
        context: &'a ToolContext,
        handle: &'a str,
    ) -> BoxFuture<'a, Option<String>>;

    /// Returns the name of the tool that reads what is kept.
    fn reader(&self) -> &'static str;

    /// Returns the definition of that tool where it is offered once there is something to read.
    fn joining_reader(&self) -> Option<&Arc<ToolDefinition>> {
        None
    }

    /// Returns a new store for the results of a transcript; `None` if all are kept in one place.
    fn new_transcript(&self) -> Option<TranscriptResults> {
        None
    }

    /// Keeps what is taken out of a transcript, and returns its handle, or the reason why it cannot
    /// be kept.
    fn keep_removed<'a>(
        &'a self,
        context: &'a ToolContext,
        removed: RemovedContent,
    ) -> BoxFuture<'a, Result<String, String>>;
}
