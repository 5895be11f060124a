//! `#[toolset] impl Trait for Type`: the methods of a trait with `#[toolset]`.

use proc_macro2::TokenStream;

use super::options_of;
use crate::args::{self, Opt};
use crate::block::{Impl, ImplItem};
use crate::check;
use crate::diag::{Diagnostics, list};
use crate::expand;
use crate::item::{self, Function};
use crate::kind::Kind;
use crate::model::{self, Text, ToolModel};

/// The options of `#[tool(...)]` that may differ from those in the trait.
const OF_METHOD: [&str; 3] = ["description", "title", "timeout"];

/// Expands `#[toolset]` on the implementation of a trait: async methods become those that the trait
/// has, and what `#[tool]` says of a method takes the place of what the trait says.
pub(super) fn expand(options: TokenStream, block: &Impl) -> TokenStream {
    let mut errors = Diagnostics::default();
    let own = args::parse(options, args::TOOLSET, "#[toolset(...)]", &mut errors);
    for option in own.iter().filter(|option| option.name != "crate") {
        errors
            .error(&option.ident, not_here(option))
            .help("write it above the trait: all implementations have it");
    }
    let krate = model::krate(&own, &mut errors);
    let methods: Vec<_> =
        block.items.iter().filter_map(|item| read(item, &krate, &mut errors)).collect();
    let expansion = expand::implementation(block, &krate, &methods);
    [expansion, errors.into_tokens()].into_iter().collect()
}

fn not_here(option: &Opt) -> String {
    format!("option `{}` is not one of an implementation of a trait", option.name)
}

fn read<'a>(
    item: &'a ImplItem,
    krate: &TokenStream,
    errors: &mut Diagnostics,
) -> Option<(&'a Function, ToolModel)> {
    let function = match item {
        ImplItem::Marked(Kind::Tool, function) => function,
        ImplItem::Marked(kind, function) => {
            let (attribute, noun) = (kind.attribute(), kind.noun());
            errors
                .error(
                    &function.ours.first(),
                    format!("`{attribute}` is on the implementation of a trait"),
                )
                .help(format!("write it above the method in the trait, whose {noun} it is"));
            return None;
        }
        ImplItem::Other(_) => return None,
        ImplItem::Broken(_, _, error) => {
            if !item::is_reported(error) {
                errors.error_at(error.span(), error.to_string());
            }
            return None;
        }
    };
    let written = options_of(Kind::Tool, function, errors)?;
    let options = args::parse(written, args::TOOL, Kind::Tool.attribute_with_options(), errors);
    for option in options.iter().filter(|option| !OF_METHOD.contains(&option.name)) {
        errors
            .error(&option.ident, not_here(option))
            .help("write it above the method in the trait: all implementations have it")
            .note(format!("those of an implementation are {}", list(OF_METHOD)));
    }
    let mut model = ToolModel::read(Kind::Tool, function, &options, errors);
    model.krate = krate.clone();
    for argument in &model.arguments {
        if argument.described || !matches!(argument.description, Text::Nothing) {
            check::described_beside_trait(argument, &model, errors);
        }
    }
    Some((function, model))
}
