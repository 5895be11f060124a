//! Rules on the tools that may be called: the blacklist and the allow-list.

use std::fmt;

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

/// Rules of a box: a blacklist, and an allow-list if there is one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    blacklist: Vec<NameRule>,
    allowed: Option<Vec<NameRule>>,
}

impl Rules {
    pub(crate) fn blacklist(&mut self, pattern: &str) {
        let rule = NameRule::new(pattern);
        if !self.blacklist.contains(&rule) {
            self.blacklist.push(rule);
        }
    }

    /// Sets the allow-list, in place of an earlier one.
    pub(crate) fn allow_only<'a>(&mut self, patterns: impl Iterator<Item = &'a str>) {
        self.allowed = Some(patterns.map(NameRule::new).collect());
    }

    pub(crate) fn permit(&self, name: &str) -> bool {
        !self.forbid(name)
            && self.allowed.as_ref().is_none_or(|rules| rules.iter().any(|rule| rule.matches(name)))
    }

    /// Returns `true` if a tool may be called: its name is permitted, and none of its old names is
    /// on the blacklist.
    pub(crate) fn permit_tool(&self, tool: &ToolDefinition) -> bool {
        self.permit(&tool.name) && !tool.replaces.iter().any(|old| self.forbid(old))
    }

    fn forbid(&self, name: &str) -> bool {
        self.blacklist.iter().any(|rule| rule.matches(name))
    }

    /// Adds other rules: a tool that either forbids is forbidden.
    pub(crate) fn extend(&mut self, other: &Self) {
        for rule in &other.blacklist {
            if !self.blacklist.contains(rule) {
                self.blacklist.push(rule.clone());
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blacklist.is_empty() && self.allowed.is_none()
    }

    /// Returns the rules of the blacklist, in lower case.
    pub(crate) fn blacklisted(&self) -> Vec<String> {
        self.blacklist.iter().map(|rule| rule.0.clone()).collect()
    }

    pub(crate) fn lift(&mut self, pattern: &str) -> bool {
        let rule = NameRule::new(pattern);
        let before = self.blacklist.len();
        self.blacklist.retain(|own| *own != rule);
        self.blacklist.len() < before
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
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*');
        if pattern.chars().all(name) && pattern.chars().any(|c| c != '*') {
            return Ok(());
        }
        let advice = "names no tool; write a tool's name, or a part of one with `*`: `fs_*`";
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
        for pattern in ["", "*", "**", " ", "[a-", "sh ell", "ѕhell"] {
            assert!(InvalidRuleError::check(pattern).is_err(), "{pattern:?}");
        }
        assert!(InvalidRuleError::check("fs_*").is_ok());
        for pattern in ["", "*", " ", "notes://a b", "notes://\n"] {
            assert!(InvalidRuleError::check_uri(pattern).is_err(), "{pattern:?}");
        }
        assert!(InvalidRuleError::check_uri("notes://é/*").is_ok());
    }
}
