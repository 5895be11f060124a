//! Expansion of `tools![...]`, `prompts![...]` and `resources![...]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};

use super::{ends, type_of};
use crate::item::Element;
use crate::kind::Kind;

/// Returns the expression of `tools![...]` and the like; without errors, names are compared at
/// compile time.
pub(crate) fn list(
    kind: Kind,
    krate: &TokenStream,
    elements: &[Element],
    errors: Option<&TokenStream>,
) -> TokenStream {
    let clash = errors.is_none().then(|| distinct(kind, elements));
    let ty = type_of(kind, krate);
    let pushes = elements.iter().map(|Element { attrs, path }| {
        // Spanned as a type, not a path through a module, so that the compiler suggests an import.
        let (start, end) = ends(&path.to_token_stream());
        let (value, none) = (kind.function(end), quote_spanned!(end=> ()));
        let made = quote_spanned!(start=> <#path>::#value #none);
        quote!(#(#attrs)* __tools.push(#made);)
    });
    let body = quote! {
        #errors
        #[allow(unused_imports)]
        use #krate::__private::names::*;
        #clash
        #[allow(unused_mut)]
        let mut __tools: ::std::vec::Vec<#ty> = ::std::vec::Vec::new();
        #(#pushes)*
        __tools
    };
    quote!({ #[allow(clippy::vec_init_then_push)] { #body } })
}

/// Returns a check, evaluated at compile time, that no two tools have the same name. The error is
/// reported at the later one.
///
/// All checks share one list, so that the generated code grows linearly with the number of tools.
fn distinct(kind: Kind, elements: &[Element]) -> TokenStream {
    if elements.len() < 2 {
        return TokenStream::new();
    }
    let known = elements.iter().map(|Element { attrs, path }| {
        let (start, _) = ends(&path.to_token_stream());
        quote_spanned!(start=> #(#attrs)* (<#path>::NAME, <#path>::ORIGIN))
    });
    let checks = elements.iter().skip(1).map(|Element { attrs, path }| {
        let (start, end) = ends(&path.to_token_stream());
        let check = match kind {
            Kind::Tool => "__distinct",
            Kind::Prompt => "__distinct_prompt",
            Kind::Resource => "__distinct_resource",
        };
        let check = Ident::new(check, start);
        let own = quote_spanned!(end=> (<#path>::NAME, <#path>::ORIGIN, __TOOLS));
        quote!(#(#attrs)* const _: () = #check #own;)
    });
    quote! {
        const __TOOLS: &[(&str, &str)] = &[#(#known),*];
        #(#checks)*
    }
}
