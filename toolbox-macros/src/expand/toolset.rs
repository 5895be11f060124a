//! Expansion of `#[toolset]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::traits::{TRAIT_SET, of_implementor};
use super::{carried, local, name_of, tool, value};
use crate::block::Impl;
use crate::item::Function;
use crate::kind::Kind;
use crate::model::{ToolModel, cfgs};
use crate::toolset::SetModel;

/// Returns the implementation of `Toolset` for a type whose methods are tools, prompts and
/// resources.
pub(crate) fn toolset(block: &Impl, model: &SetModel<'_>) -> TokenStream {
    let krate = &model.krate;
    let (set, all) = (local("set"), local("all"));
    let all_tokens = all.to_token_stream();
    let tools = pushes(model, |kind| kind == Kind::Tool, [&all_tokens, &all_tokens]);
    let of_traits = model.traits.iter().map(|path| {
        let of_trait = of_trait(path, &set);
        quote!(#all.extend(#of_trait.tools);)
    });
    let of_traits: TokenStream = of_traits.collect();
    let tools = if tools.is_empty() && of_traits.is_empty() {
        quote!(::std::vec::Vec::new())
    } else {
        quote! {
            let #set = self;
            let mut #all = ::std::vec::Vec::new();
            #tools
            #of_traits
            #all
        }
    };
    let offers = pushes(model, |kind| kind != Kind::Tool, [&all_tokens, &all_tokens]);
    let of_traits = model.traits.iter().map(|path| {
        let of_trait = of_trait(path, &set);
        quote!(#krate::__private::add_offers(&mut #all, #of_trait.offers);)
    });
    let of_traits: TokenStream = of_traits.collect();
    let offers = (!offers.is_empty() || !of_traits.is_empty()).then(|| {
        quote! {
            #[allow(deprecated)]
            fn offers(self: ::std::sync::Arc<Self>) -> #krate::__private::SetOffers {
                let #set = self;
                let mut #all = <#krate::__private::SetOffers as ::core::default::Default>::default();
                #offers
                #of_traits
                #all
            }
        }
    });
    implementation_of_toolset(block, krate, &tools, offers.as_ref())
}

/// Returns the statements that add what the methods of some kinds become, to the tools and to the
/// prompts and resources.
pub(super) fn pushes(
    model: &SetModel<'_>,
    is_wanted: fn(Kind) -> bool,
    targets: [&TokenStream; 2],
) -> TokenStream {
    let wanted = model.methods.iter().filter(|(_, method)| is_wanted(method.kind));
    wanted.map(|(function, method)| push(function, method, model.with.as_ref(), targets)).collect()
}

/// Returns the tools, prompts and resources that a value has by a trait.
pub(super) fn of_trait(path: &syn::Path, set: &Ident) -> TokenStream {
    let method = Ident::new(TRAIT_SET, super::ends(&path.to_token_stream()).0);
    quote!(<Self as #path>::#method(::std::sync::Arc::clone(&#set)))
}

/// Returns the statement that adds what a method becomes.
fn push(
    function: &Function,
    model: &ToolModel,
    with: Option<&syn::Path>,
    [tools, offers]: [&TokenStream; 2],
) -> TokenStream {
    let cfgs = cfgs(&function.attrs);
    let krate = &model.krate;
    let set = local("set");
    let (name, ident) = (name_of(model), &function.ident);
    let called = match &model.of_trait {
        Some(path) => quote!(<Self as #path>::#ident),
        None => quote!(Self::#ident),
    };
    let tool = tool(function, model, &name, &called);
    let tool = match (&model.of_trait, model.kind) {
        (Some(path), Kind::Tool) => {
            let of_implementor = of_implementor(function);
            quote!(<Self as #path>::#of_implementor(&#set, { #tool }))
        }
        (None, Kind::Tool) => quote!({ #tool }),
        (_, Kind::Prompt | Kind::Resource) => value(model, &tool, Some(&set)),
    };
    let push = match (model.kind, with) {
        // The span makes the compiler point at the function that does not fit.
        (Kind::Tool, Some(with)) => {
            let tool = quote_spanned!(with.span()=> #with(&#set, #tool));
            quote!(#tools.push(#tool))
        }
        (Kind::Tool, None) => quote!(#tools.push(#tool)),
        (Kind::Prompt, _) => quote!(#krate::__private::add_prompt(&mut #offers, #tool)),
        (Kind::Resource, _) => quote!(#krate::__private::add_resource(&mut #offers, #tool)),
    };
    quote!(#(#cfgs)* #push;)
}

/// Returns the empty implementation of `Toolset` for a type with errors, so that uses of it cause
/// no further errors.
pub(crate) fn toolset_stand_in(block: &Impl, krate: &TokenStream) -> TokenStream {
    implementation_of_toolset(block, krate, &quote!(::std::vec::Vec::new()), None)
}

fn implementation_of_toolset(
    block: &Impl,
    krate: &TokenStream,
    tools: &TokenStream,
    offers: Option<&TokenStream>,
) -> TokenStream {
    let (impl_generics, _, where_clause) = block.generics.split_for_impl();
    let self_ty = &block.self_ty;
    let set = quote! {
        #[automatically_derived]
        impl #impl_generics #krate::tool::Toolset for #self_ty #where_clause {
            #[allow(deprecated, clippy::vec_init_then_push)]
            fn tools(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<#krate::Tool> {
                #tools
            }
            #offers
        }
    };
    carried(
        krate,
        &set,
        &quote!(
            const _: () = ();
        ),
    )
}
