//! Doc comments as description text.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text of doc comments.
#[derive(Default)]
pub(crate) struct Docs {
    /// The parts, one for each attribute: text, or an expression such as
    /// `include_str!("search.md")`.
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Expression(TokenStream),
}

/// An entry of the `# Arguments` list.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Docs {
    /// Reads the doc attributes among `attrs`.
    pub(crate) fn read(attrs: &[Attribute]) -> Self {
        let parts = attrs.iter().filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(meta) if meta.path.is_ident("doc") => {
                Some(match literal(&meta.value) {
                    Some(text) => Part::Text(text),
                    None => Part::Expression(meta.value.to_token_stream()),
                })
            }
            _ => None,
        });
        Self { parts: parts.collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(text) if text.trim().is_empty()))
    }

    /// Returns the span of an entry of the `# Arguments` list.
    pub(crate) fn line(attrs: &[Attribute], wanted: &Entry) -> Option<Span> {
        let here = |attribute: &&Attribute| match &attribute.meta {
            Meta::NameValue(meta) if meta.path.is_ident("doc") => {
                literal(&meta.value).is_some_and(|text| {
                    text.lines().filter_map(entry).any(|(name, _)| name == wanted.name)
                })
            }
            _ => false,
        };
        attrs
            .iter()
            .find(here)
            .and_then(|attribute| match &attribute.meta {
                Meta::NameValue(meta) => meta.value.to_token_stream().into_iter().next(),
                _ => None,
            })
            .map(|token| token.span())
    }

    /// Returns the whole text, unless it contains an expression.
    pub(crate) fn text(&self) -> Option<String> {
        let mut lines = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => lines.extend(text.lines().map(tidy)),
                Part::Expression(_) => return None,
            }
            if matches!(part, Part::Text(text) if text.is_empty()) {
                lines.push(String::new());
            }
        }
        Some(lines.join("\n").trim().to_owned())
    }

    /// Returns the parts as expressions, including the space after `///`.
    pub(crate) fn expressions(&self) -> Vec<TokenStream> {
        let expression = |part: &Part| match part {
            Part::Text(text) => text.to_token_stream(),
            Part::Expression(expression) => expression.clone(),
        };
        self.parts.iter().map(expression).collect()
    }
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        // A `macro_rules!` that passes `$doc:literal` on wraps it in an invisible group.
        other => match other.to_token_stream().into_iter().collect::<Vec<_>>().as_slice() {
            [TokenTree::Group(group)] => {
                syn::parse2::<syn::LitStr>(group.stream()).ok().map(|text| text.value())
            }
            [TokenTree::Literal(_)] => {
                syn::parse2::<syn::LitStr>(other.to_token_stream()).ok().map(|text| text.value())
            }
            _ => None,
        },
    }
}

/// Removes the space after `///` from a line.
fn tidy(line: &str) -> String {
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

/// Splits the `# Arguments` list from a description.
pub(crate) fn take_arguments(text: &str) -> (String, Vec<Entry>) {
    let (mut rest, mut entries, mut inside) = (Vec::new(), Vec::<Entry>::new(), false);
    for line in text.lines() {
        if line.starts_with('#') {
            inside = line.trim_start_matches('#').trim().eq_ignore_ascii_case("arguments");
            if inside {
                continue;
            }
        }
        if !inside {
            rest.push(line);
        } else if let Some((name, text)) = entry(line) {
            entries.push(Entry { name: name.to_owned(), text: text.to_owned() });
        } else if let Some(last) = entries.last_mut().filter(|_| !line.trim().is_empty()) {
            last.text.push(' ');
            last.text.push_str(line.trim());
        }
    }
    (rest.join("\n").trim().to_owned(), entries)
}

/// Parses ``* `name` - text``, with `*` or `-` in front, and `-`, `–`, `—` or `:` between.
fn entry(line: &str) -> Option<(&str, &str)> {
    let item = line.trim_start().strip_prefix(['*', '-'])?.trim_start();
    let (name, text) = item.strip_prefix('`')?.split_once('`')?;
    let text = text.trim_start().trim_start_matches(['-', '–', '—', ':']).trim();
    Some((name, text))
}
