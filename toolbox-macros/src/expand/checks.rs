//! Expansion of checks of one's own.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};

use super::{ends, local, slot_value};
use crate::literal::generic;
use crate::model::{ArgumentModel, Check, ToolModel};

/// Returns the slot of an argument with its check; an absent `Option` is not checked.
pub(super) fn of_argument(
    argument: &ArgumentModel,
    path: &syn::Path,
    slot: &TokenStream,
) -> TokenStream {
    let value = local("value");
    let found = violations(path, std::slice::from_ref(&value));
    let check = match generic(&argument.ty, "Option") {
        Some(_) => quote! {
            |#value| match #value {
                ::core::option::Option::Some(#value) => #found,
                ::core::option::Option::None => ::core::result::Result::Ok(()),
            }
        },
        None => quote!(|#value| #found),
    };
    quote!(__private::checked(#slot, #check))
}

/// Returns the statements that read the arguments, and check several of them together.
pub(super) fn several(
    check: &Check,
    model: &ToolModel,
    call: &Ident,
    read_all: &TokenStream,
) -> TokenStream {
    let read = local("read");
    let (mut slots, mut values, mut peeks) = (Vec::new(), Vec::new(), Vec::new());
    for argument in model.checked() {
        let at = model.arguments.iter().position(|own| own.ident == argument.ident);
        let at = at.unwrap_or_default();
        let (name, slot) = (&argument.name, slot_value(at, argument));
        let value = local(&format!("value{at}"));
        slots.push(quote!((#name, &mut #slot)));
        peeks.push(quote! {
            let ::core::option::Option::Some(#value) = __private::Peek::peek(&#slot) else {
                return ::core::result::Result::Ok(());
            };
        });
        values.push(value);
    }
    let found = violations(&check.path, &values);
    quote! {
        let mut #read = #read_all;
        if #call.have_values(&#read, &mut [#(#slots),*]) {
            #read = #call.agree(#read, || {
                #(#peeks)*
                #found
            });
        }
    }
}

/// Returns the call of a check, and what it found.
///
/// Spanned at the function, so that the compiler points there where it takes or returns another
/// type.
fn violations(path: &syn::Path, values: &[Ident]) -> TokenStream {
    let (start, end) = ends(&path.to_token_stream());
    let values = values.iter().map(|value| {
        let mut value = value.clone();
        value.set_span(value.span().located_at(end));
        value
    });
    let violations = Ident::new("violations", end);
    let result = quote_spanned!(start=> __private::CheckResult::#violations);
    let values = quote_spanned!(end=> (#(#values),*));
    quote!(#result(#path #values))
}
