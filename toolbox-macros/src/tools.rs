//! `tools![a, b::c]`, `prompts![]` and `resources![]`: the values of several functions, with
//! distinct names.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use crate::args::split;
use crate::diag::Diagnostics;
use crate::expand;
use crate::item::Element;
use crate::kind::Kind;

/// Expands `tools![...]` and the like, which is passed as `$crate; ...` by the public macro.
pub(crate) fn expand(kind: Kind, input: TokenStream) -> TokenStream {
    let (list, noun, attribute) = (kind.list(), kind.noun(), kind.attribute());
    let example = match kind {
        Kind::Tool => "tools![search, weather::forecast]",
        Kind::Prompt => "prompts![review, mail::reply]",
        Kind::Resource => "resources![manual, notes::note]",
    };
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
                    .error(&part, format!("an element of `{list}` is not the name of a {noun}"))
                    .help(format!("write the name of a function with `{attribute}`, or its path: `{example}`"))
                    .note(match kind {
                        Kind::Tool => {
                            "tools from elsewhere are given to the box itself: `toolbox.register(tool)`"
                        }
                        Kind::Prompt => {
                            "prompts from elsewhere are given to the box itself: `toolbox.prompts().register(prompt)`"
                        }
                        Kind::Resource => {
                            "resources from elsewhere are given to the box itself: `toolbox.resources().register(resource)`"
                        }
                    });
            }
        }
    }
    methods(kind, &mut elements, &mut errors);
    same_paths(kind, &elements, &mut errors);
    let errors = (!errors.is_empty()).then(|| errors.into_tokens());
    expand::list(kind, &krate, &elements, errors.as_ref())
}

/// Removes paths within a type, recognized by the case of its name, and reports them.
fn methods(kind: Kind, elements: &mut Vec<Element>, errors: &mut Diagnostics) {
    elements.retain(|Element { path, .. }| {
        let owner = path.segments.iter().rev().nth(1).map(|segment| segment.ident.to_string());
        let is_type = owner.is_some_and(|name| name.starts_with(char::is_uppercase));
        if is_type {
            let path_text = path.to_token_stream().to_string().replace(' ', "");
            let noun = kind.noun();
            let error =
                errors.error(path, format!("`{path_text}` is a method, which is no {noun} by itself"));
            if kind != Kind::Tool {
                error.help(format!("list a free function with `{}`", kind.attribute()));
                return false;
            }
            error
                .help("give the box a value of the type, with `#[toolset]` above its `impl` block: `toolbox.register(value)`")
                .note("a method needs a value to be called on; `tools![]` takes functions with `#[tool]`");
        }
        !is_type
    });
}

/// Reports a path that occurs twice.
fn same_paths(kind: Kind, elements: &[Element], errors: &mut Diagnostics) {
    let mut known = HashSet::new();
    for Element { attrs, path } in elements {
        if !attrs.is_empty() {
            continue;
        }
        let path_text = path.to_token_stream().to_string().replace(' ', "");
        if !known.insert(path_text.clone()) {
            errors
                .error(path, format!("{} `{path_text}` is listed twice", kind.noun()))
                .help("take one out");
        }
    }
}
