//! The length of a run's requests, and which part of its transcript may be shortened.

mod compactor;
mod rule;

pub(super) use compactor::reason;
pub use compactor::{Compactor, ModelCompactor, Summary};
pub(super) use rule::{CaughtCounter, ContextSettings, RuleKind};
pub use rule::{ContextLength, ContextRule};

use crate::call::Content;
use crate::dialect::{Definitions, Dialect, TokenCounter};
use crate::model::{CountedHistory, History, Message, MessageTokens, ModelRequest, token_sum};

/// The length of a run's requests, counted as they change.
#[derive(Default)]
pub(super) struct ContextWindow {
    counted: CountedHistory,
    definitions: (Definitions, usize),
    system: (String, usize),
    /// The messages that the run was started with.
    pub(super) task: Vec<Message>,
    /// A limit that is lower than the agent's, because the service refused a longer request.
    pub(super) lowered: Option<usize>,
}

impl ContextWindow {
    /// Returns the window of a run that was started with the messages `task`.
    pub(super) fn new(task: Vec<Message>) -> Self {
        Self { task, ..Self::default() }
    }

    /// Notes the messages that a run is started with: those of the user behind the last reply, or
    /// else the last ones there are.
    pub(super) fn start(&mut self, history: &History) {
        let is_user = |message: &&Message| matches!(message, Message::User(_));
        let latest = history.messages().iter().rev().skip_while(|message| !is_user(message));
        self.task = latest.take_while(is_user).cloned().collect();
    }

    /// Returns the positions of the messages that the run was started with.
    pub(super) fn task_positions(&self, history: &History) -> Vec<usize> {
        let is_task = |message: &Message| self.task.iter().any(|task| message.is_same(task));
        let messages = history.messages().iter().enumerate();
        messages.filter(|(_, message)| is_task(message)).map(|(at, _)| at).collect()
    }

    /// Counts what has changed since the last time, and returns the tokens of a request.
    pub(super) fn tokens(&mut self, request: &ModelRequest, counter: &dyn TokenCounter) -> usize {
        if !self.definitions.0.shares_all_with(&request.tools) {
            let tokens = request.tools.tokens_with(Dialect::OpenAiChat, counter);
            let tokens = token_sum(tokens.iter().map(|tool| tool.tokens));
            self.definitions = (request.tools.clone(), tokens);
        }
        let system = request.system.as_deref().unwrap_or_default();
        if self.system.0 != system {
            self.system = (system.to_owned(), counter.count(system));
        }
        let messages = self.counted.count(&request.history, counter);
        let rest = [self.definitions.1, self.system.1];
        token_sum(messages.map(MessageTokens::total).chain(rest))
    }

    /// Returns the results that may become references, the oldest first: the id of the call, and
    /// the tokens. Those of the `newest` replies are excepted, and those that are hardly longer
    /// than a reference.
    pub(super) fn old_results(
        &mut self,
        history: &History,
        counter: &dyn TokenCounter,
        newest: usize,
    ) -> Vec<(String, usize)> {
        let old = history.steps().count().saturating_sub(newest);
        let mut steps = 0;
        let mut results = Vec::new();
        let counts = self.counted.count(history, counter);
        for (at, (message, counts)) in history.messages().iter().zip(counts).enumerate() {
            let Message::Step(step) = message else { continue };
            steps += 1;
            if steps > old {
                break;
            }
            if history.is_pinned(at) {
                continue;
            }
            let long = step.results().iter().zip(&counts.results);
            let long = long.filter(|(_, tokens)| **tokens > REFERENCE);
            results.extend(long.map(|(result, tokens)| (result.call_id().to_owned(), *tokens)));
        }
        results
    }

    /// Returns the positions of the oldest messages that can be taken out to spare `excess` tokens,
    /// or of as many as there are.
    pub(super) fn oldest(
        &mut self,
        history: &History,
        counter: &dyn TokenCounter,
        excess: usize,
    ) -> Vec<usize> {
        let messages = history.messages();
        let is_reply = |message: &Message| matches!(message, Message::Step(_));
        let newest = messages.iter().rposition(is_reply).unwrap_or_default();
        // A note stands first where a reply did that began the transcript.
        let first = messages.iter().position(|message| !is_reply(message) && !is_note(message));
        let task = self.task_positions(history);
        let mut spared = 0;
        let mut positions = Vec::new();
        for (at, counts) in self.counted.count(history, counter).enumerate().take(newest) {
            if spared >= excess {
                break;
            }
            if Some(at) == first || task.contains(&at) || history.is_pinned(at) {
                continue;
            }
            spared = counts.total().saturating_add(spared);
            positions.push(at);
        }
        positions
    }
}

/// The tokens beyond which a result is replaced by a reference: about twice those of one.
const REFERENCE: usize = 80;

/// Returns the tokens that a rule brings a request to once it is longer than a limit.
pub(super) fn target(limit: usize) -> usize {
    percent(limit, 70)
}

/// Returns the tokens beyond which a rule leaves the rest to the next one.
pub(super) fn enough(limit: usize) -> usize {
    percent(limit, 85)
}

fn percent(limit: usize, of: usize) -> usize {
    limit / 100 * of + limit % 100 * of / 100
}

/// The beginning of the message that stands in place of those taken out.
const REMOVED: &str = "[earlier messages removed: ";

/// The words of such a message if some of them were of untrusted sources.
const UNTRUSTED: &str = ", some of untrusted sources";

/// Returns the message that stands in place of others.
pub(super) fn note(
    removed: &History,
    tokens: usize,
    is_tainted: bool,
    place: &Removed,
    summary: Option<&str>,
) -> String {
    let (count, untrusted) = (removed.len(), if is_tainted { UNTRUSTED } else { "" });
    let head = format!("{REMOVED}{count}, about {tokens} tokens{untrusted}; they are {place}");
    match summary {
        Some(summary) => format!("{head}. A summary of them follows.]\n{summary}"),
        None => format!("{head}]"),
    }
}

/// Returns `None` if a text is no such message, and else `true` if it stands in place of text from
/// untrusted sources.
pub(super) fn removed_untrusted(text: &str) -> Option<bool> {
    let head = text.strip_prefix(REMOVED)?.split(';').next()?;
    Some(head.ends_with(UNTRUSTED))
}

/// Returns `true` for a message that stands in place of others.
fn is_note(message: &Message) -> bool {
    let Message::User(content) = message else { return false };
    let text = content.first().and_then(Content::as_text);
    text.and_then(removed_untrusted).is_some()
}

/// The place of what was taken out of a transcript.
pub(super) enum Removed {
    /// A store has it.
    Kept {
        handle: String,
        /// The tool that reads it, if the run may call it.
        reader: Option<&'static str>,
    },
    /// The store could not keep it, for a reason.
    Lost(String),
    /// It was read from a store, and can be again.
    ReadAgain,
    Gone,
}

impl Removed {
    pub(super) fn handle(&self) -> Option<&str> {
        match self {
            Self::Kept { handle, .. } => Some(handle),
            _ => None,
        }
    }
}

impl std::fmt::Display for Removed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kept { handle, reader: Some(reader) } => write!(
                f,
                "kept as {handle}: read on with {reader}, {{\"handle\": \"{handle}\", \"lines\": \"1..40\"}}"
            ),
            Self::Kept { handle, reader: None } => {
                write!(f, "kept as {handle}, which cannot be read here")
            }
            Self::Lost(reason) => write!(f, "gone, since it could not be kept: {reason}"),
            Self::ReadAgain => f.write_str("returned again by the same call"),
            Self::Gone => f.write_str("gone"),
        }
    }
}

/// Returns the text that stands in place of a result.
pub(super) fn reference(tokens: usize, place: &Removed) -> String {
    format!(
        "[a result of about {tokens} tokens was here, removed to keep the context short; it is {place}]"
    )
}
