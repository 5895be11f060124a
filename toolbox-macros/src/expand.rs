//! Expansion of the model to tokens: the only module that quotes code.

mod checks;
mod list;
mod toolset;
mod traits;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;

pub(crate) use list::list;
pub(crate) use toolset::{toolset, toolset_stand_in};
pub(crate) use traits::{implementation, path_of, trait_stand_in, trait_toolset};

use crate::item::{Function, ReceiverKind};
use crate::kind::Kind;
use crate::literal::{generic, is_non_zero, mentions_impl, with_lifetimes};
use crate::model::{ArgumentModel, Default_, Example, Text, ToolModel, cfgs};
use crate::presentation::IconModel;
use crate::streams::{CollectModel, StreamItem, StreamModel};

/// Returns the type that carries a free function's tool, with its constants and `tool()`.
pub(crate) fn free(function: &Function, model: &ToolModel) -> TokenStream {
    let (vis, ty) = (&function.vis, &model.ty);
    let cfgs = cfgs(&function.attrs);
    let krate = &model.krate;
    let name = key_of(model);
    let noun = model.kind.noun();
    let doc = format!("The {noun} `{}`; [`{ty}::{noun}`] returns it.", model.name);
    let called = &function.ident;
    let own_name = match model.kind {
        Kind::Resource => name_of(model),
        Kind::Tool | Kind::Prompt => quote!(Self::NAME),
    };
    let tool = tool(function, model, &own_name, &quote!(#called));
    let value = value(model, &tool, None);
    let returned = type_of(model.kind, krate);
    let name_doc = match model.kind {
        Kind::Tool => " The name that the model calls the tool by.",
        Kind::Prompt => " The name that clients know the prompt by.",
        Kind::Resource => " The URI of the resource, or the template of its URIs.",
    };
    let value_doc = format!(" Returns the {noun}.");
    let deprecated = function.attrs.iter().any(crate::deprecation::is_deprecated);
    let deprecated = deprecated.then(|| quote!(#[allow(deprecated)]));
    let value_fn = model.kind.function(function.ident.span());
    // Spanned at the name, so that the compiler points there when the name is taken.
    let carrier = quote_spanned!(ty.span()=> struct #ty {});
    carried(
        krate,
        &quote! {
            #(#cfgs)*
            #[automatically_derived]
            impl #ty {
                #[doc = #name_doc]
                #[allow(dead_code)]
                #vis const NAME: &'static str = #name;
                #[doc(hidden)]
                #[allow(dead_code)]
                #vis const ORIGIN: &'static str = ::core::concat!(::core::file!(), ":", ::core::line!());

                #[doc = #value_doc]
                #[must_use]
                #deprecated
                #vis fn #value_fn() -> #returned {
                    #value
                }
            }
        },
        &quote! {
            #(#cfgs)*
            #[doc = #doc]
            #[allow(non_camel_case_types, dead_code, clippy::empty_structs_with_brackets)]
            #[allow(missing_debug_implementations, missing_copy_implementations)]
            #vis #carrier
        },
    )
}

/// Returns an item, such as the type of a tool, with an implementation in an attribute on it, which
/// inserts it after the item.
///
/// An error in the position of the whole is then reported once: a missing crate, or a surrounding
/// `impl` block.
fn carried(krate: &TokenStream, implementation: &TokenStream, item: &TokenStream) -> TokenStream {
    quote!(#[#krate::__private::carrier { #implementation }] #item)
}

/// Returns the type of a tool with errors, so that uses of it cause no further errors.
pub(crate) fn stand_in(function: &Function, model: &ToolModel) -> TokenStream {
    // A type cannot be declared in an `impl` block.
    if function.receiver.is_some() || function.mention_of_self().is_some() {
        return TokenStream::new();
    }
    let (vis, ty, krate) = (&function.vis, &model.ty, &model.krate);
    let cfgs = cfgs(&function.attrs);
    let (value_fn, returned) = (model.kind.function(Span::call_site()), type_of(model.kind, krate));
    carried(
        krate,
        &quote! {
            #(#cfgs)*
            #[allow(dead_code, missing_docs)]
            impl #ty {
                #vis const NAME: &'static str = ::core::concat!(::core::file!(), ":", ::core::line!());
                #vis const ORIGIN: &'static str = "";
                #vis fn #value_fn() -> #returned {
                    ::core::unreachable!()
                }
            }
        },
        &quote! {
            #(#cfgs)*
            #[allow(non_camel_case_types, dead_code, missing_docs)]
            #vis struct #ty {}
        },
    )
}

/// Returns the type of what a function becomes.
fn type_of(kind: Kind, krate: &TokenStream) -> TokenStream {
    match kind {
        Kind::Tool => quote!(#krate::Tool),
        Kind::Prompt => quote!(#krate::prompt::Prompt),
        Kind::Resource => quote!(#krate::resource::Resource),
    }
}

/// Returns the value that a function becomes, made of its tool. A method has completers of its set.
fn value(model: &ToolModel, tool: &TokenStream, set: Option<&Ident>) -> TokenStream {
    let krate = &model.krate;
    let completers = model.arguments.iter().filter_map(|argument| {
        let (name, cfgs) = (&argument.name, &argument.cfgs);
        let complete = argument.complete.as_ref()?;
        // The span makes the compiler point at the function that does not fit.
        let span = ends(complete).0;
        let completer = match set {
            Some(set) => {
                let completer = quote_spanned!(span=> #krate::__private::completer_of);
                quote!(#completer(&#set, #complete))
            }
            None => {
                let completer = quote_spanned!(span=> #krate::__private::completer);
                quote!(#completer(#complete))
            }
        };
        Some(quote!(#(#cfgs)* (#name, #completer)))
    });
    let completers = quote!(::std::vec![#(#completers),*]);
    match (model.kind, &model.uri) {
        (Kind::Prompt, _) => quote!(#krate::__private::make_prompt({ #tool }, #completers)),
        (Kind::Resource, Some(uri)) => {
            let uri = &uri.text;
            let mime_type = option(model.mime_type.as_ref().map(ToTokens::to_token_stream));
            let public = model.public.map(|_| quote!(.public()));
            let fresh_for = model
                .fresh_for
                .map(|time| quote!(.with_fresh_for(::core::time::Duration::from_millis(#time))));
            quote! {
                #krate::__private::make_resource(#uri, #mime_type, { #tool }, #completers)
                    #public #fresh_for
            }
        }
        _ => tool.clone(),
    }
}

/// Returns the text that tells one from another in a box: the name, or the URI of a resource.
fn key_of(model: &ToolModel) -> TokenStream {
    match &model.uri {
        Some(uri) => uri.text.to_token_stream(),
        None => name_of(model),
    }
}

/// Returns the name: a literal, or a constant that is checked when the crate is compiled.
fn name_of(model: &ToolModel) -> TokenStream {
    if let Some(value) = &model.name_value {
        let krate = &model.krate;
        let checked = quote_spanned!(ends(value).0=> #krate::__private::checked_name);
        return quote!(const { #checked(#value) });
    }
    let mut literal = proc_macro2::Literal::string(&model.name);
    literal.set_span(model.name_span);
    literal.to_token_stream()
}

/// Returns the expression that makes one tool: its signature, and a closure that serves its calls.
fn tool(
    function: &Function,
    model: &ToolModel,
    name: &TokenStream,
    called: &TokenStream,
) -> TokenStream {
    let krate = &model.krate;
    let meta = meta(model, name);
    let schema = match model.kind {
        Kind::Tool => output_schema(function, model),
        Kind::Prompt | Kind::Resource => quote!(::core::option::Option::None),
    };
    let arguments = &model.arguments;
    let slots = arguments.iter().enumerate().map(|(at, argument)| declare(at, argument));
    let fills = arguments.iter().enumerate().map(|(at, argument)| {
        let (cfgs, slot) = (&argument.cfgs, slot_value(at, argument));
        // Spanned at the type: the compiler reports equal errors at one position once.
        let fill = quote_spanned!(ends(&slot_type(argument)).0=> &mut #slot);
        quote!(#(#cfgs)* #fill)
    });
    let takes = arguments.iter().enumerate().map(|(at, argument)| {
        let (cfgs, slot) = (&argument.cfgs, slot_value(at, argument));
        let take = if argument.described { quote!(take_described) } else { quote!(take) };
        let end = ends(&slot_type(argument)).1;
        let inner = argument.check.as_ref().map(|_| quote_spanned!(end=> .slot));
        quote!(#(#cfgs)* #slot #inner.#take())
    });
    let described = signature(model);
    let this = local("this");
    // An async call owns a share of the set, a synchronous one borrows it.
    let is_async = function.asyncness.is_some() || model.stream.is_some();
    let borrowed = if is_async { quote!(&#this) } else { quote!(#this) };
    let receiver = function.receiver.iter().map(|receiver| match &receiver.kind {
        ReceiverKind::Typed(ty) => {
            // The method's signature decides the type, and so whether a tool may take it.
            let ends = ends(&ty.to_token_stream());
            let receive = method(ends, &quote!(__Receiver<'_, _>), "receive");
            quote!(#receive(#borrowed))
        }
        _ => borrowed.clone(),
    });
    let make = match (is_async, &function.receiver, &model.of_trait) {
        (true, None, _) => quote!(make_async),
        (true, Some(_), None) => quote!(make_async_of),
        (true, Some(_), Some(_)) => quote!(make_async_of_trait),
        (false, None, _) => quote!(make_sync),
        (false, Some(_), None) => quote!(make_sync_of),
        (false, Some(_), Some(_)) => quote!(make_sync_of_trait),
    };
    let wait = function.asyncness.map(|_| quote!(.await));
    let (call, signature, refusal) = (local("call"), local("signature"), local("refusal"));
    let (describe, output) = (local("describe"), local("output"));
    let finish = match &model.stream {
        Some(stream) => collected(stream, function, &call, &output),
        None => finish(function, model.kind, &output),
    };
    let has_checks = arguments.iter().any(|argument| argument.check.is_some());
    let read = Ident::new(if has_checks { "read_checked" } else { "read" }, Span::call_site());
    let is_read = quote!(#call.#read(&mut [#(#fills),*], &#describe));
    let (read, is_read) = match &model.check {
        Some(check) => {
            let checked = checks::several(check, model, &call, &is_read);
            (Some(checked), local("read").to_token_stream())
        }
        None => (None, is_read),
    };
    let body = quote! {
        #(#slots)*
        let #describe = |#signature: &mut __private::SignatureBuilder| { #described };
        #read
        if let ::core::result::Result::Err(#refusal) = #is_read {
            return #refusal;
        }
        let #output = #called(#(#receiver,)* #(#takes),*) #wait;
        #finish
    };
    let run = if is_async {
        // The span makes the compiler point at the function when its future is not `Send`.
        let at = function.ident.span();
        quote_spanned!(at=> __must_be_send(async move { #body }))
    } else {
        body
    };
    let presented = presented(model);
    let (set, lent) = (local("set"), function.receiver.iter().map(|_| &this));
    let set = function.receiver.iter().map(|_| quote!(&#set));
    quote! {
        #[allow(unused_imports)]
        use #krate::__private::{self, names::*};
        __private::#make(#meta, #schema, #(#set,)* |#(#lent,)* #call| { #run }) #presented
    }
}

/// Returns the calls that give a tool its icons and its `_meta`.
fn presented(model: &ToolModel) -> TokenStream {
    let icons = model.icons.iter().map(|icon| {
        // The span makes the compiler point at the value that is none.
        let (start, end) = ends(&icon.to_token_stream());
        match icon {
            IconModel::Uri(uri) => quote!(.with_icon(__private::Icon::new(#uri))),
            IconModel::Value(value) => {
                let icon = method((start, end), &quote!(__Icon), "icon");
                quote!(.with_icon(#icon(#value)))
            }
        }
    });
    let meta = model.meta.iter().map(|(key, value)| {
        let json = method(ends(value), &quote!(__Meta), "value");
        quote!(.with_meta(#key, #json(#value)))
    });
    quote!(#(#icons)* #(#meta)*)
}

/// Returns the name of a variable of the expansion, distinct from the user's constants and
/// arguments.
fn local(name: &str) -> Ident {
    Ident::new(&format!("__{name}"), Span::mixed_site())
}

/// Returns the variable of one argument's slot, spanned at the argument's type.
fn slot(at: usize, argument: &ArgumentModel) -> Ident {
    Ident::new(&format!("__slot{at}"), ends(&slot_type(argument)).0)
}

/// Returns the content of the variable: the only field of a tuple, so that two tokens cover the
/// argument's type.
fn slot_value(at: usize, argument: &ArgumentModel) -> TokenStream {
    let (start, end) = ends(&slot_type(argument));
    let slot = slot(at, argument);
    let mut field = proc_macro2::Literal::usize_unsuffixed(0);
    field.set_span(end);
    quote_spanned!(start=> #slot.#field)
}

/// Returns the type of a slot.
fn slot_type(argument: &ArgumentModel) -> TokenStream {
    argument.referent.as_ref().unwrap_or(&argument.ty).to_token_stream()
}

/// Returns the spans of the first and the last token: code that begins with one and ends with the
/// other covers both.
fn ends(tokens: &TokenStream) -> (Span, Span) {
    let mut tokens = tokens.clone().into_iter();
    let first = tokens.next().map_or_else(Span::call_site, |token| token.span());
    (first, tokens.last().map_or(first, |token| token.span()))
}

/// Returns whether a doc comment may have code blocks, or sections for programmers.
fn is_untidy(text: &str) -> bool {
    text.contains("```") || text.contains("~~~") || text.lines().any(|line| line.starts_with('#'))
}

/// Returns an expression of doc lines as one text.
fn concat(lines: &[TokenStream]) -> TokenStream {
    quote!(::core::concat!(#(#lines, "\n"),*))
}

/// Returns the options of `#[tool(...)]` as a constant.
fn meta(model: &ToolModel, name: &TokenStream) -> TokenStream {
    let (description, untidy) = match &model.description {
        Text::Nothing => (quote!(""), None),
        Text::Known(text) => {
            (text.to_token_stream(), is_untidy(text).then(|| quote!(untidy: true,)))
        }
        Text::Lines(lines) => (concat(lines), Some(quote!(untidy: true,))),
        Text::Value(value) => (value.clone(), None),
    };
    let title = model.title.iter();
    let version = model.version.iter();
    let replaces = &model.replaces;
    let replaces = (!replaces.is_empty()).then(|| quote!(replaces: &[#(#replaces),*],));
    let deprecated = model.deprecated.iter();
    let timeout = model.timeout.iter();
    let result_tokens = model.max_result_tokens.iter();
    let tags = &model.tags;
    let tags = (!tags.is_empty()).then(|| quote!(tags: &[#(#tags),*],));
    // The span makes the compiler point at the function that does not fit.
    let available = model.available.iter().map(|path| {
        let span = ends(&path.to_token_stream()).0;
        quote_spanned!(span=> #path)
    });
    let available: Vec<TokenStream> = available.collect();
    let available = (!available.is_empty()).then(|| quote!(available: &[#(#available),*],));
    let hints = &model.hints;
    let flags = [
        ("blocking", hints.blocking),
        ("exclusive", hints.exclusive),
        ("background", hints.background),
        ("durable", hints.durable),
        ("approval", hints.approval),
        ("deferred", hints.deferred),
        ("untrusted", hints.untrusted),
    ];
    let flags = flags
        .into_iter()
        .filter_map(|(flag, given)| given.map(|_| Ident::new(flag, Span::call_site())));
    let annotations = [
        hints.read_only.map(|_| true),
        hints.destructive.map(|(is_so, _)| is_so),
        hints.idempotent.map(|_| true),
        hints.open_world,
    ];
    let annotations = annotations.iter().any(Option::is_some).then(|| {
        let each = annotations.map(|hint| match hint {
            Some(hint) => quote!(::core::option::Option::Some(#hint)),
            None => quote!(::core::option::Option::None),
        });
        quote!(annotations: [#(#each),*],)
    });
    quote! {
        __private::Meta {
            name: #name,
            description: #description,
            #untidy
            #(title: ::core::option::Option::Some(#title),)*
            #(version: ::core::option::Option::Some(#version),)*
            #replaces
            #(deprecated: ::core::option::Option::Some(#deprecated),)*
            #(timeout: ::core::option::Option::Some(::core::time::Duration::from_millis(#timeout)),)*
            #(result_tokens: ::core::option::Option::Some(#result_tokens),)*
            #annotations
            #tags
            #available
            #(#flags: true,)*
            ..__private::Meta::DEFAULT
        }
    }
}

/// Returns the schema of the function's return type, if it can be named.
fn output_schema(function: &Function, model: &ToolModel) -> TokenStream {
    if let Some(StreamModel { collect: CollectModel::Fold(fold), .. }) = &model.stream {
        let folded = fold_with(fold, "folded", &TokenStream::new());
        return quote!((&&&&#folded.success()).schema());
    }
    if let Some(stream) = &model.stream {
        let item = match &stream.item {
            StreamItem::Spelled(item) => {
                let item = with_lifetimes(item.clone(), "static");
                quote!(__private::returned::<#item>())
            }
            StreamItem::OfStream => {
                let stream = with_lifetimes(stream.stream.clone(), "static");
                quote!(__private::streamed::<#stream>().items())
            }
            StreamItem::Unknown => return quote!(::core::option::Option::None),
        };
        let item = quote!((&&&&#item.success()).schema());
        let collect = variant(&stream.collect);
        return quote!(__private::schema_of(#collect, #item));
    }
    let ty = match &function.output {
        None => quote!(()),
        Some(ty) if mentions_impl(ty) => return quote!(::core::option::Option::None),
        Some(ty) => with_lifetimes(ty.to_token_stream(), "static"),
    };
    quote!((&&&&__private::returned::<#ty>().success()).schema())
}

/// Declares the slot of one argument.
fn declare(at: usize, argument: &ArgumentModel) -> TokenStream {
    let (cfgs, slot) = (&argument.cfgs, slot(at, argument));
    let default = argument.default.as_ref().map(|default| {
        let ty = with_lifetimes(argument.ty.to_token_stream(), "static");
        let name = default_name(at);
        let value = match default {
            Default_::OfType(span) => quote_spanned!(*span=> ::core::default::Default::default()),
            Default_::Expression(value) => {
                of_literal(value, &argument.ty).unwrap_or_else(|| value.clone())
            }
        };
        quote!(#(#cfgs)* let #name: fn() -> #ty = || #value;)
    });
    let ty = slot_type(argument);
    let (start, end) = ends(&ty);
    let ty = with_lifetimes(ty, "_");
    let lent = argument.referent.is_some();
    let pattern = Ident::new(&slot.to_string(), end);
    let pattern = quote_spanned!(start=> mut #pattern);
    let role = Ident::new(if lent { "__Lent" } else { "__Owned" }, start);
    let (make, empty) = (Ident::new("slot", end), quote_spanned!(end=> ()));
    let mut slot_of = quote_spanned!(start=> <#ty as #role<'_, _>>::#make #empty);
    if argument.default.is_some() {
        let name = default_name(at);
        slot_of = if lent {
            let or = method((start, end), &quote!(__Lent<'_, _>), "or");
            let arguments = quote_spanned!(end=> (#slot_of, #name));
            quote!(#or #arguments)
        } else {
            quote!(#slot_of.or(#name))
        };
    }
    if let Some(path) = &argument.check {
        slot_of = checks::of_argument(argument, path, &slot_of);
    }
    quote!(#default #(#cfgs)* let #pattern = (#slot_of,);)
}

fn default_name(at: usize) -> Ident {
    local(&format!("default{at}"))
}

/// Returns the code that describes the arguments when the tool is made.
fn signature(model: &ToolModel) -> TokenStream {
    let signature = local("signature");
    let arguments = model.arguments.iter().enumerate().map(|(at, argument)| {
        let cfgs = &argument.cfgs;
        let name = &argument.name;
        let description = text_of(&argument.description, &quote!(__private));
        let more = keywords(at, argument);
        quote!(#(#cfgs)* #signature.argument(#name, #description) #more;)
    });
    let examples = model.examples.iter().map(|example| self::example(example, model));
    quote!(#(#arguments)* #(#examples)*)
}

/// Returns the expression of a text; `private` is the path of what expansions use.
fn text_of(text: &Text, private: &TokenStream) -> TokenStream {
    match text {
        Text::Nothing => quote!(""),
        Text::Known(text) if is_untidy(text) => quote!(#private::tidy(#text)),
        Text::Known(text) => text.to_token_stream(),
        Text::Lines(lines) => {
            let lines = concat(lines);
            quote!(#private::tidy(#lines))
        }
        Text::Value(value) => value.clone(),
    }
}

fn keywords(at: usize, argument: &ArgumentModel) -> TokenStream {
    let mut more = TokenStream::new();
    if argument.default.is_some() {
        let name = default_name(at);
        more.extend(quote!(.default((&&__private::kind_of(&#name())).json(&#name()))));
    }
    if let Some((range, _)) = &argument.range {
        let upper = if range.inclusive { "maximum" } else { "exclusiveMaximum" };
        for (keyword, end) in [("minimum", &range.low), (upper, &range.high)] {
            let end = end.as_ref().map(range_end);
            more.extend(end.map(|end| quote!(.keyword(#keyword, #end))));
        }
    }
    if let Some((range, _)) = &argument.length {
        let low = option(range.low.clone());
        let high = option(
            range.high.clone().map(|high| if range.inclusive { high } else { quote!((#high) - 1) }),
        );
        more.extend(quote!(.length(#low, #high)));
    }
    if let Some(pattern) = &argument.pattern {
        more.extend(quote!(.keyword("pattern", #pattern)));
    }
    if !argument.examples.is_empty() {
        let examples = argument.examples.iter().map(|value| typed(argument, value));
        more.extend(quote!(.examples(::std::vec![#(#examples),*])));
    }
    if let Some(note) = &argument.deprecated {
        more.extend(quote!(.deprecated(#note)));
    }
    if argument.flatten.is_some() {
        more.extend(quote!(.flatten()));
    }
    more
}

/// Returns the end of a range as JSON: a literal unchanged, any other expression only if it is a
/// number.
fn range_end(tokens: &TokenStream) -> TokenStream {
    if let Some(literal) = crate::args::typed_number(tokens) {
        return literal;
    }
    let number = method(ends(tokens), &quote!(__End), "number");
    quote!(#number(#tokens))
}

fn option(tokens: Option<TokenStream>) -> TokenStream {
    match tokens {
        Some(tokens) => quote!(::core::option::Option::Some(#tokens)),
        None => quote!(::core::option::Option::None),
    }
}

/// Returns a value of a type from a string literal, so that `"Paris"` for a `String` needs no
/// `.to_owned()`.
fn of_text(value: &TokenStream, ty: &TokenStream) -> Option<TokenStream> {
    let text = syn::parse2::<syn::LitStr>(crate::args::ungrouped(value.clone())).ok()?;
    Some(quote_spanned!(text.span()=> (&&&__private::KindOf::<#ty>::new()).of_text(#text)))
}

/// Returns a value of a type from a literal that is not of the type itself: text for a `String`, a
/// value for an `Option` of it, a number for one that is never zero.
fn of_literal(value: &TokenStream, ty: &Type) -> Option<TokenStream> {
    let of_static = with_lifetimes(ty.to_token_stream(), "static");
    if let Some(text) = of_text(value, &of_static) {
        return Some(text);
    }
    let trees = crate::args::ungrouped(value.clone()).into_iter();
    let unsigned: TokenStream = trees.skip_while(|tree| tree.to_string() == "-").collect();
    let literal = syn::parse2::<syn::Lit>(crate::args::ungrouped(unsigned)).ok()?;
    let span = literal.span();
    if let Some(inner) = generic(ty, "Option") {
        let value = of_literal(value, inner).unwrap_or_else(|| value.clone());
        return Some(quote_spanned!(span=> ::core::option::Option::Some(#value)));
    }
    // The checks have refused a zero.
    (is_non_zero(ty) && matches!(literal, syn::Lit::Int(_)))
        .then(|| quote_spanned!(span=> <#ty>::new(#value).unwrap()))
}

/// Returns a value of an argument's type as JSON.
fn typed(argument: &ArgumentModel, value: &TokenStream) -> TokenStream {
    let ty = with_lifetimes(argument.ty.to_token_stream(), "static");
    let (start, end) = ends(value);
    let name = Ident::new("__value", start);
    let none = quote_spanned!(end=> ());
    let made = quote_spanned!(start=> &#name #none);
    let example = method((start, end), &quote!(__Example), "example");
    let write = quote!(#example(#made));
    let value = of_literal(value, &argument.ty).unwrap_or_else(|| value.clone());
    quote!({ let #name: fn() -> #ty = || #value; #write })
}

fn example(example: &Example, model: &ToolModel) -> TokenStream {
    let signature = local("signature");
    let fields = example.fields.iter().filter_map(|(name, value)| {
        let argument = model.arguments.iter().find(|argument| argument.ident == *name)?;
        let cfgs = &argument.cfgs;
        let (name, value) = (&argument.name, typed(argument, value));
        Some(quote!(#(#cfgs)* (#name, #value)))
    });
    quote!(#signature.example(&[#(#fields),*]);)
}

/// Returns the code that converts the function's output to a result.
///
/// An invalid output or error type is reported at its position. A type with two arguments may be a
/// `Result` of them, of whatever name: the compiler knows, and takes the arm of the type it is.
fn finish(function: &Function, kind_of_function: Kind, output: &Ident) -> TokenStream {
    let whole = match &function.output {
        Some(ty) => ty.to_token_stream(),
        None => function.ident.to_token_stream(),
    };
    let value = local("value");
    let kind = quote!((&&&&__private::kind_of(&#value)).kind());
    let succeed = |ty| match kind_of_function {
        Kind::Tool => {
            convert(&value, &method(ends(ty), &quote!(__Output<_>), "finish"), Some(&kind))
        }
        Kind::Prompt => convert(&value, &method(ends(ty), &quote!(__Prompt), "finish"), None),
        Kind::Resource => convert(&value, &method(ends(ty), &quote!(__Resource), "finish"), None),
    };
    let kind = quote!((&&&__private::kind_of(&#value)).error());
    let fail = |ty| convert(&value, &method(ends(ty), &quote!(__Failure<_>), "fail"), Some(&kind));
    match function.output.as_ref().and_then(two_arguments) {
        Some([success, failure]) => {
            let (whole, success, failure) = (succeed(&whole), succeed(&success), fail(&failure));
            quote! {
                match __private::Returned(#output).side() {
                    __private::Side::Whole #whole
                    __private::Side::Success #success
                    __private::Side::Failure #failure
                }
            }
        }
        None => {
            let (success, failure) = (succeed(&whole), fail(&whole));
            quote! {
                match __private::Returned(#output).split() {
                    ::core::result::Result::Ok #success
                    ::core::result::Result::Err #failure
                }
            }
        }
    }
}

/// Returns a call of a method of a fold, whose type decides those of the value and the items. All
/// stands at one position, where equal errors are reported once.
fn fold_with(fold: &TokenStream, method: &str, arguments: &TokenStream) -> TokenStream {
    let (start, end) = ends(fold);
    let method = Ident::new(method, start);
    let (given, taken) = (quote_spanned!(end=> (#fold)), quote_spanned!(end=> (#arguments)));
    quote_spanned!(start=> __private::fold_of #given.#method #taken)
}

/// Returns the variant of `Collect`; a stream that is folded has none.
fn variant(collect: &CollectModel) -> Option<TokenStream> {
    let CollectModel::Variant(name) = collect else { return None };
    let name = Ident::new(name, Span::call_site());
    Some(quote!(__private::Collect::#name))
}

/// Returns the code that collects the items of the function's output.
///
/// An item is converted as an output of its type would be.
fn collected(
    stream: &StreamModel,
    function: &Function,
    call: &Ident,
    output: &Ident,
) -> TokenStream {
    let ends = ends(&stream.stream);
    let (value, item, items, sum) = (local("value"), local("item"), local("items"), local("sum"));
    // The span makes the compiler point at the type that is no stream.
    let (start, end) = ends;
    let (taken, none) = (Ident::new("stream", start), quote_spanned!(end=> ()));
    let streamed = quote_spanned!(start=> __private::Streamed(#value).#taken #none);
    let kind = quote!((&&&&__private::kind_of(&#value)).kind());
    let convert_output =
        |ends| converted(&value, &method(ends, &quote!(__Output<_>), "finish"), Some(&kind));
    let put = method(ends, &quote!(__Output<_>), "put");
    let error = quote!((&&&__private::kind_of(&#value)).error());
    let fail = |ends| converted(&value, &method(ends, &quote!(__Failure<_>), "fail"), Some(&error));
    let put_output = converted(&quote!(#value, #items), &put, Some(&kind));
    let item_failure = fail(ends);
    let put_failure = quote!(#items.put(#item_failure));
    let whole = self::ends(&function.output.to_token_stream());
    let failure = fail(
        function
            .output
            .as_ref()
            .and_then(two_arguments)
            .map_or(whole, |[_, error]| self::ends(&error)),
    );
    let collect = match &stream.collect {
        CollectModel::Fold(fold) => {
            let sum_output = convert_output(self::ends(fold));
            let begun = fold_with(fold, "start", &TokenStream::new());
            let added = fold_with(fold, "add", &quote!(#sum, &#value));
            quote! {
                __private::fold(
                    #call,
                    #value,
                    #begun,
                    |#sum, #item, #items| match __private::Returned(#item).split() {
                        ::core::result::Result::Ok(#value) => {
                            let #sum = #added;
                            #put_output
                            #sum
                        }
                        ::core::result::Result::Err(#value) => {
                            #put_failure;
                            #sum
                        }
                    },
                    |#value| #sum_output,
                )
            }
        }
        CollectModel::Variant(_) => {
            let collect = variant(&stream.collect);
            quote! {
                __private::collect(#call, #collect, #value, |#item, #items| {
                    match __private::Returned(#item).split() {
                        ::core::result::Result::Ok(#value) => #put_output
                        ::core::result::Result::Err(#value) => #put_failure,
                    }
                })
            }
        }
    };
    quote! {
        match __private::Returned(#output).split() {
            ::core::result::Result::Ok(#value) => {
                let #value = #streamed;
                #collect.await
            }
            ::core::result::Result::Err(#value) => #failure
        }
    }
}

/// Returns the rest of an arm, which converts the value by a function, for its kind where that
/// decides.
fn convert(value: &Ident, by: &TokenStream, kind: Option<&TokenStream>) -> TokenStream {
    let converted = converted(value, by, kind);
    quote!((#value) => #converted)
}

/// Returns the block that converts a value.
fn converted(value: &impl ToTokens, by: &TokenStream, kind: Option<&TokenStream>) -> TokenStream {
    // A variable of its own, so that the compiler points at the function and not at the value.
    let convert = local("convert");
    let kind = kind.map(|kind| quote!(#kind,));
    quote! {
        {
            let #convert = #by;
            #convert(#kind #value)
        }
    }
}

/// Returns the type arguments of a type that has two, as the `T` and the `E` of a `Result` are.
fn two_arguments(ty: &Type) -> Option<[TokenStream; 2]> {
    let Type::Path(path) = ty else { return None };
    let syn::PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments else {
        return None;
    };
    let types =
        list.args.iter().filter(|argument| matches!(argument, syn::GenericArgument::Type(_)));
    let types: Vec<_> = types.map(ToTokens::to_token_stream).collect();
    types.try_into().ok()
}

/// Returns a trait's method for a type to be inferred. Compiler errors about the type are reported
/// between the two spans.
fn method((start, end): (Span, Span), of: &TokenStream, name: &str) -> TokenStream {
    let name = Ident::new(name, end);
    let close = quote_spanned!(end=> >);
    // The compiler points at the type before `as`; the alias of `_` gives it two ends.
    quote_spanned!(start=> <__It<_ #close as #of>::#name)
}
