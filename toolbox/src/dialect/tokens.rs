//! The length of definitions in tokens.

use super::dialect::Dialect;
use super::list::Definitions;
use crate::text::estimate_tokens;

/// A count of the tokens of a text: an estimate, or the tokenizer of a model.
///
/// A closure is one. Counts are kept for as long as a text stays the same, so a counter is asked
/// once for each text of a run.
///
/// ```
/// use toolbox::dialect::{Dialect, EstimatedTokens, TokenCounter};
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// assert_eq!(EstimatedTokens.count("one two three"), 3);
/// let bytes = |text: &str| text.len().div_ceil(4);
/// let costs = ToolBox::from(tools![add]).definitions().tokens_with(Dialect::Anthropic, &bytes);
/// assert_eq!(costs[0].name, "add");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not count tokens",
    label = "needs a function of a text to a number",
    note = "a closure is one: `|text: &str| tokenizer.encode(text).len()`",
    note = "`toolbox::dialect::EstimatedTokens` is the default"
)]
pub trait TokenCounter: Send + Sync + 'static {
    /// Returns the number of tokens of a text.
    fn count(&self, text: &str) -> usize;
}

#[diagnostic::do_not_recommend]
impl<F: Fn(&str) -> usize + Send + Sync + 'static> TokenCounter for F {
    fn count(&self, text: &str) -> usize {
        self(text)
    }
}

/// The default counter: an estimate from the text alone, within a sixth for nine texts of ten.
///
/// `docs/results.md` has its errors against a tokenizer, by kinds of text and for whole requests.
///
/// ```
/// use toolbox::dialect::{EstimatedTokens, TokenCounter};
///
/// assert_eq!(EstimatedTokens.count("The quick brown fox"), 4);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct EstimatedTokens;

#[diagnostic::do_not_recommend]
impl TokenCounter for EstimatedTokens {
    fn count(&self, text: &str) -> usize {
        estimate_tokens(text)
    }
}

/// The length of one tool's definition in a request.
///
/// ```
/// use toolbox::dialect::Dialect;
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let costs = ToolBox::from(tools![add]).tokens(Dialect::OpenAiChat);
/// assert_eq!(costs[0].name, "add");
/// assert!((40..80).contains(&costs[0].tokens), "{costs:?}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolTokens {
    /// The tool's own name.
    pub name: String,
    /// The tokens of its entry in the list.
    pub tokens: usize,
}

impl Definitions {
    /// Returns the estimated tokens of each definition as one provider takes it, in order.
    #[must_use]
    pub fn tokens(&self, dialect: Dialect) -> Vec<ToolTokens> {
        self.tokens_with(dialect, &EstimatedTokens)
    }

    /// Returns the tokens of each definition as one provider takes it, in order.
    ///
    /// What is counted is the JSON of the request. A service puts it into a form of its own before
    /// the model reads it, mostly a shorter one.
    #[must_use]
    pub fn tokens_with(
        &self,
        dialect: Dialect,
        counter: &(impl TokenCounter + ?Sized),
    ) -> Vec<ToolTokens> {
        let list = self.lowered(dialect);
        let cost = |(definition, listed): (&crate::ToolDefinition, &super::ListedTool)| {
            ToolTokens { name: definition.name.clone(), tokens: counter.count(listed.json.get()) }
        };
        list.pairs().map(cost).collect()
    }

    /// Returns `true` if both lists are of the same definitions, shared one by one.
    pub(crate) fn shares_all_with(&self, other: &Self) -> bool {
        let (own, others) = (self.shared(), other.shared());
        std::ptr::eq(own, others)
            || own.len() == others.len()
                && own.iter().zip(others).all(|(own, other)| own.is_same(other))
    }
}
