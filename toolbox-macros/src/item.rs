//! A function with its signature parsed and its body kept as tokens.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt as _};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::token::Paren;
use syn::{Attribute, Generics, Ident, Token, Type, Visibility};

use crate::kind::Kind;

/// A function or method, with this crate's attributes separated from the rest.
pub(crate) struct Function {
    /// All attributes except this crate's.
    pub(crate) attrs: Vec<Attribute>,
    /// This crate's attributes: `#[tool]` and the like on a method of a `#[toolset]`.
    pub(crate) ours: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) constness: Option<Token![const]>,
    pub(crate) asyncness: Option<Token![async]>,
    pub(crate) unsafety: Option<Token![unsafe]>,
    pub(crate) abi: Option<TokenStream>,
    fn_token: Token![fn],
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) arguments: Vec<Argument>,
    /// Only `extern` functions have it, and those are refused.
    variadic: Option<Token![...]>,
    pub(crate) output: Option<Type>,
    /// The body in braces, or the `;` of a method that a trait requires.
    pub(crate) body: TokenStream,
}

/// A `self` argument.
pub(crate) struct Receiver {
    pub(crate) tokens: TokenStream,
    pub(crate) kind: ReceiverKind,
}

impl Receiver {
    /// Returns whether its type is not `Self`, nor around it.
    pub(crate) fn names_another_type(&self) -> bool {
        match &self.kind {
            ReceiverKind::Typed(ty) => mention(ty.to_token_stream(), "Self").is_none(),
            _ => false,
        }
    }
}

/// The form in which a method takes `self`.
pub(crate) enum ReceiverKind {
    /// `&self`
    Shared,
    /// `self: Arc<Self>`, `self: &Self` and the like
    Typed(Box<Type>),
    /// `&mut self`, `self: &mut Self`
    Mutable,
    /// `self`, `self: Self`
    Value,
}

/// One argument.
pub(crate) struct Argument {
    /// All attributes except docs and this crate's.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) docs: Vec<Attribute>,
    /// `#[arg(...)]`
    pub(crate) ours: Vec<Attribute>,
    /// `#[deprecated]`, which the compiler takes on no argument.
    pub(crate) deprecated: Vec<Attribute>,
    /// Attributes of other macros, which have no effect here.
    pub(crate) foreign: Vec<Attribute>,
    pub(crate) pattern: TokenStream,
    pub(crate) ty: Type,
}

impl Argument {
    /// Returns the name, if the pattern is an identifier.
    pub(crate) fn ident(&self) -> Option<Ident> {
        let mut tokens = self.pattern.clone().into_iter();
        let first = match tokens.next()? {
            TokenTree::Ident(ident) if ident == "mut" => tokens.next()?,
            token => token,
        };
        match (first, tokens.next()) {
            (TokenTree::Ident(ident), None) if ident != "_" => Some(ident),
            _ => None,
        }
    }
}

/// Returns whether an attribute is this crate's, by the last segment of its path, as in
/// `#[toolbox::tool]`.
pub(crate) fn is_named(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}

/// The error for an argument without a type.
const UNTYPED: &str = "expected the type of the argument";

/// Returns whether rustc, which parses an item before its attributes, has reported the error
/// already.
pub(crate) fn is_reported(error: &syn::Error) -> bool {
    error.to_string().ends_with(UNTYPED)
}

impl Function {
    /// Returns the first `Self` in the signature.
    pub(crate) fn mention_of_self(&self) -> Option<Ident> {
        let types = self.arguments.iter().map(|argument| &argument.ty).chain(&self.output);
        types.into_iter().find_map(|ty| mention(ty.to_token_stream(), "Self"))
    }

    /// Returns the `Sized` of a `where Self: Sized`.
    pub(crate) fn requires_sized(&self) -> Option<Ident> {
        let mut predicates =
            self.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        predicates.find_map(|predicate| match predicate {
            syn::WherePredicate::Type(bounded) => {
                mention(bounded.bounded_ty.to_token_stream(), "Self")?;
                mention(bounded.bounds.to_token_stream(), "Sized")
            }
            _ => None,
        })
    }
}

/// Returns the first occurrence of an identifier.
fn mention(tokens: TokenStream, wanted: &str) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => (ident == wanted).then_some(ident),
        TokenTree::Group(group) => mention(group.stream(), wanted),
        _ => None,
    })
}

/// Returns the kind of value that an attribute makes of its function.
pub(crate) fn kind_of(attribute: &Attribute) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| is_named(attribute, kind.noun()))
}

pub(crate) fn is_ours(attribute: &Attribute) -> bool {
    kind_of(attribute).is_some()
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (ours, attrs) = input.call(Attribute::parse_outer)?.into_iter().partition(is_ours);
        let vis = input.parse()?;
        let constness = input.parse()?;
        let asyncness = input.parse()?;
        let unsafety = input.parse()?;
        let abi = parse_abi(input)?;
        let fn_token = input.parse().map_err(|error| {
            syn::Error::new(
                error.span(),
                "`#[tool]` goes on a function\nhelp: write it above `fn` or `async fn`",
            )
        })?;
        let ident = input.call(Ident::parse_any)?;
        let mut generics: Generics = input.parse()?;
        let inside;
        syn::parenthesized!(inside in input);
        let (receiver, arguments, variadic) = parse_arguments(&inside)?;
        let output = if input.peek(Token![->]) {
            input.parse::<Token![->]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        generics.where_clause = input.parse()?;
        let body = input.parse()?;
        Ok(Self {
            attrs,
            ours,
            vis,
            constness,
            asyncness,
            unsafety,
            abi,
            fn_token,
            ident,
            generics,
            receiver,
            arguments,
            variadic,
            output,
            body,
        })
    }
}

fn parse_abi(input: ParseStream<'_>) -> syn::Result<Option<TokenStream>> {
    if !input.peek(Token![extern]) {
        return Ok(None);
    }
    let token: Token![extern] = input.parse()?;
    let name: Option<syn::LitStr> = input.parse()?;
    let mut abi = token.into_token_stream();
    name.to_tokens(&mut abi);
    Ok(Some(abi))
}

type Arguments = (Option<Receiver>, Vec<Argument>, Option<Token![...]>);

fn parse_arguments(input: ParseStream<'_>) -> syn::Result<Arguments> {
    let (mut receiver, mut arguments, mut variadic) = (None, Vec::new(), None);
    while !input.is_empty() {
        let attrs = input.call(Attribute::parse_outer)?;
        if input.peek(Token![...]) {
            variadic = Some(input.parse()?);
        } else if arguments.is_empty() && receiver.is_none() && starts_with_self(input) {
            receiver = Some(parse_receiver(&attrs, input)?);
        } else {
            arguments.push(parse_argument(attrs, input)?);
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok((receiver, arguments, variadic))
}

fn starts_with_self(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    if ahead.peek(Token![&]) {
        let _ = ahead.parse::<Token![&]>();
        let _ = ahead.parse::<Option<syn::Lifetime>>();
    }
    let _ = ahead.parse::<Option<Token![mut]>>();
    ahead.peek(Token![self])
}

fn parse_receiver(attrs: &[Attribute], input: ParseStream<'_>) -> syn::Result<Receiver> {
    let reference: Option<Token![&]> = input.parse()?;
    let lifetime: Option<syn::Lifetime> = if reference.is_some() { input.parse()? } else { None };
    let mutability: Option<Token![mut]> = input.parse()?;
    let this: Token![self] = input.parse()?;
    let mut tokens = TokenStream::new();
    tokens.append_all(attrs);
    reference.to_tokens(&mut tokens);
    lifetime.to_tokens(&mut tokens);
    mutability.to_tokens(&mut tokens);
    this.to_tokens(&mut tokens);
    let kind = if input.peek(Token![:]) {
        let colon: Token![:] = input.parse()?;
        let ty: Type = input.parse()?;
        colon.to_tokens(&mut tokens);
        ty.to_tokens(&mut tokens);
        match ty {
            Type::Reference(reference) if reference.mutability.is_some() => ReceiverKind::Mutable,
            Type::Path(path) if path.path.is_ident("Self") => ReceiverKind::Value,
            ty => ReceiverKind::Typed(Box::new(ty)),
        }
    } else {
        match (reference, mutability) {
            (Some(_), None) => ReceiverKind::Shared,
            (Some(_), Some(_)) => ReceiverKind::Mutable,
            (None, _) => ReceiverKind::Value,
        }
    };
    Ok(Receiver { tokens, kind })
}

fn parse_argument(attrs: Vec<Attribute>, input: ParseStream<'_>) -> syn::Result<Argument> {
    let (ours, attrs): (Vec<_>, Vec<_>) = attrs.into_iter().partition(|a| is_named(a, "arg"));
    let (foreign, attrs): (Vec<_>, Vec<_>) = attrs.into_iter().partition(crate::hints::is_foreign);
    let (deprecated, attrs): (Vec<_>, Vec<_>) =
        attrs.into_iter().partition(crate::deprecation::is_deprecated);
    let (docs, attrs) = attrs.into_iter().partition(|a| a.path().is_ident("doc"));
    let mut pattern = TokenStream::new();
    // A pattern contains no single colon outside of delimiters; `::` in a path is two joint ones.
    while !input.peek(Token![:]) || input.peek(Token![::]) {
        if input.is_empty() {
            return Err(input.error(UNTYPED));
        }
        if input.peek(Token![::]) {
            input.parse::<Token![::]>()?.to_tokens(&mut pattern);
        } else {
            input.parse::<TokenTree>()?.to_tokens(&mut pattern);
        }
    }
    input.parse::<Token![:]>()?;
    Ok(Argument { attrs, docs, ours, deprecated, foreign, pattern, ty: input.parse()? })
}

impl ToTokens for Function {
    /// Writes the function unchanged, without this crate's attributes.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self {
            attrs,
            vis,
            constness,
            asyncness,
            unsafety,
            abi,
            fn_token,
            ident,
            generics,
            variadic,
            body,
            ..
        } = self;
        tokens.append_all(attrs);
        vis.to_tokens(tokens);
        constness.to_tokens(tokens);
        asyncness.to_tokens(tokens);
        unsafety.to_tokens(tokens);
        abi.to_tokens(tokens);
        fn_token.to_tokens(tokens);
        ident.to_tokens(tokens);
        generics.to_tokens(tokens);
        Paren::default().surround(tokens, |tokens| {
            if let Some(receiver) = &self.receiver {
                receiver.tokens.to_tokens(tokens);
                <Token![,]>::default().to_tokens(tokens);
            }
            for Argument { attrs, pattern, ty, .. } in &self.arguments {
                tokens.append_all(attrs);
                pattern.to_tokens(tokens);
                <Token![:]>::default().to_tokens(tokens);
                ty.to_tokens(tokens);
                <Token![,]>::default().to_tokens(tokens);
            }
            variadic.to_tokens(tokens);
        });
        if let Some(output) = &self.output {
            <Token![->]>::default().to_tokens(tokens);
            output.to_tokens(tokens);
        }
        generics.where_clause.to_tokens(tokens);
        body.to_tokens(tokens);
    }
}

/// One element of `tools![]`: a path, with an optional `#[cfg]`.
pub(crate) struct Element {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) path: syn::Path,
}

impl Parse for Element {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let path = input.call(syn::Path::parse_mod_style)?;
        if input.is_empty() { Ok(Self { attrs, path }) } else { Err(input.error("")) }
    }
}

/// Reports an attribute beside the one that is expanded.
pub(crate) fn second_attribute(
    kind: Kind,
    second: &Attribute,
    errors: &mut crate::diag::Diagnostics,
) {
    let attribute = kind.attribute();
    if is_named(second, kind.noun()) {
        errors
            .error(second, format!("`{attribute}` is repeated on this function"))
            .help("take one out");
        return;
    }
    let other = kind_of(second).unwrap_or(kind).attribute();
    errors
        .error(second, format!("this function has `{other}` as well as `{attribute}`"))
        .help("write a function for each, which may call a common one");
}
