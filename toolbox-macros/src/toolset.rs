//! `#[toolset] impl`: one value, several tools, prompts and resources.

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
use crate::uri::ResourceUri;

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
    let methods: Vec<Method<'_>> =
        block.items.iter().filter_map(|item| read(item, &krate, &mut errors)).collect();
    if methods.is_empty() && errors.is_empty() {
        errors
            .error_at(block.span(), "this toolset has no tool")
            .help("write `#[tool]` above each method that the model may call")
            .note("methods may be prompts and resources too, by `#[prompt]` and `#[resource(\"..\")]`");
    }
    same_names(&methods, &mut errors);
    if errors.is_empty() {
        let set = expand::toolset(&block, &krate, &methods, with.as_ref());
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

/// A method of a toolset, and the model of what it becomes.
type Method<'a> = (&'a Function, ToolModel);

fn read<'a>(
    item: &'a ImplItem,
    krate: &TokenStream,
    errors: &mut Diagnostics,
) -> Option<Method<'a>> {
    let (kind, function) = match item {
        ImplItem::Marked(kind, function) => (*kind, function),
        ImplItem::Other(_) => return None,
        ImplItem::Broken(kind, _, error) => {
            if !item::is_reported(error) {
                let text =
                    error.to_string().replace("`#[tool]`", &format!("`{}`", kind.attribute()));
                errors.error_at(error.span(), text);
            }
            return None;
        }
    };
    let attribute = kind.attribute();
    let mut written = TokenStream::new();
    if let Some(own) = function.ours.first() {
        match &own.meta {
            syn::Meta::List(list) => written = list.tokens.clone(),
            syn::Meta::NameValue(_) => {
                let noun = kind.noun();
                let options = match kind {
                    Kind::Resource => "\"notes://{id}\"",
                    Kind::Tool | Kind::Prompt => "name = \"...\"",
                };
                errors
                    .error(own, format!("`{attribute}` takes its options in parentheses"))
                    .help(format!("write `#[{noun}({options})]`"));
                return None;
            }
            syn::Meta::Path(_) => {}
        }
    }
    if let Some(second) = function.ours.get(1) {
        item::second_attribute(kind, second, errors);
    }
    let (uri, written) = match kind {
        Kind::Resource => ResourceUri::split_off(written, function, errors),
        Kind::Tool | Kind::Prompt => (None, written),
    };
    let options = args::parse(written, kind.options(), kind.attribute_with_options(), errors);
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
    let mut model = ToolModel::read(kind, function, &options, errors);
    model.krate.clone_from(krate);
    check::check(function, &model, FunctionContext::Toolset, errors);
    if let Some(uri) = &uri {
        uri.check(&model, errors);
    }
    model.uri = uri;
    Some((function, model))
}

fn same_names(methods: &[Method<'_>], errors: &mut Diagnostics) {
    for (at, (function, model)) in methods.iter().enumerate() {
        let twin = methods[..at].iter().find(|(other, twin)| {
            // Methods under `#[cfg]` may be alternatives.
            twin.kind == model.kind
                && twin.key() == model.key()
                && model::cfgs(&other.attrs).is_empty()
                && model::cfgs(&function.attrs).is_empty()
        });
        let Some((other, _)) = twin else { continue };
        let (first, second) = (other.ident.unraw(), function.ident.unraw());
        let (noun, key) = (model.kind.noun(), model.key());
        match &model.uri {
            Some(uri) => errors
                .error(
                    &uri.text,
                    format!("two resources of this toolset have the URI `{key}`: `{first}` and `{second}`"),
                )
                .help("give one of them another URI"),
            None => errors
                .error_at(
                    model.name_span,
                    format!("two {noun}s of this toolset are named `{key}`: `{first}` and `{second}`"),
                )
                .help(format!("give one of them another name: `#[{noun}(name = \"...\")]`")),
        };
    }
}
