//! `#[toolset] impl`: one value, several tools.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::ext::IdentExt;

use crate::args;
use crate::check::{self, FunctionContext};
use crate::diag::Diagnostics;
use crate::expand;
use crate::item::{self, Function, Impl, ImplItem};
use crate::kind::Kind;
use crate::model::{self, ToolModel};

/// Expands `#[toolset]` on an `impl` block.
pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> TokenStream {
    let block: Impl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            let error = error.into_compile_error();
            return [item.clone(), error].into_iter().collect();
        }
    };
    let mut errors = Diagnostics::default();
    let own = args::parse(options, args::TOOLSET, "#[toolset(...)]", &mut errors);
    let krate = model::krate(&own, &mut errors);
    let with = own.iter().find(|option| option.name == "with");
    let with = with.and_then(|option| {
        let path = syn::parse2::<syn::Path>(args::ungrouped(option.value.clone())).ok();
        if path.is_none() {
            errors
                .error(&option.value, "the value of `with` is not a path")
                .help("name a function that takes `&Arc<Self>` and a `Tool`, and returns a `Tool`: `with = Self::limited`");
        }
        path
    });
    if let Some((path, _)) = &block.of_trait {
        errors
            .error(path, "`#[toolset]` is on the implementation of a trait")
            .help("write it above an `impl Type { .. }` of the type itself");
    }
    if block.of_trait.is_none()
        && let Some(lifetime) = block.borrows()
    {
        errors
            .error(&lifetime, "this toolset borrows")
            .help("own what it holds, or share it behind an `Arc`")
            .note("a box keeps its tools for as long as it lives, and calls them from any thread");
    }
    let tools: Vec<(&Function, ToolModel)> =
        block.items.iter().filter_map(|item| read(item, &krate, &mut errors)).collect();
    if tools.is_empty() && errors.is_empty() {
        errors
            .error_at(block.span(), "this toolset has no tool")
            .help("write `#[tool]` above each method that the model may call");
    }
    same_names(&tools, &mut errors);
    if errors.is_empty() {
        let set = expand::toolset(&block, &krate, &tools, with.as_ref());
        [block.into_token_stream(), set].into_iter().collect()
    } else {
        // Without the implementation, every use of the set would be a further error.
        let stand_in = (block.of_trait.is_none() && block.borrows().is_none())
            .then(|| expand::toolset_stand_in(&block, &krate));
        [block.into_token_stream(), stand_in.unwrap_or_default(), errors.into_tokens()]
            .into_iter()
            .collect()
    }
}

fn read<'a>(
    item: &'a ImplItem,
    krate: &TokenStream,
    errors: &mut Diagnostics,
) -> Option<(&'a Function, ToolModel)> {
    let function = match item {
        ImplItem::Tool(function) => function,
        ImplItem::Other(_) => return None,
        ImplItem::Broken(_, error) => {
            if !item::is_reported(error) {
                errors.error_at(error.span(), error);
            }
            return None;
        }
    };
    let mut options = Vec::new();
    if let Some(attribute) = function.ours.first() {
        match &attribute.meta {
            syn::Meta::List(list) => {
                options = args::parse(list.tokens.clone(), args::TOOL, "#[tool(...)]", errors);
            }
            syn::Meta::NameValue(_) => {
                errors
                    .error(attribute, "`#[tool]` takes its options in parentheses")
                    .help("write `#[tool(name = \"...\")]`");
            }
            syn::Meta::Path(_) => {}
        }
    }
    if let Some(second) = function.ours.get(1) {
        errors.error(second, "`#[tool]` is repeated on this function").help("take one out");
    }
    if let Some(option) = options.iter().find(|option| matches!(option.name, "type" | "crate")) {
        let error = errors.error(
            &option.ident,
            format!("option `{}` is not one of a method of a toolset", option.name),
        );
        match option.name {
            "crate" => error.help("write it above the `impl` block: `#[toolset(crate = ...)]`"),
            _ => error
                .help("take it out")
                .note("it names the type beside a free function; a toolset is a type itself"),
        };
    }
    let mut model = ToolModel::read(Kind::Tool, function, &options, errors);
    model.krate.clone_from(krate);
    check::check(function, &model, FunctionContext::Toolset, errors);
    Some((function, model))
}

fn same_names(tools: &[(&Function, ToolModel)], errors: &mut Diagnostics) {
    for (at, (function, model)) in tools.iter().enumerate() {
        let twin = tools[..at].iter().find(|(other, twin)| {
            // Methods under `#[cfg]` may be alternatives.
            twin.name == model.name
                && model::cfgs(&other.attrs).is_empty()
                && model::cfgs(&function.attrs).is_empty()
        });
        if let Some((other, _)) = twin {
            let (first, second) = (other.ident.unraw(), function.ident.unraw());
            errors
                .error_at(
                    model.name_span,
                    format!(
                        "two tools of this toolset are named `{}`: `{first}` and `{second}`",
                        model.name
                    ),
                )
                .help("give one of them another name: `#[tool(name = \"...\")]`");
        }
    }
}
