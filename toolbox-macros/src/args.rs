//! The grammar of `#[tool(...)]` and `#[arg(...)]`: one list of options for the parser, the
//! messages and the docs.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{LitStr, Token, parenthesized};

use crate::diag::{Diagnostics, list, nearest};
use crate::hints;

/// How an option is written.
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

/// One option that a macro knows.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    form: Form,
    /// How it is written, for messages.
    pub(crate) usage: &'static str,
    repeatable: bool,
}

const fn known(name: &'static str, form: Form, usage: &'static str) -> Known {
    Known { name, form, usage, repeatable: false }
}

/// The options of `#[tool(...)]`.
pub(crate) const TOOL: &[Known] = &[
    known("name", Form::Value, "name = \"search\""),
    known("description", Form::Value, "description = \"Searches the documentation\""),
    known("title", Form::Value, "title = \"Search\""),
    known("type", Form::Value, "type = SearchTool"),
    known("timeout", Form::Value, "timeout = \"30s\""),
    known("blocking", Form::Flag, "blocking"),
    known("exclusive", Form::Flag, "exclusive"),
    known("read_only", Form::Flag, "read_only"),
    known("destructive", Form::Flag, "destructive"),
    known("idempotent", Form::Flag, "idempotent"),
    known("open_world", Form::FlagOrValue, "open_world"),
    known("background", Form::Flag, "background"),
    known("approval", Form::Flag, "approval"),
    known("deferred", Form::Flag, "deferred"),
    known("untrusted", Form::Flag, "untrusted"),
    known("tags", Form::List, "tags(\"docs\", \"search\")"),
    Known {
        name: "example",
        form: Form::List,
        usage: "example(query = \"derive macros\")",
        repeatable: true,
    },
    known("crate", Form::Value, "crate = my_toolbox"),
];

/// The options of `#[toolset(...)]`.
pub(crate) const TOOLSET: &[Known] = &[
    known("with", Form::Value, "with = Self::limited"),
    known("crate", Form::Value, "crate = my_toolbox"),
];

/// The options of `#[arg(...)]`.
pub(crate) const ARG: &[Known] = &[
    known("rename", Form::Value, "rename = \"type\""),
    known("default", Form::FlagOrValue, "default = 10"),
    known("range", Form::Value, "range = 1..=50"),
    known("length", Form::Value, "length = 1..=200"),
    known("pattern", Form::Value, "pattern = \"^[a-z]+$\""),
    known("flatten", Form::Flag, "flatten"),
    known("examples", Form::List, "examples(\"Paris\", \"Tokyo\")"),
];

/// An option as it was written, its name known and its form right.
pub(crate) struct Opt {
    pub(crate) name: &'static str,
    pub(crate) ident: Ident,
    /// What stands behind `=` or in the brackets; empty for a flag.
    pub(crate) value: TokenStream,
    pub(crate) has_value: bool,
}

impl Opt {
    /// Returns the value as a string literal, or reports that it is none.
    pub(crate) fn string(&self, errors: &mut Diagnostics) -> Option<LitStr> {
        let literal = syn::parse2::<LitStr>(ungrouped(self.value.clone())).ok();
        if literal.is_none() {
            let name = self.name;
            let mut trees = ungrouped(self.value.clone()).into_iter();
            // A lone word or number is most likely the text itself.
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

/// Takes a value out of the invisible group that a `macro_rules!` puts around it.
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

/// Splits tokens at the commas outside of brackets.
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

/// Reads the options of one attribute; `shown` is how messages call it, such as `#[tool(...)]`.
pub(crate) fn parse(
    tokens: TokenStream,
    known: &'static [Known],
    shown: &str,
    errors: &mut Diagnostics,
) -> Vec<Opt> {
    let mut options: Vec<Opt> = Vec::new();
    for part in split(tokens) {
        let parse = |input: ParseStream<'_>| Raw::parse(input);
        let Ok(raw) = parse.parse2(part.clone()) else {
            errors
                .error(&part, format!("`{}` is no option of `{shown}`", compact(&part)))
                .help(format!("write `{}`", known[0].usage))
                .note(format!("the options are {}", names(known)));
            continue;
        };
        if let Some(option) = raw.check(known, shown, errors) {
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

fn repeatable(known: &[Known], name: &str) -> bool {
    known.iter().any(|option| option.name == name && option.repeatable)
}

fn names(known: &[Known]) -> String {
    list(known.iter().map(|option| option.name))
}

/// Shows tokens on one line, without the blanks that printing puts in.
fn compact(tokens: &TokenStream) -> String {
    tokens.to_string().replace(" (", "(").replace(" ,", ",")
}

/// An option before anybody knows whether it exists.
struct Raw {
    ident: Ident,
    form: Form,
    value: TokenStream,
}

impl Raw {
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

    fn check(self, known: &'static [Known], shown: &str, errors: &mut Diagnostics) -> Option<Opt> {
        let Self { ident, form, value } = self;
        let written = ident.unraw().to_string();
        let Some(option) = known.iter().find(|option| option.name == written) else {
            let error = errors.error(&ident, format!("unknown option `{written}` in `{shown}`"));
            if let Some(hint) = hints::of(&written, shown) {
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
            let span = Spanned { ident: &ident, value: &value };
            errors
                .error(&span, format!("option `{written}` {what}"))
                .help(format!("write `{}`", option.usage));
            return None;
        }
        Some(Opt { name: option.name, ident, has_value: form != Form::Flag, value })
    }
}

/// An option from its name to the end of its value.
struct Spanned<'a> {
    ident: &'a Ident,
    value: &'a TokenStream,
}

impl ToTokens for Spanned<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.ident.to_tokens(tokens);
        self.value.to_tokens(tokens);
    }
}

/// Reads a time such as `500ms`, `30s`, `2m` or `1h` into milliseconds.
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

/// Splits `a..=b`, `a..b`, `a..` or `..=b` into its ends and whether the upper one is part of it.
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

/// The ends of a range, as they were written.
pub(crate) struct Range {
    pub(crate) low: Option<TokenStream>,
    pub(crate) high: Option<TokenStream>,
    pub(crate) inclusive: bool,
}

/// Returns the number that tokens spell out, if they do.
pub(crate) fn number(tokens: &TokenStream) -> Option<f64> {
    let text = tokens.to_string().replace([' ', '_'], "");
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | 'e' | 'E' | '+')));
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// Returns a literal number with its type, because a bare one would be taken for an `i32`.
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
