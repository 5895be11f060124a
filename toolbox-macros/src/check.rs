//! The rules: each reads the model and reports violations.

use std::collections::HashSet;

use syn::ext::IdentExt;
use syn::{GenericParam, Type};

use crate::constraints;
use crate::diag::{Diagnostics, list, nearest};
use crate::item::{Function, ReceiverKind};
use crate::kind::Kind;
use crate::literal::{self, Spelled, SuppliedType};
use crate::model::{ArgumentModel, Text, ToolModel, type_text};
use crate::streams;

/// The longest name that every provider accepts.
const NAME_LEN: usize = 64;
/// The maximum number of arguments that a call can track.
const MAX_ARGUMENTS: usize = 64;

/// The position of a function with `#[tool]`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionContext {
    Free,
    Toolset,
    /// A trait with `#[toolset]`.
    Trait,
}

/// Checks a tool, a prompt or a resource against all rules.
pub(crate) fn check(
    function: &Function,
    model: &ToolModel,
    place: FunctionContext,
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
    check_of_several(model, errors);
    examples(model, errors);
}

/// Checks the arguments that the check over several of them takes.
fn check_of_several(model: &ToolModel, errors: &mut Diagnostics) {
    let Some(check) = &model.check else { return };
    let label = model.label();
    let names = || model.arguments.iter().map(|argument| argument.ident.unraw().to_string());
    for name in check.arguments.iter().flatten() {
        let written = name.unraw().to_string();
        if names().any(|own| own == written) {
            continue;
        }
        let names: Vec<String> = names().collect();
        let names = || names.iter().map(String::as_str);
        let error = errors
            .error(name, format!("the check of {label} takes `{written}`, which is no argument"));
        if let Some(near) = nearest(&written, names()) {
            error.help(format!("did you mean `{near}`?"));
        }
        error.note(format!("the arguments are {}", list(names())));
    }
    if model.checked().next().is_none() {
        errors
            .error_at(check.span, format!("the check of {label} takes no argument"))
            .help("name those that it takes by reference: `check = in_order(start, end)`");
    }
    if let Some(argument) = model.checked().find(|argument| !argument.cfgs.is_empty()) {
        errors
            .error_at(
                check.span,
                format!(
                    "the check of {label} takes argument `{}`, which is there under a condition",
                    argument.ident
                ),
            )
            .help("name the arguments that are always there: `check = in_order(start, end)`");
    }
}

fn signature(
    function: &Function,
    model: &ToolModel,
    place: FunctionContext,
    errors: &mut Diagnostics,
) {
    let (label, noun) = (model.label(), model.kind.noun());
    let attribute = model.kind.attribute();
    if let Some(receiver) = &function.receiver {
        match (place, &receiver.kind) {
            (FunctionContext::Free, _) => {
                errors
                    .error(&receiver.tokens, format!("{label} is a method"))
                    .help(format!(
                        "write `#[toolset]` above its trait or `impl` block, and keep `{attribute}` on the method"
                    ))
                    .note("a method needs a value to be called on; a toolset is that value");
            }
            (_, ReceiverKind::Mutable) => {
                errors
                    .error(&receiver.tokens, format!("{label} takes `&mut self`"))
                    .help("take `&self`, and keep what changes behind a `Mutex` or an atomic")
                    .note("several calls may run at once, and all share the value");
            }
            (_, ReceiverKind::Value) => {
                errors
                    .error(&receiver.tokens, format!("{label} takes `self` by value"))
                    .help("take `&self`")
                    .note(format!(
                        "a {noun} is called many times, and the value would be gone after the first"
                    ));
            }
            // The compiler decides whether a type is an `Arc` of the set, whatever its name.
            _ => {}
        }
    }
    for parameter in &function.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            errors
                .error(parameter, format!("{label} is generic"))
                .help(format!(
                    "take a concrete type; to serve several types, write a {noun} for each"
                ))
                .note(match model.kind {
                    Kind::Tool => "a model calls a tool by its name alone and cannot choose a type",
                    _ => "a client names it alone and cannot choose a type",
                });
        }
    }
    if let Some(Type::Never(output)) = &function.output {
        errors
            .error(output, format!("{label} never returns"))
            .help("take `-> !` out: a function that ends returns `()`")
            .note(format!("the result of a {noun} is what its function returns"));
    }
    if let Some(token) = &function.unsafety {
        errors
            .error(token, format!("{label} is unsafe"))
            .help("wrap the unsafe code in a safe function")
            .note(match model.kind {
                Kind::Tool => "every call of a model must be safe",
                _ => "every call of a client must be safe",
            });
    }
    if let Some(token) = &function.constness {
        errors
            .error(token, format!("{label} is a `const fn`"))
            .help(format!(
                "take `const` out, or call it from an ordinary function with `{attribute}`"
            ))
            .note(match model.kind {
                Kind::Tool => "a model calls while the program runs",
                _ => "a client calls while the program runs",
            });
    }
    if let Some(abi) = &function.abi {
        errors
            .error(abi, format!("{label} is an `extern` function"))
            .help(format!("call it from an ordinary function with `{attribute}`"))
            .note(format!("a {noun} is called through Rust's own calling convention"));
    }
    if place == FunctionContext::Free
        && function.receiver.is_none()
        && let Some(this) = function.mention_of_self()
    {
        errors
            .error(&this, format!("{label} belongs to a type"))
            .help(format!(
                "write `#[toolset]` above its `impl` block, and keep `{attribute}` on the function"
            ))
            .note(format!(
                "`{attribute}` alone adds a type beside the function, which an `impl` block cannot hold"
            ));
    }
    if place == FunctionContext::Trait {
        trait_method(function, model, errors);
    }
    if model.arguments.len() > MAX_ARGUMENTS {
        errors
            .error(&function.ident, format!("{label} has more than {MAX_ARGUMENTS} arguments"))
            .help("gather some of them in a struct, and take that with `#[arg(flatten)]`");
    }
}

/// Checks that a method of a trait can be called on a trait object.
fn trait_method(function: &Function, model: &ToolModel, errors: &mut Diagnostics) {
    let label = model.label();
    if function.receiver.is_none() {
        errors
            .error(&function.ident, format!("{label} of a trait takes no `self`"))
            .help("take `&self`, or move the function out of the trait")
            .note("a call reaches the implementation by the value that it is called on");
    }
    if let Some(output) = &function.output
        && literal::mentions_impl(output)
    {
        let stream = streams::boxed(output);
        errors
            .error(output, format!("{label} of a trait returns a type without a name"))
            .help(match stream {
                Some(boxed) => {
                    format!("return `{boxed}`, and write `Box::pin(stream)` in each implementation")
                }
                None => "name the type, or return a `Box` of a trait object".to_owned(),
            })
            .note("each implementation has a type of its own, and a trait object has one");
    }
    if let Some(sized) = function.requires_sized() {
        errors
            .error(&sized, format!("{label} of a trait needs a `Self` of known size"))
            .help("take the bound out")
            .note("a trait object has no such method");
    }
}

/// Reports an argument that the implementation of a trait's method describes.
pub(crate) fn described_beside_trait(
    argument: &ArgumentModel,
    model: &ToolModel,
    errors: &mut Diagnostics,
) {
    errors
        .error(
            &argument.ident,
            format!(
                "argument `{}` of {} is described on the implementation of a trait",
                argument.ident,
                model.label()
            ),
        )
        .help("describe it in the trait: all implementations have the same arguments");
}

fn name(function: &Function, model: &ToolModel, errors: &mut Diagnostics) {
    if model.name_value.is_some() {
        return;
    }
    let (name, noun) = (&model.name, model.kind.noun());
    let why = "some model providers reject the whole request when one name breaks this rule";
    let given = model.name_span;
    let option = if function.ident.unraw() == name.as_str() { "name it" } else { "use" };
    if name.is_empty() {
        errors
            .error_at(given, format!("the name of a {noun} is empty"))
            .help(format!("take `name` out, and the {noun} is called like its function"));
    } else if let Some(bad) =
        name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
    {
        let error = errors.error_at(given, format!("{noun} name `{name}` contains {bad:?}"));
        let safe: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        if option == "use" {
            error.help(format!("use letters, digits, `_` and `-`: `{safe}`"));
        } else {
            error.help(format!(
                "name it in ASCII: `#[{noun}({}name = \"...\")]`",
                model.before_options()
            ));
        }
        if model.kind == Kind::Tool {
            error.note(why);
        }
    } else if name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        errors
            .error_at(given, format!("{noun} name `{name}` does not start with a letter"))
            .help(format!("start with a letter or `_`: `_{name}`"))
            .note(why);
    } else if name.len() > NAME_LEN {
        errors
            .error_at(given, format!("{noun} name `{name}` has {} characters", name.len()))
            .help(format!("use at most {NAME_LEN}"))
            .note(why);
    }
}

fn description(function: &Function, model: &ToolModel, errors: &mut Diagnostics) {
    let missing = match &model.description {
        Text::Nothing => true,
        Text::Known(text) => text.is_empty() && !function.attrs.is_empty(),
        Text::Lines(_) | Text::Value(_) => false,
    };
    if missing {
        let asyncness = if function.asyncness.is_some() { "async fn" } else { "fn" };
        let ident = &function.ident;
        errors
            .error(ident, format!("{} has no description", model.label()))
            .help(format!(
                "add a doc comment above `{asyncness} {ident}`, or write `#[{}({}description = \"...\")]`",
                model.kind.noun(),
                model.before_options()
            ))
            .note(match model.kind {
                Kind::Tool => {
                    "the description is what the model reads when it decides whether to call the tool"
                }
                _ => "the description is what a person reads in the list of their client",
            });
    }
}

fn options(function: &Function, model: &ToolModel, errors: &mut Diagnostics) {
    let label = model.label();
    if let (Some(span), Some(_)) = (model.hints.blocking, &function.asyncness) {
        errors
            .error_at(span, format!("{label} is `blocking` and `async`"))
            .help("take `async` out of the function, or `blocking` out of the attribute")
            .note("`blocking` moves a synchronous function to threads where it may wait");
    }
    if let (Some(span), Some(_), None) = (model.hints.blocking, &model.stream, function.asyncness) {
        errors
            .error_at(span, format!("{label} is `blocking` and returns a stream"))
            .help("take `blocking` out of the attribute")
            .note("a stream is read where it may not wait: let a thread fill a channel, and return the channel's stream");
    }
    if let (None, Some((_, span))) = (&model.stream, &model.collect) {
        errors
            .error_at(*span, format!("{label} collects a stream and returns nothing"))
            .help("return a stream: `-> impl Stream<Item = String>`");
    }
    if let (Some(_), Some((true, span))) = (model.hints.read_only, model.hints.destructive) {
        errors
            .error_at(span, format!("{label} is `read_only` and `destructive`"))
            .help("keep the one that is true")
            .note("a client may run a read-only tool without asking, and asks before a destructive one");
    }
}

fn check_argument(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let (name, tool) = (&argument.name, model.label());
    if let Some(shared) = literal::without_mutable_references(&argument.ty) {
        let shared = type_text(&shared);
        errors
            .error(&argument.ty, format!("argument `{name}` of {tool} is borrowed mutably"))
            .help(match &argument.ty {
                Type::Reference(_) => {
                    format!("take it by value or by shared reference: `{name}: {shared}`")
                }
                _ => format!("take what it holds by value, or text lent: `{name}: {shared}`"),
            })
            .note(match literal::supplied(&argument.ty) {
                Some(_) => "what the program supplies is there to be read: change what is behind a lock",
                None => "the value is lent from the model's call for as long as the tool runs; nothing reads it back",
            });
    }
    supplied(argument, model, errors);
    if literal::mentions_impl(&argument.ty) {
        errors
            .error(&argument.ty, format!("argument `{name}` of {tool} has no concrete type"))
            .help(format!("name the type: `{name}: String`"))
            .note("the schema that the model receives is that of one type");
    }
    if literal::is_unsized(&argument.ty) {
        errors.leave_to_the_compiler();
    }
    if let Some(object) = literal::trait_object(&argument.ty) {
        let mut text = type_text(&Type::TraitObject(object.clone()));
        // A trait of the user's own may have them as supertraits; those of functions have not.
        if is_function_trait(object) {
            for bound in [" + Send", " + Sync"] {
                if !text.contains(bound) {
                    text.push_str(bound);
                }
            }
        }
        let object = text;
        errors
            .error(&argument.ty, format!("argument `{name}` of {tool} is a trait object"))
            .help(format!("share it in an `Arc`: `{name}: State<Arc<{object}>>`"))
            .note(format!(
                "the program gives it to the box as a state of that type: `.state::<Arc<{object}>>(Arc::new(..))`"
            ));
    }
    if let Some(pointer) = literal::function_pointer(&argument.ty) {
        let pointer = type_text(pointer);
        errors
            .error(&argument.ty, format!("argument `{name}` of {tool} is a function"))
            .help(format!("let the program supply it: `{name}: State<{pointer}>`"))
            .note("a model writes values, and no function is one");
    }
    if let Some(reference) = literal::borrowed_for_ever(&argument.ty) {
        let shorter = type_text(&argument.ty).replacen("'static ", "", 1);
        errors
            .error(reference, format!("argument `{name}` of {tool} is borrowed for `'static`"))
            .help(format!(
                "borrow it for the call: `{name}: {shorter}`; take an owned type to keep it"
            ))
            .note("arguments from the model live as long as their call");
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty()
        || !name.chars().all(safe)
        || name.starts_with(|c: char| c.is_ascii_digit())
        || name.len() > NAME_LEN
    {
        errors
            .error_at(argument.name_span, format!("argument name `{name}` of {tool} is invalid"))
            .help(format!(
                "use 1 to {NAME_LEN} letters, digits and `_`, and start with a letter or `_`{}",
                if argument.ident == name.as_str() { ": `#[arg(rename = \"...\")]`" } else { "" }
            ))
            .note("some model providers reject the whole request when one name breaks this rule");
    }
    if argument.flatten.is_some() {
        flatten(argument, model, errors);
    } else {
        constraints::check(argument, model, errors);
    }
}

/// Checks an argument that the program supplies, as its spelling shows.
fn supplied(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let (name, tool) = (&argument.name, model.label());
    match literal::supplied(&argument.ty) {
        Some(SuppliedType::Itself) if argument.default.is_some() => {
            errors
                .error(
                    &argument.ty,
                    format!(
                        "argument `{name}` of {tool} has a default, and the program supplies it"
                    ),
                )
                .help("take `#[arg(..)]` or `#[deprecated]` out: they describe and bound what the model fills in");
        }
        Some(SuppliedType::AroundContext) => {
            errors
                .error(
                    &argument.ty,
                    format!("argument `{name}` of {tool} wraps the context of the call"),
                )
                .help(format!("take the context itself: `{name}: &ToolContext`"))
                .note("each call has one");
        }
        Some(SuppliedType::AroundState(instead)) => {
            errors
                .error(&argument.ty, format!("argument `{name}` of {tool} wraps a state"))
                .help(format!("write `{name}: {instead}`"))
                .note("a `State` is shared by all calls, and holds what was given to the box with `.state(..)`");
        }
        _ => {}
    }
}

/// Returns whether a trait object is one of `Fn`, `FnMut` and `FnOnce`.
fn is_function_trait(object: &syn::TypeTraitObject) -> bool {
    object.bounds.iter().any(|bound| match bound {
        syn::TypeParamBound::Trait(bound) => bound
            .path
            .segments
            .last()
            .is_some_and(|last| matches!(last.arguments, syn::PathArguments::Parenthesized(_))),
        _ => false,
    })
}

fn flatten(argument: &ArgumentModel, model: &ToolModel, errors: &mut Diagnostics) {
    let Some(span) = argument.flatten else { return };
    let kind = literal::spelled(&argument.ty);
    if !matches!(kind, Spelled::Other | Spelled::Map) || literal::shape(&argument.ty).optional {
        errors
            .error(
                &argument.ty,
                format!(
                    "argument `{}` of {} is flattened, and `{}` has no fields",
                    argument.ident,
                    model.label(),
                    type_text(&argument.ty)
                ),
            )
            .help("flatten a struct with named fields, or a map; or take `flatten` out");
    }
    let others = [
        ("default", argument.default.is_some()),
        ("range", argument.range.is_some()),
        ("length", argument.length.is_some()),
        ("pattern", argument.pattern.is_some()),
        ("examples", !argument.examples.is_empty()),
        ("deprecated", argument.deprecated.is_some()),
        ("rename", argument.ident.unraw() != argument.name),
    ];
    for (option, _) in others.into_iter().filter(|(_, given)| *given) {
        errors
            .error_at(
                span,
                format!(
                    "argument `{}` of {} has `flatten` and `{option}`",
                    argument.ident,
                    model.label()
                ),
            )
            .help(format!("say `{option}` on the fields of its struct"))
            .note("a flattened argument is replaced by its fields");
    }
}

fn argument_names(model: &ToolModel, errors: &mut Diagnostics) {
    let mut names = HashSet::new();
    // An argument with a `#[cfg]` may be an alternative to the other; the schema is checked at run
    // time.
    for argument in model.arguments.iter().filter(|argument| argument.cfgs.is_empty()) {
        if !names.insert(&argument.name) {
            errors
                .error_at(
                    argument.name_span,
                    format!("two arguments of {} are called `{}`", model.label(), argument.name),
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
                        "the example of {} gives `{written}`, which is no argument",
                        model.label()
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
                        format!("the example of {} gives `{written}` twice", model.label()),
                    )
                    .help("take one out");
            }
            let argument = model.arguments.iter().find(|argument| argument.ident == *name);
            if let Some(argument) = argument {
                constraints::keeps(
                    "the example",
                    &example.fields[given.len()].1,
                    argument,
                    model,
                    errors,
                );
            }
            given.push(written);
        }
        let missing = model.arguments.iter().filter(|argument| is_required(argument));
        let missing = missing.map(|argument| argument.ident.unraw().to_string());
        let missing: Vec<String> = missing.filter(|name| !given.contains(name)).collect();
        // An unknown name is most likely one of these, misspelled.
        let known = |name: &String| {
            model.arguments.iter().any(|argument| argument.ident.unraw() == name.as_str())
        };
        if !missing.is_empty() && given.iter().all(known) {
            let names = || missing.iter().map(String::as_str);
            errors
                .error_at(
                    example.span,
                    format!("the example of {} leaves out {}", model.label(), list(names())),
                )
                .help(format!(
                    "give each argument that is required: `example({})`",
                    names()
                        .map(|name| format!("{name} = .."))
                        .chain(given.iter().map(|name| format!("{name} = ..")))
                        .collect::<Vec<_>>()
                        .join(", ")
                ))
                .note("an example is a whole call, and the tool would refuse this one");
        }
    }
}

/// Returns whether the model must provide an argument, judged by the spelling of its type.
fn is_required(argument: &ArgumentModel) -> bool {
    literal::spelled(&argument.ty) != Spelled::Other
        && !literal::shape(&argument.ty).optional
        && argument.default.is_none()
        && argument.flatten.is_none()
        && argument.cfgs.is_empty()
}
