//! Types and literals, judged by their tokens.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{GenericArgument, Lit, PathArguments, Type};

use crate::args::{self, Range};

/// The kind of a type, judged by its spelling: enough to refuse clear contradictions.
///
/// Aliases and user-defined types are judged by their schema when the tool is made. The compiler
/// cannot judge them earlier: a constraint is one of the schema, which exists when the program
/// runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Spelled {
    /// An integer, with its minimum and maximum.
    Integer(i128, i128),
    Float,
    Text,
    Boolean,
    List,
    Map,
    Other,
}

/// A type without references, and whether it is optional.
pub(crate) struct Shape<'a> {
    pub(crate) ty: &'a Type,
    pub(crate) optional: bool,
}

/// Removes references, parentheses and `Option` from a type.
pub(crate) fn shape(ty: &Type) -> Shape<'_> {
    match ty {
        Type::Reference(inner) => shape(&inner.elem),
        Type::Paren(inner) => shape(&inner.elem),
        Type::Group(inner) => shape(&inner.elem),
        _ => match generic(ty, "Option") {
            Some(inner) => Shape { optional: true, ..shape(inner) },
            None => match generic(ty, "Box").or_else(|| generic(ty, "Cow")) {
                Some(inner) => shape(inner),
                None => Shape { ty, optional: false },
            },
        },
    }
}

/// Returns the name of a type of the standard library, by the last segment of its path.
///
/// A lone `Path` is not one: it is in no prelude, and a common name of types of users.
fn standard(ty: &Type) -> Option<(String, &PathArguments)> {
    let Type::Path(path) = ty else { return None };
    let segments = &path.path.segments;
    let root = segments.first()?.ident.to_string();
    let known = match segments.len() {
        1 => !matches!(root.as_str(), "Path" | "PathBuf"),
        _ => matches!(root.as_str(), "std" | "core" | "alloc"),
    };
    let last = segments.last().filter(|_| known && path.qself.is_none())?;
    Some((last.ident.to_string(), &last.arguments))
}

/// Returns the first type argument of a type with the given name.
pub(crate) fn generic<'a>(ty: &'a Type, wanted: &str) -> Option<&'a Type> {
    let (name, PathArguments::AngleBracketed(list)) = standard(ty)? else { return None };
    if name != wanted {
        return None;
    }
    list.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Returns the kind of a type.
pub(crate) fn spelled(ty: &Type) -> Spelled {
    let ty = shape(ty).ty;
    if matches!(ty, Type::Slice(_) | Type::Array(_)) {
        return Spelled::List;
    }
    let Some((name, arguments)) = standard(ty) else { return Spelled::Other };
    let bare = matches!(arguments, PathArguments::None);
    match name.as_str() {
        "Vec" | "VecDeque" | "LinkedList" | "BTreeSet" | "HashSet" | "BinaryHeap" if !bare => {
            Spelled::List
        }
        "HashMap" | "BTreeMap" if !bare => Spelled::Map,
        _ if !bare => Spelled::Other,
        "i8" => Spelled::Integer(i8::MIN.into(), i8::MAX.into()),
        "i16" => Spelled::Integer(i16::MIN.into(), i16::MAX.into()),
        "i32" => Spelled::Integer(i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" => Spelled::Integer(i64::MIN.into(), i64::MAX.into()),
        "i128" => Spelled::Integer(i128::MIN, i128::MAX),
        "u8" => Spelled::Integer(0, u8::MAX.into()),
        "u16" => Spelled::Integer(0, u16::MAX.into()),
        "u32" => Spelled::Integer(0, u32::MAX.into()),
        "u64" | "usize" => Spelled::Integer(0, u64::MAX.into()),
        "u128" => Spelled::Integer(0, i128::MAX),
        "f32" | "f64" => Spelled::Float,
        "str" | "String" | "char" | "Path" | "PathBuf" => Spelled::Text,
        "bool" => Spelled::Boolean,
        _ => Spelled::Other,
    }
}

/// The value of a literal.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal {
    Integer(i128),
    Float(f64),
    Text(String),
}

/// Returns the value of tokens that are a literal: a number with or without a sign, or text.
pub(crate) fn literal(tokens: &TokenStream) -> Option<Literal> {
    let tokens = args::ungrouped(tokens.clone());
    let mut trees = tokens.clone().into_iter();
    let negative = matches!(
        trees.next(),
        Some(proc_macro2::TokenTree::Punct(punct)) if punct.as_char() == '-'
    );
    let tokens = if negative { trees.collect() } else { tokens };
    match syn::parse2::<Lit>(args::ungrouped(tokens)).ok()? {
        Lit::Int(number) => {
            let number: i128 = number.base10_parse().ok()?;
            Some(Literal::Integer(if negative { -number } else { number }))
        }
        Lit::Float(number) => {
            let number: f64 = number.base10_parse().ok()?;
            Some(Literal::Float(if negative { -number } else { number }))
        }
        Lit::Str(text) if !negative => Some(Literal::Text(text.value())),
        _ => None,
    }
}

impl Literal {
    /// Compares two numbers.
    pub(crate) fn compare(&self, other: &Self) -> Option<std::cmp::Ordering> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "beside a float, an integer is compared as one"
        )]
        let float = |number: &Self| match number {
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Text(_) => None,
        };
        match (self, other) {
            (Self::Integer(one), Self::Integer(two)) => Some(one.cmp(two)),
            _ => float(self)?.partial_cmp(&float(other)?),
        }
    }
}

impl Range {
    /// Returns whether a number is in the range, if its ends are literals.
    pub(crate) fn holds(&self, number: &Literal) -> bool {
        let against = |end: &Option<TokenStream>| {
            end.as_ref().and_then(literal).and_then(|end| number.compare(&end))
        };
        let low = against(&self.low).is_none_or(std::cmp::Ordering::is_ge);
        let high = against(&self.high)
            .is_none_or(|order| order.is_lt() || (self.inclusive && order.is_eq()));
        low && high
    }

    /// Formats the range as written.
    pub(crate) fn to_text(&self) -> String {
        let end = |end: &Option<TokenStream>| {
            end.as_ref().map_or_else(String::new, |end| end.to_string().replace(' ', ""))
        };
        let dots = if self.inclusive { "..=" } else { ".." };
        format!("{}{dots}{}", end(&self.low), end(&self.high))
    }
}

/// Returns the first `'static` reference in a type, which cannot point into a call's arguments.
///
/// Only syntax can tell: a lifetime selects no implementation. So an alias of such a type is left
/// to the borrow checker.
pub(crate) fn borrowed_for_ever(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(reference) => {
            let ever = reference.lifetime.as_ref().is_some_and(|name| name.ident == "static");
            if ever { Some(ty) } else { borrowed_for_ever(&reference.elem) }
        }
        Type::Paren(inner) => borrowed_for_ever(&inner.elem),
        Type::Group(inner) => borrowed_for_ever(&inner.elem),
        Type::Slice(inner) => borrowed_for_ever(&inner.elem),
        Type::Array(inner) => borrowed_for_ever(&inner.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(borrowed_for_ever),
        _ => ["Option", "Vec", "Box", "VecDeque", "HashSet", "BTreeSet"]
            .iter()
            .find_map(|name| generic(ty, name))
            .and_then(borrowed_for_ever),
    }
}

/// Returns the trait object in an argument's type: by itself, after `&`, or in a `State`.
///
/// A `State` is judged by its name, to say what to write instead: the types only tell that none of
/// the traits of arguments holds, which is the error of an alias of it. A type of the user's own
/// that has the name is taken by any longer path, such as `self::State`.
pub(crate) fn trait_object(ty: &Type) -> Option<&syn::TypeTraitObject> {
    match ty {
        Type::TraitObject(object) => Some(object),
        Type::Reference(inner) => trait_object(&inner.elem),
        Type::Paren(inner) => trait_object(&inner.elem),
        Type::Group(inner) => trait_object(&inner.elem),
        Type::Path(path) => {
            let segments = &path.path.segments;
            let ours = segments.len() == 1 || segments.first()?.ident == "toolbox";
            let state = segments.last().filter(|last| ours && last.ident == "State")?;
            let PathArguments::AngleBracketed(list) = &state.arguments else { return None };
            match list.args.first()? {
                GenericArgument::Type(ty) => trait_object(ty),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether a type is known to be unsized: rustc reports this for an argument, with the
/// correction.
pub(crate) fn is_unsized(ty: &Type) -> bool {
    match ty {
        Type::Paren(inner) => is_unsized(&inner.elem),
        Type::Group(inner) => is_unsized(&inner.elem),
        Type::Slice(_) => true,
        Type::Path(path) => path.qself.is_none() && path.path.is_ident("str"),
        _ => false,
    }
}

/// Returns whether a type contains `impl`.
pub(crate) fn mentions_impl(ty: &Type) -> bool {
    fn within(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => ident == "impl",
            proc_macro2::TokenTree::Group(group) => within(group.stream()),
            _ => false,
        })
    }
    within(ty.to_token_stream())
}

/// Replaces every lifetime but `'static` by `'name`, and adds elided ones of `&` where they are
/// required.
pub(crate) fn with_lifetimes(tokens: TokenStream, name: &str) -> TokenStream {
    use proc_macro2::{Group, Ident, Punct, Spacing, TokenTree};
    let mut out: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let inner = with_lifetimes(group.stream(), name);
                let mut changed = Group::new(group.delimiter(), inner);
                changed.set_span(group.span());
                out.push(changed.into());
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                let span = punct.span();
                out.push(punct.into());
                match tokens.next() {
                    Some(TokenTree::Ident(ident)) if ident != "static" => {
                        out.push(Ident::new(name, span).into());
                    }
                    other => out.extend(other),
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '&' && name == "static" => {
                let span = punct.span();
                out.push(punct.into());
                let named =
                    matches!(tokens.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '\'');
                if !named {
                    let mut quote = Punct::new('\'', Spacing::Joint);
                    quote.set_span(span);
                    out.push(quote.into());
                    out.push(Ident::new(name, span).into());
                }
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}
