//! The prompts of a box.

use std::fmt;

use super::toolbox::ToolBox;
use crate::context::InvalidRuleError;
use crate::prompt::{self, IntoPrompts, Prompt};

/// The prompts of a [`ToolBox`], by name; a cheap handle.
///
/// Their calls have the timeout, the limits, the state and the asker of the box. Its layers, its
/// rules, its journal and its store of results are of tools alone: prompts have a blacklist of
/// their own, and no prompt is cut.
///
/// ```
/// use toolbox::{ToolBox, prompt, prompts};
///
/// /// Asks for a poem.
/// #[prompt]
/// fn poem(topic: &str) -> String {
///     format!("Write a poem on {topic}.")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolbox::ToolError> {
/// let toolbox = ToolBox::builder().prompts(prompts![poem]).build().unwrap();
/// let rendered = toolbox.prompts().get("poem", r#"{"topic": "rain"}"#).await?;
/// assert_eq!(rendered.text(), "Write a poem on rain.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Prompts {
    /// The functions that write the messages, as tools.
    pub(crate) calls: ToolBox,
}

impl ToolBox {
    /// Returns the prompts of the box.
    #[must_use]
    pub fn prompts(&self) -> Prompts {
        Prompts { calls: self.prompt_calls().clone() }
    }

    /// Returns the prompts, if the box ever had one.
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn own_prompts(&self) -> Option<Prompts> {
        self.used_prompt_calls().map(|calls| Prompts { calls: calls.clone() })
    }
}

impl Prompts {
    /// Adds prompts; one whose name is taken replaces the other, at its position.
    pub fn register(&self, prompts: impl IntoPrompts) {
        self.calls.register(prompt::tools_of(prompts));
    }

    /// Removes prompts and adds others, as one change.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn exchange(&self, is_gone: impl Fn(&Prompt) -> bool, prompts: Vec<Prompt>) {
        self.calls.exchange(|tool| is_gone(&Prompt::of(tool)), prompt::tools_of(prompts));
    }

    /// Declares that there may be prompts, though there are none yet.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn announce(&self) {
        self.calls.change(|_| {});
    }

    /// Removes a prompt, and returns it if it was there.
    #[allow(clippy::must_use_candidate, reason = "taking a prompt out is enough")]
    pub fn unregister(&self, name: &str) -> Option<Prompt> {
        self.calls.unregister(name).as_ref().map(Prompt::of)
    }

    /// Returns a prompt by its name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Prompt> {
        self.calls.get(name).as_ref().map(Prompt::of)
    }

    /// Returns all prompts that are not forbidden, in order.
    #[must_use]
    pub fn list(&self) -> Vec<Prompt> {
        self.calls.snapshot().listed().map(Prompt::of).collect()
    }

    /// Returns the names of all prompts, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.calls.names()
    }

    /// Returns the number of prompts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns `true` if there are no prompts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Forbids a prompt: it is left out of lists, and a call of it fails.
    /// It may hold `*` for any run of characters, and matches whatever the case.
    ///
    /// # Panics
    ///
    /// If it names none, like `""` or `*`.
    #[track_caller]
    pub fn blacklist(&self, name: &str) {
        self.calls.blacklist(name);
    }

    /// Forbids a prompt, like [`Prompts::blacklist`].
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if it names none, like `""` or `*`.
    pub fn try_blacklist(&self, name: &str) -> Result<(), InvalidRuleError> {
        self.calls.try_blacklist(name)
    }

    /// Returns a number that grows with every change of the prompts.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.calls.generation()
    }

    /// Waits until the prompts have another generation than `seen`, and returns it.
    pub async fn changed_since(&self, seen: u64) -> u64 {
        self.calls.changed_since(seen).await
    }
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompts").field("names", &self.names()).finish()
    }
}
