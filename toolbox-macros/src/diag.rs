//! Errors, collected: what is wrong, how to mend it, and why it is a rule.

use std::fmt::{Display, Write as _};

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// All that is wrong with one use of a macro.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Vec<Diagnostic>,
    /// Whether rustc reports a mistake in the function by itself.
    left: bool,
}

/// One mistake: where, and what to say of it.
pub(crate) struct Diagnostic {
    at: Place,
    message: String,
}

enum Place {
    /// From the first of these tokens to the last.
    Tokens(TokenStream),
    Span(Span),
}

impl Diagnostics {
    /// Reports what is wrong at the tokens at fault.
    pub(crate) fn error(&mut self, at: &impl ToTokens, what: impl Display) -> &mut Diagnostic {
        self.push(Place::Tokens(at.to_token_stream()), what)
    }

    /// Reports what is wrong at a span.
    pub(crate) fn error_at(&mut self, at: Span, what: impl Display) -> &mut Diagnostic {
        self.push(Place::Span(at), what)
    }

    fn push(&mut self, at: Place, what: impl Display) -> &mut Diagnostic {
        self.errors.push(Diagnostic { at, message: what.to_string() });
        let last = self.errors.len() - 1;
        &mut self.errors[last]
    }

    /// Notes a mistake that rustc reports of the function as it stands: nothing is to be added to
    /// it.
    pub(crate) fn leave_to_the_compiler(&mut self) {
        self.left = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.errors.len()
    }

    /// Returns whether a tool can be made: there is no mistake, here or in what rustc reports.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty() && !self.left
    }

    /// Returns each error as a `compile_error!` at its place.
    pub(crate) fn into_tokens(self) -> TokenStream {
        let errors = self.errors.into_iter().map(|Diagnostic { at, message }| match at {
            Place::Tokens(tokens) => syn::Error::new_spanned(tokens, message),
            Place::Span(span) => syn::Error::new(span, message),
        });
        let mut errors: Vec<syn::Error> = errors.collect();
        // The stages find them in an order of their own. Outside of a macro there are no places to
        // sort by.
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
    /// Adds the fix, ready to paste.
    pub(crate) fn help(&mut self, text: impl Display) -> &mut Self {
        self.line("help", text)
    }

    /// Adds why, or where the rule comes from.
    pub(crate) fn note(&mut self, text: impl Display) -> &mut Self {
        self.line("note", text)
    }

    fn line(&mut self, kind: &str, text: impl Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.message, "\n{kind}: {text}");
        self
    }
}

/// Returns the candidate nearest to what was written, if one is near enough to be meant.
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

/// Counts the letters to add, take, change or swap on the way from one word to the other.
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

/// Lists names as `` `a`, `b`, `c` ``.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
