//! The rules for `#[arg(...)]`: constraints must agree with the argument's type and each other.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Type;

use crate::args::{self, Range};
use crate::diag::Diagnostics;
use crate::kind::Kind;
use crate::literal::{Literal, Spelled, is_non_zero, literal, shape, spelled};
use crate::model::{ArgumentModel, Default_, ToolModel, type_text};

/// Checks the constraints of one argument, and the literals that must satisfy them.
pub(crate) fn check(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let before = errors.len();
    range(argument, model, errors);
    length(argument, model, errors);
    pattern(argument, model, errors);
    default_of_type(argument, model, errors);
    if errors.len() != before {
        return;
    }
    if let Some(Default_::Expression(value)) = &argument.default {
        keeps("the default", value, argument, model, errors);
    }
    for value in &argument.examples {
        keeps("the example", value, argument, model, errors);
    }
}

fn range(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let Some((range, span)) = &argument.range else { return };
    let (name, tool, ty) = (&argument.name, model.label(), type_text(&argument.ty));
    let kind = spelled(&argument.ty);
    if !matches!(kind, Spelled::Integer(..) | Spelled::Float | Spelled::Other) {
        errors
            .error_at(
                *span,
                format!("argument `{name}` of {tool} has a `range`, and `{ty}` is no number"),
            )
            .help(match kind {
                Spelled::Text => "bound the number of characters with `length`",
                Spelled::List | Spelled::Map => "bound the number of its items with `length`",
                Spelled::Time => "take `range` out, and look at the time in the function",
                _ => "take `range` out",
            });
        return;
    }
    let mut sound = true;
    for end in [&range.low, &range.high].into_iter().flatten() {
        if is_text(end) {
            sound = false;
            errors
                .error(end, format!("the range of argument `{name}` of {tool} ends in no number"))
                .help("write numbers or constants: `range = 1..=50`");
        }
    }
    if !sound || is_empty(range, *span, name, &tool, errors) {
        return;
    }
    let Spelled::Integer(least, greatest) = kind else { return };
    let element = type_text(shape(&argument.ty).ty);
    for end in [&range.low, &range.high].into_iter().flatten() {
        if matches!(literal(end), Some(Literal::Float(_))) {
            errors
                .error(
                    end,
                    format!("the range of argument `{name}` of {tool} ends in a fraction, and `{element}` holds whole numbers"),
                )
                .help("write whole numbers: `range = 1..=50`; or take an `f64`");
            return;
        }
    }
    let beyond = |end: &TokenStream, spare: i128| match literal(end) {
        Some(Literal::Integer(end)) if end < least => Some(("begins", least)),
        Some(Literal::Integer(end)) if end > greatest.saturating_add(spare) => {
            Some(("ends", greatest))
        }
        _ => None,
    };
    let ends = [(&range.low, 0), (&range.high, i128::from(!range.inclusive))];
    for (end, spare) in ends {
        if let Some(end) = end
            && let Some((verb, bound)) = beyond(end, spare)
        {
            errors
                .error(
                    end,
                    format!(
                        "the range of argument `{name}` of {tool} goes beyond `{element}`, which {verb} at {bound}"
                    ),
                )
                .help(format!("keep to what `{element}` holds, or take a wider type"));
        }
    }
}

fn length(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let Some((range, span)) = &argument.length else { return };
    let (name, tool, ty) = (&argument.name, model.label(), type_text(&argument.ty));
    let kind = spelled(&argument.ty);
    let (has, help) = match kind {
        Spelled::Integer(..) | Spelled::Float => ("has none", "bound a number with `range`"),
        Spelled::Boolean | Spelled::Time => ("has none", "take `length` out"),
        Spelled::Character => ("is always one character", "take `length` out, or take a `String`"),
        Spelled::Fixed => ("always has the same", "take `length` out, or take a `Vec`"),
        Spelled::Text | Spelled::List | Spelled::Map | Spelled::Other => ("", ""),
    };
    if !help.is_empty() {
        errors
            .error_at(
                *span,
                format!("argument `{name}` of {tool} has a `length`, and `{ty}` {has}"),
            )
            .help(help);
        return;
    }
    for end in [&range.low, &range.high].into_iter().flatten() {
        if args::number(end).is_some_and(|end| end < 0.0) {
            errors
                .error(end, format!("the `length` of argument `{name}` of {tool} is negative"))
                .help("count from 0: `length = 1..=50`");
        }
    }
    is_empty(range, *span, name, &tool, errors);
}

fn pattern(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let Some(pattern) = &argument.pattern else { return };
    let (name, tool, ty) = (&argument.name, model.label(), type_text(&argument.ty));
    if !matches!(spelled(&argument.ty), Spelled::Text | Spelled::Character | Spelled::Other) {
        errors
            .error(
                pattern,
                format!("argument `{name}` of {tool} has a `pattern`, and `{ty}` is no text"),
            )
            .help("take `pattern` out");
        return;
    }
    check_pattern(pattern, argument, model, errors);
}

fn default_of_type(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    if let (Some(Default_::OfType(span)), Some(referent)) = (&argument.default, &argument.referent)
        && !matches!(spelled(referent), Spelled::Text)
    {
        errors
            .error_at(
                *span,
                format!(
                    "argument `{}` of {} has no default of its type",
                    argument.name,
                    model.label()
                ),
            )
            .help(format!("write the value: `default = {}`", example_of(referent)));
    }
}

fn example_of(referent: &Type) -> &'static str {
    if matches!(referent, Type::Slice(_)) { "&[]" } else { "&VALUE" }
}

/// Checks that a literal, named `what` in messages, satisfies the constraints of an argument.
pub(crate) fn keeps(
    what: &str,
    value: &TokenStream,
    argument: &ArgumentModel,
    model: &ToolModel,
    errors: &mut Diagnostics,
) {
    let Some(literal) = literal(value) else { return };
    let (name, tool) = (&argument.name, model.label());
    let mut refuse = |rule: String| {
        let literal = value.to_token_stream().to_string().replace("- ", "-").replace("! [", "![");
        errors
            .error(value, format!("{what} `{literal}` of argument `{name}` of {tool} {rule}"))
            .help(format!("change `{literal}`, or the constraint"))
            .note(match model.kind {
                Kind::Tool => "the tool would refuse the value if a model gave it",
                _ => "a call that gave the value would be refused",
            });
    };
    match &literal {
        Literal::Text(text) => {
            if let Some((length, _)) = &argument.length
                && let Ok(count) = i128::try_from(text.chars().count())
                && !length.holds(&Literal::Integer(count))
            {
                refuse(format!("has {count} characters, and its length is `{}`", length.to_text()));
            } else if let Some(pattern) = &argument.pattern
                && !matches(&pattern.value(), text)
            {
                refuse(format!("does not match its pattern `{}`", pattern.value()));
            }
        }
        Literal::List(count) => {
            if let Some((length, _)) = &argument.length
                && let Ok(items) = i128::try_from(*count)
                && !length.holds(&Literal::Integer(items))
            {
                let items = if *count == 1 { "item" } else { "items" };
                refuse(format!("has {count} {items}, and its length is `{}`", length.to_text()));
            }
        }
        number => {
            if let Some((range, _)) = &argument.range
                && !range.holds(number)
            {
                refuse(format!("is not in its range `{}`", range.to_text()));
            } else if *number == Literal::Integer(0) && is_non_zero(shape(&argument.ty).ty) {
                refuse(format!("is none of a `{}`", type_text(&argument.ty)));
            }
        }
    }
}

/// Reports an empty range, if its ends are numbers.
fn is_empty(
    range: &Range,
    span: proc_macro2::Span,
    name: &str,
    tool: &str,
    errors: &mut Diagnostics,
) -> bool {
    let value = |end: &Option<TokenStream>| end.as_ref().and_then(literal);
    let (Some(low), Some(high)) = (value(&range.low), value(&range.high)) else { return false };
    let empty = low
        .compare(&high)
        .is_some_and(|order| order.is_gt() || (order.is_eq() && !range.inclusive));
    if empty {
        errors
            .error_at(span, format!("the range of argument `{name}` of {tool} is empty"))
            .help("write the smaller end first: `1..=50`");
    }
    empty
}

/// Returns whether an end of a range is a literal other than a number.
fn is_text(end: &TokenStream) -> bool {
    use syn::Lit;
    matches!(
        syn::parse2(args::ungrouped(end.clone())),
        Ok(Lit::Str(_) | Lit::ByteStr(_) | Lit::Char(_) | Lit::Bool(_))
    )
}

#[cfg(feature = "pattern")]
fn check_pattern(
    pattern: &syn::LitStr,
    argument: &ArgumentModel,
    model: &ToolModel,
    errors: &mut Diagnostics,
) {
    if let Err(error) = regex_lite::Regex::new(&pattern.value()) {
        errors
            .error(
                pattern,
                format!(
                    "the pattern of argument `{}` of {} is invalid: {error}",
                    argument.name,
                    model.label()
                ),
            )
            .note("patterns are regular expressions without look-around and back-references");
    }
}

#[cfg(not(feature = "pattern"))]
fn check_pattern(
    pattern: &syn::LitStr,
    argument: &ArgumentModel,
    model: &ToolModel,
    errors: &mut Diagnostics,
) {
    errors
        .error(
            pattern,
            format!(
                "the pattern of argument `{}` of {} needs the feature `pattern` of `llm-toolbox`",
                argument.name,
                model.label()
            ),
        )
        .help("enable it: `cargo add llm-toolbox --features pattern`");
}

/// Returns whether a pattern matches anywhere in a text.
#[cfg(feature = "pattern")]
fn matches(pattern: &str, text: &str) -> bool {
    regex_lite::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

#[cfg(not(feature = "pattern"))]
fn matches(_pattern: &str, _text: &str) -> bool {
    true
}
