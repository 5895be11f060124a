//! The rules by which a run fits its context.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::compactor::Compactor;
use crate::dialect::{EstimatedTokens, TokenCounter};
use crate::model::History;
use crate::panics::forget_quietly;

/// The length of a run's next request, as a rule sees it.
///
/// ```
/// use toolbox::agent::{ContextLength, ContextRule};
/// use toolbox::model::History;
///
/// let rule = ContextRule::edit(|history: &mut History, length: &ContextLength| {
///     if length.tokens > 50_000 {
///         history.keep_last_turns(10);
///     }
/// });
/// assert_eq!(format!("{rule:?}"), "ContextRule::edit");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextLength {
    /// The tokens of the request: system text, definitions and transcript.
    pub tokens: usize,
    /// The [limit](crate::agent::AgentBuilder::max_context_tokens), if there is one.
    pub limit: Option<usize>,
}

/// A rule by which a run shortens its transcript before a request goes out.
///
/// A run applies its rules in the order in which they are given. [`edit`](Self::edit) is applied
/// before each request; the others to a request that is longer than
/// [`max_context_tokens`](crate::agent::AgentBuilder::max_context_tokens). Each then brings it to
/// 70 % of them if it can, and the next is applied where more than 85 % are left. So the beginning
/// of the transcript changes seldom, and the prompt cache of the service holds in between.
///
/// No rule but `edit` touches the system text, the first message of the user, the messages that the
/// run was started with, a [pinned](History::pin) message, or the newest reply and what comes after
/// it.
///
/// ```
/// use toolbox::Agent;
/// use toolbox::agent::{ContextLength, ContextRule};
/// use toolbox::model::History;
/// use toolbox::testing::ScriptedModel;
///
/// // A window of the last ten turns, whatever they cost.
/// let window = |history: &mut History, _: &ContextLength| {
///     history.keep_last_turns(10);
/// };
/// let agent = Agent::builder(ScriptedModel::answering("Done."))
///     .max_context_tokens(100_000)
///     .context_rules([
///         ContextRule::edit(window),
///         ContextRule::old_results(5),
///         ContextRule::drop_oldest(),
///     ])
///     .build()?;
/// # Ok::<(), toolbox::agent::BuildAgentError>(())
/// ```
#[derive(Clone)]
pub struct ContextRule(pub(in crate::agent) RuleKind);

/// An edit of the transcript by the program.
type Edit = dyn Fn(&mut History, &ContextLength) + Send + Sync;

#[derive(Clone)]
pub(in crate::agent) enum RuleKind {
    Results { newest: usize },
    Oldest { compactor: Option<Arc<dyn Compactor>> },
    Edit(Arc<Edit>),
}

impl ContextRule {
    /// Replaces results by references, the oldest first, except for those of the newest `steps`
    /// replies. One at least is excepted; the others are only spared where the rest suffices.
    ///
    /// A reference names the handle by which `result_read` returns the result, if the box [keeps
    /// results](crate::ToolBoxBuilder), and else says that it is gone.
    #[must_use]
    pub fn old_results(steps: usize) -> Self {
        Self(RuleKind::Results { newest: steps.max(1) })
    }

    /// Takes out the oldest messages, and leaves a note of how many.
    ///
    /// In a box that keeps results, their text is kept as well, and the note names its handle.
    #[must_use]
    pub fn drop_oldest() -> Self {
        Self(RuleKind::Oldest { compactor: None })
    }

    /// Takes out the oldest messages, and leaves a summary in their place.
    ///
    /// If there is no summary, because the compactor fails, panics or returns a text that is blank
    /// or longer than a quarter of the limit, the messages are [dropped](Self::drop_oldest) all the
    /// same, and an event ([`CompactionFailed`](crate::agent::EventKind::CompactionFailed)) says
    /// why.
    #[must_use]
    pub fn summarize_oldest(compactor: impl Compactor) -> Self {
        Self(RuleKind::Oldest { compactor: Some(Arc::new(compactor)) })
    }

    /// Lets the program edit the transcript before each request.
    ///
    /// What is changed stays changed. An edit that panics changes nothing.
    #[must_use]
    pub fn edit(edit: impl Fn(&mut History, &ContextLength) + Send + Sync + 'static) -> Self {
        Self(RuleKind::Edit(Arc::new(edit)))
    }
}

impl fmt::Debug for ContextRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            RuleKind::Results { newest } => write!(f, "ContextRule::old_results({newest})"),
            RuleKind::Oldest { compactor: None } => f.write_str("ContextRule::drop_oldest"),
            RuleKind::Oldest { compactor: Some(_) } => f.write_str("ContextRule::summarize_oldest"),
            RuleKind::Edit(_) => f.write_str("ContextRule::edit"),
        }
    }
}

/// A counter of the program; where it panics, the estimate stands in.
pub(in crate::agent) struct CaughtCounter<C>(pub(in crate::agent) C);

impl<C: TokenCounter> TokenCounter for CaughtCounter<C> {
    fn count(&self, text: &str) -> usize {
        catch_unwind(AssertUnwindSafe(|| self.0.count(text))).unwrap_or_else(|payload| {
            tracing::error!("a counter of tokens panicked");
            forget_quietly(payload);
            EstimatedTokens.count(text)
        })
    }
}

/// The settings of an agent for the length of its requests.
#[derive(Clone)]
pub(in crate::agent) struct ContextSettings {
    pub(in crate::agent) max_tokens: Option<usize>,
    pub(in crate::agent) rules: Vec<ContextRule>,
    pub(in crate::agent) counter: Arc<dyn TokenCounter>,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            max_tokens: None,
            rules: vec![ContextRule::old_results(3), ContextRule::drop_oldest()],
            counter: Arc::new(EstimatedTokens),
        }
    }
}

impl ContextSettings {
    pub(in crate::agent) fn edits(&self) -> impl Iterator<Item = &Arc<Edit>> {
        self.rules.iter().filter_map(|rule| match &rule.0 {
            RuleKind::Edit(edit) => Some(edit),
            _ => None,
        })
    }

    /// Returns `true` if a run need not look at its requests at all.
    pub(in crate::agent) fn is_off(&self) -> bool {
        self.max_tokens.is_none() && self.edits().next().is_none()
    }
}
