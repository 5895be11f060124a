//! Faults of arguments, described so that a model can correct them.

use std::fmt::{self, Write as _};

use crate::text::quote;

/// The most faults that are listed; further ones are counted.
const LISTED: usize = 20;
/// The longest message about one fault, in characters, inside an [`ArgumentsError`].
const LINE: usize = 450;
/// The longest message about one call, in bytes.
const MESSAGE: usize = 2048;

/// The kind of a [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The text is not JSON.
    Syntax,
    /// Arrays and objects nest deeper than the limit.
    TooDeep,
    /// The text is longer than the limit.
    TooLarge,
    /// A key is twice in one object.
    DuplicateKey,
    /// A required argument or field is absent.
    Missing,
    /// A value has the wrong JSON type.
    WrongType,
    /// A number is too small, too large, or no multiple of its step.
    OutOfRange,
    /// A string, an array or an object is too short or too long.
    Length,
    /// A string does not match its pattern.
    Pattern,
    /// A value is not among those listed.
    NotOneOf,
    /// No argument or field has this name.
    UnknownName,
    /// A value breaks another rule of the schema, or of the type it is read into: a date, an id, a
    /// `try_from`.
    Rejected,
    /// The schema takes too many steps to check.
    SchemaTooLarge,
}

impl FaultKind {
    /// Returns the stable code of this kind, such as `args.wrong_type`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Syntax => "args.syntax",
            Self::TooDeep => "args.too_deep",
            Self::TooLarge => "args.too_large",
            Self::DuplicateKey => "args.duplicate_key",
            Self::Missing => "args.missing",
            Self::WrongType => "args.wrong_type",
            Self::OutOfRange => "args.out_of_range",
            Self::Length => "args.length",
            Self::Pattern => "args.pattern",
            Self::NotOneOf => "args.not_one_of",
            Self::UnknownName => "args.unknown_name",
            Self::Rejected => "args.rejected",
            Self::SchemaTooLarge => "args.schema_too_large",
        }
    }

    pub(crate) const ALL: [Self; 13] = [
        Self::Syntax,
        Self::TooDeep,
        Self::TooLarge,
        Self::DuplicateKey,
        Self::Missing,
        Self::WrongType,
        Self::OutOfRange,
        Self::Length,
        Self::Pattern,
        Self::NotOneOf,
        Self::UnknownName,
        Self::Rejected,
        Self::SchemaTooLarge,
    ];
}

/// One fault in the arguments of a call.
///
/// `Display` writes one line with the change to make:
///
/// ```text
/// `limit` must be at most 50, got 1000
/// `qurey` is not an argument; did you mean `query`? The arguments are `query`, `limit`
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The path of the value: `filters[2].since`; empty for the arguments as a whole.
    pub path: String,
    /// The kind of mistake.
    pub kind: FaultKind,
    /// The expected value, as a phrase: `an integer`, `at most 50`.
    pub expected: String,
    /// The received value, as JSON: at most 100 characters, control characters escaped, `***` for a
    /// secret.
    pub received: Option<String>,
    /// The value that was probably meant, or advice on how to correct it.
    pub suggestion: Option<String>,
    /// The line and column of a syntax error, both from 1.
    pub position: Option<(usize, usize)>,
}

impl Fault {
    /// Makes a fault; `expected` is a phrase that continues the sentence of its kind.
    pub(crate) fn new(
        kind: FaultKind,
        path: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            kind,
            expected: expected.into(),
            received: None,
            suggestion: None,
            position: None,
        }
    }

    /// Returns the fault of a text that is longer than the limit.
    pub(crate) fn too_large(limit: usize, length: usize) -> Self {
        let expected = format!("at most {limit} bytes");
        Self::new(FaultKind::TooLarge, "", expected).received(format!("{length} bytes"))
    }

    /// Returns the fault of a text that nests deeper than the limit.
    pub(crate) fn too_deep(limit: usize) -> Self {
        Self::new(FaultKind::TooDeep, "", format!("at most {limit} levels"))
    }

    pub(crate) fn received(self, received: impl Into<String>) -> Self {
        Self { received: Some(received.into()), ..self }
    }

    pub(crate) fn suggest(self, suggestion: Option<impl Into<String>>) -> Self {
        Self { suggestion: suggestion.map(Into::into), ..self }
    }

    /// Returns the stable code of this fault, such as `args.wrong_type`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Returns the received value as a phrase, since a quoted string alone could be read as a name.
    fn received_phrase(&self) -> String {
        match self.received.as_deref() {
            None => "something else".to_owned(),
            Some(text) if text.starts_with('"') => format!("the string {text}"),
            Some(text) => text.to_owned(),
        }
    }

    /// Returns `argument` for a value at the top, `field` for one further down.
    fn noun(&self) -> &'static str {
        if is_nested(&self.path) { "field" } else { "argument" }
    }

    fn write_syntax(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the arguments are not valid JSON")?;
        if let Some((line, column)) = self.position {
            write!(f, " at line {line}, column {column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ", in `{}`", self.path)?;
        }
        write!(f, ": expected {}", self.expected)?;
        if let Some(received) = &self.received {
            write!(f, ", found {received}")?;
        }
        self.suggestion.as_ref().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.path.as_str() {
            "" => "the arguments".to_owned(),
            path => format!("`{path}`"),
        };
        let expected = &self.expected;
        match self.kind {
            FaultKind::Syntax => return self.write_syntax(f),
            FaultKind::TooDeep => {
                return write!(f, "the arguments nest too deeply: {expected} are allowed");
            }
            FaultKind::TooLarge => write!(f, "the arguments must have {expected}")?,
            FaultKind::DuplicateKey => return write!(f, "duplicate key {subject}"),
            FaultKind::Missing => {
                write!(f, "missing required {} {subject}", self.noun())?;
                return if expected.is_empty() { Ok(()) } else { write!(f, " ({expected})") };
            }
            FaultKind::UnknownName => {
                write!(
                    f,
                    "{subject} is not {}",
                    if is_nested(&self.path) { "a field" } else { "an argument" }
                )?;
                match &self.suggestion {
                    Some(name) => write!(f, "; did you mean `{name}`? ")?,
                    None => f.write_str("; ")?,
                }
                let the = if self.suggestion.is_some() { "The" } else { "the" };
                return if expected.is_empty() {
                    write!(f, "there are no {}s here", self.noun())
                } else {
                    write!(f, "{the} {}s are {expected}", self.noun())
                };
            }
            FaultKind::WrongType | FaultKind::OutOfRange => {
                write!(f, "{subject} must be {expected}")?;
            }
            FaultKind::NotOneOf => write!(f, "{subject} must be {expected}")?,
            FaultKind::Length => write!(f, "{subject} must have {expected}")?,
            FaultKind::Pattern => write!(f, "{subject} must match `{expected}`")?,
            FaultKind::Rejected => write!(f, "{subject} {expected}")?,
            FaultKind::SchemaTooLarge => {
                return write!(f, "{subject} cannot be checked: {expected}");
            }
        }
        if self.received.is_some() {
            write!(f, ", got {}", self.received_phrase())?;
        }
        match &self.suggestion {
            Some(meant) if self.kind == FaultKind::NotOneOf => write!(f, "; did you mean {meant}?"),
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

fn is_nested(path: &str) -> bool {
    path.contains('.') || path.get(1..).is_some_and(|rest| rest.contains('['))
}

/// All faults of one call: the first twenty in full, the rest as a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    listed: Vec<Fault>,
    /// The number of faults made, repeated ones included: making one takes time.
    made: usize,
    more: usize,
}

impl Faults {
    /// Returns the number of faults beyond those listed.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }

    /// Returns faults without room for any, which are counted.
    pub(crate) fn only_counted() -> Self {
        Self { made: 2 * LISTED, ..Self::default() }
    }

    /// Adds a fault, made only if there is still room for it.
    pub(crate) fn push_with(&mut self, fault: impl FnOnce() -> Fault) {
        if self.admits_one() {
            self.push_admitted(fault());
        }
    }

    /// Counts a fault; returns `true` if there is still room for it.
    pub(crate) fn admits_one(&mut self) -> bool {
        let have_room = self.have_room();
        *if have_room { &mut self.made } else { &mut self.more } += 1;
        have_room
    }

    /// Adds a fault that was counted.
    pub(crate) fn push_admitted(&mut self, fault: Fault) {
        // Two parts of a schema may have the same fault.
        if !self.listed.contains(&fault) {
            self.listed.push(fault);
        }
    }

    /// Returns `true` if the next fault would be listed.
    pub(crate) fn have_room(&self) -> bool {
        self.listed.len() < LISTED && self.made < 2 * LISTED
    }

    pub(crate) fn push(&mut self, fault: Fault) {
        self.push_with(|| fault);
    }

    /// Adds the faults of another value of the same call.
    pub(crate) fn append(&mut self, other: Self) {
        self.more += other.more;
        for fault in other.listed {
            self.push(fault);
        }
    }
}

impl std::ops::Deref for Faults {
    type Target = [Fault];

    fn deref(&self) -> &[Fault] {
        &self.listed
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self { listed: vec![fault], made: 1, more: 0 }
    }
}

impl From<Vec<Fault>> for Faults {
    fn from(faults: Vec<Fault>) -> Self {
        let mut all = Self::default();
        for fault in faults {
            all.push(fault);
        }
        all
    }
}

/// The error of a call whose arguments were refused.
///
/// `Display` is the text for the model: it names the tool and every fault, one a line, in at most 2
/// KiB. Values that the schema marks as secret (`writeOnly`, `format: password`) are written as
/// `***`, and of objects and arrays only the kind; beside such a value, so are names that resemble
/// none of those that the object declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentsError {
    tool: String,
    faults: Faults,
}

impl ArgumentsError {
    /// Collects the faults of one call of `tool`.
    pub(crate) fn new(tool: impl Into<String>, faults: impl Into<Faults>) -> Self {
        Self { tool: tool.into(), faults: faults.into() }
    }

    /// Returns the name of the tool that was called.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the faults, at most twenty; [`Faults::more`] counts the others.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Returns the code of the first fault, such as `args.missing`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.faults.first().map_or("args.rejected", Fault::code)
    }
}

impl fmt::Display for ArgumentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Room for "… and N more".
        const RESERVE: usize = 40;
        let mut text = format!("the arguments for `{}` were refused:", quote(&self.tool, 80));
        let mut shown = 0;
        for fault in self.faults.iter() {
            let line = quote(&fault.to_string(), LINE);
            if text.len() + line.len() + 3 > MESSAGE - RESERVE {
                break;
            }
            let _ = write!(text, "\n- {line}");
            shown += 1;
        }
        let more = self.faults.len() - shown + self.faults.more;
        if more > 0 {
            let _ = write!(text, "\n… and {more} more");
        }
        f.write_str(&text)
    }
}

impl std::error::Error for ArgumentsError {}
