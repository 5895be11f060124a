//! Rules that name tools, many of them as quickly as few.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::rules::ToolRule;
use crate::definition::ToolDefinition;
use crate::trie::{KEY_BITS, Key, Trie};

/// Rules in the order in which they were added, each of them once.
///
/// Clones share what they have in common. A rule without `*` is found by its text; the others are
/// matched one by one.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleSet {
    by_text: Trie<Alike, RuleHash>,
    patterns: Trie<Placed, RulePosition>,
    /// The position of the next rule.
    next: u64,
    len: usize,
    hasher: RandomState,
}

/// A rule and its position.
#[derive(Debug, Clone)]
struct Placed {
    position: u64,
    rule: ToolRule,
}

/// The rules of a hash: one, but for chance.
#[derive(Debug)]
struct Alike {
    hash: u64,
    rules: Vec<Placed>,
}

/// The hash of the text, as a key.
#[derive(Debug)]
struct RuleHash;

/// The position, as a key.
#[derive(Debug)]
struct RulePosition;

impl Key<Alike> for RuleHash {
    const IS_HASH: bool = true;

    fn of(alike: &Alike) -> u64 {
        alike.hash
    }
}

impl Key<Placed> for RulePosition {
    const IS_HASH: bool = false;

    fn of(placed: &Placed) -> u64 {
        placed.position
    }
}

impl RuleSet {
    /// Adds a rule, and returns `true` if it was not there.
    pub(super) fn insert(&mut self, rule: ToolRule) -> bool {
        let hash = self.hash(rule.is_tag(), rule.text());
        let mut rules = self.of_hash(hash).to_vec();
        if rules.iter().any(|own| own.rule == rule) {
            return false;
        }
        let placed = Placed { position: self.next, rule };
        self.next += 1;
        self.len += 1;
        if placed.rule.is_pattern() {
            self.patterns.insert(Arc::new(placed.clone()));
        }
        rules.push(placed);
        self.by_text.insert(Arc::new(Alike { hash, rules }));
        true
    }

    /// Removes a rule, and returns `true` if it was there.
    pub(super) fn remove(&mut self, rule: &ToolRule) -> bool {
        let hash = self.hash(rule.is_tag(), rule.text());
        let mut rules = self.of_hash(hash).to_vec();
        let Some(at) = rules.iter().position(|own| own.rule == *rule) else { return false };
        let gone = rules.swap_remove(at);
        self.len -= 1;
        if gone.rule.is_pattern() {
            self.patterns.remove(gone.position);
        }
        if rules.is_empty() {
            self.by_text.remove(hash);
        } else {
            self.by_text.insert(Arc::new(Alike { hash, rules }));
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the rules in their order.
    pub(super) fn rules(&self) -> Vec<&ToolRule> {
        let mut all: Vec<&Placed> = self.by_text.iter().flat_map(|alike| &alike.rules).collect();
        all.sort_unstable_by_key(|own| own.position);
        all.into_iter().map(|own| &own.rule).collect()
    }

    /// Returns `true` if a rule names tools of this name; rules by tags do not.
    pub(super) fn match_name(&self, name: &str) -> bool {
        self.len > 0 && (self.has(false, name) || self.any_pattern(|rule| rule.matches_name(name)))
    }

    /// Returns `true` if a rule names the tool, by its name or a tag.
    pub(super) fn match_tool(&self, tool: &ToolDefinition) -> bool {
        self.len > 0
            && (self.has(false, &tool.name)
                || tool.tags.iter().any(|tag| self.has(true, tag))
                || self.any_pattern(|rule| rule.matches(&tool.name, &tool.tags)))
    }

    /// Returns `true` if a rule names the tool, also by a name that this had before.
    pub(super) fn cover(&self, tool: &ToolDefinition) -> bool {
        self.match_tool(tool) || tool.replaces.iter().any(|old| self.match_name(old))
    }

    /// Returns `true` if a rule has this text, in any case.
    fn has(&self, is_tag: bool, text: &str) -> bool {
        let is_same = |own: &Placed| {
            own.rule.is_tag() == is_tag && own.rule.text().eq_ignore_ascii_case(text)
        };
        self.of_hash(self.hash(is_tag, text)).iter().any(is_same)
    }

    fn any_pattern(&self, matches: impl Fn(&ToolRule) -> bool) -> bool {
        self.patterns.iter().any(|own| matches(&own.rule))
    }

    fn of_hash(&self, hash: u64) -> &[Placed] {
        self.by_text.get(hash).map_or(&[], |alike| &alike.rules)
    }

    /// Returns the hash of a text, which ignores the case of ASCII letters.
    fn hash(&self, is_tag: bool, text: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(is_tag.into());
        for part in text.as_bytes().chunks(64) {
            let mut lower = [0; 64];
            let lower = &mut lower[..part.len()];
            lower.copy_from_slice(part);
            lower.make_ascii_lowercase();
            hasher.write(lower);
        }
        hasher.finish() >> (u64::BITS - KEY_BITS)
    }
}
