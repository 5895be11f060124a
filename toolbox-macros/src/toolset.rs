//! `#[toolset]`: one value, several tools, prompts and resources, by the methods of its type or of
//! a trait.

mod of_trait;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;

use crate::args::{self, Opt};
use crate::block::{Block, Impl, ImplItem, Trait};
use crate::check::{self, FunctionContext};
use crate::diag::Diagnostics;
use crate::expand;
use crate::item::{self, Function};
use crate::kind::Kind;
use crate::model::{self, ToolModel};
use crate::uri::ResourceUri;

/// A toolset: the options of `#[toolset(...)]`, and the methods that the model sees.
pub(crate) struct SetModel<'a> {
    pub(crate) krate: TokenStream,
    /// The function that changes each tool.
    pub(crate) with: Option<syn::Path>,
    /// The traits with `#[toolset]` whose tools are among those of the set.
    pub(crate) traits: Vec<syn::Path>,
    pub(crate) methods: Vec<(&'a Function, ToolModel)>,
}

/// Expands `#[toolset]` on an `impl` block or a trait.
pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> TokenStream {
    match syn::parse2(item.clone()) {
        Ok(Block::Impl(block)) if block.of_trait.is_some() => of_trait::expand(options, &block),
        Ok(Block::Impl(block)) => of_type(options, &block),
        Ok(Block::Trait(block)) => of_every_implementor(options, &block),
        Err(error) => {
            let error = error.into_compile_error();
            [item.clone(), error].into_iter().collect()
        }
    }
}

/// Expands `#[toolset]` on an `impl` block of a type itself.
fn of_type(options: TokenStream, block: &Impl) -> TokenStream {
    let mut errors = Diagnostics::default();
    let set = SetModel::read(options, &block.items, None, block.span(), &mut errors);
    if let Some(lifetime) = block.borrows() {
        borrows(&lifetime, &mut errors);
    }
    if errors.is_empty() {
        let set = expand::toolset(block, &set);
        [block.into_token_stream(), set].into_iter().collect()
    } else {
        // Without the implementation, every use of the set would be a further error.
        let stand_in =
            block.borrows().is_none().then(|| expand::toolset_stand_in(block, &set.krate));
        [block.into_token_stream(), stand_in.unwrap_or_default(), errors.into_tokens()]
            .into_iter()
            .collect()
    }
}

/// Expands `#[toolset]` on a trait.
fn of_every_implementor(options: TokenStream, block: &Trait) -> TokenStream {
    let mut errors = Diagnostics::default();
    let (path, span) = (Some(expand::path_of(block)), block.trait_token.span);
    let set = SetModel::read(options, &block.items, path, span, &mut errors);
    if let Some(lifetime) = block.generics.lifetimes().next() {
        borrows(&lifetime.lifetime, &mut errors);
    }
    if errors.is_empty() {
        expand::trait_toolset(block, &set)
    } else {
        let stand_in = expand::trait_stand_in(block, &set);
        [stand_in, errors.into_tokens()].into_iter().collect()
    }
}

fn borrows(lifetime: &impl ToTokens, errors: &mut Diagnostics) {
    errors
        .error(lifetime, "this toolset borrows")
        .help("own what it holds, or share it behind an `Arc`")
        .note("a box keeps its tools for as long as it lives, and calls them from any thread");
}

impl<'a> SetModel<'a> {
    /// Reads the options and the items of a block; errors are added to `errors`.
    fn read(
        options: TokenStream,
        items: &'a [ImplItem],
        of_trait: Option<TokenStream>,
        span: proc_macro2::Span,
        errors: &mut Diagnostics,
    ) -> Self {
        let own = args::parse(options, args::TOOLSET, "#[toolset(...)]", errors);
        let krate = model::krate(&own, errors);
        let option = |name| own.iter().find(|option| option.name == name);
        let with = option("with").and_then(|option| with(option, errors));
        let traits = option("traits").map(|option| traits(option, errors)).unwrap_or_default();
        let available = option("available").and_then(|option| model::available(option, errors));
        let prefix = option("prefix").and_then(|option| option.string(errors));
        let block = BlockOptions { krate: &krate, prefix, of_trait, available };
        let methods: Vec<_> = items.iter().filter_map(|item| read(item, &block, errors)).collect();
        if methods.is_empty() && option("traits").is_none() && errors.is_empty() {
            errors
                .error_at(span, "this toolset has no tool")
                .help("write `#[tool]` above each method that the model may call")
                .note("methods may be prompts and resources too, by `#[prompt]` and `#[resource(\"..\")]`");
        }
        same_names(&methods, errors);
        Self { krate, with, traits, methods }
    }
}

fn with(option: &Opt, errors: &mut Diagnostics) -> Option<syn::Path> {
    let path = syn::parse2::<syn::Path>(args::ungrouped(option.value.clone())).ok();
    if path.is_none() {
        errors
            .error(&option.value, "the value of `with` is not a path")
            .help("name a function that takes `&Arc<Self>` and a `Tool`, and returns a `Tool`: `with = Self::limited`");
    }
    path
}

fn traits(option: &Opt, errors: &mut Diagnostics) -> Vec<syn::Path> {
    let parse = syn::punctuated::Punctuated::<syn::Path, syn::Token![,]>::parse_terminated;
    match syn::parse::Parser::parse2(parse, option.value.clone()) {
        Ok(paths) if !paths.is_empty() => paths.into_iter().collect(),
        _ => {
            errors
                .error(&option.ident, "the value of `traits` is not a list of traits")
                .help("name traits that have `#[toolset]` above them: `traits(Storage, Search)`");
            Vec::new()
        }
    }
}

/// The options of a block that its methods have.
struct BlockOptions<'a> {
    krate: &'a TokenStream,
    /// Stands before the names of tools and prompts.
    prefix: Option<syn::LitStr>,
    /// The trait that the block is, with its parameters.
    of_trait: Option<TokenStream>,
    /// The function that says to whom its tools are available.
    available: Option<syn::Path>,
}

/// A method of a toolset, and the model of what it becomes.
type Method<'a> = (&'a Function, ToolModel);

fn read<'a>(
    item: &'a ImplItem,
    block: &BlockOptions<'_>,
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
    let written = options_of(kind, function, errors)?;
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
    model.krate.clone_from(block.krate);
    model.of_trait.clone_from(&block.of_trait);
    if kind == Kind::Tool {
        model.available.extend(block.available.clone());
    }
    if let Some(prefix) = &block.prefix {
        prefixed(&mut model, prefix, errors);
    }
    let place = match block.of_trait {
        Some(_) => FunctionContext::Trait,
        None => FunctionContext::Toolset,
    };
    check::check(function, &model, place, errors);
    if let Some(uri) = &uri {
        uri.check(&model, errors);
    }
    model.uri = uri;
    Some((function, model))
}

/// Returns the options in the attribute of a method.
fn options_of(kind: Kind, function: &Function, errors: &mut Diagnostics) -> Option<TokenStream> {
    if let Some(second) = function.ours.get(1) {
        item::second_attribute(kind, second, errors);
    }
    let own = function.ours.first()?;
    match &own.meta {
        syn::Meta::List(list) => Some(list.tokens.clone()),
        syn::Meta::NameValue(_) => {
            let (attribute, noun) = (kind.attribute(), kind.noun());
            let options = match kind {
                Kind::Resource => "\"notes://{id}\"",
                Kind::Tool | Kind::Prompt => "name = \"...\"",
            };
            errors
                .error(own, format!("`{attribute}` takes its options in parentheses"))
                .help(format!("write `#[{noun}({options})]`"));
            None
        }
        syn::Meta::Path(_) => Some(TokenStream::new()),
    }
}

/// Puts the prefix of the set before the name, as `Tool::prefixed` does.
fn prefixed(model: &mut ToolModel, prefix: &syn::LitStr, errors: &mut Diagnostics) {
    if model.kind == Kind::Resource {
        return;
    }
    if let Some(value) = &model.name_value {
        errors
            .error(
                value,
                format!("{} has a constant as its name, and the set a prefix", model.label()),
            )
            .help("write the name as text: `name = \"read\"`");
    }
    model.name = format!("{}_{}", prefix.value(), model.name);
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
