//! The gate's side: which results are kept, and what stands in their place.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::blocking::{SHUT_DOWN, on_thread};
use super::line_index::LineIndex;
use super::memory::MemoryResults;
use super::reader::RESULT_READ;
use super::shown::{Shown, shown, tokens};
use super::store::{KeptResult, Lookup, ResultOwner, ResultStore, ResultStoreError, texts};
use crate::call::{Content, ToolError, ToolResult};
use crate::context::ToolContext;
use crate::context::keeper::{RemovedContent, ResultKeeper, ResultLimits, TranscriptResults};
use crate::context::promotion::Promotions;
use crate::context::taint::ResultSource;
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};

/// The estimated bytes of a token, for the room that a part may take.
const BYTES: usize = 3;

/// Keeps large results in a store.
pub(super) struct Keeper {
    /// The store of calls that belong to no transcript with results of its own.
    store: Arc<dyn ResultStore>,
    limits: OnceLock<ResultLimits>,
    /// The definition of `result_read`, where each transcript has results of its own: it is offered
    /// once there are any.
    joining_reader: OnceLock<Arc<ToolDefinition>>,
    /// Called with the first result that is kept.
    on_first: OnceLock<OnFirst>,
    /// `true` if the box has another tool of the name of the reader.
    lacks_reader: AtomicBool,
}

/// Lets the reader join a box; returns whether it did.
type OnFirst = Mutex<Option<Box<dyn FnOnce() -> bool + Send>>>;

impl Keeper {
    pub(super) fn new(store: Arc<dyn ResultStore>) -> Arc<Self> {
        Arc::new(Self {
            store,
            limits: OnceLock::new(),
            joining_reader: OnceLock::new(),
            on_first: OnceLock::new(),
            lacks_reader: AtomicBool::new(false),
        })
    }

    /// Sets how the reader joins a box with the first result that is kept; `join` returns whether
    /// it did.
    #[allow(dead_code, reason = "for the program")]
    pub(super) fn on_first(&self, join: impl FnOnce() -> bool + Send + 'static) {
        let _ = self.on_first.set(Mutex::new(Some(Box::new(join))));
    }

    /// Gives each transcript results of its own, and offers the tool that reads them once there are
    /// any.
    pub(super) fn keep_by_transcript(&self, reader: Arc<ToolDefinition>) {
        let _ = self.joining_reader.set(reader);
    }

    /// Returns the store of the results of a call.
    fn store<'a>(&'a self, context: &'a ToolContext) -> &'a dyn ResultStore {
        let of_transcript = || {
            self.joining_reader.get()?;
            let TranscriptResults(results) = context.extension()?;
            (&**results as &dyn Any).downcast_ref::<MemoryResults>()
        };
        of_transcript().map_or(&*self.store, |results| results)
    }

    /// Keeps a result, and returns its handle.
    async fn keep_whole(
        &self,
        context: &ToolContext,
        whole: Arc<KeptResult>,
    ) -> Result<String, ResultStoreError> {
        let number = self.store(context).keep(ResultOwner::of(context), whole).await?;
        if let (Some(reader), Some(promotions)) =
            (self.joining_reader.get(), context.get::<Promotions>())
        {
            promotions.add(std::iter::once(reader), u32::MAX);
        }
        if let Some(first) = self.on_first.get() {
            // The second waits until it is done.
            let mut first = first.lock();
            if let Some(join) = first.take() {
                self.lacks_reader.store(!join(), Ordering::Relaxed);
            }
        }
        Ok(format!("r{number}"))
    }

    /// Returns the result of a handle, if it is one of this principal and conversation.
    pub(super) async fn find(
        &self,
        handle: &str,
        context: &ToolContext,
    ) -> Result<Arc<KeptResult>, ToolError> {
        let number = handle.trim().strip_prefix('r').and_then(|number| number.parse::<u64>().ok());
        let Some(number) = number else {
            let handle = quote(handle, QUOTED);
            return Err(ToolError::reported(format!(
                "`{handle}` is no handle of a result, such as r1"
            )));
        };
        let owner = ResultOwner::of(context);
        match self.store(context).get(owner, number).await {
            Ok(Lookup::Kept(result)) => Ok(result),
            Ok(Lookup::Gone(line)) => Err(ToolError::reported(format!(
                "the result r{number} is gone: {line}; call the tool again if it is needed"
            ))),
            Ok(Lookup::Unreadable) => Err(ToolError::reported(format!(
                "the result r{number} is damaged and cannot be read; call the tool again if it is needed"
            ))),
            Ok(Lookup::Unknown) => Err(ToolError::reported(format!(
                "there is no result r{number} in this conversation"
            ))),
            Err(error) => {
                Err(ToolError::infrastructure(format!("the store of results failed: {error}")))
            }
        }
    }

    pub(super) fn limits(&self) -> ResultLimits {
        self.limits.get().copied().unwrap_or_default()
    }

    /// Returns the bytes of a text that is surely shown: most texts have more bytes in a token.
    pub(super) fn room(&self) -> usize {
        self.room_of(self.answer_tokens(None))
    }

    fn room_of(&self, tokens: usize) -> usize {
        tokens.saturating_mul(BYTES).min(self.limits().bytes / 2)
    }

    /// Returns the tokens of an answer of the reader, and of four parts.
    pub(super) fn answer_tokens(&self, own: Option<usize>) -> usize {
        match own.unwrap_or(self.limits().tokens) {
            usize::MAX => ResultLimits::default().tokens,
            tokens => tokens,
        }
    }
}

impl ResultKeeper for Keeper {
    fn set_limits(&self, limits: ResultLimits) {
        let _ = self.limits.set(limits);
    }

    fn exceeds(&self, result: &ToolResult, own: Option<usize>) -> bool {
        if result.is_part_of_kept() {
            return false;
        }
        let ResultLimits { tokens: of_box, bytes } = self.limits();
        let limit = own.unwrap_or(of_box);
        let texts = || texts(result.content());
        let length: usize = texts().map(str::len).sum();
        // A token has at least one byte, so most results need not be counted.
        let has_many =
            length > limit && (length > bytes || texts().map(tokens).sum::<usize>() > limit);
        has_many || result.counted_bytes(bytes) > bytes
    }

    fn keep<'a>(
        &'a self,
        context: &'a ToolContext,
        source: ResultSource<'a>,
        own: Option<usize>,
        may_read: bool,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, ()> {
        let bytes = self.limits().bytes;
        let room = self.room_of(self.answer_tokens(own)) / 4;
        Box::pin(async move {
            let (parts, structured_content) = result.take_content();
            let whole = Arc::new(KeptResult {
                tool: source.definition.name.clone(),
                content: parts,
                structured_content,
                // As of a result that is read at once: what a person answered has no mark.
                is_untrusted: source.taints(result),
                shows_urls: source.shows_urls,
                lines: LineIndex::default(),
            });
            let media = media_within(&whole.content, bytes / 2);
            let (kept, shows_media) = (Arc::clone(&whole), media.is_some());
            let shown = on_thread(whole.bytes(), move || {
                let shown = shown(&kept, room);
                if shows_media { shown } else { shown.with_media(&kept) }
            });
            let Some(shown) = shown.await else {
                return result.replace_content(vec![Content::text(SHUT_DOWN)], whole.bytes());
            };
            let Shown { about, part, read_on } = shown;
            let text = match self.keep_whole(context, Arc::clone(&whole)).await {
                Ok(handle) => {
                    let has_reader = !self.lacks_reader.load(Ordering::Relaxed);
                    let rest = if may_read && has_reader {
                        format!(
                            "Read on with {RESULT_READ}: {{\"handle\": \"{handle}\", {read_on}}}"
                        )
                    } else {
                        "The rest cannot be read here".to_owned()
                    };
                    let text = format!("[{handle}: {about}. A part of it follows. {rest}]\n{part}");
                    result.set_handle(handle);
                    text
                }
                Err(error) => {
                    tracing::warn!(%error, tool = %source.definition.name, "a result could not be kept");
                    let reason = quote(&error.to_string(), QUOTED);
                    format!(
                        "[{about}. A part of it follows; the rest is gone, since it could not be kept: {reason}]\n{part}"
                    )
                }
            };
            let left_out = whole.bytes().saturating_sub(part.len());
            let parts = std::iter::once(Content::text(text)).chain(media.into_iter().flatten());
            result.replace_content(parts.collect(), left_out);
        })
    }

    fn whole<'a>(
        &'a self,
        context: &'a ToolContext,
        handle: &'a str,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let kept = self.find(handle, context).await.ok()?;
            Some(match kept.own_structure() {
                Some(structure) => format!("{}\n{structure}", kept.text()),
                None => kept.text().into_owned(),
            })
        })
    }

    fn reader(&self) -> &'static str {
        RESULT_READ
    }

    fn joining_reader(&self) -> Option<&Arc<ToolDefinition>> {
        self.joining_reader.get()
    }

    fn new_transcript(&self) -> Option<TranscriptResults> {
        self.joining_reader.get()?;
        Some(TranscriptResults(Arc::new(MemoryResults::new())))
    }

    fn keep_removed<'a>(
        &'a self,
        context: &'a ToolContext,
        removed: RemovedContent,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let RemovedContent { tool, content, is_untrusted, shows_urls } = removed;
            let whole = KeptResult { is_untrusted, shows_urls, ..KeptResult::new(tool, content) };
            self.keep_whole(context, Arc::new(whole)).await.map_err(|error| {
                tracing::warn!(%error, "what was taken out of a transcript could not be kept");
                quote(&error.to_string(), QUOTED)
            })
        })
    }
}

/// Returns the parts that are no text, if they have at most so many bytes together.
fn media_within(parts: &[Content], bytes: usize) -> Option<Vec<Content>> {
    let is_text = |part: &&Content| texts(std::slice::from_ref(*part)).next().is_some();
    let media = || parts.iter().filter(|part| !is_text(part));
    (media().map(Content::len).sum::<usize>() <= bytes).then(|| media().cloned().collect())
}
