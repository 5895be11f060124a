//! The macros behind [`toolbox`](https://docs.rs/toolbox): use them through that crate, which
//! documents them.

#![allow(missing_docs, reason = "the macros are documented where `toolbox` re-exports them")]

mod args;
mod block;
mod check;
#[cfg(feature = "clients")]
mod clients;
mod constraints;
mod deprecation;
mod diag;
mod docs;
mod expand;
mod hints;
mod item;
mod kind;
mod literal;
mod manifest;
mod model;
mod presentation;
mod streams;
mod tools;
mod toolset;
mod uri;

#[cfg(test)]
mod tests;

use kind::Kind;
use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;

#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    function_tokens(Kind::Tool, options.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    function_tokens(Kind::Prompt, options.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    function_tokens(Kind::Resource, options.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn toolset(options: TokenStream, item: TokenStream) -> TokenStream {
    toolset::expand(options.into(), &item.into()).into()
}

#[proc_macro]
pub fn tools(input: TokenStream) -> TokenStream {
    tools::expand(Kind::Tool, input.into()).into()
}

#[proc_macro]
pub fn prompts(input: TokenStream) -> TokenStream {
    tools::expand(Kind::Prompt, input.into()).into()
}

#[proc_macro]
pub fn resources(input: TokenStream) -> TokenStream {
    tools::expand(Kind::Resource, input.into()).into()
}

#[cfg(feature = "clients")]
#[proc_macro]
pub fn mcp_tools(input: TokenStream) -> TokenStream {
    clients::expand(input.into()).into()
}

/// Appends its tokens to the item it is on.
#[proc_macro_attribute]
pub fn carrier(carried: TokenStream, item: TokenStream) -> TokenStream {
    item.into_iter().chain(carried).collect()
}

/// Expands `#[tool]`, `#[prompt]` or `#[resource]` on a function: parse, check, expand.
fn function_tokens(kind: Kind, options: TokenStream2, item: &TokenStream2) -> TokenStream2 {
    use quote::ToTokens as _;
    let function: item::Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) if item::is_reported(&error) => return item.clone(),
        Err(error) => {
            let text = error.to_string().replace("`#[tool]`", &format!("`{}`", kind.attribute()));
            let error = syn::Error::new(error.span(), text).into_compile_error();
            return [item.clone(), error].into_iter().collect();
        }
    };
    let mut errors = diag::Diagnostics::default();
    let (uri, options) = match kind {
        Kind::Resource => uri::ResourceUri::split_off(options, &function, &mut errors),
        Kind::Tool | Kind::Prompt => (None, options),
    };
    let options = if is_key_value(&options) {
        errors.leave_to_the_compiler();
        Vec::new()
    } else {
        args::parse(options, kind.options(), kind.attribute_with_options(), &mut errors)
    };
    if let Some(second) = function.ours.first() {
        item::second_attribute(kind, second, &mut errors);
    }
    let mut model = model::ToolModel::read(kind, &function, &options, &mut errors);
    check::check(&function, &model, check::FunctionContext::Free, &mut errors);
    if let Some(uri) = &uri {
        uri.check(&model, &mut errors);
    }
    model.uri = uri;
    let tool = if errors.is_empty() {
        expand::free(&function, &model)
    } else {
        // Code that calls the function or lists the tool still compiles, so that only the errors
        // are reported.
        let stand_in = expand::stand_in(&function, &model);
        let errors = errors.into_tokens();
        [stand_in, errors].into_iter().collect()
    };
    // Outside of an `impl` block, rustc would report a `self` of a type of its own as well.
    let is_stray = function.receiver.as_ref().is_some_and(item::Receiver::names_another_type);
    let function = if is_stray { TokenStream2::new() } else { function.into_token_stream() };
    [function, tool].into_iter().collect()
}

/// Returns whether the attribute is written `#[tool = ".."]`, which rustc reports by itself.
fn is_key_value(options: &TokenStream2) -> bool {
    syn::parse2::<syn::Lit>(options.clone()).is_ok()
        && proc_macro::is_available()
        && proc_macro::Span::call_site().source_text().is_some_and(|attribute| {
            attribute.split('(').next().is_some_and(|before| before.contains('='))
        })
}
