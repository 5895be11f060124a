//! The rules: each reads the model and reports what breaks it.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{GenericParam, Type};

use crate::args::{self, Range};
use crate::diag::{Diagnostics, list, nearest};
use crate::item::{Function, ReceiverKind};
use crate::model::{ArgumentModel, Default_, Text, ToolModel, shown};

/// The longest name that every provider takes.
const NAME_LEN: usize = 64;
/// The most arguments that a call can keep count of.
const MAX_ARGUMENTS: usize = 64;

/// Where a function with `#[tool]` stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Free,
    Toolset,
}

/// Checks a tool against all rules.
pub(crate) fn check(
    function: &Function,
    model: &ToolModel,
    place: Place,
    errors: &mut Diagnostics,
) {
    signature(function, model, place, errors);
    name(function, model, errors);
    description(function, model, errors);
    options(function, model, errors);
    for argument in &model.arguments {
        check_argument(argument, model, errors);
    }
    argument_names(model, errors);
    examples(model, errors);
}

fn signature(function: &Function, model: &ToolModel, place: Place, errors: &mut Diagnostics) {
    let name = &model.name;
    if let Some(receiver) = &function.receiver {
        match (place, &receiver.kind) {
            (Place::Free, _) => {
                errors
                    .error(&receiver.tokens, format!("tool `{name}` is a method"))
                    .help("write `#[toolset]` above its `impl` block, and keep `#[tool]` on the method")
                    .note("a method needs a value to be called on; a toolset is that value");
            }
            (Place::Toolset, ReceiverKind::Mutable) => {
                errors
                    .error(&receiver.tokens, format!("tool `{name}` takes `&mut self`"))
                    .help("take `&self`, and keep what changes behind a `Mutex` or an atomic")
                    .note("several calls may run at once, and all share the value");
            }
            (Place::Toolset, ReceiverKind::Value) => {
                errors
                    .error(&receiver.tokens, format!("tool `{name}` takes `self` by value"))
                    .help("take `&self`")
                    .note(
                        "a tool is called many times, and the value would be gone after the first",
                    );
            }
            (Place::Toolset, ReceiverKind::Typed(ty)) if !is_shared_self(ty) => {
                errors
                    .error(ty, format!("tool `{name}` takes `self` as `{}`", shown(ty)))
                    .help("take `&self`, or `self: Arc<Self>`");
            }
            _ => {}
        }
    }
    for parameter in &function.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            errors
                .error(parameter, format!("tool `{name}` is generic"))
                .help("take a concrete type; to serve several types, write a tool for each")
                .note("a model calls a tool by its name alone and cannot choose a type");
        }
    }
    if let Some(token) = &function.unsafety {
        errors
            .error(token, format!("tool `{name}` is unsafe"))
            .help("wrap the unsafe code in a safe function")
            .note("whatever the model sends must be safe to run");
    }
    if let Some(token) = &function.constness {
        errors
            .error(token, format!("tool `{name}` is a `const fn`"))
            .help("take `const` out, or call it from an ordinary function with `#[tool]`")
            .note("a model calls while the program runs");
    }
    if let Some(abi) = &function.abi {
        errors
            .error(abi, format!("tool `{name}` is an `extern` function"))
            .help("call it from an ordinary function with `#[tool]`")
            .note("a tool is called through Rust's own calling convention");
    }
    if place == Place::Free
        && function.receiver.is_none()
        && let Some(this) = function.mention_of_self()
    {
        errors
            .error(&this, format!("tool `{name}` belongs to a type"))
            .help("write `#[toolset]` above its `impl` block, and keep `#[tool]` on the function")
            .note("`#[tool]` alone adds a type beside the function, which an `impl` block cannot hold");
    }
    if let Some(Type::ImplTrait(output)) = &function.output
        && function.asyncness.is_none()
        && shown_bounds(output).iter().any(|name| name == "Future")
    {
        let ident = &function.ident;
        errors
            .error(output, format!("tool `{name}` returns a future"))
            .help(format!("write `async fn {ident}`, and return what the future gives"))
            .note("only the future of an `async fn` is awaited");
    }
    if model.arguments.len() > MAX_ARGUMENTS {
        errors
            .error(
                &function.ident,
                format!("tool `{name}` has more than {MAX_ARGUMENTS} arguments"),
            )
            .help("gather some of them in a struct, and take that with `#[arg(flatten)]`");
    }
}

/// Returns the names of the traits behind `impl`, without their paths.
fn shown_bounds(ty: &syn::TypeImplTrait) -> Vec<String> {
    let name = |bound: &syn::TypeParamBound| match bound {
        syn::TypeParamBound::Trait(bound) => {
            bound.path.segments.last().map(|segment| segment.ident.to_string())
        }
        _ => None,
    };
    ty.bounds.iter().filter_map(name).collect()
}

fn is_shared_self(ty: &Type) -> bool {
    let text = ty.to_token_stream().to_string().replace(' ', "");
    text == "&Self" || text.ends_with("Arc<Self>")
}

fn name(function: &Function, model: &ToolModel, errors: &mut Diagnostics) {
    let name = &model.name;
    let why = "some model providers reject the whole request when one name breaks this rule";
    let given = model.name_span;
    let option = if function.ident.unraw() == name.as_str() { "name it" } else { "use" };
    if name.is_empty() {
        errors
            .error_at(given, "the name of a tool is empty")
            .help("take `name` out, and the tool is called like its function");
    } else if let Some(bad) =
        name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
    {
        let error = errors.error_at(given, format!("tool name `{name}` contains {bad:?}"));
        let safe: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        if option == "use" {
            error.help(format!("use letters, digits, `_` and `-`: `{safe}`"));
        } else {
            error.help("name it in ASCII: `#[tool(name = \"...\")]`");
        }
        error.note(why);
    } else if name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        errors
            .error_at(given, format!("tool name `{name}` does not start with a letter"))
            .help(format!("start with a letter or `_`: `_{name}`"))
            .note(why);
    } else if name.len() > NAME_LEN {
        errors
            .error_at(given, format!("tool name `{name}` has {} characters", name.len()))
            .help(format!("use at most {NAME_LEN}"))
            .note(why);
    }
}

fn description(function: &Function, model: &ToolModel, errors: &mut Diagnostics) {
    let missing = match &model.description {
        Text::Nothing => true,
        Text::Known(text) => text.is_empty() && !function.attrs.is_empty(),
        Text::Expression(_) => false,
    };
    if missing {
        let asyncness = if function.asyncness.is_some() { "async fn" } else { "fn" };
        let ident = &function.ident;
        errors
            .error(ident, format!("tool `{}` has no description", model.name))
            .help(format!(
                "add a doc comment above `{asyncness} {ident}`, or write `#[tool(description = \"...\")]`"
            ))
            .note("the description is what the model reads when it decides whether to call the tool");
    }
}

fn options(function: &Function, model: &ToolModel, errors: &mut Diagnostics) {
    let name = &model.name;
    if let (Some(span), Some(_)) = (model.hints.blocking, &function.asyncness) {
        errors
            .error_at(span, format!("tool `{name}` is `blocking` and `async`"))
            .help("take `async` out of the function, or `blocking` out of the attribute")
            .note("`blocking` moves a synchronous function to threads where it may wait");
    }
    if let (Some(_), Some(span)) = (model.hints.read_only, model.hints.destructive) {
        errors
            .error_at(span, format!("tool `{name}` is `read_only` and `destructive`"))
            .help("keep the one that is true")
            .note("a client may run a read-only tool without asking, and asks before a destructive one");
    }
}

fn check_argument(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let (name, tool) = (&argument.name, &model.name);
    if let Type::Reference(reference) = &argument.ty
        && reference.mutability.is_some()
    {
        let shared = format!("&{}", shown(&reference.elem));
        errors
            .error(&argument.ty, format!("argument `{name}` of tool `{tool}` is borrowed mutably"))
            .help(format!("take it by value or by shared reference: `{name}: {shared}`"))
            .note("the value is lent from the model's call for as long as the tool runs; nothing reads it back");
    }
    if let Type::ImplTrait(_) = &argument.ty {
        errors
            .error(&argument.ty, format!("argument `{name}` of tool `{tool}` has no concrete type"))
            .help(format!("name the type: `{name}: String`"))
            .note("the schema that the model is told is that of one type");
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty()
        || !name.chars().all(safe)
        || name.starts_with(|c: char| c.is_ascii_digit())
        || name.len() > NAME_LEN
    {
        errors
            .error_at(
                argument.name_span,
                format!("argument name `{name}` of tool `{tool}` is invalid"),
            )
            .help(format!(
                "use 1 to {NAME_LEN} letters, digits and `_`, and start with a letter or `_`{}",
                if argument.ident == name.as_str() { ": `#[arg(rename = \"...\")]`" } else { "" }
            ))
            .note("some model providers reject the whole request when one name breaks this rule");
    }
    flatten(argument, model, errors);
    constraints(argument, model, errors);
}

fn flatten(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let Some(span) = argument.flatten else { return };
    let others = [
        ("default", argument.default.is_some()),
        ("range", argument.range.is_some()),
        ("length", argument.length.is_some()),
        ("pattern", argument.pattern.is_some()),
        ("examples", !argument.examples.is_empty()),
        ("rename", argument.ident.unraw() != argument.name),
    ];
    for (option, _) in others.into_iter().filter(|(_, given)| *given) {
        errors
            .error_at(
                span,
                format!(
                    "argument `{}` of tool `{}` has `flatten` and `{option}`",
                    argument.ident, model.name
                ),
            )
            .help(format!("say `{option}` on the fields of its struct"))
            .note("a flattened argument stands for its fields and is none itself");
    }
}

/// What is known of a type by the way it is spelled: enough to refuse what cannot be meant.
#[derive(PartialEq, Eq)]
enum Spelled {
    Number,
    Text,
    Boolean,
    Other,
}

fn spelled(argument: &ArgumentModel) -> Spelled {
    let ty = shown(argument.referent.as_ref().unwrap_or(&argument.ty));
    let ty = ty.strip_prefix("Option<").and_then(|ty| ty.strip_suffix('>')).unwrap_or(&ty);
    match ty {
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128"
        | "usize" | "f32" | "f64" => Spelled::Number,
        "str" | "&str" | "String" | "char" | "Path" | "PathBuf" => Spelled::Text,
        "bool" => Spelled::Boolean,
        _ => Spelled::Other,
    }
}

fn constraints(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let ArgumentModel { name, ty, .. } = argument;
    let (tool, kind) = (&model.name, spelled(argument));
    let ty = shown(ty);
    if let Some((range, span)) = &argument.range {
        if matches!(kind, Spelled::Text | Spelled::Boolean) {
            let error = errors.error_at(
                *span,
                format!(
                    "argument `{name}` of tool `{tool}` has a `range`, and `{ty}` is no number"
                ),
            );
            match kind {
                Spelled::Text => error.help("bound the number of characters with `length`"),
                _ => error.help("take `range` out"),
            };
        }
        for end in [&range.low, &range.high].into_iter().flatten() {
            if is_text(end) {
                errors
                    .error(
                        end,
                        format!(
                            "the range of argument `{name}` of tool `{tool}` ends in no number"
                        ),
                    )
                    .help("write numbers or constants: `range = 1..=50`");
            }
        }
        bounds(range, *span, name, tool, errors);
    }
    if let Some((range, span)) = &argument.length {
        if matches!(kind, Spelled::Number | Spelled::Boolean) {
            errors
                .error_at(
                    *span,
                    format!(
                        "argument `{name}` of tool `{tool}` has a `length`, and `{ty}` has none"
                    ),
                )
                .help(if kind == Spelled::Number {
                    "bound a number with `range`"
                } else {
                    "take `length` out"
                });
        }
        for end in [&range.low, &range.high].into_iter().flatten() {
            if args::number(end).is_some_and(|end| end < 0.0) {
                errors
                    .error(
                        end,
                        format!("the `length` of argument `{name}` of tool `{tool}` is negative"),
                    )
                    .help("count from 0: `length = 1..=50`");
            }
        }
        bounds(range, *span, name, tool, errors);
    }
    if let Some(pattern) = &argument.pattern {
        if matches!(kind, Spelled::Number | Spelled::Boolean) {
            let error = errors.error(
                pattern,
                format!(
                    "argument `{name}` of tool `{tool}` has a `pattern`, and `{ty}` is no text"
                ),
            );
            error.help("take `pattern` out");
        }
        check_pattern(pattern, argument, model, errors);
    }
    if let (Some(Default_::OfType(span)), Some(referent)) = (&argument.default, &argument.referent)
        && kind == Spelled::Other
    {
        errors
            .error_at(
                *span,
                format!("argument `{name}` of tool `{tool}` has no default of its type"),
            )
            .help(format!("write the value: `default = {}`", example_of(referent)));
    }
}

fn example_of(referent: &Type) -> &'static str {
    if matches!(referent, Type::Slice(_)) { "&[]" } else { "&VALUE" }
}

fn bounds(
    range: &Range,
    span: proc_macro2::Span,
    name: &str,
    tool: &str,
    errors: &mut Diagnostics,
) {
    let value = |end: &Option<TokenStream>| end.as_ref().and_then(args::number);
    if let (Some(low), Some(high)) = (value(&range.low), value(&range.high))
        && (low > high || (low >= high && !range.inclusive))
    {
        errors
            .error_at(span, format!("the range of argument `{name}` of tool `{tool}` is empty"))
            .help("write the smaller end first: `1..=50`");
    }
}

/// Returns whether an end of a range is a literal of something else than a number.
fn is_text(end: &TokenStream) -> bool {
    use syn::Lit;
    matches!(
        syn::parse2(args::ungrouped(end.clone())),
        Ok(Lit::Str(_) | Lit::ByteStr(_) | Lit::Char(_) | Lit::Bool(_))
    )
}

#[cfg(feature = "pattern")]
fn check_pattern(
    pattern: &syn::LitStr,
    argument: &ArgumentModel,
    model: &ToolModel,
    errors: &mut Diagnostics,
) {
    if let Err(error) = regex_lite::Regex::new(&pattern.value()) {
        errors
            .error(
                pattern,
                format!(
                    "the pattern of argument `{}` of tool `{}` is invalid: {error}",
                    argument.name, model.name
                ),
            )
            .note("patterns are regular expressions without look-around and back-references");
    }
}

#[cfg(not(feature = "pattern"))]
fn check_pattern(
    pattern: &syn::LitStr,
    argument: &ArgumentModel,
    model: &ToolModel,
    errors: &mut Diagnostics,
) {
    errors
        .error(
            pattern,
            format!(
                "the pattern of argument `{}` of tool `{}` needs the feature `pattern` of `toolbox`",
                argument.name, model.name
            ),
        )
        .help("enable it: `cargo add toolbox --features pattern`");
}

fn argument_names(model: &ToolModel, errors: &mut Diagnostics) {
    let mut names = HashSet::new();
    // An argument with a `#[cfg]` may be the other's stand-in; the schema tells at run time.
    for argument in model.arguments.iter().filter(|argument| argument.cfgs.is_empty()) {
        if !names.insert(&argument.name) {
            errors
                .error_at(
                    argument.name_span,
                    format!(
                        "two arguments of tool `{}` are called `{}`",
                        model.name, argument.name
                    ),
                )
                .help("give one of them another name: `#[arg(rename = \"...\")]`");
        }
    }
}

fn examples(model: &ToolModel, errors: &mut Diagnostics) {
    for example in &model.examples {
        let mut given: Vec<String> = Vec::new();
        for (name, _) in &example.fields {
            let written = name.unraw().to_string();
            let names =
                || model.arguments.iter().map(|argument| argument.ident.unraw().to_string());
            if !names().any(|own| own == written) {
                let names: Vec<String> = names().collect();
                let names = || names.iter().map(String::as_str);
                let error = errors.error(
                    name,
                    format!(
                        "the example of tool `{}` gives `{written}`, which is no argument",
                        model.name
                    ),
                );
                if let Some(near) = nearest(&written, names()) {
                    error.help(format!("did you mean `{near}`?"));
                }
                error.note(format!("the arguments are {}", list(names())));
            }
            if given.contains(&written) {
                errors
                    .error(
                        name,
                        format!("the example of tool `{}` gives `{written}` twice", model.name),
                    )
                    .help("take one out");
            }
            given.push(written);
        }
    }
}
