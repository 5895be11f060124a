//! The model of a tool: every part with its span.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::{Attribute, LitStr, Token, Type};

use crate::args::{self, Opt, Range};
use crate::deprecation;
use crate::diag::{Diagnostics, list, nearest};
use crate::docs::{Docs, take_arguments};
use crate::hints;
use crate::item::{Argument, Function};
use crate::kind::Kind;
use crate::manifest;
use crate::presentation::{self, IconModel, MetaEntry};
use crate::streams::{self, CollectModel, StreamModel};
use crate::uri::ResourceUri;

/// A tool, a prompt or a resource.
pub(crate) struct ToolModel {
    pub(crate) kind: Kind,
    /// The URI of a resource.
    pub(crate) uri: Option<ResourceUri>,
    /// The trait whose method it is, with its parameters.
    pub(crate) of_trait: Option<TokenStream>,
    pub(crate) mime_type: Option<LitStr>,
    /// In milliseconds.
    pub(crate) fresh_for: Option<u64>,
    pub(crate) public: Option<Span>,
    /// The path of the runtime crate: `::toolbox`, its name in the manifest, or the value of
    /// `crate = …`.
    pub(crate) krate: TokenStream,
    pub(crate) name: String,
    pub(crate) name_span: Span,
    /// A constant expression of the name; then `name` is that of the function.
    pub(crate) name_value: Option<TokenStream>,
    /// The type that carries the tool.
    pub(crate) ty: Ident,
    pub(crate) description: Text,
    pub(crate) title: Option<LitStr>,
    /// A string literal, or a constant expression.
    pub(crate) version: Option<TokenStream>,
    /// The names that the tool had before.
    pub(crate) replaces: Vec<LitStr>,
    /// The note of its `#[deprecated]`; empty without one.
    pub(crate) deprecated: Option<String>,
    /// In milliseconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) max_result_tokens: Option<usize>,
    /// The value of `collect`.
    pub(crate) collect: Option<(CollectModel, Span)>,
    /// The stream that the function returns.
    pub(crate) stream: Option<StreamModel>,
    pub(crate) hints: Hints,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) icons: Vec<IconModel>,
    pub(crate) meta: Vec<MetaEntry>,
    /// The function that checks several arguments.
    pub(crate) check: Option<Check>,
    /// The functions that say to whom the tool is available.
    pub(crate) available: Vec<syn::Path>,
    pub(crate) examples: Vec<Example>,
    pub(crate) arguments: Vec<ArgumentModel>,
}

/// Text for the model, known at expansion or when the crate is compiled.
#[derive(Default)]
pub(crate) enum Text {
    #[default]
    Nothing,
    Known(String),
    /// Expressions of doc lines, each with the space after `///`.
    Lines(Vec<TokenStream>),
    /// A constant expression of the text itself: `description = include_str!("search.md")`.
    Value(TokenStream),
}

impl Text {
    fn of(docs: &Docs) -> Self {
        match docs.text() {
            _ if docs.is_empty() => Self::Nothing,
            Some(text) => Self::Known(text),
            None => Self::Lines(docs.expressions()),
        }
    }
}

/// The positions of the options that are flags.
#[derive(Default)]
pub(crate) struct Hints {
    pub(crate) blocking: Option<Span>,
    pub(crate) exclusive: Option<Span>,
    pub(crate) background: Option<Span>,
    pub(crate) durable: Option<Span>,
    pub(crate) approval: Option<Span>,
    pub(crate) deferred: Option<Span>,
    pub(crate) untrusted: Option<Span>,
    pub(crate) read_only: Option<Span>,
    pub(crate) destructive: Option<(bool, Span)>,
    pub(crate) idempotent: Option<Span>,
    pub(crate) open_world: Option<bool>,
}

/// One `example(...)`.
pub(crate) struct Example {
    pub(crate) span: Span,
    pub(crate) fields: Vec<(Ident, TokenStream)>,
}

/// The value of `check` over several arguments: `path` or `path(start, end)`.
pub(crate) struct Check {
    pub(crate) path: syn::Path,
    /// The arguments that it takes; all without a list.
    pub(crate) arguments: Option<Vec<Ident>>,
    pub(crate) span: Span,
}

/// One argument.
pub(crate) struct ArgumentModel {
    /// The name for the model.
    pub(crate) name: String,
    pub(crate) name_span: Span,
    /// The name in the function.
    pub(crate) ident: Ident,
    /// `#[cfg]` and the like, which its slot has to carry too.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) ty: Type,
    /// The `T` of `&T`.
    pub(crate) referent: Option<Type>,
    pub(crate) description: Text,
    pub(crate) default: Option<Default_>,
    pub(crate) range: Option<(Range, Span)>,
    pub(crate) length: Option<(Range, Span)>,
    pub(crate) pattern: Option<LitStr>,
    /// The function that checks it.
    pub(crate) check: Option<syn::Path>,
    pub(crate) examples: Vec<TokenStream>,
    pub(crate) flatten: Option<Span>,
    /// The note of its `#[deprecated]`; empty without one.
    pub(crate) deprecated: Option<String>,
    /// The function that completes it.
    pub(crate) complete: Option<TokenStream>,
    /// `true` if it has an `#[arg(...)]` or a `#[deprecated]`.
    pub(crate) described: bool,
}

/// The default of an argument.
pub(crate) enum Default_ {
    /// `default`: the default of its type.
    OfType(Span),
    Expression(TokenStream),
}

/// Returns the attributes for conditional compilation.
pub(crate) fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    let decides = |a: &&Attribute| a.path().is_ident("cfg") || a.path().is_ident("cfg_attr");
    attrs.iter().filter(decides).cloned().collect()
}

/// Returns the path of the runtime crate: `::toolbox`, or the name that the manifest gives it.
fn default_krate() -> TokenStream {
    let mut path = <Token![::]>::default().into_token_stream();
    // A name that is none of Rust cannot be written in code either.
    let name = syn::parse_str(&manifest::dependency());
    let mut name: Ident = name.unwrap_or_else(|_| Ident::new(manifest::LIBRARY, Span::call_site()));
    name.set_span(Span::call_site());
    name.to_tokens(&mut path);
    path
}

/// Parses `crate = path`.
pub(crate) fn krate(options: &[Opt], errors: &mut Diagnostics) -> TokenStream {
    let Some(option) = options.iter().find(|option| option.name == "crate") else {
        return default_krate();
    };
    if syn::Path::parse_mod_style.parse2(args::ungrouped(option.value.clone())).is_err() {
        errors
            .error(&option.value, "the value of `crate` is not a path")
            .help("write the name that your Cargo.toml gives to `llm-toolbox`, without quotes: `crate = my_toolbox`");
        return default_krate();
    }
    option.value.clone()
}

impl ToolModel {
    /// Reads a function and its options; errors in options are added to `errors`.
    pub(crate) fn read(
        kind: Kind,
        function: &Function,
        options: &[Opt],
        errors: &mut Diagnostics,
    ) -> Self {
        let mut model = Self {
            kind,
            uri: None,
            of_trait: None,
            mime_type: None,
            fresh_for: None,
            public: None,
            krate: krate(options, errors),
            name: function.ident.unraw().to_string(),
            name_span: function.ident.span(),
            name_value: None,
            ty: function.ident.clone(),
            description: Text::of(&Docs::read(&function.attrs)),
            title: None,
            version: None,
            replaces: Vec::new(),
            deprecated: deprecation::note(&function.attrs).filter(|_| kind == Kind::Tool),
            timeout: None,
            max_result_tokens: None,
            collect: None,
            stream: None,
            hints: Hints::default(),
            tags: Vec::new(),
            icons: Vec::new(),
            meta: Vec::new(),
            check: None,
            available: Vec::new(),
            examples: Vec::new(),
            arguments: Vec::new(),
        };
        for argument in &function.arguments {
            let label = model.label();
            model.arguments.extend(ArgumentModel::read(argument, kind, &label, errors));
        }
        if let Text::Known(text) = &model.description {
            let (text, entries) = take_arguments(text);
            model.description = Text::Known(text);
            model.document(entries, function, errors);
        }
        for option in options {
            model.apply(option, errors);
        }
        if kind == Kind::Tool {
            let collect = model.collect.clone().map(|(collect, _)| collect);
            model.stream = streams::of(function.output.as_ref(), collect);
        }
        model
    }

    /// Returns the text that tells one from another in a box: the name, or the URI of a resource.
    pub(crate) fn key(&self) -> String {
        self.uri.as_ref().map_or_else(|| self.name.clone(), |uri| uri.text.value())
    }

    /// Returns the arguments that the check over several of them takes, in its order; without a
    /// list all but those that the program supplies by their spelling.
    pub(crate) fn checked(&self) -> impl Iterator<Item = &ArgumentModel> {
        let listed = self.check.as_ref().and_then(|check| check.arguments.as_ref());
        let named = listed
            .into_iter()
            .flatten()
            .filter_map(|name| self.arguments.iter().find(|argument| argument.ident == *name));
        let all = self.arguments.iter().filter(move |argument| {
            listed.is_none() && crate::literal::supplied(&argument.ty).is_none()
        });
        named.chain(all)
    }

    /// Returns the name in messages, such as `` tool `search` ``.
    pub(crate) fn label(&self) -> String {
        format!("{} `{}`", self.kind.noun(), self.name)
    }

    /// Returns what stands before the options in messages: the URI of a resource.
    pub(crate) fn before_options(&self) -> &'static str {
        if self.kind == Kind::Resource { "\"...\", " } else { "" }
    }

    /// Gives the arguments the descriptions of the `# Arguments` list.
    fn document(
        &mut self,
        entries: Vec<crate::docs::Entry>,
        function: &Function,
        errors: &mut Diagnostics,
    ) {
        for entry in entries {
            let span = || Docs::line(&function.attrs, &entry).unwrap_or(function.ident.span());
            let names = self.arguments.iter().map(|argument| argument.ident.unraw().to_string());
            let names: Vec<String> = names.collect();
            let tool = self.label();
            let Some(at) = names.iter().position(|name| *name == entry.name) else {
                let error = errors.error_at(
                    span(),
                    format!(
                        "the `# Arguments` of {tool} describe `{}`, which is no argument",
                        entry.name
                    ),
                );
                let names = || names.iter().map(String::as_str);
                match nearest(&entry.name, names()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("take the line out"),
                };
                error.note(format!("the arguments are {}", list(names())));
                continue;
            };
            let argument = &mut self.arguments[at];
            if !matches!(argument.description, Text::Nothing) {
                errors
                    .error_at(
                        span(),
                        format!("argument `{}` of {tool} is described twice", entry.name),
                    )
                    .help(
                        "keep the doc comment above the argument, or its line under `# Arguments`",
                    );
            }
            argument.description = Text::Known(entry.text);
        }
    }

    fn apply(&mut self, option: &Opt, errors: &mut Diagnostics) {
        let span = option.ident.span();
        match option.name {
            "name" if is_expression(&option.value) => {
                self.name_value = Some(option.value.clone());
            }
            "name" => {
                if let Some(name) = option.string(errors) {
                    self.name_span = name.span();
                    self.name = name.value();
                }
            }
            "description" if is_expression(&option.value) => {
                self.description = Text::Value(option.value.clone());
            }
            "description" => {
                // An invalid value is one error, not also a missing description.
                self.description = Text::Known("...".to_owned());
                if let Some(text) = option.string(errors) {
                    if text.value().trim().is_empty() {
                        errors
                            .error(&text, format!("the description of {} is empty", self.label()))
                            .help(match self.kind {
                                Kind::Tool => "say what the tool does, and when to use it",
                                Kind::Prompt => "say what the prompt asks for",
                                Kind::Resource => "say what a reader finds there",
                            });
                    }
                    self.description = Text::Value(text.value().trim().to_token_stream());
                }
            }
            "title" => self.title = option.string(errors),
            "version" => self.version = version(option, &self.label(), errors),
            "type" => {
                match syn::parse2(args::ungrouped(option.value.clone())) {
                    Ok(ty) => self.ty = ty,
                    Err(_) => {
                        errors
                        .error(&option.value, "the value of `type` is not an identifier")
                        .help(match self.kind {
                            Kind::Tool => "name the type that carries the tool: `type = SearchTool`",
                            Kind::Prompt => {
                                "name the type that carries the prompt: `type = ReviewPrompt`"
                            }
                            Kind::Resource => {
                                "name the type that carries the resource: `type = ManualResource`"
                            }
                        });
                    }
                }
            }
            "replaces" => self.replaces = replaces(option, errors),
            "timeout" => self.timeout = time(option, "timeout", &self.label(), errors),
            "fresh_for" => self.fresh_for = time(option, "freshness", &self.label(), errors),
            "mime_type" => self.mime_type = mime_type(option, errors),
            "public" => self.public = Some(span),
            "max_result_tokens" => self.max_result_tokens = max_result_tokens(option, errors),
            "collect" => self.collect = streams::collect(option, errors),
            "blocking" => self.hints.blocking = Some(span),
            "exclusive" => self.hints.exclusive = Some(span),
            "background" => self.hints.background = Some(span),
            "durable" => self.hints.durable = Some(span),
            "approval" => self.hints.approval = Some(span),
            "deferred" => self.hints.deferred = Some(span),
            "untrusted" => self.hints.untrusted = Some(span),
            "read_only" => self.hints.read_only = Some(span),
            "destructive" => {
                let help =
                    "write `destructive`, or `destructive = false` for a tool that only adds";
                self.hints.destructive = truth(option, help, errors).map(|is_so| (is_so, span));
            }
            "idempotent" => self.hints.idempotent = Some(span),
            "open_world" => {
                let help =
                    "write `open_world`, or `open_world = false` for a tool that stays inside";
                self.hints.open_world = truth(option, help, errors);
            }
            "tags" => self.tags = tags(option, errors),
            "icons" => self.icons = presentation::icons(option, &self.label(), errors),
            "meta" => self.meta = presentation::meta(option, &self.label(), errors),
            "check" => self.check = check(option, errors),
            "available" => self.available.extend(available(option, errors)),
            "example" => self.examples.extend(example(option, errors)),
            _ => {}
        }
    }
}

/// Returns whether a value is an expression that the compiler evaluates to text: a macro call or a
/// constant.
fn is_expression(value: &TokenStream) -> bool {
    let value = args::ungrouped(value.clone());
    let is_macro = value.clone().into_iter().any(
        |token| matches!(token, proc_macro2::TokenTree::Punct(punct) if punct.as_char() == '!'),
    );
    let is_constant = syn::Path::parse_mod_style.parse2(value).is_ok_and(|path| {
        path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            name.len() > 1 && name.chars().all(|c| !c.is_lowercase())
        })
    });
    is_macro || is_constant
}

fn time(option: &Opt, noun: &str, label: &str, errors: &mut Diagnostics) -> Option<u64> {
    let written = args::ungrouped(option.value.clone());
    let text = syn::parse2::<LitStr>(written.clone()).ok().map(|text| text.value());
    let time = text.as_deref().and_then(args::milliseconds);
    if time.is_none() {
        let written_time = text.unwrap_or_else(|| written.to_string().replace(' ', ""));
        let time = hints::timeout(option).unwrap_or_else(|| "30s".to_owned());
        errors
            .error(&option.value, format!("the {noun} of {label} is no time: `{written_time}`"))
            .help(format!("write a number above 0 with its unit: `{} = \"{time}\"`", option.name))
            .note("the units are `ms`, `s`, `m` and `h`");
    }
    time
}

fn mime_type(option: &Opt, errors: &mut Diagnostics) -> Option<LitStr> {
    let text = option.string(errors)?;
    let value = text.value();
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_graphic() && c != '/');
    // Parameters such as `; charset=utf-8` may follow.
    let essence = value.split(';').next().unwrap_or_default().trim();
    if !essence.split_once('/').is_some_and(|(kind, subtype)| is_part(kind) && is_part(subtype)) {
        errors
            .error(&text, format!("`{value}` is no MIME type"))
            .help("write a type and a subtype: `mime_type = \"text/markdown\"`");
    }
    Some(text)
}

fn version(option: &Opt, label: &str, errors: &mut Diagnostics) -> Option<TokenStream> {
    if is_expression(&option.value) {
        return Some(option.value.clone());
    }
    let text = option.string(errors)?;
    if text.value().trim().is_empty() {
        errors
            .error(&text, format!("the version of {label} is empty"))
            .help("write a number or a version: `version = \"2\"`, or take the option out");
    }
    Some(text.to_token_stream())
}

fn max_result_tokens(option: &Opt, errors: &mut Diagnostics) -> Option<usize> {
    let written = args::ungrouped(option.value.clone());
    let number = syn::parse2::<syn::LitInt>(written);
    let number =
        number.ok().and_then(|number| number.base10_parse().ok()).filter(|tokens| *tokens > 0);
    if number.is_none() {
        errors
            .error(&option.value, "the value of `max_result_tokens` is no number of tokens")
            .help("write a number above 0: `max_result_tokens = 4000`")
            .note("it holds where results are kept: `ToolBox::builder().keep_results(..)`");
    }
    number
}

/// Returns `true` for a flag, and its value where it has one.
fn truth(option: &Opt, help: &str, errors: &mut Diagnostics) -> Option<bool> {
    if !option.has_value {
        return Some(true);
    }
    let value = syn::parse2::<syn::LitBool>(args::ungrouped(option.value.clone()));
    if value.is_err() {
        let name = &option.name;
        errors
            .error(&option.value, format!("the value of `{name}` is neither `true` nor `false`"))
            .help(help);
    }
    value.ok().map(|value| value.value)
}

fn tags(option: &Opt, errors: &mut Diagnostics) -> Vec<LitStr> {
    let elements = option.elements();
    if elements.is_empty() {
        errors.error(&option.ident, "`tags` is empty").help("write `tags(\"docs\", \"search\")`");
    }
    let mut tags = Vec::new();
    for element in elements {
        match syn::parse2(args::ungrouped(element.clone())) {
            Ok(tag) => tags.push(tag),
            Err(_) => {
                errors
                    .error(&element, "a tag is not a string literal")
                    .help("write it in quotes: `tags(\"docs\", \"search\")`");
            }
        }
    }
    tags
}

/// Returns the names of `replaces = "find"` or `replaces = ["find", "lookup"]`.
fn replaces(option: &Opt, errors: &mut Diagnostics) -> Vec<LitStr> {
    let list = |input: syn::parse::ParseStream<'_>| {
        if !input.peek(syn::token::Bracket) {
            return Ok(vec![input.parse()?]);
        }
        let inside;
        syn::bracketed!(inside in input);
        let list = inside.parse_terminated(<LitStr as syn::parse::Parse>::parse, Token![,])?;
        Ok(list.into_iter().collect())
    };
    let names: Vec<LitStr> = list.parse2(args::ungrouped(option.value.clone())).unwrap_or_default();
    let is_name = |name: &LitStr| {
        let name = name.value();
        let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
        name.len() <= 64
            && name.starts_with(starts)
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    if names.is_empty() || !names.iter().all(is_name) {
        errors
            .error(&option.value, "the value of `replaces` is no name of a tool")
            .help("write the name that the tool had before, or several: `replaces = \"find\"`, `replaces = [\"find\", \"lookup\"]`")
            .note("a name has 1 to 64 letters, digits, `_` and `-`, and starts with a letter or `_`");
    }
    names
}

fn check(option: &Opt, errors: &mut Diagnostics) -> Option<Check> {
    let parse = |input: syn::parse::ParseStream<'_>| {
        let path = input.parse()?;
        let arguments = if input.peek(syn::token::Paren) {
            let inside;
            syn::parenthesized!(inside in input);
            let list = inside.parse_terminated(Ident::parse_any, Token![,])?;
            Some(list.into_iter().collect())
        } else {
            None
        };
        Ok(Check { path, arguments, span: option.ident.span() })
    };
    let check = parse.parse2(args::ungrouped(option.value.clone())).ok();
    if check.is_none() {
        errors
            .error(&option.value, "the value of `check` is not a function")
            .help("name a function and the arguments that it takes by reference: `check = in_order(start, end)`")
            .note("it returns `Result<(), E>`, whose error says what is wrong");
    }
    check
}

/// Parses `available = path`.
pub(crate) fn available(option: &Opt, errors: &mut Diagnostics) -> Option<syn::Path> {
    let path = syn::parse2::<syn::Path>(args::ungrouped(option.value.clone())).ok();
    if path.is_none() {
        errors
            .error(&option.value, "the value of `available` is not the name of a function")
            .help("name a function that takes `&ToolContext` and returns `bool`: `available = for_staff`")
            .note("`Tool::available_if` takes a closure");
    }
    path
}

fn check_of_argument(option: &Opt, errors: &mut Diagnostics) -> Option<syn::Path> {
    let path = syn::parse2::<syn::Path>(args::ungrouped(option.value.clone())).ok();
    if path.is_none() {
        errors
            .error(&option.value, "the value of `check` is not the name of a function")
            .help("name a function that takes the argument by reference: `check = is_even`")
            .note("it returns `Result<(), E>`, whose error says what is wrong");
    }
    path
}

fn example(option: &Opt, errors: &mut Diagnostics) -> Option<Example> {
    let mut fields = Vec::new();
    for element in option.elements() {
        let parse = |input: syn::parse::ParseStream<'_>| {
            let name = input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            Ok((name, input.parse::<TokenStream>()?))
        };
        match parse.parse2(element.clone()) {
            Ok((name, value)) if !value.is_empty() => fields.push((name, value)),
            _ => {
                errors
                    .error(&element, "an example is a list of arguments and values")
                    .help("write `example(query = \"derive macros\", limit = 3)`");
                return None;
            }
        }
    }
    Some(Example { span: option.ident.span(), fields })
}

impl ArgumentModel {
    fn read(argument: &Argument, kind: Kind, tool: &str, errors: &mut Diagnostics) -> Option<Self> {
        let Some(ident) = argument.ident() else {
            errors
                .error(&argument.pattern, format!("an argument of {tool} has no name"))
                .help(format!("give it one: `argument: {}`", type_text(&argument.ty)))
                .note(match kind {
                    Kind::Tool => {
                        "the model fills arguments in by name; a pattern can go into the body"
                    }
                    _ => "arguments are filled in by name; a pattern can go into the body",
                });
            return None;
        };
        for attribute in &argument.foreign {
            let path = attribute.path().to_token_stream();
            errors
                .error(
                    attribute,
                    format!("`#[{path}]` on argument `{ident}` of {tool} has no effect"),
                )
                .help(hints::instead(attribute));
        }
        let mut written = TokenStream::new();
        for attribute in &argument.ours {
            match &attribute.meta {
                // Parsed together, so that an option repeated in two attributes is reported too.
                syn::Meta::List(list) => {
                    written.extend(list.tokens.clone());
                    <Token![,]>::default().to_tokens(&mut written);
                }
                _ => {
                    errors
                        .error(attribute, "`#[arg]` has no options")
                        .help("write `#[arg(default = 10)]`, or take it out");
                }
            }
        }
        let options = args::parse(written, kind.argument_options(), "#[arg(...)]", errors);
        deprecation::check(&argument.deprecated, &ident.to_string(), errors);
        let mut model = Self {
            name: ident.unraw().to_string(),
            name_span: ident.span(),
            cfgs: cfgs(&argument.attrs),
            ty: argument.ty.clone(),
            referent: referent(&argument.ty),
            description: Text::of(&Docs::read(&argument.docs)),
            default: None,
            range: None,
            length: None,
            pattern: None,
            check: None,
            examples: Vec::new(),
            flatten: None,
            deprecated: deprecation::note(&argument.deprecated),
            complete: None,
            described: !options.is_empty() || !argument.deprecated.is_empty(),
            ident,
        };
        for option in &options {
            model.apply(option, errors);
        }
        Some(model)
    }

    fn apply(&mut self, option: &Opt, errors: &mut Diagnostics) {
        match option.name {
            "rename" => {
                if let Some(name) = option.string(errors) {
                    self.name_span = name.span();
                    self.name = name.value();
                }
            }
            "default" if option.has_value => {
                self.default = Some(Default_::Expression(option.value.clone()));
            }
            "default" => self.default = Some(Default_::OfType(option.ident.span())),
            "range" | "length" => {
                let Some(range) = args::range(option.value.clone()) else {
                    let name = option.name;
                    errors
                        .error(&option.value, format!("the value of `{name}` is not a range"))
                        .help(format!(
                            "write `{name} = 1..=50`, `{name} = 1..` or `{name} = ..=50`"
                        ));
                    return;
                };
                let span = args::span_of(&option.value, option.ident.span());
                let place = if option.name == "range" { &mut self.range } else { &mut self.length };
                *place = Some((range, span));
            }
            "pattern" => self.pattern = option.string(errors),
            "check" => self.check = check_of_argument(option, errors),
            "examples" => self.examples = option.elements(),
            "flatten" => self.flatten = Some(option.ident.span()),
            "complete" => self.complete = Some(option.value.clone()),
            _ => {}
        }
    }
}

/// Returns the `T` of a type written as `&T`.
fn referent(ty: &Type) -> Option<Type> {
    match ty {
        Type::Reference(reference) => Some((*reference.elem).clone()),
        Type::Paren(paren) => referent(&paren.elem),
        Type::Group(group) => referent(&group.elem),
        _ => None,
    }
}

/// Formats a type as a user would write it.
pub(crate) fn type_text(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    text.replace(" < ", "<")
        .replace(" <", "<")
        .replace("< ", "<")
        .replace(" >", ">")
        .replace("& ", "&")
        .replace(" ,", ",")
        .replace(" :: ", "::")
        .replace("[ ", "[")
        .replace(" ]", "]")
}
