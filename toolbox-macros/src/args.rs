//! The grammar of `#[tool(...)]` and `#[arg(...)]`: one list of options for the parser and the
//! messages. A test holds the tables of the documentation against it.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{LitStr, Token, parenthesized};

use crate::diag::{Diagnostics, list, nearest};
use crate::hints;

/// The syntax of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `read_only`
    Flag,
    /// `name = …`
    Value,
    /// `default` or `default = …`
    FlagOrValue,
    /// `tags(…)`
    List,
}

/// A known option of a macro.
pub(crate) struct OptionSpec {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// The syntax, for messages.
    pub(crate) usage: &'static str,
    repeatable: bool,
}

const fn spec(name: &'static str, form: Form, usage: &'static str) -> OptionSpec {
    OptionSpec { name, form, usage, repeatable: false }
}

/// The options of `#[tool(...)]`.
pub(crate) const TOOL: &[OptionSpec] = &[
    spec("name", Form::Value, "name = \"search\""),
    spec("description", Form::Value, "description = \"Searches the documentation\""),
    spec("title", Form::Value, "title = \"Search\""),
    spec("version", Form::Value, "version = \"2\""),
    spec("replaces", Form::Value, "replaces = \"find\""),
    spec("type", Form::Value, "type = SearchTool"),
    spec("timeout", Form::Value, "timeout = \"30s\""),
    spec("max_result_tokens", Form::Value, "max_result_tokens = 4000"),
    spec("collect", Form::Value, "collect = \"last\""),
    spec("check", Form::Value, "check = in_order"),
    spec("available", Form::Value, "available = for_staff"),
    spec("blocking", Form::Flag, "blocking"),
    spec("exclusive", Form::Flag, "exclusive"),
    spec("read_only", Form::Flag, "read_only"),
    spec("destructive", Form::FlagOrValue, "destructive"),
    spec("idempotent", Form::Flag, "idempotent"),
    spec("open_world", Form::FlagOrValue, "open_world"),
    spec("background", Form::Flag, "background"),
    spec("durable", Form::Flag, "durable"),
    spec("approval", Form::Flag, "approval"),
    spec("deferred", Form::Flag, "deferred"),
    spec("untrusted", Form::Flag, "untrusted"),
    spec("tags", Form::List, "tags(\"docs\", \"search\")"),
    spec("icons", Form::Value, "icons = [\"https://example.com/rain.png\"]"),
    spec("meta", Form::List, "meta(\"com.example/team\" = \"release\")"),
    OptionSpec {
        name: "example",
        form: Form::List,
        usage: "example(query = \"derive macros\")",
        repeatable: true,
    },
    spec("crate", Form::Value, "crate = my_toolbox"),
];

/// The options of `#[prompt(...)]`.
pub(crate) const PROMPT: &[OptionSpec] = &[
    spec("name", Form::Value, "name = \"review\""),
    spec("description", Form::Value, "description = \"Asks for a review\""),
    spec("title", Form::Value, "title = \"Review\""),
    spec("type", Form::Value, "type = ReviewPrompt"),
    spec("timeout", Form::Value, "timeout = \"30s\""),
    spec("blocking", Form::Flag, "blocking"),
    spec("crate", Form::Value, "crate = my_toolbox"),
];

/// The options of `#[resource(...)]` after its URI.
pub(crate) const RESOURCE: &[OptionSpec] = &[
    spec("name", Form::Value, "name = \"manual\""),
    spec("description", Form::Value, "description = \"The manual\""),
    spec("title", Form::Value, "title = \"Manual\""),
    spec("type", Form::Value, "type = ManualResource"),
    spec("mime_type", Form::Value, "mime_type = \"text/markdown\""),
    spec("fresh_for", Form::Value, "fresh_for = \"5m\""),
    spec("public", Form::Flag, "public"),
    spec("timeout", Form::Value, "timeout = \"30s\""),
    spec("blocking", Form::Flag, "blocking"),
    spec("crate", Form::Value, "crate = my_toolbox"),
];

/// The options of `#[toolset(...)]`.
pub(crate) const TOOLSET: &[OptionSpec] = &[
    spec("prefix", Form::Value, "prefix = \"storage\""),
    spec("traits", Form::List, "traits(Storage)"),
    spec("with", Form::Value, "with = Self::limited"),
    spec("available", Form::Value, "available = for_staff"),
    spec("crate", Form::Value, "crate = my_toolbox"),
];

/// The options of `#[arg(...)]`.
pub(crate) const ARG: &[OptionSpec] = COMPLETED_ARG.split_at(COMPLETED_ARG.len() - 1).0;

/// The options of `#[arg(...)]` in prompts and resources.
pub(crate) const COMPLETED_ARG: &[OptionSpec] = &[
    spec("rename", Form::Value, "rename = \"type\""),
    spec("default", Form::FlagOrValue, "default = 10"),
    spec("range", Form::Value, "range = 1..=50"),
    spec("length", Form::Value, "length = 1..=200"),
    spec("pattern", Form::Value, "pattern = \"^[a-z]+$\""),
    spec("check", Form::Value, "check = is_even"),
    spec("flatten", Form::Flag, "flatten"),
    spec("examples", Form::List, "examples(\"Paris\", \"Tokyo\")"),
    spec("complete", Form::Value, "complete = cities"),
];

/// A parsed option with a known name and the right form.
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) ident: Ident,
    /// The tokens after `=` or in the parentheses; empty for a flag.
    pub(crate) value: TokenStream,
    pub(crate) has_value: bool,
}

impl Opt {
    /// Returns the value as a string literal, or reports an error.
    pub(crate) fn string(&self, errors: &mut Diagnostics) -> Option<LitStr> {
        let literal = syn::parse2::<LitStr>(ungrouped(self.value.clone())).ok();
        if literal.is_none() {
            let name = self.name;
            let mut trees = ungrouped(self.value.clone()).into_iter();
            // A lone word or number is most likely the text without quotes.
            let text = match (trees.next(), trees.next()) {
                (Some(tree @ (TokenTree::Ident(_) | TokenTree::Literal(_))), None) => {
                    tree.to_string()
                }
                _ => "...".to_owned(),
            };
            errors
                .error(&self.value, format!("the value of `{name}` is not a string literal"))
                .help(format!("write it in quotes: `{name} = \"{text}\"`"));
        }
        literal
    }

    /// Returns the elements of the list.
    pub(crate) fn elements(&self) -> Vec<TokenStream> {
        split(self.value.clone())
    }
}

/// Removes the invisible group that a `macro_rules!` puts around a value.
pub(crate) fn ungrouped(tokens: TokenStream) -> TokenStream {
    let mut trees = tokens.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None)
            if group.delimiter() == proc_macro2::Delimiter::None =>
        {
            ungrouped(group.stream())
        }
        _ => tokens,
    }
}

/// Splits tokens at the commas outside of delimiters.
pub(crate) fn split(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => parts.push(TokenStream::new()),
            _ => {
                if let Some(last) = parts.last_mut() {
                    last.extend([token]);
                }
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Parses the options of one attribute; `attribute` is its name in messages, such as
/// `#[tool(...)]`.
pub(crate) fn parse(
    tokens: TokenStream,
    known: &'static [OptionSpec],
    attribute: &str,
    errors: &mut Diagnostics,
) -> Vec<Opt> {
    let mut options: Vec<Opt> = Vec::new();
    for part in split(tokens) {
        let parse = |input: ParseStream<'_>| RawOption::parse(input);
        let Ok(raw) = parse.parse2(part.clone()) else {
            errors
                .error(&part, format!("`{}` is no option of `{attribute}`", compact(&part)))
                .help(format!("write `{}`", known[0].usage))
                .note(format!("the options are {}", names(known)));
            continue;
        };
        if let Some(option) = raw.check(known, attribute, errors) {
            let before = options.iter().any(|other| other.name == option.name);
            if before && !repeatable(known, option.name) {
                errors
                    .error(&option.ident, format!("option `{}` is given twice", option.name))
                    .help("take one out");
                continue;
            }
            options.push(option);
        }
    }
    options
}

fn repeatable(known: &[OptionSpec], name: &str) -> bool {
    known.iter().any(|option| option.name == name && option.repeatable)
}

fn names(known: &[OptionSpec]) -> String {
    list(known.iter().map(|option| option.name))
}

/// Formats tokens on one line, without the spaces that printing inserts.
fn compact(tokens: &TokenStream) -> String {
    tokens.to_string().replace(" (", "(").replace(" ,", ",")
}

/// An option before its name is checked.
struct RawOption {
    ident: Ident,
    form: Form,
    value: TokenStream,
}

impl RawOption {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ident = input.call(Ident::parse_any)?;
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            return Ok(Self { ident, form: Form::Value, value: input.parse()? });
        }
        if input.peek(syn::token::Paren) {
            let inside;
            parenthesized!(inside in input);
            return Ok(Self { ident, form: Form::List, value: inside.parse()? });
        }
        if input.is_empty() {
            return Ok(Self { ident, form: Form::Flag, value: TokenStream::new() });
        }
        Err(input.error("expected `=` or `(`"))
    }

    fn check(
        self,
        known: &'static [OptionSpec],
        attribute: &str,
        errors: &mut Diagnostics,
    ) -> Option<Opt> {
        let Self { ident, form, value } = self;
        let written = ident.unraw().to_string();
        let Some(option) = known.iter().find(|option| option.name == written) else {
            let error =
                errors.error(&ident, format!("unknown option `{written}` in `{attribute}`"));
            if let Some(hint) = hints::of(&written, attribute) {
                error.help(hint);
            } else if let Some(near) = nearest(&written, known.iter().map(|option| option.name)) {
                error.help(format!("did you mean `{near}`?"));
            }
            error.note(format!("the options are {}", names(known)));
            return None;
        };
        let empty = form == Form::Value && value.is_empty();
        let fits = match option.form {
            Form::FlagOrValue => form != Form::List,
            wanted => form == wanted,
        };
        if !fits || empty {
            let what = match (option.form, form) {
                (Form::Flag, _) => "takes no value",
                (Form::List, _) => "takes a list in parentheses",
                _ => "needs a value",
            };
            let span = OptionTokens { ident: &ident, value: &value };
            errors
                .error(&span, format!("option `{written}` {what}"))
                .help(format!("write `{}`", option.usage));
            return None;
        }
        Some(Opt { name: option.name, ident, has_value: form != Form::Flag, value })
    }
}

/// The tokens of an option, from its name to the end of its value.
struct OptionTokens<'a> {
    ident: &'a Ident,
    value: &'a TokenStream,
}

impl ToTokens for OptionTokens<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.ident.to_tokens(tokens);
        self.value.to_tokens(tokens);
    }
}

/// Parses a time such as `500ms`, `30s`, `2m` or `1h` into milliseconds.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let count: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    count.checked_mul(unit).filter(|time| *time > 0)
}

/// Parses `a..=b`, `a..b`, `a..` or `..=b`.
pub(crate) fn range(tokens: TokenStream) -> Option<Range> {
    let trees: Vec<TokenTree> = ungrouped(tokens).into_iter().collect();
    let dot = |at: usize| matches!(trees.get(at), Some(TokenTree::Punct(p)) if p.as_char() == '.');
    let at = (0..trees.len()).find(|&at| dot(at) && dot(at + 1))?;
    let inclusive = matches!(trees.get(at + 2), Some(TokenTree::Punct(p)) if p.as_char() == '=');
    let part = |trees: &[TokenTree]| {
        (!trees.is_empty()).then(|| trees.iter().cloned().collect::<TokenStream>())
    };
    let low = part(&trees[..at]);
    let high = part(&trees[at + 2 + usize::from(inclusive)..]);
    if low.is_none() && high.is_none() || inclusive && high.is_none() {
        return None;
    }
    Some(Range { low, high, inclusive })
}

/// The ends of a range as written.
pub(crate) struct Range {
    pub(crate) low: Option<TokenStream>,
    pub(crate) high: Option<TokenStream>,
    pub(crate) inclusive: bool,
}

/// Returns the value of tokens that are a number literal.
pub(crate) fn number(tokens: &TokenStream) -> Option<f64> {
    let text = tokens.to_string().replace([' ', '_'], "");
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | 'e' | 'E' | '+')));
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// Returns a number literal with its type, since an untyped one is inferred as `i32`.
pub(crate) fn typed_number(tokens: &TokenStream) -> Option<TokenStream> {
    let tokens = ungrouped(tokens.clone());
    match syn::parse2::<syn::Lit>(tokens.clone()).ok()? {
        syn::Lit::Int(literal) if literal.suffix().is_empty() => {
            let mut typed = match (literal.base10_parse::<i64>(), literal.base10_parse::<u64>()) {
                (Ok(number), _) => Literal::i64_suffixed(number),
                (_, Ok(number)) => Literal::u64_suffixed(number),
                _ => return Some(tokens),
            };
            typed.set_span(literal.span());
            Some(typed.to_token_stream())
        }
        syn::Lit::Int(_) | syn::Lit::Float(_) => Some(tokens),
        _ => None,
    }
}

/// Returns the span of the whole value, for messages.
pub(crate) fn span_of(tokens: &TokenStream, otherwise: Span) -> Span {
    tokens.clone().into_iter().next().map_or(otherwise, |token| token.span())
}
