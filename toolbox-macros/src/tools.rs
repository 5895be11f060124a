//! `tools![a, b::c]`: the tools of several functions, with distinct names.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Path};

use crate::args::split;
use crate::diag::Diagnostics;
use crate::expand::ends;

/// One element: a path, with an optional `#[cfg]`.
struct Element {
    attrs: Vec<Attribute>,
    path: Path,
}

impl Parse for Element {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let path = input.call(Path::parse_mod_style)?;
        if input.is_empty() { Ok(Self { attrs, path }) } else { Err(input.error("")) }
    }
}

/// Expands `tools![...]`, which is passed as `$crate; ...` by the public macro.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let mut input = input.into_iter();
    let is_end = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ';');
    let krate: TokenStream = input.by_ref().take_while(|token| !is_end(token)).collect();
    let mut errors = Diagnostics::default();
    let mut elements = Vec::new();
    for part in split(input.collect()) {
        match syn::parse2::<Element>(part.clone()) {
            Ok(element) => elements.push(element),
            Err(_) => {
                errors
                    .error(&part, "an element of `tools![]` is not the name of a tool")
                    .help("write the name of a function with `#[tool]`, or its path: `tools![search, weather::forecast]`")
                    .note("tools from elsewhere are given to the box itself: `toolbox.register(tool)`");
            }
        }
    }
    methods(&mut elements, &mut errors);
    same_paths(&elements, &mut errors);
    let clash = errors.is_empty().then(|| distinct(&elements));
    let pushes = elements.iter().map(|Element { attrs, path }| {
        // Spanned as a type, not a path through a module, so that the compiler suggests an import.
        let (start, end) = ends(&path.to_token_stream());
        let (tool, none) = (Ident::new("tool", end), quote_spanned!(end=> ()));
        let made = quote_spanned!(start=> <#path>::#tool #none);
        quote!(#(#attrs)* __tools.push(#made);)
    });
    let errors = errors.into_tokens();
    let body = quote! {
        #errors
        #[allow(unused_imports)]
        use #krate::__private::names::*;
        #clash
        #[allow(unused_mut)]
        let mut __tools: ::std::vec::Vec<#krate::Tool> = ::std::vec::Vec::new();
        #(#pushes)*
        __tools
    };
    quote!({ #[allow(clippy::vec_init_then_push)] { #body } })
}

/// Removes paths within a type, recognized by the case of its name, and reports them.
fn methods(elements: &mut Vec<Element>, errors: &mut Diagnostics) {
    elements.retain(|Element { path, .. }| {
        let owner = path.segments.iter().rev().nth(1).map(|segment| segment.ident.to_string());
        let is_type = owner.is_some_and(|name| name.starts_with(char::is_uppercase));
        if is_type {
            let path_text = path.to_token_stream().to_string().replace(' ', "");
            errors
                .error(path, format!("`{path_text}` is a method, which is no tool by itself"))
                .help("give the box a value of the type, with `#[toolset]` above its `impl` block: `toolbox.register(value)`")
                .note("a method needs a value to be called on; `tools![]` takes functions with `#[tool]`");
        }
        !is_type
    });
}

/// Reports a path that occurs twice.
fn same_paths(elements: &[Element], errors: &mut Diagnostics) {
    let mut known = HashSet::new();
    for Element { attrs, path } in elements {
        if !attrs.is_empty() {
            continue;
        }
        let path_text = path.to_token_stream().to_string().replace(' ', "");
        if !known.insert(path_text.clone()) {
            errors.error(path, format!("tool `{path_text}` is listed twice")).help("take one out");
        }
    }
}

/// Returns a check, evaluated at compile time, that no two tools have the same name. The error is
/// reported at the later one.
///
/// All checks share one list, so that the generated code grows linearly with the number of tools.
fn distinct(elements: &[Element]) -> TokenStream {
    if elements.len() < 2 {
        return TokenStream::new();
    }
    let known = elements.iter().map(|Element { attrs, path }| {
        let (start, _) = ends(&path.to_token_stream());
        quote_spanned!(start=> #(#attrs)* (<#path>::NAME, <#path>::ORIGIN))
    });
    let checks = elements.iter().skip(1).map(|Element { attrs, path }| {
        let (start, end) = ends(&path.to_token_stream());
        let check = Ident::new("__distinct", start);
        let own = quote_spanned!(end=> (<#path>::NAME, <#path>::ORIGIN, __TOOLS));
        quote!(#(#attrs)* const _: () = #check #own;)
    });
    quote! {
        const __TOOLS: &[(&str, &str)] = &[#(#known),*];
        #(#checks)*
    }
}
