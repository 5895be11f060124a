//! The full check of arguments against their schema, for calls that the fast reader could not read.
//!
//! The fast reader has no paths and stops at the first fault. Here the text becomes a tree, the
//! tree is checked against the schema, and either safe repairs make it valid or every fault is
//! reported at once. Time is linear in the text, memory a small multiple of it, and recursion ends
//! at the depth limit.

mod check;
mod conditions;
mod deprecated;
mod disclosure;
mod json;
mod memo;
mod number;
mod objects;
mod path;
mod phrases;
mod read;
mod read_error;
mod references;
mod refused;
mod repair;
mod schema;
mod secrets;
mod syntax_hint;
mod unevaluated;
mod unions;
mod uri;
mod value;
mod wrapped;

#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;

use serde_json::Value;

use self::check::Checker;
use self::disclosure::PathOrigin;
use self::json::{Document, Flaw, ParseError};
use self::path::steps_at;

pub(crate) use self::number::{Decimal, with_plain_integers};
pub(crate) use self::read_error::ReadError;
pub(crate) use self::references::References;
pub(crate) use self::refused::{Subject, refused, violated};
pub(crate) use self::schema::JsonKinds;
pub(crate) use self::secrets::{may_hide, shown};
use crate::call::{Fault, FaultKind, Faults, Repair};
use crate::definition::DeprecatedPart;
use crate::schema::walk::MAX_HEIGHT;
use crate::text::nests_deeper;

/// Limits that are enforced before arguments are parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValidationLimits {
    /// The most levels of nesting; the outermost object is the first.
    pub(crate) depth: usize,
    /// `true` if a number in the place of a time is one of seconds.
    pub(crate) reads_seconds: bool,
}

impl Default for ValidationLimits {
    fn default() -> Self {
        Self { depth: 64, reads_seconds: false }
    }
}

/// The outcome of the full check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckOutcome {
    /// The text is valid as it stands.
    Valid,
    /// The text is valid in this other form.
    Repaired { text: String, repairs: Vec<Repair> },
    /// The text is invalid. If some repairs were possible, these are the faults that would remain
    /// after them.
    Invalid {
        faults: Faults,
        /// The text that the faults are about, if it is JSON.
        text: Option<String>,
    },
}

impl CheckOutcome {
    /// Returns the outcome of a text that cannot be parsed.
    fn unreadable(fault: Fault) -> Self {
        Self::Invalid { faults: fault.into(), text: None }
    }
}

/// Checks the text of a call's arguments against the tool's schema, and makes the safe repairs.
pub(crate) fn check_arguments(
    text: &str,
    schema: &Value,
    bounds: &ValidationLimits,
) -> CheckOutcome {
    if let Some(fault) = bound(text, bounds) {
        return CheckOutcome::unreadable(fault);
    }
    let (inner, base, mut repairs) = repair::bare(text);
    let refs = &References::new(schema);
    match repair::string_content(inner, refs) {
        Some((content, unwrapped)) => {
            repairs.push(unwrapped);
            match bound(&content, bounds) {
                Some(fault) => CheckOutcome::unreadable(fault),
                None => settle(&content, 0, &content, refs, bounds, repairs),
            }
        }
        None => settle(text, base, inner, refs, bounds, repairs),
    }
}

/// Checks and repairs `inner`, which starts at `base` of `whole`, after the repairs around it.
fn settle(
    whole: &str,
    base: usize,
    inner: &str,
    refs: &References<'_>,
    bounds: &ValidationLimits,
    mut repairs: Vec<Repair>,
) -> CheckOutcome {
    let origin = PathOrigin { schema: refs.root, refs, path: "" };
    let document = match json::parse(inner, bounds.depth) {
        Ok(document) => document,
        Err(refusal) => {
            let fault = unreadable(refusal, whole, base, inner, bounds, origin);
            return CheckOutcome::unreadable(fault);
        }
    };
    if is_valid(&document, origin) {
        return if repairs.is_empty() {
            CheckOutcome::Valid
        } else {
            CheckOutcome::Repaired { text: inner.to_owned(), repairs }
        };
    }
    let Some((text, more)) = repair::mend(document.root(), refs, bounds, check::budget(inner))
    else {
        let faults = all_faults(&document, origin);
        return CheckOutcome::Invalid { faults, text: Some(inner.to_owned()) };
    };
    drop(document);
    // The repaired text is checked like any other, so no repair can make an invalid call pass.
    let remaining = match json::parse(&text, bounds.depth) {
        Ok(document) => all_faults(&document, origin),
        Err(refusal) => unreadable(refusal, &text, 0, &text, bounds, origin).into(),
    };
    if !remaining.is_empty() {
        return CheckOutcome::Invalid { faults: remaining, text: Some(text) };
    }
    repairs.extend(more);
    CheckOutcome::Repaired { text, repairs }
}

/// Returns the deprecated parts that the arguments of a call have, the first few.
pub(crate) fn deprecated_parts(text: &str, schema: &Value) -> Vec<DeprecatedPart> {
    let limits = ValidationLimits::default();
    let checked = check_arguments(text, schema, &limits);
    let text = match &checked {
        CheckOutcome::Repaired { text, .. } | CheckOutcome::Invalid { text: Some(text), .. } => {
            text
        }
        _ => text,
    };
    let Ok(arguments) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let mut fits = |value: &Value, alternative: &Value| {
        conforms(&value.to_string(), alternative, schema, "", &limits).is_empty()
    };
    deprecated::parts_of(&arguments, &References::new(schema), &mut fits)
}

/// Checks the text of one argument against its schema; `root` is the document of references, `path`
/// the argument's own path.
pub(crate) fn conforms(
    value_text: &str,
    schema: &Value,
    root: &Value,
    path: &str,
    bounds: &ValidationLimits,
) -> Faults {
    let origin = PathOrigin { schema, refs: &References::new(root), path };
    match json::parse(value_text, bounds.depth) {
        Ok(document) => all_faults(&document, origin),
        Err(refusal) => {
            let mut fault = unreadable(refusal, value_text, 0, value_text, bounds, origin);
            // A line and column inside a slice would mislead.
            fault.position = None;
            fault.into()
        }
    }
}

fn is_valid(document: &Document<'_>, origin: PathOrigin<'_, '_>) -> bool {
    let checker = Checker::new(origin.refs, origin.path, check::budget(document.text()));
    document.flaws().is_empty() && checker.finds_none(document.root(), origin.schema)
}

fn all_faults(document: &Document<'_>, origin: PathOrigin<'_, '_>) -> Faults {
    let mut faults = Faults::default();
    for flaw in document.flaws() {
        let at = |offset| origin.disclose(steps_at(document.text(), offset).into_iter()).path;
        faults.push_with(|| match *flaw {
            Flaw::Duplicate(offset) => {
                Fault::new(FaultKind::DuplicateKey, at(offset), "each name once")
            }
            Flaw::Range(offset) => {
                let range = "a number between -1.8e308 and 1.8e308";
                Fault::new(FaultKind::OutOfRange, at(offset), range)
            }
        });
    }
    let budget = check::budget(document.text());
    let checker = Checker::new(origin.refs, origin.path, budget);
    faults.append(checker.run(document.root(), origin.schema));
    faults
}

fn unreadable(
    refusal: ParseError,
    whole: &str,
    base: usize,
    inner: &str,
    bounds: &ValidationLimits,
    origin: PathOrigin<'_, '_>,
) -> Fault {
    match refusal {
        ParseError::Syntax(error) => syntax_hint::fault(whole, base, inner, error, origin),
        ParseError::TooDeep => Fault::too_deep(bounds.depth),
        ParseError::TooLarge => Fault::too_large(u32::MAX as usize, inner.len()),
    }
}

/// Returns whether a value meets a schema; `None` if it has no fault and a keyword of the schema is
/// one that not every checker enforces, such as `format`.
pub(crate) fn meets<'s>(value: &Value, schema: &'s Value, refs: &References<'s>) -> Option<bool> {
    let text = value.to_string();
    let document = json::parse(&text, MAX_HEIGHT).ok()?;
    let mut checker = Checker::new(refs, "", check::budget(&text));
    let is_met = checker.count_faults(document.root(), schema) == 0;
    if checker.exhausted || !refs.is_known() {
        return None;
    }
    if is_met && !checker.is_read(schema) { None } else { Some(is_met) }
}

/// The places of values in a JSON text.
pub(crate) struct TextPlaces<'t>(Document<'t>);

impl<'t> TextPlaces<'t> {
    /// Reads a text; `None` if it is no JSON.
    pub(crate) fn of(text: &'t str) -> Option<Self> {
        json::parse(text, MAX_HEIGHT).ok().map(Self)
    }

    /// Returns the line and the column of the value at a JSON pointer, or of the nearest value
    /// around it; both begin with 1. The place of a field is that of its name.
    pub(crate) fn place(&self, pointer: &str) -> (usize, usize) {
        let mut node = self.0.root();
        let mut offset = node.start();
        for step in pointer.split('/').skip(1) {
            let name = step.replace("~1", "/").replace("~0", "~");
            if let Some((key, value)) = node.fields().find(|(key, _)| key.is_text(&name)) {
                (offset, node) = (key.start(), value);
            } else if let Some(item) = name.parse().ok().and_then(|at| node.items().nth(at)) {
                (offset, node) = (item.start(), item);
            } else {
                break;
            }
        }
        self.line_and_column(offset)
    }

    /// Returns the place of the first name that stands twice in an object.
    pub(crate) fn duplicate_name(&self) -> Option<(usize, usize)> {
        self.0.flaws().iter().find_map(|flaw| match flaw {
            Flaw::Duplicate(offset) => Some(self.line_and_column(*offset)),
            Flaw::Range(_) => None,
        })
    }

    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = &self.0.text()[..offset];
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (before.matches('\n').count() + 1, column)
    }
}

/// Returns the fields of a JSON object with their values as text; none, if the text is no object.
pub(crate) fn fields(text: &str, depth: usize) -> Vec<(String, &str)> {
    let Ok(document) = json::parse(text, depth) else { return Vec::new() };
    let fields = document.root().fields();
    fields.map(|(key, value)| (key.string().into_owned(), &text[value.span()])).collect()
}

/// Returns a hash that equal values share, however they are written; none, if the text is no JSON
/// or nests deeper than arguments may.
#[allow(dead_code, reason = "agents are a module on top of this one")]
pub(crate) fn hash(text: &str, state: &foldhash::fast::RandomState) -> Option<u64> {
    let document = json::parse(text, ValidationLimits::default().depth).ok()?;
    Some(value::hash(document.root(), state))
}

/// Returns a fault if the text is too long or nests too deep; counts levels without parsing values.
fn bound(text: &str, bounds: &ValidationLimits) -> Option<Fault> {
    if u32::try_from(text.len()).is_err() {
        return Some(Fault::too_large(u32::MAX as usize, text.len()));
    }
    nests_deeper(text, bounds.depth).then(|| Fault::too_deep(bounds.depth))
}
