//! Tools by a regular expression.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::catalog::{Hit, hit};
use super::fields::Field;
use super::index::{Filter, Index};
use super::words;

/// The longest pattern that is taken, in characters.
pub const MAX_PATTERN_CHARS: usize = 200;

/// What a pattern may compile to, in bytes. A name or a few words take a hundredth of it.
const MAX_COMPILED: usize = 1 << 19;

/// The fields a pattern is looked for in, best first.
const FIELDS: [Field; 6] = [
    Field::Name,
    Field::Server,
    Field::Title,
    Field::Description,
    Field::ArgumentName,
    Field::ArgumentDescription,
];

/// Why a text is no pattern to search for.
///
/// No message repeats the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern has more than [`MAX_PATTERN_CHARS`] characters.
    TooLong {
        /// How many it has.
        chars: usize,
    },
    /// The pattern is no valid regular expression.
    Invalid {
        /// Where the mistake begins, in characters from 0.
        position: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The pattern is short, and stands for something too large to match quickly.
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

/// A pattern that is ready to be looked for.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// The pattern may speak of the begin or the end of the whole text, so fields cannot be searched in one go.
    fieldwise: bool,
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, PatternError> {
        let chars = pattern.chars().count();
        if chars > MAX_PATTERN_CHARS {
            return Err(PatternError::TooLong { chars });
        }
        let regex = RegexBuilder::new(pattern)
            .multi_line(true)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build()
            .map_err(|error| invalid(pattern, &error))?;
        Ok(Self { regex, fieldwise: pattern.contains("\\A") || pattern.contains("\\z") })
    }

    /// Returns the first field that matches, by its place in the order of fields.
    fn field(&self, text: &Text) -> Option<usize> {
        if !self.fieldwise {
            // Fields stand on lines of their own, where `^` and `$` mean what they mean in the field alone.
            let found = self.regex.find(&text.joined)?;
            let field = text.field_at(found.start());
            if text.field_at(found.end()) == field {
                return Some(field);
            }
        }
        (0..FIELDS.len()).find(|&field| text.lines(field).any(|line| self.regex.is_match(line)))
    }

    /// Returns the tools that match, those with a match in a better field first; ties keep registration order.
    pub(super) fn hits(&self, index: &Index, limit: usize, filter: Filter<'_>) -> Vec<Hit> {
        let mut found: Vec<(usize, u64, u32)> = index
            .entries()
            .filter_map(|(slot, entry)| Some((self.field(&entry.text)?, entry.order, slot)))
            .collect();
        found.sort_unstable();
        let allowed = found.into_iter().filter(|&(.., slot)| index.passes(slot as usize, filter));
        let hits = allowed.take(limit).enumerate();
        hits.filter_map(|(at, (field, _, slot))| {
            let score = FIELDS.len() - field;
            hit(index, slot, f64::from(u8::try_from(score).unwrap_or_default()), at)
        })
        .collect()
    }
}

/// Says where a pattern is wrong, which the compiled engine keeps to itself.
fn invalid(pattern: &str, error: &regex::Error) -> PatternError {
    let at = |offset: usize| words::cut(pattern, offset).chars().count();
    match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => PatternError::Invalid {
            position: at(error.span().start.offset),
            reason: error.kind().to_string(),
        },
        Err(regex_syntax::Error::Translate(error)) => PatternError::Invalid {
            position: at(error.span().start.offset),
            reason: error.kind().to_string(),
        },
        _ if matches!(error, regex::Error::CompiledTooBig(_)) => PatternError::TooLarge,
        _ => PatternError::Invalid { position: 0, reason: "it cannot be compiled".to_owned() },
    }
}

/// The fields of a tool, each on lines of its own.
#[derive(Debug)]
pub(super) struct Text {
    joined: Box<str>,
    /// Where each field ends.
    ends: [u32; FIELDS.len()],
}

impl Text {
    fn field_at(&self, offset: usize) -> usize {
        self.ends.iter().position(|&end| offset <= end as usize).unwrap_or(FIELDS.len() - 1)
    }

    /// Returns the lines of a field.
    fn lines(&self, field: usize) -> impl Iterator<Item = &str> {
        let start = if field == 0 { 0 } else { self.ends[field - 1] as usize };
        let text = &self.joined[start..self.ends[field] as usize];
        let text = if field == 0 { Some(text) } else { text.strip_prefix('\n') };
        text.into_iter().flat_map(|text| text.split('\n'))
    }
}

/// Puts the texts of a tool together, with buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct TextBuilder {
    joined: String,
    /// Arguments come name by description; here each of the two is a field.
    arguments: [String; 2],
    ends: [u32; FIELDS.len()],
}

impl TextBuilder {
    /// Begins with the whole name: a pattern such as `^github__` speaks of it, not of its last part.
    pub(super) fn begin(&mut self, name: &str) {
        self.joined.clear();
        self.joined.push_str(name);
        self.arguments.iter_mut().for_each(String::clear);
        self.ends = [narrow(name.len()); FIELDS.len()];
    }

    /// Adds a text; the fields before the arguments come in their order.
    pub(super) fn push(&mut self, field: Field, text: &str) {
        let Some(at @ 1..) = FIELDS.iter().position(|&other| other == field) else { return };
        let place = match at {
            4 | 5 => &mut self.arguments[at - 4],
            _ => &mut self.joined,
        };
        place.push('\n');
        place.push_str(text);
        self.ends[at..].fill(narrow(self.joined.len()));
    }

    pub(super) fn finish(&self) -> Text {
        let [names, descriptions] = &self.arguments;
        let mut ends = self.ends;
        ends[4] = narrow(self.joined.len() + names.len());
        ends[5] = narrow(self.joined.len() + names.len() + descriptions.len());
        Text { joined: [&*self.joined, names, descriptions].concat().into(), ends }
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
