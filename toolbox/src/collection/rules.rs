//! The tools of a box that may be called: its blacklist and its allow-list.

use super::toolbox::ToolBox;
use crate::context::InvalidRuleError;
use crate::context::rules::{Rules, ToolRule};

impl ToolBox {
    /// Forbids tools by name (a deny list): they are left out of the list that is sent, and calls
    /// of them are refused.
    ///
    /// The name may hold `*` for any run of characters, and matches whatever the case; `tag:write`
    /// names the tools with a tag. It need not be registered: a tool that comes later is forbidden
    /// too.
    ///
    /// # Panics
    ///
    /// If it names no tool, like `""` or `*`; [`ToolBox::try_blacklist`] takes names from outside
    /// the program.
    #[track_caller]
    pub fn blacklist(&self, name: &str) {
        if let Err(error) = self.try_blacklist(name) {
            panic!("{error}");
        }
    }

    /// Forbids tools by name, like [`ToolBox::blacklist`].
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if it names no tool.
    pub fn try_blacklist(&self, name: &str) -> Result<(), InvalidRuleError> {
        InvalidRuleError::check(name)?;
        self.change(|next| next.forbid(&ToolRule::new(name)));
        Ok(())
    }

    /// Removes a rule that [`ToolBox::blacklist`] added by the same name, and returns `true` if
    /// there was one.
    #[allow(clippy::must_use_candidate, reason = "lifting it is enough")]
    pub fn lift_blacklist(&self, name: &str) -> bool {
        self.change(|next| next.lift(&ToolRule::new(name)))
    }

    /// Allows only these tools, by names that may hold `*` or by tags (`tag:read`); what is
    /// blacklisted stays so.
    ///
    /// An empty list allows none. A later list takes the place of an earlier one.
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if one of them names no tool; nothing changes then.
    pub fn allow_only<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), InvalidRuleError> {
        let names: Vec<&str> = names.into_iter().collect();
        names.iter().try_for_each(|name| InvalidRuleError::check(name))?;
        self.change(|next| next.change_rules(|rules| rules.allow_only(names.into_iter())));
        Ok(())
    }

    /// Replaces the blacklist and the allow-list, as one change; `None` allows all tools that are
    /// not blacklisted.
    ///
    /// ```
    /// # fn main() -> Result<(), toolbox::context::InvalidRuleError> {
    /// let toolbox = toolbox::ToolBox::new();
    /// toolbox.set_rules(&["fs_*"], Some(&["fs_read", "time"]))?;
    /// assert!(toolbox.permits("time") && !toolbox.permits("fs_read"));
    /// toolbox.set_rules(&[], None)?;
    /// assert!(toolbox.permits("fs_read"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if one of them names no tool; nothing changes then.
    pub fn set_rules(
        &self,
        blacklist: &[&str],
        allowed: Option<&[&str]>,
    ) -> Result<(), InvalidRuleError> {
        for name in blacklist.iter().chain(allowed.unwrap_or_default()) {
            InvalidRuleError::check(name)?;
        }
        let mut next_rules = Rules::default();
        for name in blacklist {
            next_rules.blacklist(ToolRule::new(name));
        }
        if let Some(names) = allowed {
            next_rules.allow_only(names.iter().copied());
        }
        self.change(|next| next.change_rules(|rules| *rules = next_rules));
        Ok(())
    }

    /// Returns `true` if the rules allow calls of a tool of that name, registered or not. Of one
    /// that is not, rules by tags say nothing.
    #[must_use]
    pub fn permits(&self, name: &str) -> bool {
        self.shared.current.load().permits(name)
    }
}
