//! Collected errors: the fault, the correction, and the reason of the rule.

use std::fmt::{Display, Write as _};

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// All errors in one use of a macro.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Vec<Diagnostic>,
    /// `true` if rustc reports an error in the function by itself.
    left: bool,
}

/// One error: its position and message.
pub(crate) struct Diagnostic {
    at: Location,
    message: String,
}

enum Location {
    /// From the first of these tokens to the last.
    Tokens(TokenStream),
    Span(Span),
}

impl Diagnostics {
    /// Reports an error at tokens.
    pub(crate) fn error(&mut self, at: &impl ToTokens, what: impl Display) -> &mut Diagnostic {
        self.push(Location::Tokens(at.to_token_stream()), what)
    }

    /// Reports an error at a span.
    pub(crate) fn error_at(&mut self, at: Span, what: impl Display) -> &mut Diagnostic {
        self.push(Location::Span(at), what)
    }

    fn push(&mut self, at: Location, what: impl Display) -> &mut Diagnostic {
        self.errors.push(Diagnostic { at, message: what.to_string() });
        let last = self.errors.len() - 1;
        &mut self.errors[last]
    }

    /// Records an error that rustc reports for the function itself: no error is added.
    pub(crate) fn leave_to_the_compiler(&mut self) {
        self.left = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.errors.len()
    }

    /// Returns whether the tool can be expanded: there is no error, here or from rustc.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty() && !self.left
    }

    /// Returns each error as a `compile_error!` at its position.
    pub(crate) fn into_tokens(self) -> TokenStream {
        let errors = self.errors.into_iter().map(|Diagnostic { at, message }| match at {
            Location::Tokens(tokens) => syn::Error::new_spanned(tokens, message),
            Location::Span(span) => syn::Error::new(span, message),
        });
        let mut errors: Vec<syn::Error> = errors.collect();
        // The stages find errors in an order of their own. Outside of a macro there are no
        // positions to sort by.
        if proc_macro::is_available() {
            errors.sort_by_cached_key(|error| {
                let span = error.span().unwrap();
                (span.line(), span.column())
            });
        }
        errors.into_iter().map(syn::Error::into_compile_error).collect()
    }
}

impl Diagnostic {
    /// Adds the correction, ready to paste.
    pub(crate) fn help(&mut self, text: impl Display) -> &mut Self {
        self.line("help", text)
    }

    /// Adds the reason of the rule.
    pub(crate) fn note(&mut self, text: impl Display) -> &mut Self {
        self.line("note", text)
    }

    fn line(&mut self, kind: &str, text: impl Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.message, "\n{kind}: {text}");
        self
    }
}

/// Returns the candidate nearest to a misspelled name, if it is close enough.
pub(crate) fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = (written.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(written, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance between two words, counting swaps of neighbours as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut least = (above[j] + usize::from(a[i] != b[j])).min(above[j + 1] + 1);
            least = least.min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

/// Formats names as `` `a`, `b`, `c` ``.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
