//! Blocks of methods: an `impl` block, and a trait.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt as _};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Brace;
use syn::{Attribute, Generics, Ident, Token, Type, TypeParamBound, Visibility};

use crate::item::{Function, is_ours, kind_of};
use crate::kind::Kind;

/// An item that `#[toolset]` may stand on.
pub(crate) enum Block {
    Impl(Box<Impl>),
    Trait(Box<Trait>),
}

impl Parse for Block {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ahead = input.fork();
        ahead.call(Attribute::parse_outer)?;
        ahead.parse::<Visibility>()?;
        ahead.parse::<Option<Token![unsafe]>>()?;
        if ahead.peek(Token![trait]) {
            input.parse().map(Box::new).map(Self::Trait)
        } else {
            input.parse().map(Box::new).map(Self::Impl)
        }
    }
}

/// An `impl` block whose methods may be tools, prompts and resources.
#[allow(clippy::struct_field_names, reason = "`impl` is a keyword")]
pub(crate) struct Impl {
    attrs: Vec<Attribute>,
    unsafety: Option<Token![unsafe]>,
    impl_token: Token![impl],
    pub(crate) generics: Generics,
    /// The tokens between the generics and `for`, for an implementation of a trait.
    pub(crate) of_trait: Option<(Type, Token![for])>,
    pub(crate) self_ty: Type,
    pub(crate) items: Vec<ImplItem>,
}

/// One item of an `impl` block or a trait.
pub(crate) enum ImplItem {
    /// A method with an attribute of this crate, of the kind that the first one makes.
    Marked(Kind, Box<Function>),
    /// Any other item, without this crate's attributes.
    Other(TokenStream),
    /// An item with an attribute of this crate that is not a function.
    Broken(Kind, TokenStream, syn::Error),
}

impl Parse for Impl {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let unsafety = input.parse()?;
        let impl_token = input.parse().map_err(|error: syn::Error| {
            syn::Error::new(
                error.span(),
                "`#[toolset]` goes on an `impl` block or a trait\nhelp: write it above `impl Type { .. }` or `trait Name { .. }`, and `#[tool]` on its methods",
            )
        })?;
        let mut generics: Generics = input.parse()?;
        let first: Type = input.parse()?;
        let (of_trait, self_ty) = if input.peek(Token![for]) {
            (Some((first, input.parse()?)), input.parse()?)
        } else {
            (None, first)
        };
        generics.where_clause = input.parse()?;
        let inside;
        syn::braced!(inside in input);
        let items = parse_items(&inside)?;
        Ok(Self { attrs, unsafety, impl_token, generics, of_trait, self_ty, items })
    }
}

fn parse_items(inside: ParseStream<'_>) -> syn::Result<Vec<ImplItem>> {
    let mut items = Vec::new();
    while !inside.is_empty() {
        items.push(parse_impl_item(inside)?);
    }
    Ok(items)
}

fn parse_impl_item(input: ParseStream<'_>) -> syn::Result<ImplItem> {
    let ahead = input.fork();
    let attrs = ahead.call(Attribute::parse_outer)?;
    let item = take_item(input)?;
    let Some(kind) = attrs.iter().find_map(kind_of) else { return Ok(ImplItem::Other(item)) };
    match syn::parse2(item.clone()) {
        Ok(function) => Ok(ImplItem::Marked(kind, Box::new(function))),
        Err(error) => Ok(ImplItem::Broken(kind, unmarked(item), error)),
    }
}

/// Takes tokens up to the end of an item: a `;` or a braced body.
fn take_item(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() {
        let token: TokenTree = input.parse()?;
        let last = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        tokens.extend([token]);
        if last {
            break;
        }
    }
    Ok(tokens)
}

/// Removes this crate's attributes from an item.
fn unmarked(item: TokenStream) -> TokenStream {
    let parse = |input: ParseStream<'_>| {
        let attrs = input.call(Attribute::parse_outer)?;
        let attrs = attrs.into_iter().filter(|attribute| !is_ours(attribute));
        let rest: TokenStream = input.parse()?;
        let mut tokens = TokenStream::new();
        tokens.append_all(attrs);
        tokens.extend(rest);
        Ok(tokens)
    };
    syn::parse::Parser::parse2(parse, item).unwrap_or_default()
}

impl ToTokens for Impl {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let mut items = TokenStream::new();
        items.append_all(&self.items);
        self.with_items(&items).to_tokens(tokens);
    }
}

impl ToTokens for ImplItem {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Marked(_, function) => function.to_tokens(tokens),
            Self::Other(other) | Self::Broken(_, other, _) => other.to_tokens(tokens),
        }
    }
}

impl Impl {
    /// Returns the block with other items.
    pub(crate) fn with_items(&self, items: &TokenStream) -> TokenStream {
        let Self { attrs, unsafety, impl_token, generics, self_ty, .. } = self;
        let mut tokens = TokenStream::new();
        tokens.append_all(attrs);
        unsafety.to_tokens(&mut tokens);
        impl_token.to_tokens(&mut tokens);
        generics.to_tokens(&mut tokens);
        if let Some((path, token)) = &self.of_trait {
            path.to_tokens(&mut tokens);
            token.to_tokens(&mut tokens);
        }
        self_ty.to_tokens(&mut tokens);
        generics.where_clause.to_tokens(&mut tokens);
        Brace::default().surround(&mut tokens, |tokens| items.to_tokens(tokens));
        tokens
    }

    pub(crate) fn span(&self) -> Span {
        self.impl_token.span
    }

    /// Returns the first lifetime in the type other than `'static`.
    pub(crate) fn borrows(&self) -> Option<TokenStream> {
        let mut tokens = self.self_ty.to_token_stream().into_iter();
        while let Some(token) = tokens.next() {
            match (token, tokens.clone().next()) {
                (TokenTree::Punct(tick), Some(TokenTree::Ident(name)))
                    if tick.as_char() == '\'' && name != "static" =>
                {
                    return Some(
                        [TokenTree::Punct(tick), TokenTree::Ident(name)].into_iter().collect(),
                    );
                }
                _ => {}
            }
        }
        None
    }
}

/// A trait whose methods may be tools, prompts and resources.
#[allow(clippy::struct_field_names, reason = "`trait` is a keyword")]
pub(crate) struct Trait {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) unsafety: Option<Token![unsafe]>,
    pub(crate) trait_token: Token![trait],
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) supertraits: Punctuated<TypeParamBound, Token![+]>,
    pub(crate) items: Vec<ImplItem>,
}

/// An associated type of a trait, which a trait object has to name.
pub(crate) struct AssociatedType {
    pub(crate) ident: Ident,
    pub(crate) bounds: Punctuated<TypeParamBound, Token![+]>,
}

impl Parse for Trait {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let (vis, unsafety, trait_token) = (input.parse()?, input.parse()?, input.parse()?);
        let ident = input.parse()?;
        let mut generics: Generics = input.parse()?;
        let supertraits = parse_bounds(input)?;
        generics.where_clause = input.parse()?;
        let inside;
        syn::braced!(inside in input);
        let items = parse_items(&inside)?;
        Ok(Self { attrs, vis, unsafety, trait_token, ident, generics, supertraits, items })
    }
}

fn parse_bounds(input: ParseStream<'_>) -> syn::Result<Punctuated<TypeParamBound, Token![+]>> {
    let mut bounds = Punctuated::new();
    if input.parse::<Option<Token![:]>>()?.is_none() {
        return Ok(bounds);
    }
    let at_end = |input: ParseStream<'_>| {
        input.peek(Token![where])
            || input.peek(Token![=])
            || input.peek(Token![;])
            || input.peek(Brace)
    };
    while !at_end(input) {
        bounds.push_value(input.parse()?);
        if at_end(input) {
            break;
        }
        bounds.push_punct(input.parse()?);
    }
    Ok(bounds)
}

impl Trait {
    /// Returns the associated types that belong to a trait object: those without parameters and
    /// without a `where` clause.
    pub(crate) fn associated_types(&self) -> Vec<AssociatedType> {
        let parse = |input: ParseStream<'_>| {
            input.call(Attribute::parse_outer)?;
            input.parse::<Token![type]>()?;
            let associated = AssociatedType { ident: input.parse()?, bounds: parse_bounds(input)? };
            input.parse::<Token![;]>()?;
            Ok(associated)
        };
        let items = self.items.iter().filter_map(|item| match item {
            ImplItem::Other(other) => syn::parse::Parser::parse2(parse, other.clone()).ok(),
            _ => None,
        });
        items.collect()
    }
}
