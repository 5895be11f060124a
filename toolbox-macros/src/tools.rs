//! `tools![a, b::c]`: the tools of several functions, with distinct names.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use crate::args::split;
use crate::diag::Diagnostics;
use crate::expand;
use crate::item::Element;

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
    let check = errors.is_empty();
    expand::list(&krate, &elements, check, &errors.into_tokens())
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
