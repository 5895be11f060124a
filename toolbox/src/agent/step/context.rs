//! The length of the next request: what is shortened so that it fits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{ActiveRun, End};
use crate::agent::outcome::RunErrorKind;
use crate::agent::window::{
    Compactor, ContextLength, ContextSettings, Removed, RuleKind, enough, note, reason, reference,
    target,
};
use crate::call::{Content, ToolCall, ToolResult};
use crate::context::keeper::RemovedContent;
use crate::cost::Cost;
use crate::event::EventKind;
use crate::event::StopReason;
use crate::model::{
    History, HistoryEdit, Message, ModelErrorKind, ModelResponse, Usage, result_tokens,
};
use crate::panics::forget_quietly;
use crate::tool::Tool;
use crate::validate::without_secrets;

/// Messages of fewer tokens are not worth the note in their place.
const WORTH: usize = 100;

impl ActiveRun {
    /// Applies the rules of the agent to the next request.
    pub(super) async fn fit_context(&mut self) -> Result<(), End> {
        if self.agent.settings.context.is_off() {
            return Ok(());
        }
        let before = self.request.history.clone();
        let mut bill = <(Usage, Cost)>::default();
        self.edit_history();
        let limit = self.limit();
        let fits = match limit {
            Some(limit) => self.shorten(limit, &mut bill).await,
            None => Ok(()),
        };
        self.log_edit(&before, bill).await?;
        fits
    }

    /// Asks the model; if its service refuses the request as too long, shortens it further and asks
    /// once more.
    pub(super) async fn respond_in_context(&mut self) -> Result<ModelResponse, End> {
        let first = self.respond().await;
        let Err(End::Failed(RunErrorKind::Model(error))) = &first else { return first };
        if error.kind() != ModelErrorKind::ContextTooLong
            || self.agent.settings.context.max_tokens.is_none()
        {
            return first;
        }
        let sent = self.tokens();
        let limit = sent / 4 * 3;
        self.window.lowered = Some(limit);
        let before = self.request.history.clone();
        let mut bill = <(Usage, Cost)>::default();
        let shortened = self.shorten(limit, &mut bill).await;
        if let Err(End::Stopped(reason, _)) = shortened
            && reason != StopReason::ContextFull
        {
            return Err(End::stopped(reason));
        }
        if self.tokens() >= sent {
            return first;
        }
        self.log_edit(&before, bill).await?;
        if !self.limits.budgets.take_request() {
            return first;
        }
        self.report_model_started();
        self.respond().await
    }

    fn settings(&self) -> &ContextSettings {
        &self.agent.settings.context
    }

    fn limit(&self) -> Option<usize> {
        let own = self.settings().max_tokens?;
        Some(self.window.lowered.map_or(own, |lowered| lowered.min(own)))
    }

    /// Returns the tokens of the next request.
    fn tokens(&mut self) -> usize {
        self.window.tokens(&self.request, &*self.agent.settings.context.counter)
    }

    /// Lets the program edit the transcript.
    fn edit_history(&mut self) {
        let agent = Arc::clone(&self.agent);
        for edit in agent.settings.context.edits() {
            let before = self.tokens();
            let length = ContextLength { tokens: before, limit: self.limit() };
            let mut history = self.request.history.clone();
            let edited = catch_unwind(AssertUnwindSafe(|| {
                edit(&mut history, &length);
                history
            }));
            match edited {
                Ok(edited) if HistoryEdit::between(&self.request.history, &edited).is_some() => {
                    self.request.history = edited;
                    let after = self.tokens();
                    self.events.emit(|| EventKind::HistoryEdited { before, after });
                }
                Ok(_) => {}
                Err(payload) => {
                    tracing::error!("an edit of a transcript panicked");
                    forget_quietly(payload);
                }
            }
        }
    }

    /// Shortens the transcript by the rules if the request is longer than `limit`.
    async fn shorten(&mut self, limit: usize, bill: &mut (Usage, Cost)) -> Result<(), End> {
        if self.tokens() <= limit {
            return Ok(());
        }
        let agent = Arc::clone(&self.agent);
        let mut spares_results = true;
        for rule in &agent.settings.context.rules {
            let fits = self.tokens() <= enough(limit);
            match &rule.0 {
                _ if fits => {}
                RuleKind::Results { newest } => {
                    spares_results = false;
                    self.shorten_results(*newest, target(limit)).await?;
                }
                RuleKind::Oldest { compactor } => {
                    self.remove_oldest(compactor.as_deref(), limit, bill).await?;
                }
                RuleKind::Edit(_) => {}
            }
        }
        if !spares_results && self.tokens() > limit {
            self.shorten_results(1, target(limit)).await?;
        }
        if self.tokens() <= limit {
            return Ok(());
        }
        Err(End::stopped(StopReason::ContextFull))
    }

    /// Replaces old results by references until the request has `target` tokens.
    async fn shorten_results(&mut self, newest: usize, target: usize) -> Result<(), End> {
        let before = self.tokens();
        if before <= target {
            return Ok(());
        }
        let counter = Arc::clone(&self.settings().counter);
        let candidates = self.window.old_results(&self.request.history, &*counter, newest);
        let (mut after, mut count) = (before, 0);
        for (id, tokens) in candidates {
            if after <= target {
                break;
            }
            let Some((call, result)) = self.request.history.call(&id) else { continue };
            let (call, result) = (call.clone(), result.clone());
            let place = self.keep_result(&call, &result).await?;
            let text = reference(tokens, &place);
            let mut now = 0;
            self.request.history.edit_result(&id, |result| {
                let bytes = result.content().iter().map(Content::len).sum();
                result.replace_content(vec![Content::text(text)], bytes);
                if let Some(handle) = place.handle() {
                    result.set_handle(handle.to_owned());
                }
                now = result_tokens(result, &*counter);
            });
            after = after.saturating_sub(tokens).saturating_add(now);
            count += 1;
        }
        if count > 0 {
            let after = self.tokens();
            self.events.emit(|| EventKind::ResultsShortened { results: count, before, after });
        }
        Ok(())
    }

    /// Keeps a result where the box does.
    async fn keep_result(&self, call: &ToolCall, result: &ToolResult) -> Result<Removed, End> {
        let Some(keeper) = self.toolbox().keeper() else { return Ok(Removed::Gone) };
        if let Some(handle) = result.handle() {
            return Ok(self.kept(Ok(handle.to_owned())));
        }
        let made = super::read::made(call);
        if made.name == keeper.reader() && !result.is_error() {
            return Ok(Removed::ReadAgain);
        }
        let tool = self.known_tool(&made.name);
        let source = tool.as_ref().map(Tool::as_source);
        let is_untrusted = source.as_ref().is_none_or(|source| source.is_untrusted);
        let shows_definitions = !result.references().is_empty() && self.scope.taint.is_tainted();
        let removed = RemovedContent {
            tool: made.name.clone(),
            content: result.content().to_vec(),
            is_untrusted: is_untrusted && !result.is_of_gate() || shows_definitions,
            shows_urls: source.is_some_and(|source| source.shows_urls) && !result.is_error(),
        };
        self.keep(removed).await
    }

    /// Keeps what leaves the transcript where the box does, within the limits of the run.
    async fn keep(&self, removed: RemovedContent) -> Result<Removed, End> {
        let Some(keeper) = self.toolbox().keeper() else { return Ok(Removed::Gone) };
        // A store may panic before there is a future.
        let keep = async { keeper.keep_removed(&self.scope.context, removed).await };
        let kept = self.limits.within(keep).await.map_err(End::stopped)?.unwrap_or_else(|| {
            tracing::error!("a store of results panicked");
            Err("the store panicked".to_owned())
        });
        Ok(self.kept(kept))
    }

    /// Returns the place of what a store has kept, or could not keep.
    fn kept(&self, kept: Result<String, String>) -> Removed {
        let reader = self.toolbox().keeper().map(|keeper| keeper.reader());
        let may_be_read = |reader: &&'static str| {
            self.scope.context.permits(reader) && self.toolbox().get(reader).is_some()
        };
        match kept {
            Ok(handle) => Removed::Kept { handle, reader: reader.filter(may_be_read) },
            Err(reason) => Removed::Lost(reason),
        }
    }

    /// Takes out the oldest messages so that the request has the tokens it is to have, and leaves a
    /// summary or a note.
    async fn remove_oldest(
        &mut self,
        compactor: Option<&dyn Compactor>,
        limit: usize,
        bill: &mut (Usage, Cost),
    ) -> Result<(), End> {
        let before = self.tokens();
        if before <= target(limit) {
            return Ok(());
        }
        // The summary needs room as well.
        let room = if compactor.is_some() { limit / 10 } else { WORTH };
        let excess = (before - target(limit)).saturating_add(room);
        let counter = Arc::clone(&self.settings().counter);
        let positions = self.window.oldest(&self.request.history, &*counter, excess);
        let mut rest = self.request.history.clone();
        let removed = rest.take_out(|at| positions.binary_search(&at).is_ok());
        let whole = std::mem::replace(&mut self.request.history, rest);
        let tokens = before.saturating_sub(self.tokens());
        let rest = std::mem::replace(&mut self.request.history, whole);
        let Some(first) = positions.first().copied().filter(|_| tokens > WORTH) else {
            return Ok(());
        };
        let summary = match compactor {
            Some(compactor) => self.summarize(compactor, &removed, bill).await?,
            None => None,
        };
        let is_tainted = self.scope.taint.is_tainted();
        let place = if self.toolbox().keeper().is_some() {
            let content = RemovedContent {
                tool: "the earlier messages of the transcript".to_owned(),
                content: content_of(&removed),
                is_untrusted: is_tainted,
                shows_urls: false,
            };
            self.keep(content).await?
        } else {
            Removed::Gone
        };
        let mut summary = summary.filter(|text| {
            let own = counter.count(text);
            let length = (before - tokens).saturating_add(own).saturating_add(WORTH);
            // A longer one would have to be summarized again soon.
            let is_short = own < tokens && own <= limit / 4 && length <= limit;
            if !is_short {
                self.compaction_failed("the summary is too long".to_owned());
            }
            is_short
        });
        let text = note(&removed, tokens, is_tainted, &place, summary.as_deref());
        self.request.history = rest;
        self.request.history.insert_user(first, text);
        let after = self.tokens();
        self.events.emit(|| EventKind::MessagesRemoved {
            removed: removed.with_shown_arguments(|call| {
                let tool = self.toolbox().get(&call.name)?;
                without_secrets(call.arguments.as_str(), &tool.definition().input_schema)
            }),
            summary: summary.take(),
            handle: place.handle().map(str::to_owned),
            before,
            after,
        });
        Ok(())
    }

    /// Returns the summary of messages; `None` if there is none.
    async fn summarize(
        &mut self,
        compactor: &dyn Compactor,
        removed: &History,
        bill: &mut (Usage, Cost),
    ) -> Result<Option<String>, End> {
        for _ in 0..compactor.requests() {
            if !self.limits.budgets.take_request() {
                return Err(End::stopped(StopReason::Budget));
            }
        }
        let removed = removed.clone();
        // A closure may panic before there is a future.
        let compact = async move { compactor.compact(removed).await };
        let summary = self.limits.within(compact).await.map_err(End::stopped)?;
        match summary.unwrap_or_else(|| Err("the compactor panicked".into())) {
            Ok(summary) => {
                let model = summary.model.as_ref().map(|(service, own)| (&**service, &**own));
                let cost = self.charge(model, summary.usage);
                bill.0 += summary.usage;
                bill.1 += cost;
                if let Some(reason) = self.limits.exceeded() {
                    return Err(End::stopped(reason));
                }
                if summary.text.trim().is_empty() {
                    self.compaction_failed("the summary is blank".to_owned());
                    return Ok(None);
                }
                Ok(Some(summary.text))
            }
            Err(error) => {
                self.compaction_failed(reason(error));
                Ok(None)
            }
        }
    }

    fn compaction_failed(&self, message: String) {
        tracing::warn!(message, "a transcript was shortened without a summary");
        self.events.emit(|| EventKind::CompactionFailed { message });
    }
}

/// Returns all that messages hold, for a store: their text, then the parts that are no text.
fn content_of(messages: &History) -> Vec<Content> {
    let mut parts = vec![Content::text(messages.to_text())];
    for message in messages.messages() {
        match message {
            Message::User(content) => parts.extend(media(content)),
            Message::Step(step) => {
                parts.extend(step.results().iter().flat_map(|result| media(result.content())));
            }
        }
    }
    parts
}

fn media(content: &[Content]) -> impl Iterator<Item = Content> {
    content.iter().filter(|part| part.to_text().is_none()).cloned()
}
