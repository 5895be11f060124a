//! The length of the next request: what is shortened so that it fits.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::account::RunAccount;
use super::answer::TypedAnswer;
use super::conversation::RunConversation;
use super::end::End;
use super::legs::Leg;
use super::limits::RunLimits;
use crate::agent::window::{
    Compactor, ContextLength, ContextSettings, Removed, RuleKind, enough, note, reason, reference,
    target,
};
use crate::call::{Content, ToolCall, ToolResult};
use crate::context::keeper::RemovedContent;
use crate::cost::Cost;
use crate::event::EventKind;
use crate::event::StopReason;
use crate::model::{History, HistoryEdit, Message, Usage, result_tokens};
use crate::panics::forget_quietly;
use crate::tool::Tool;
use crate::validate::shown;

/// Messages of fewer tokens are not worth the note in their place.
const WORTH: usize = 100;

/// The next request of a run, to be fitted into the tokens that it may have.
pub(super) struct Fitting<'a> {
    leg: &'a Leg,
    conversation: &'a mut RunConversation,
    limits: &'a RunLimits,
    account: &'a mut RunAccount,
    /// The cost of summaries.
    spent: (Usage, Cost),
}

impl<'a> Fitting<'a> {
    pub(super) fn new(
        leg: &'a Leg,
        conversation: &'a mut RunConversation,
        limits: &'a RunLimits,
        account: &'a mut RunAccount,
    ) -> Self {
        Self { leg, conversation, limits, account, spent: Default::default() }
    }

    /// Applies the rules of the agent to the request.
    pub(super) async fn fit(mut self) -> Result<(), End> {
        let before = self.conversation.request.history.clone();
        self.edit_history();
        let limit = self.limit();
        let fits = match limit {
            Some(limit) => self.shorten(limit).await,
            None => Ok(()),
        };
        self.conversation.log_edit(&before, self.spent).await?;
        fits
    }

    /// Shortens a request further that the service refused as too long. Returns `false` if it stays
    /// as long as it is.
    pub(super) async fn fit_refused(mut self) -> Result<bool, End> {
        let sent = self.tokens();
        let limit = sent / 4 * 3;
        self.conversation.window.lowered = Some(limit);
        let before = self.conversation.request.history.clone();
        let shortened = self.shorten(limit).await;
        if let Err(End::Stopped(reason, _)) = shortened
            && reason != StopReason::ContextFull
        {
            return Err(End::stopped(reason));
        }
        if self.tokens() >= sent {
            return Ok(false);
        }
        self.conversation.log_edit(&before, self.spent).await?;
        Ok(true)
    }

    fn settings(&self) -> &'a ContextSettings {
        &self.leg.settings().context
    }

    fn limit(&self) -> Option<usize> {
        let own = self.settings().max_tokens?;
        Some(self.conversation.window.lowered.map_or(own, |lowered| lowered.min(own)))
    }

    /// Returns the tokens of the next request.
    fn tokens(&mut self) -> usize {
        let RunConversation { request, window, .. } = &mut *self.conversation;
        window.tokens(request, &*self.leg.settings().context.counter)
    }

    /// Lets the program edit the transcript.
    fn edit_history(&mut self) {
        for edit in self.settings().edits() {
            let before = self.tokens();
            let length = ContextLength { tokens: before, limit: self.limit() };
            let mut history = self.conversation.request.history.clone();
            let edited = catch_unwind(AssertUnwindSafe(|| {
                edit(&mut history, &length);
                history
            }));
            match edited {
                Ok(edited)
                    if HistoryEdit::between(&self.conversation.request.history, &edited)
                        .is_some() =>
                {
                    self.conversation.request.history = edited;
                    let after = self.tokens();
                    self.leg.events.emit(|| EventKind::HistoryEdited { before, after });
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
    async fn shorten(&mut self, limit: usize) -> Result<(), End> {
        if self.tokens() <= limit {
            return Ok(());
        }
        let mut spares_results = true;
        for rule in &self.settings().rules {
            let fits = self.tokens() <= enough(limit);
            match &rule.0 {
                _ if fits => {}
                RuleKind::Results { newest } => {
                    spares_results = false;
                    self.shorten_results(*newest, target(limit)).await?;
                }
                RuleKind::Oldest { compactor } => {
                    self.remove_oldest(compactor.as_deref(), limit).await?;
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
        let counter = &*self.settings().counter;
        let candidates = self.conversation.window.old_results(
            &self.conversation.request.history,
            counter,
            newest,
        );
        let (mut after, mut count) = (before, 0);
        for (id, tokens) in candidates {
            if after <= target {
                break;
            }
            let Some((call, result)) = self.conversation.request.history.call(&id) else {
                continue;
            };
            let (call, result) = (call.clone(), result.clone());
            let place = self.keep_result(&call, &result).await?;
            let text = reference(tokens, &place);
            let mut now = 0;
            self.conversation.request.history.edit_result(&id, |result| {
                let bytes = result.content().iter().map(Content::len).sum();
                result.replace_content(vec![Content::text(text)], bytes);
                if let Some(handle) = place.handle() {
                    result.set_handle(handle.to_owned());
                }
                now = result_tokens(result, counter);
            });
            after = after.saturating_sub(tokens).saturating_add(now);
            count += 1;
        }
        if count > 0 {
            let after = self.tokens();
            self.leg.events.emit(|| EventKind::ResultsShortened { results: count, before, after });
        }
        Ok(())
    }

    /// Keeps a result where the box does.
    async fn keep_result(&self, call: &ToolCall, result: &ToolResult) -> Result<Removed, End> {
        let Some(keeper) = self.conversation.toolbox().keeper() else { return Ok(Removed::Gone) };
        if let Some(handle) = result.handle() {
            return Ok(self.kept(Ok(handle.to_owned())));
        }
        let made = super::read::made(call);
        if made.name == keeper.reader() && !result.is_error() {
            return Ok(Removed::ReadAgain);
        }
        let tool = self.conversation.known_tool(self.leg, &made.name);
        let source = tool.as_ref().map(Tool::as_source);
        let is_untrusted =
            result.is_untrusted() || source.as_ref().is_none_or(|source| source.is_untrusted);
        let shows_definitions =
            !result.references().is_empty() && self.conversation.scope.taint.is_tainted();
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
        let Some(keeper) = self.conversation.toolbox().keeper() else { return Ok(Removed::Gone) };
        // A store may panic before there is a future.
        let keep = async { keeper.keep_removed(&self.conversation.scope.context, removed).await };
        let kept = self.limits.within(keep).await.map_err(End::stopped)?.unwrap_or_else(|| {
            tracing::error!("a store of results panicked");
            Err("the store panicked".to_owned())
        });
        Ok(self.kept(kept))
    }

    /// Returns the place of what a store has kept, or could not keep.
    fn kept(&self, kept: Result<String, String>) -> Removed {
        let reader = self.conversation.toolbox().keeper().map(|keeper| keeper.reader());
        let may_be_read = |reader: &&'static str| {
            let toolbox = self.conversation.toolbox();
            toolbox.may_call(reader, &self.conversation.scope.context)
                && toolbox.get(reader).is_some()
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
    ) -> Result<(), End> {
        let before = self.tokens();
        if before <= target(limit) {
            return Ok(());
        }
        // The summary needs room as well.
        let room = if compactor.is_some() { limit / 10 } else { WORTH };
        let excess = (before - target(limit)).saturating_add(room);
        let counter = &*self.settings().counter;
        let positions =
            self.conversation.window.oldest(&self.conversation.request.history, counter, excess);
        let mut rest = self.conversation.request.history.clone();
        let removed = rest.take_out(|at| positions.binary_search(&at).is_ok());
        let whole = std::mem::replace(&mut self.conversation.request.history, rest);
        let tokens = before.saturating_sub(self.tokens());
        let rest = std::mem::replace(&mut self.conversation.request.history, whole);
        let Some(first) = positions.first().copied().filter(|_| tokens > WORTH) else {
            return Ok(());
        };
        let summary = match compactor {
            Some(compactor) => self.summarize(compactor, &removed).await?,
            None => None,
        };
        let is_tainted = self.conversation.scope.taint.is_tainted();
        let place = if self.conversation.toolbox().keeper().is_some() {
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
        self.conversation.request.history = rest;
        self.conversation.request.history.insert_user(first, text);
        let after = self.tokens();
        self.leg.events.emit(|| EventKind::MessagesRemoved {
            removed: removed.with_shown_arguments(|call| {
                if TypedAnswer::is_any(&call.name) {
                    return None;
                }
                let tool = self.conversation.known_tool(self.leg, &call.name);
                shown(tool.as_ref().map(Tool::definition), call.arguments.as_str())
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
    ) -> Result<Option<String>, End> {
        for _ in 0..compactor.requests() {
            self.account.take_request().await?;
        }
        let removed = removed.clone();
        // A closure may panic before there is a future.
        let compact = async move { compactor.compact(removed).await };
        let summary = self.limits.within(compact).await.map_err(End::stopped)?;
        match summary.unwrap_or_else(|| Err("the compactor panicked".into())) {
            Ok(summary) => {
                let model = summary.model.as_ref().map(|(service, own)| (&**service, &**own));
                let cost = self.account.charge(self.leg, model, summary.usage);
                self.spent.0 += summary.usage;
                self.spent.1 += cost;
                if let Some(reason) = self.limits.exceeded().or_else(|| self.account.exceeded()) {
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
        self.leg.events.emit(|| EventKind::CompactionFailed { message });
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
