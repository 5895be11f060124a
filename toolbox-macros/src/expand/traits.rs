//! Expansion of `#[toolset]` on a trait, and on its implementations.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{GenericParam, Lifetime};

use super::toolset::{of_trait, pushes};
use super::{ends, local, text_of};
use crate::block::{AssociatedType, Impl, ImplItem, Trait};
use crate::item::Function;
use crate::kind::Kind;
use crate::literal::{mentions_impl, with_elided_lifetimes};
use crate::model::{Text, ToolModel, cfgs};
use crate::toolset::SetModel;

/// The method of a trait that returns the tools, prompts and resources of a value.
pub(super) const TRAIT_SET: &str = "set_of_a_trait_with_toolset";

/// The method by which an implementation notices that its trait has no `#[toolset]`. The compiler
/// prints its name.
const TRAIT_IS_SET: &str = "toolset_stands_above_the_trait";

/// The lifetime of a call of an async method.
const CALL: &str = "__call";

/// Returns the method by which an implementation changes a tool. The compiler prints its name where
/// the trait has no such tool.
pub(super) fn of_implementor(function: &Function) -> Ident {
    format_ident!("{}_is_a_tool_of_the_trait", function.ident, span = function.ident.span())
}

/// Returns a trait with its parameters.
pub(crate) fn path_of(block: &Trait) -> TokenStream {
    let (_, parameters, _) = block.generics.split_for_impl();
    let ident = &block.ident;
    quote!(#ident #parameters)
}

/// Returns a trait whose trait objects are toolsets.
pub(crate) fn trait_toolset(block: &Trait, model: &SetModel<'_>) -> TokenStream {
    let krate = &model.krate;
    let (set, all) = (local("set"), local("all"));
    let pushes = pushes(model, |_| true, [&quote!(#all.tools), &quote!(#all.offers)]);
    let of_traits = model.traits.iter().map(|path| {
        let of_trait = of_trait(path, &set);
        quote!(#krate::__private::add_set(&mut #all, #of_trait);)
    });
    let made = quote! {
        let #set = self;
        let mut #all = <#krate::__private::TraitSet as ::core::default::Default>::default();
        #pushes
        #(#of_traits)*
        #all
    };
    let (block_tokens, objects) = (with_set(block, model, &made), objects(block, krate));
    quote!(#block_tokens #objects)
}

/// Returns a trait with errors: its implementations, and uses of its trait objects, cause no
/// further ones.
pub(crate) fn trait_stand_in(block: &Trait, model: &SetModel<'_>) -> TokenStream {
    // A trait that cannot be an object is one of the errors.
    let is_object = block.generics.lifetimes().next().is_none()
        && model.methods.iter().all(|(function, _)| {
            function.receiver.is_some() && !function.output.as_ref().is_some_and(mentions_impl)
        });
    let nothing = quote!(::core::default::Default::default());
    let block_tokens = with_set(block, model, &nothing);
    let objects = is_object.then(|| objects(block, &model.krate));
    quote!(#block_tokens #objects)
}

/// Returns a trait with boxed futures in place of async methods, and with the methods that this
/// crate calls.
fn with_set(block: &Trait, model: &SetModel<'_>, made: &TokenStream) -> TokenStream {
    let Trait { attrs, vis, unsafety, trait_token, ident, generics, supertraits, items } = block;
    let krate = &model.krate;
    let items = items.iter().map(|item| boxed_item(item, krate));
    let where_clause = &generics.where_clause;
    let supertraits = supertraits.iter();
    let method = |name| Ident::new(name, Span::call_site());
    let (is_set, set) = (method(TRAIT_IS_SET), method(TRAIT_SET));
    let hooks = hooks(model);
    quote! {
        #(#attrs)*
        #vis #unsafety #trait_token #ident #generics:
            #(#supertraits +)*
            ::core::marker::Send + ::core::marker::Sync + 'static
        #where_clause
        {
            #(#items)*
            #[doc(hidden)]
            fn #is_set(&self) {}
            #hooks
            #[doc(hidden)]
            #[allow(deprecated, unused_doc_comments)]
            fn #set(self: ::std::sync::Arc<Self>) -> #krate::__private::TraitSet {
                #made
            }
        }
    }
}

/// Returns the methods by which implementations change tools.
fn hooks(model: &SetModel<'_>) -> TokenStream {
    let krate = &model.krate;
    let tools = model.methods.iter().filter(|(_, method)| method.kind == Kind::Tool);
    let hooks = tools.map(|(function, _)| {
        let (cfgs, hook) = (cfgs(&function.attrs), of_implementor(function));
        quote! {
            #(#cfgs)*
            #[doc(hidden)]
            fn #hook(&self, tool: #krate::Tool) -> #krate::Tool {
                tool
            }
        }
    });
    hooks.collect()
}

/// Returns the implementations of `Toolset` for the trait objects of a trait.
fn objects(block: &Trait, krate: &TokenStream) -> TokenStream {
    let (path, set) = (path_of(block), Ident::new(TRAIT_SET, Span::call_site()));
    let cfgs = cfgs(&block.attrs);
    let Trait { ident, generics, .. } = block;
    let associated = block.associated_types();
    let parameters = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(lifetime) => lifetime.lifetime.to_token_stream(),
        GenericParam::Type(ty) => ty.ident.to_token_stream(),
        GenericParam::Const(constant) => constant.ident.to_token_stream(),
    });
    let named = associated.iter().map(|AssociatedType { ident, .. }| quote!(#ident = #ident));
    let arguments = parameters.chain(named);
    let object = quote!(dyn #ident<#(#arguments),*>);
    let declared = generics.params.iter().map(|parameter| {
        let mut parameter = parameter.clone();
        match &mut parameter {
            GenericParam::Type(ty) => ty.default = None,
            GenericParam::Const(constant) => constant.default = None,
            GenericParam::Lifetime(_) => {}
        }
        parameter.into_token_stream()
    });
    let more = associated.iter().map(|AssociatedType { ident, bounds }| {
        let bounds = bounds.iter();
        quote!(#ident: #(#bounds +)* 'static)
    });
    let declared: Vec<_> = declared.chain(more).collect();
    let where_clause = &generics.where_clause;
    let objects = [object.clone(), quote!(#object + ::core::marker::Send + ::core::marker::Sync)];
    let implementations = objects.iter().map(|object| {
        quote! {
            #(#cfgs)*
            #[automatically_derived]
            impl<#(#declared),*> #krate::tool::Toolset for #object #where_clause {
                fn tools(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<#krate::Tool> {
                    <Self as #path>::#set(self).tools
                }
                fn offers(self: ::std::sync::Arc<Self>) -> #krate::__private::SetOffers {
                    <Self as #path>::#set(self).offers
                }
            }
        }
    });
    implementations.collect()
}

/// Returns the implementation of a trait with boxed futures in place of async methods, and what it
/// says of its tools.
pub(crate) fn implementation(
    block: &Impl,
    krate: &TokenStream,
    methods: &[(&Function, ToolModel)],
) -> TokenStream {
    let items = block.items.iter().map(|item| boxed_item(item, krate));
    let span = block
        .of_trait
        .as_ref()
        .map_or_else(Span::call_site, |(path, _)| ends(&path.to_token_stream()).0);
    let is_set = Ident::new(TRAIT_IS_SET, span);
    // The compiler points at the trait where it has no such method.
    let is_set = quote_spanned!(span=> #[doc(hidden)] fn #is_set(&self) {});
    let hooks = methods.iter().map(|(function, model)| {
        let (cfgs, hook) = (cfgs(&function.attrs), of_implementor(function));
        let description = (!matches!(model.description, Text::Nothing)).then(|| {
            let text = text_of(&model.description, &quote!(#krate::__private));
            quote!(.with_description(#text))
        });
        let title = model.title.as_ref().map(|title| quote!(.with_title(#title)));
        let timeout = model
            .timeout
            .map(|time| quote!(.with_timeout(::core::time::Duration::from_millis(#time))));
        let tool = local("tool");
        quote_spanned! {function.ident.span()=>
            #(#cfgs)*
            #[doc(hidden)]
            fn #hook(&self, #tool: #krate::Tool) -> #krate::Tool {
                #tool #description #title #timeout
            }
        }
    });
    block.with_items(&quote! {
        #(#items)*
        #is_set
        #(#hooks)*
    })
}

/// Returns an item of a trait or of its implementation, with a boxed future in place of an async
/// method.
fn boxed_item(item: &ImplItem, krate: &TokenStream) -> TokenStream {
    match item {
        ImplItem::Marked(_, function) if is_boxed(function) => boxed(function, krate),
        ImplItem::Other(other) => match syn::parse2::<Function>(other.clone()) {
            Ok(function) if is_boxed(&function) => boxed(&function, krate),
            _ => other.clone(),
        },
        item => item.to_token_stream(),
    }
}

/// Returns whether a method is async, and called on a value.
fn is_boxed(function: &Function) -> bool {
    function.asyncness.is_some() && function.receiver.is_some()
}

/// Returns an async method as one that returns a boxed future, as a trait object needs it.
fn boxed(function: &Function, krate: &TokenStream) -> TokenStream {
    let Function { attrs, vis, unsafety, ident, generics, receiver, arguments, output, .. } =
        function;
    let call = Lifetime::new(&format!("'{CALL}"), Span::call_site());
    let parameters = generics.params.iter();
    let receiver = receiver.iter();
    let receiver = receiver.map(|receiver| with_elided_lifetimes(receiver.tokens.clone(), CALL));
    let arguments = arguments.iter().map(|argument| {
        let (attrs, pattern) = (&argument.attrs, &argument.pattern);
        let ty = with_elided_lifetimes(argument.ty.to_token_stream(), CALL);
        quote!(#(#attrs)* #pattern: #ty)
    });
    let output = match output {
        Some(output) => with_elided_lifetimes(output.to_token_stream(), CALL),
        None => quote!(()),
    };
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let predicates = predicates.map(quote::ToTokens::to_token_stream);
    // What the call takes lives as long as its future.
    let outlives = generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Lifetime(lifetime) => {
            let lifetime = &lifetime.lifetime;
            Some(quote!(#lifetime: #call))
        }
        GenericParam::Type(ty) => {
            let ty = &ty.ident;
            Some(quote!(#ty: #call))
        }
        GenericParam::Const(_) => None,
    });
    let predicates = predicates.chain(outlives);
    let body = match syn::parse2::<proc_macro2::Group>(function.body.clone()) {
        Ok(body) => {
            let body = body.stream();
            let value = local("output");
            // The first statement tells the compiler the type of the output.
            quote_spanned!(ident.span()=> {
                ::std::boxed::Box::pin(async move {
                    if let ::core::option::Option::Some(#value) =
                        ::core::option::Option::None::<#output>
                    {
                        return #value;
                    }
                    #body
                })
            })
        }
        Err(_) => function.body.clone(),
    };
    // The span makes the compiler point at the method when another does not fit it.
    let future = quote_spanned!(ident.span()=> #krate::__private::BoxFuture<#call, #output>);
    quote! {
        #(#attrs)*
        #vis #unsafety fn #ident<#call, #(#parameters),*>(#(#receiver,)* #(#arguments),*) -> #future
        where #(#predicates),*
        #body
    }
}
