//! Types and literals, judged by their tokens.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{GenericArgument, Lit, PathArguments, Type, TypeReference};

use crate::args::{self, Range};
use crate::model::type_text;

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
    /// A `char`.
    Character,
    Boolean,
    List,
    /// An array or a tuple, whose length its type decides.
    Fixed,
    /// A time, or a point in time.
    Time,
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
    match ty {
        Type::Slice(_) => return Spelled::List,
        Type::Array(_) | Type::Tuple(_) => return Spelled::Fixed,
        _ => {}
    }
    let Some((name, arguments)) = standard(ty) else { return Spelled::Other };
    let bare = matches!(arguments, PathArguments::None);
    match name.as_str() {
        "Vec" | "VecDeque" | "LinkedList" | "BTreeSet" | "HashSet" | "BinaryHeap" if !bare => {
            Spelled::List
        }
        "HashMap" | "BTreeMap" if !bare => Spelled::Map,
        _ if !bare => Spelled::Other,
        "NonZeroU8" => Spelled::Integer(1, u8::MAX.into()),
        "NonZeroU16" => Spelled::Integer(1, u16::MAX.into()),
        "NonZeroU32" => Spelled::Integer(1, u32::MAX.into()),
        "NonZeroU64" | "NonZeroUsize" => Spelled::Integer(1, u64::MAX.into()),
        "i8" | "NonZeroI8" => Spelled::Integer(i8::MIN.into(), i8::MAX.into()),
        "i16" | "NonZeroI16" => Spelled::Integer(i16::MIN.into(), i16::MAX.into()),
        "i32" | "NonZeroI32" => Spelled::Integer(i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" | "NonZeroI64" | "NonZeroIsize" => {
            Spelled::Integer(i64::MIN.into(), i64::MAX.into())
        }
        "i128" => Spelled::Integer(i128::MIN, i128::MAX),
        "u8" => Spelled::Integer(0, u8::MAX.into()),
        "u16" => Spelled::Integer(0, u16::MAX.into()),
        "u32" => Spelled::Integer(0, u32::MAX.into()),
        "u64" | "usize" => Spelled::Integer(0, u64::MAX.into()),
        "u128" => Spelled::Integer(0, i128::MAX),
        "f32" | "f64" => Spelled::Float,
        "str" | "String" | "Path" | "PathBuf" => Spelled::Text,
        "char" => Spelled::Character,
        "Duration" | "SystemTime" => Spelled::Time,
        "bool" => Spelled::Boolean,
        _ => Spelled::Other,
    }
}

/// Returns whether a type is written as one of the integers that are never zero.
pub(crate) fn is_non_zero(ty: &Type) -> bool {
    standard(ty).is_some_and(|(name, _)| name.starts_with("NonZero"))
}

/// The value of a literal.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal {
    Integer(i128),
    Float(f64),
    Text(String),
    /// A list, with the number of its elements.
    List(usize),
}

/// Returns the value of tokens that are a literal: a number with or without a sign, text, or the
/// number of elements of `[..]`, `&[..]` and `vec![..]`.
pub(crate) fn literal(tokens: &TokenStream) -> Option<Literal> {
    let tokens = args::ungrouped(tokens.clone());
    if let Some(count) = elements(&tokens) {
        return Some(Literal::List(count));
    }
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

/// Returns the number of elements of a list that is written out.
fn elements(tokens: &TokenStream) -> Option<usize> {
    use proc_macro2::{Delimiter, TokenTree};
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is = |tree: &TokenTree, wanted: char| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == wanted);
    let group = match &trees[..] {
        [TokenTree::Group(group)] => group,
        [and, TokenTree::Group(group)] if is(and, '&') => group,
        [TokenTree::Ident(vec), bang, TokenTree::Group(group)] if vec == "vec" && is(bang, '!') => {
            group
        }
        _ => return None,
    };
    // Of `[x; n]`, the compiler knows the length.
    let repeats = group.stream().into_iter().any(|tree| is(&tree, ';'));
    (group.delimiter() == Delimiter::Bracket && !repeats).then(|| args::split(group.stream()).len())
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
            Self::Text(_) | Self::List(_) => None,
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

/// Returns an argument's type with what may be taken in place of its mutable references, if its
/// spelling has one.
///
/// The argument itself may be a shared reference. Within it only text is lent.
pub(crate) fn without_mutable_references(ty: &Type) -> Option<Type> {
    let mut found = false;
    let shared = match ty {
        Type::Reference(outer) => {
            found = outer.mutability.is_some();
            let mut shared = outer.clone();
            shared.mutability = None;
            *shared.elem = owned_parts((*shared.elem).clone(), &mut found);
            Type::Reference(shared)
        }
        _ => owned_parts(ty.clone(), &mut found),
    };
    found.then_some(shared)
}

/// Replaces mutable references by what they point at: text lent, a slice as a `Vec`, all else by
/// value.
fn owned_parts(ty: Type, found: &mut bool) -> Type {
    each_part(ty, &mut |part| {
        let Type::Reference(reference) = part else { return None };
        reference.mutability?;
        *found = true;
        let is_text = matches!(&*reference.elem, Type::Path(path) if path.path.is_ident("str"));
        let inner = owned_parts((*reference.elem).clone(), found);
        Some(match inner {
            text if is_text => Type::Reference(TypeReference {
                mutability: None,
                elem: Box::new(text),
                ..reference.clone()
            }),
            Type::Slice(slice) => {
                let list = syn::parse_str(&format!("Vec<{}>", type_text(&slice.elem)));
                list.unwrap_or(Type::Slice(slice))
            }
            inner => inner,
        })
    })
}

/// Returns the trait object in an argument's type: by itself, after `&`, in a `State`, or in
/// `Box`, `Arc`, `Rc`, `Option` and `Vec`.
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
        _ => match state(ty) {
            // What a `State` holds may be shared already.
            Some(inner) => match inner {
                Type::TraitObject(object) => Some(object),
                _ => None,
            },
            None => ["Box", "Arc", "Rc", "Option", "Vec"]
                .iter()
                .find_map(|name| generic(ty, name))
                .and_then(trait_object),
        },
    }
}

/// Returns the pointer to a function that a type is or holds.
pub(crate) fn function_pointer(ty: &Type) -> Option<&Type> {
    match ty {
        Type::FnPtr(_) => Some(ty),
        Type::Reference(inner) => function_pointer(&inner.elem),
        Type::Paren(inner) => function_pointer(&inner.elem),
        Type::Group(inner) => function_pointer(&inner.elem),
        _ => ["Box", "Arc", "Rc", "Option", "Vec"]
            .iter()
            .find_map(|name| generic(ty, name))
            .and_then(function_pointer),
    }
}

/// Returns the arguments of a type of this crate, by the last segment of its path.
fn own<'a>(ty: &'a Type, name: &str) -> Option<&'a PathArguments> {
    let Type::Path(path) = ty else { return None };
    let segments = &path.path.segments;
    let ours = segments.len() == 1 || segments.first()?.ident == "toolbox";
    let last = segments.last().filter(|last| ours && last.ident == name)?;
    Some(&last.arguments)
}

/// Returns the `T` of a `State<T>`.
fn state(ty: &Type) -> Option<&Type> {
    let PathArguments::AngleBracketed(list) = own(ty, "State")? else { return None };
    match list.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// What the program supplies, as a type's spelling shows it.
pub(crate) enum SuppliedType {
    /// `ToolContext`, `State<T>` or `Option<State<T>>`, or a reference to one.
    Itself,
    /// A type around the context.
    AroundContext,
    /// A type around a state, with the text of the type to write instead.
    AroundState(String),
}

/// Returns what the program supplies in an argument of a type.
pub(crate) fn supplied(ty: &Type) -> Option<SuppliedType> {
    let bare = without_references(ty);
    let optional = generic(bare, "Option");
    let is_context = |ty: &Type| own(ty, "ToolContext").is_some();
    if is_context(bare) || state(bare).is_some() || optional.is_some_and(|ty| state(ty).is_some()) {
        return Some(SuppliedType::Itself);
    }
    let (mut context, mut states) = (false, 0);
    let whole = each_part(bare.clone(), &mut |part| {
        context |= is_context(part);
        let inner = state(part)?.clone();
        states += 1;
        Some(inner)
    });
    match (context, states) {
        (true, _) => Some(SuppliedType::AroundContext),
        (false, 0) => None,
        // A state is shared already.
        _ => match ["Arc", "Rc", "Box"].iter().find_map(|name| generic(bare, name)) {
            Some(inner) if state(without_references(inner)).is_some() => {
                Some(SuppliedType::AroundState(type_text(without_references(inner))))
            }
            _ => Some(SuppliedType::AroundState(format!("State<{}>", type_text(&whole)))),
        },
    }
}

fn without_references(ty: &Type) -> &Type {
    match ty {
        Type::Reference(inner) => without_references(&inner.elem),
        Type::Paren(inner) => without_references(&inner.elem),
        Type::Group(inner) => without_references(&inner.elem),
        _ => ty,
    }
}

/// Replaces parts of a type, from the outside: a part that is replaced is not looked into.
fn each_part(mut ty: Type, replaced: &mut dyn FnMut(&Type) -> Option<Type>) -> Type {
    if let Some(instead) = replaced(&ty) {
        return instead;
    }
    let mut replace = |part: &mut Type| {
        let whole = std::mem::replace(part, Type::Verbatim(TokenStream::new()));
        *part = each_part(whole, replaced);
    };
    match &mut ty {
        Type::Reference(inner) => replace(&mut inner.elem),
        Type::Paren(inner) => replace(&mut inner.elem),
        Type::Group(inner) => replace(&mut inner.elem),
        Type::Slice(inner) => replace(&mut inner.elem),
        Type::Array(inner) => replace(&mut inner.elem),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(replace),
        Type::Path(path) => {
            let lists =
                path.path.segments.iter_mut().filter_map(|segment| match &mut segment.arguments {
                    PathArguments::AngleBracketed(list) => Some(list),
                    _ => None,
                });
            for argument in lists.flat_map(|list| &mut list.args) {
                if let GenericArgument::Type(part) = argument {
                    replace(part);
                }
            }
        }
        _ => {}
    }
    ty
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

/// Names the lifetimes that a type of an argument leaves out, which are those of `&` and `'_`.
///
/// The arguments of functions, as in `Fn(&str)`, have lifetimes of their own.
pub(crate) fn with_elided_lifetimes(tokens: TokenStream, name: &str) -> TokenStream {
    use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenTree};
    let mut out: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let is_of_function = group.delimiter() == Delimiter::Parenthesis
                    && matches!(out.last(), Some(TokenTree::Ident(_)));
                if is_of_function {
                    out.push(group.into());
                    continue;
                }
                let inner = with_elided_lifetimes(group.stream(), name);
                let mut changed = Group::new(group.delimiter(), inner);
                changed.set_span(group.span());
                out.push(changed.into());
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                out.push(punct.into());
                out.extend(tokens.next().map(|written| match written {
                    TokenTree::Ident(ident) if ident == "_" => {
                        Ident::new(name, ident.span()).into()
                    }
                    written => written,
                }));
            }
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                let span = punct.span();
                out.push(punct.into());
                if !matches!(tokens.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '\'') {
                    let mut quote = Punct::new('\'', Spacing::Joint);
                    quote.set_span(span);
                    out.extend([quote.into(), Ident::new(name, span).into()]);
                }
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}
