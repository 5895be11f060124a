//! Rules on the tools that may be called: the blacklist and the allow-list.

use std::fmt;

use super::rule_set::RuleSet;
use crate::definition::ToolDefinition;

/// A rule that names tools: a name, or a name with `*` for any run of characters.
///
/// Rules ignore ASCII case, so that no other spelling of a name gets around one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NameRule(String);

impl NameRule {
    pub(crate) fn new(pattern: &str) -> Self {
        Self(pattern.to_ascii_lowercase())
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        matches(self.0.as_bytes(), name.as_bytes())
    }
}

/// Matches `*` greedily, going back to the last one only: linear in practice, never worse than the
/// product.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p) == Some(&name[n].to_ascii_lowercase()) {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// The beginning of a rule that names tools by a tag. No name of a tool holds a colon.
const TAG: &str = "tag:";

/// A rule that names tools: by their names, or by a tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ToolRule {
    Name(NameRule),
    Tag(NameRule),
}

impl ToolRule {
    pub(crate) fn new(pattern: &str) -> Self {
        match tag_of(pattern) {
            Some(tag) => Self::Tag(NameRule::new(tag)),
            None => Self::Name(NameRule::new(pattern)),
        }
    }

    /// Returns a rule for URIs, which no tag stands for.
    pub(crate) fn of_uri(pattern: &str) -> Self {
        Self::Name(NameRule::new(pattern))
    }

    /// Returns the name, or the tag, that it names, or a part of one with `*`.
    pub(super) fn text(&self) -> &str {
        let (Self::Name(rule) | Self::Tag(rule)) = self;
        &rule.0
    }

    pub(super) fn is_tag(&self) -> bool {
        matches!(self, Self::Tag(_))
    }

    pub(super) fn is_pattern(&self) -> bool {
        self.text().contains('*')
    }

    /// Returns the one name that it names, in lower case.
    pub(crate) fn only_name(&self) -> Option<&str> {
        (!self.is_tag() && !self.is_pattern()).then(|| self.text())
    }

    pub(crate) fn matches_name(&self, name: &str) -> bool {
        matches!(self, Self::Name(rule) if rule.matches(name))
    }

    /// Returns `true` if it names a tool of this name and these tags.
    pub(crate) fn matches(&self, name: &str, tags: &[String]) -> bool {
        match self {
            Self::Name(rule) => rule.matches(name),
            Self::Tag(rule) => tags.iter().any(|tag| rule.matches(tag)),
        }
    }

    fn matches_tool(&self, tool: &ToolDefinition) -> bool {
        self.matches(&tool.name, &tool.tags)
    }

    /// Returns `true` if it names a tool, also by a name that this had before.
    pub(crate) fn covers(&self, tool: &ToolDefinition) -> bool {
        self.matches_tool(tool) || tool.replaces.iter().any(|old| self.matches_name(old))
    }
}

impl fmt::Display for ToolRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(rule) => f.write_str(&rule.0),
            Self::Tag(rule) => write!(f, "{TAG}{}", rule.0),
        }
    }
}

/// Returns the tag, or a part of one with `*`, by which a rule names tools.
fn tag_of(pattern: &str) -> Option<&str> {
    let (start, tag) = pattern.split_at_checked(TAG.len())?;
    start.eq_ignore_ascii_case(TAG).then_some(tag)
}

/// Rules of a box: a blacklist, and an allow-list if there is one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    blacklist: RuleSet,
    allowed: Option<RuleSet>,
}

impl Rules {
    /// Forbids what a rule names, and returns `true` if it is a new one.
    pub(crate) fn blacklist(&mut self, rule: ToolRule) -> bool {
        self.blacklist.insert(rule)
    }

    /// Sets the allow-list, in place of an earlier one.
    pub(crate) fn allow_only<'a>(&mut self, patterns: impl Iterator<Item = &'a str>) {
        let mut allowed = RuleSet::default();
        for pattern in patterns {
            allowed.insert(ToolRule::new(pattern));
        }
        self.allowed = Some(allowed);
    }

    /// Returns `true` if a tool of which only the name is known may be called. Rules by tags say
    /// nothing of it.
    pub(crate) fn permit(&self, name: &str) -> bool {
        !self.blacklist.match_name(name)
            && self.allowed.as_ref().is_none_or(|rules| rules.match_name(name))
    }

    /// Returns `true` if a tool may be called: its name, or one of its tags, is permitted, and
    /// neither these nor its old names are on the blacklist.
    pub(crate) fn permit_tool(&self, tool: &ToolDefinition) -> bool {
        !self.blacklist.cover(tool)
            && self.allowed.as_ref().is_none_or(|rules| rules.match_tool(tool))
    }

    /// Adds other rules: a tool that either forbids is forbidden.
    pub(crate) fn extend(&mut self, other: &Self) {
        if self.blacklist.is_empty() {
            self.blacklist = other.blacklist.clone();
            return;
        }
        for rule in other.blacklist.rules() {
            self.blacklist.insert(rule.clone());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blacklist.is_empty() && self.allowed.is_none()
    }

    /// Returns the rules of the blacklist, in lower case.
    pub(crate) fn blacklisted(&self) -> Vec<String> {
        self.blacklist.rules().into_iter().map(ToString::to_string).collect()
    }

    /// Removes a rule of the blacklist, and returns `true` if there was one.
    pub(crate) fn lift(&mut self, rule: &ToolRule) -> bool {
        self.blacklist.remove(rule)
    }
}

/// The error of a rule that names nothing, or everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRuleError {
    pattern: String,
    advice: &'static str,
}

impl InvalidRuleError {
    pub(crate) fn check(pattern: &str) -> Result<(), Self> {
        if let Some(tag) = tag_of(pattern) {
            let is_part = |c: char| !c.is_control();
            if tag.chars().all(is_part) && tag.chars().any(|c| c != '*' && !c.is_whitespace()) {
                return Ok(());
            }
            let advice = "names no tag; write one, or a part of one with `*`: `tag:write`";
            return Err(Self { pattern: pattern.to_owned(), advice });
        }
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*');
        if pattern.chars().all(name) && pattern.chars().any(|c| c != '*') {
            return Ok(());
        }
        let advice = "names no tool; write a tool's name, or a part of one with `*`: `fs_*`, or a \
                      tag: `tag:write`";
        Err(Self { pattern: pattern.to_owned(), advice })
    }

    /// Checks a rule for resources.
    pub(crate) fn check_uri(pattern: &str) -> Result<(), Self> {
        let is_part = |c: char| !c.is_control() && !c.is_whitespace();
        if pattern.chars().all(is_part) && pattern.chars().any(|c| c != '*') {
            return Ok(());
        }
        let advice = "names no resource; write a URI, or a part of one with `*`: `notes://*`";
        Err(Self { pattern: pattern.to_owned(), advice })
    }
}

impl fmt::Display for InvalidRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rule {:?} {}", self.pattern, self.advice)
    }
}

impl std::error::Error for InvalidRuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_match_names() {
        let cases = [
            ("shell", "shell", true),
            ("shell", "Shell", true),
            ("SHELL", "shell", true),
            ("shell", "shell2", false),
            ("fs_*", "fs_read", true),
            ("fs_*", "fs_", true),
            ("fs_*", "gs_read", false),
            ("*_read", "fs_read", true),
            ("*_read", "fs_read_all", false),
            ("a*b*c", "a_b_b_c", true),
            ("a*b*c", "a_c_b", false),
            ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(NameRule::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn d10_rules_that_name_nothing_are_refused() {
        for pattern in ["", "*", "**", " ", "[a-", "sh ell", "ѕhell", "tag:", "TAG:*", "tag:\n"] {
            assert!(InvalidRuleError::check(pattern).is_err(), "{pattern:?}");
        }
        for pattern in ["fs_*", "tag:write", "Tag:read only", "tag:é*"] {
            assert!(InvalidRuleError::check(pattern).is_ok(), "{pattern:?}");
        }
        for pattern in ["", "*", " ", "notes://a b", "notes://\n"] {
            assert!(InvalidRuleError::check_uri(pattern).is_err(), "{pattern:?}");
        }
        assert!(InvalidRuleError::check_uri("notes://é/*").is_ok());
    }
}
