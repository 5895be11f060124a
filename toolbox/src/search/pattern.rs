//! Search by a regular expression.

use std::fmt;

use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::hit::{Hit, hit};
use super::index::{Filter, Index};
use super::term::narrow;
use super::texts::{FIELDS, TextChunk, ToolText};

use crate::text::cut;

/// The maximum length of a pattern, in characters.
pub const MAX_PATTERN_CHARS: usize = 200;

/// The maximum size of a compiled pattern, in bytes. A name or a few words take a hundredth of it.
const MAX_COMPILED: usize = 1 << 19;

/// An error in a search pattern.
///
/// No message repeats the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern has more than [`MAX_PATTERN_CHARS`] characters.
    TooLong {
        /// The number of characters.
        chars: usize,
    },
    /// The pattern is no valid regular expression.
    Invalid {
        /// The position of the error, in characters from 0.
        position: usize,
        /// The description of the error.
        reason: String,
    },
    /// The pattern is short, but compiles to something too large to match quickly.
    TooLarge,
}

impl PatternError {
    /// Returns a stable code: `pattern_too_long`, `invalid_pattern` or `pattern_too_large`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "pattern_too_long",
            Self::Invalid { .. } => "invalid_pattern",
            Self::TooLarge => "pattern_too_large",
        }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { chars } => {
                write!(f, "a pattern of {chars} characters is longer than {MAX_PATTERN_CHARS}")
            }
            Self::Invalid { position, reason } => {
                write!(f, "the pattern is invalid at character {position}: {reason}")
            }
            Self::TooLarge => f.write_str(
                "the pattern stands for too much; write fewer or smaller repetitions such as `{100}`",
            ),
        }
    }
}

impl std::error::Error for PatternError {}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    scope: MatchScope,
}

/// The text that a match may depend on. `^` and `$` refer to lines, and each field is on lines of
/// its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchScope {
    /// One line: many tools can be searched in one pass.
    Line,
    /// Several lines, which could be those of two tools.
    Lines,
    /// The begin or the end of the whole text, which has to be a single field.
    Text,
}

impl MatchScope {
    fn of(pattern: &Hir) -> Self {
        let looks = pattern.properties().look_set();
        if looks.contains(Look::Start) || looks.contains(Look::End) {
            Self::Text
        } else if breaks(pattern) {
            Self::Lines
        } else {
            Self::Line
        }
    }
}

/// Returns `true` if a match can contain a line break.
fn breaks(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => {
            class.iter().any(|range| (range.start()..=range.end()).contains(&'\n'))
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.iter().any(|range| (range.start()..=range.end()).contains(&b'\n'))
        }
        HirKind::Repetition(repetition) => breaks(&repetition.sub),
        HirKind::Capture(capture) => breaks(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(breaks),
    }
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, PatternError> {
        let chars = pattern.chars().count();
        if chars > MAX_PATTERN_CHARS {
            return Err(PatternError::TooLong { chars });
        }
        let parsed = ParserBuilder::new().multi_line(true).build().parse(pattern);
        let parsed = parsed.map_err(|error| invalid(pattern, &error))?;
        // Most of the time goes into compiling, so groups and their engine, which this search does
        // not need, are not compiled.
        let config = Regex::config()
            .nfa_size_limit(Some(MAX_COMPILED))
            .hybrid_cache_capacity(MAX_COMPILED)
            .which_captures(WhichCaptures::Implicit)
            .onepass(false);
        let regex = Regex::builder().configure(config).build_from_hir(&parsed);
        // A pattern that parses can only fail to compile because of its size.
        let regex = regex.map_err(|_| PatternError::TooLarge)?;
        Ok(Self { regex, scope: MatchScope::of(&parsed) })
    }

    /// Calls `visit` with each tool that matches, by its index in the chunk, and the first field
    /// that does.
    fn scan(&self, row: &TextChunk, mut visit: impl FnMut(usize, usize)) {
        if self.scope != MatchScope::Line {
            for (tool, text) in row.tools().enumerate() {
                if let Some(field) = self.field(text) {
                    visit(tool, field);
                }
            }
            return;
        }
        let mut next = Some(0);
        // The end alone is found faster than begin and end, and is on the same line.
        let input = Input::new(&row.text).earliest(true);
        let end = |at| self.regex.search_half(&input.clone().range(at..));
        while let Some(end) = next.and_then(end) {
            let (tool, field, after) = row.find(end.offset());
            visit(tool, field);
            next = after;
        }
    }

    /// Returns the first field that matches, by its index in the order of fields.
    fn field(&self, text: ToolText<'_>) -> Option<usize> {
        if self.scope != MatchScope::Text {
            let found = self.regex.find(text.joined)?;
            let field = text.field_at(found.start());
            if text.field_at(found.end()) == field {
                return Some(field);
            }
        }
        (0..FIELDS.len()).find(|&field| text.lines(field).any(|line| self.regex.is_match(line)))
    }

    /// Returns the tools that match, those with a match in a better field first; ties keep
    /// registration order.
    pub(super) fn hits(&self, index: &Index, limit: usize, filter: Filter<'_>) -> Vec<Hit> {
        let mut found = Vec::new();
        for (first, chunk) in index.texts.chunks() {
            self.scan(chunk, |tool, field| {
                // A tool that was removed leaves an empty line, which some patterns match.
                if let Some(entry) = &index.slots[first + tool] {
                    found.push((field, entry.order, first + tool));
                }
            });
        }
        found.sort_unstable();
        let allowed = found.into_iter().filter(|&(.., slot)| index.passes(slot, filter));
        let hits = allowed.take(limit).enumerate();
        hits.filter_map(|(at, (field, _, slot))| {
            let score = FIELDS.len() - field;
            hit(index, narrow(slot), f64::from(u8::try_from(score).unwrap_or_default()), at)
        })
        .collect()
    }
}

/// Returns the error with its position in the pattern.
fn invalid(pattern: &str, error: &regex_syntax::Error) -> PatternError {
    let (start, reason) = match error {
        regex_syntax::Error::Parse(error) => (error.span().start, error.kind().to_string()),
        regex_syntax::Error::Translate(error) => (error.span().start, error.kind().to_string()),
        _ => return PatternError::Invalid { position: 0, reason: "it cannot be read".to_owned() },
    };
    PatternError::Invalid { position: cut(pattern, start.offset).chars().count(), reason }
}
