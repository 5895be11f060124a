//! The note of a `#[deprecated]`, which the compiler checks by itself on a function and not on an
//! argument.

use syn::{Attribute, Expr, ExprLit, Lit, Meta, MetaNameValue, Token, punctuated::Punctuated};

use crate::diag::Diagnostics;

pub(crate) fn is_deprecated(attribute: &Attribute) -> bool {
    attribute.path().is_ident("deprecated")
}

/// Returns the note of the first `#[deprecated]`, empty without one; `None` if there is no such
/// attribute.
pub(crate) fn note(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find(|attribute| is_deprecated(attribute))
        .map(|attribute| parsed(attribute).unwrap_or_default())
}

/// Reports the `#[deprecated]` of an argument that is written otherwise than the compiler takes it.
pub(crate) fn check(attributes: &[Attribute], argument: &str, errors: &mut Diagnostics) {
    for (at, attribute) in attributes.iter().enumerate() {
        if at > 0 {
            errors
                .error(attribute, format!("`#[deprecated]` is repeated on argument `{argument}`"))
                .help("take one out");
        } else if parsed(attribute).is_none() {
            errors
                .error(
                    attribute,
                    format!("the `#[deprecated]` of argument `{argument}` cannot be read"),
                )
                .help("say what to give instead: `#[deprecated(note = \"use `to`\")]`");
        }
    }
}

/// Returns the note, or `None` if the attribute is of another form.
fn parsed(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::Path(_) => Some(String::new()),
        Meta::NameValue(pair) => text(&pair.value),
        Meta::List(list) => {
            let pairs = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
            let mut note = String::new();
            for pair in list.parse_args_with(pairs).ok()? {
                let value = text(&pair.value)?;
                if pair.path.is_ident("note") {
                    note = value;
                } else if !pair.path.is_ident("since") {
                    return None;
                }
            }
            Some(note)
        }
    }
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}
