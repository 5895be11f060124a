//! Expansion of `#[toolset]`.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{carried, local, name_of, tool, value};
use crate::item::{Function, Impl};
use crate::kind::Kind;
use crate::model::{ToolModel, cfgs};

/// Returns the implementation of `Toolset` for a type whose methods are tools, prompts and
/// resources.
pub(crate) fn toolset(
    block: &Impl,
    krate: &TokenStream,
    methods: &[(&Function, ToolModel)],
    with: Option<&syn::Path>,
) -> TokenStream {
    let (set, all) = (local("set"), local("all"));
    let pushes = |is_wanted: fn(Kind) -> bool| {
        let wanted = methods.iter().filter(move |(_, model)| is_wanted(model.kind));
        wanted.map(|(function, model)| push(function, model, with, &set, &all))
    };
    let tools: Vec<_> = pushes(|kind| kind == Kind::Tool).collect();
    let tools = if tools.is_empty() {
        quote!(::std::vec::Vec::new())
    } else {
        quote! {
            let #set = self;
            let mut #all = ::std::vec::Vec::new();
            #(#tools)*
            #all
        }
    };
    let offers: Vec<_> = pushes(|kind| kind != Kind::Tool).collect();
    let offers = (!offers.is_empty()).then(|| {
        quote! {
            #[allow(deprecated)]
            fn offers(self: ::std::sync::Arc<Self>) -> #krate::__private::SetOffers {
                let #set = self;
                let mut #all = <#krate::__private::SetOffers as ::core::default::Default>::default();
                #(#offers)*
                #all
            }
        }
    });
    implementation(block, krate, &tools, offers.as_ref())
}

/// Returns the statement that adds what a method becomes.
fn push(
    function: &Function,
    model: &ToolModel,
    with: Option<&syn::Path>,
    set: &Ident,
    all: &Ident,
) -> TokenStream {
    let cfgs = cfgs(&function.attrs);
    let krate = &model.krate;
    let (name, ident) = (name_of(model), &function.ident);
    let tool = tool(function, model, &name, &quote!(Self::#ident));
    let push = match (model.kind, with) {
        // The span makes the compiler point at the function that does not fit.
        (Kind::Tool, Some(with)) => {
            let tool = quote_spanned!(with.span()=> #with(&#set, { #tool }));
            quote!(#all.push(#tool))
        }
        (Kind::Tool, None) => quote!(#all.push({ #tool })),
        (Kind::Prompt, _) => {
            let prompt = value(model, &tool, Some(set));
            quote!(#krate::__private::add_prompt(&mut #all, #prompt))
        }
        (Kind::Resource, _) => {
            let resource = value(model, &tool, Some(set));
            quote!(#krate::__private::add_resource(&mut #all, #resource))
        }
    };
    quote!(#(#cfgs)* #push;)
}

/// Returns the empty implementation of `Toolset` for a type with errors, so that uses of it cause
/// no further errors.
pub(crate) fn toolset_stand_in(block: &Impl, krate: &TokenStream) -> TokenStream {
    implementation(block, krate, &quote!(::std::vec::Vec::new()), None)
}

fn implementation(
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
