//! The macros behind [`toolbox`](https://docs.rs/toolbox): use them through that crate, which
//! documents them.

#![allow(missing_docs, reason = "the macros are documented where `toolbox` re-exports them")]

mod args;
mod check;
mod constraints;
mod diag;
mod docs;
mod expand;
mod hints;
mod item;
mod literal;
mod model;
mod tools;
mod toolset;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    tool_tokens(options.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn toolset(options: TokenStream, item: TokenStream) -> TokenStream {
    toolset::expand(options.into(), &item.into()).into()
}

#[proc_macro]
pub fn tools(input: TokenStream) -> TokenStream {
    tools::expand(input.into()).into()
}

/// Appends its tokens to the item it is on.
#[proc_macro_attribute]
pub fn carrier(carried: TokenStream, item: TokenStream) -> TokenStream {
    item.into_iter().chain(carried).collect()
}

/// Expands `#[tool]` on a function: parse, check, expand.
fn tool_tokens(
    options: proc_macro2::TokenStream,
    item: &proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    use quote::ToTokens as _;
    let function: item::Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) if item::is_reported(&error) => return item.clone(),
        Err(error) => {
            let error = error.into_compile_error();
            return [item.clone(), error].into_iter().collect();
        }
    };
    let mut errors = diag::Diagnostics::default();
    let options = args::parse(options, args::TOOL, "#[tool(...)]", &mut errors);
    if let Some(second) = function.ours.first() {
        errors.error(second, "`#[tool]` is repeated on this function").help("take one out");
    }
    let model = model::ToolModel::read(&function, &options, &mut errors);
    check::check(&function, &model, check::FunctionContext::Free, &mut errors);
    let tool = if errors.is_empty() {
        expand::free(&function, &model)
    } else {
        // Code that calls the function or lists the tool still compiles, so that only the errors
        // are reported.
        let stand_in = expand::stand_in(&function, &model);
        let errors = errors.into_tokens();
        [stand_in, errors].into_iter().collect()
    };
    [function.into_token_stream(), tool].into_iter().collect()
}
