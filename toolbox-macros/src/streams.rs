//! Streams that functions return, by the spelling of their type.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{GenericArgument, PathArguments, Token, Type, TypeParamBound};

use crate::args::{self, Opt};
use crate::diag::{Diagnostics, nearest};
use crate::literal::mentions_impl;

/// A function whose output is a stream.
pub(crate) struct StreamModel {
    pub(crate) collect: CollectModel,
    /// The type of the stream, as it is spelled.
    pub(crate) stream: TokenStream,
    pub(crate) item: StreamItem,
}

/// The form in which the items of a stream are collected.
#[derive(Clone)]
pub(crate) enum CollectModel {
    /// A variant of `toolbox::stream::Collect`.
    Variant(&'static str),
    /// A function that folds each item into a value.
    Fold(TokenStream),
}

/// The type of the items of a stream.
pub(crate) enum StreamItem {
    Spelled(TokenStream),
    /// The associated type of the stream's own.
    OfStream,
    Unknown,
}

/// The values of `collect`, and the variants that they are.
const COLLECTS: [(&str, &str); 3] = [("all", "All"), ("lines", "Lines"), ("last", "Last")];

/// Reads the value of `collect = ".."` or `collect = add`.
pub(crate) fn collect(option: &Opt, errors: &mut Diagnostics) -> Option<(CollectModel, Span)> {
    let value = args::ungrouped(option.value.clone());
    let Ok(literal) = syn::parse2::<syn::Lit>(value.clone()) else {
        let span = args::span_of(&value, option.ident.span());
        return Some((CollectModel::Fold(value), span));
    };
    let name = match &literal {
        syn::Lit::Str(text) => text.value(),
        _ => String::new(),
    };
    if let Some((_, variant)) = COLLECTS.iter().find(|(known, _)| *known == name) {
        return Some((CollectModel::Variant(variant), literal.span()));
    }
    let error = errors.error(&literal, format!("a stream cannot be collected as `{value}`"));
    match nearest(&name, COLLECTS.iter().map(|(known, _)| *known)) {
        Some(near) => error.help(format!("did you mean `collect = \"{near}\"`?")),
        None => error.help(
            "write \"all\", \"lines\", \"last\", or a function `fn(Sum, &Item) -> Sum` without quotes: `collect = add`",
        ),
    };
    None
}

/// Returns the stream that a type is by its spelling, or by an option that says what is collected.
pub(crate) fn of(output: Option<&Type>, collect: Option<CollectModel>) -> Option<StreamModel> {
    let output = output?;
    let (stream, item) = match spelled(output) {
        Some(found) => found,
        None if collect.is_some() => {
            let stream = argument(output, &["Result"]).unwrap_or(output);
            (stream, item_of(stream))
        }
        None => return None,
    };
    let collect = collect.unwrap_or(CollectModel::Variant("All"));
    Some(StreamModel { collect, stream: stream.to_token_stream(), item })
}

/// Returns the type of a stream and that of its items, through `Result`, `Pin` and `Box`.
fn spelled(ty: &Type) -> Option<(&Type, StreamItem)> {
    if let Some(inner) = argument(ty, &["Result"]) {
        return spelled(inner);
    }
    let mut inner = ty;
    while let Some(next) = argument(inner, &["Pin", "Box"]) {
        inner = next;
    }
    match inner {
        Type::ImplTrait(stream) => Some((ty, bound_item(&stream.bounds)?)),
        Type::TraitObject(stream) => Some((ty, bound_item(&stream.bounds)?)),
        Type::Paren(paren) => spelled(&paren.elem),
        Type::Group(group) => spelled(&group.elem),
        Type::Path(path) => {
            let is_stream = path.path.segments.last()?.ident.to_string().ends_with("Stream");
            is_stream.then(|| (ty, item_of(ty)))
        }
        _ => None,
    }
}

/// Returns the type of the items of a named stream.
fn item_of(stream: &Type) -> StreamItem {
    if mentions_impl(stream) { StreamItem::Unknown } else { StreamItem::OfStream }
}

/// Returns the item of `Stream<Item = ..>` among bounds.
fn bound_item(bounds: &Punctuated<TypeParamBound, Token![+]>) -> Option<StreamItem> {
    bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let segment = bound.path.segments.last().filter(|segment| segment.ident == "Stream")?;
        let PathArguments::AngleBracketed(list) = &segment.arguments else {
            return Some(StreamItem::Unknown);
        };
        let item = list.args.iter().find_map(|argument| match argument {
            GenericArgument::AssocType(item) if item.ident == "Item" => {
                (!mentions_impl(&item.ty)).then(|| item.ty.to_token_stream())
            }
            _ => None,
        });
        Some(item.map_or(StreamItem::Unknown, StreamItem::Spelled))
    })
}

/// Returns the first type argument of one of these types.
fn argument<'a>(ty: &'a Type, names: &[&str]) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last()?;
    let PathArguments::AngleBracketed(list) = &segment.arguments else { return None };
    names.iter().find(|name| segment.ident == **name)?;
    list.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Returns the trait object of an `impl Stream`, as it is written.
pub(crate) fn boxed(output: &Type) -> Option<String> {
    let Type::ImplTrait(stream) = output else { return None };
    bound_item(&stream.bounds)?;
    let mut bounds = stream.bounds.to_token_stream().to_string();
    for bound in ["Send", "'_"] {
        if !bounds.contains(bound) {
            bounds = format!("{bounds} + {bound}");
        }
    }
    let object = syn::parse_str(&format!("Pin<Box<dyn {bounds}>>")).ok()?;
    Some(crate::model::type_text(&object))
}
