//! Icons and `_meta` of a tool, which MCP clients get beside its definition.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::{LitStr, Token};

use crate::args::{self, Opt};
use crate::diag::Diagnostics;

/// One of `icons`.
pub(crate) enum IconModel {
    /// The URI of the image.
    Uri(LitStr),
    /// An expression of an `Icon`.
    Value(TokenStream),
}

/// One of `meta`: a key, and an expression of its value.
pub(crate) type MetaEntry = (LitStr, TokenStream);

const WRITE_ICONS: &str = "write the URI of an image, or several: `icons = \"https://example.com/rain.png\"`, `icons = [\"https://example.com/rain.png\"]`";

/// Reads `icons = ".."` or `icons = ["..", Icon::new("..")]`.
pub(crate) fn icons(option: &Opt, label: &str, errors: &mut Diagnostics) -> Vec<IconModel> {
    let value = args::ungrouped(option.value.clone());
    let list = |input: ParseStream<'_>| {
        let inside;
        syn::bracketed!(inside in input);
        inside.parse::<TokenStream>()
    };
    let elements = match list.parse2(value.clone()) {
        Ok(inside) => args::split(inside),
        Err(_) => vec![value],
    };
    if elements.is_empty() {
        errors.error(&option.value, format!("the icons of {label} are none")).help(WRITE_ICONS);
    }
    elements.into_iter().map(|element| icon(element, label, errors)).collect()
}

fn icon(element: TokenStream, label: &str, errors: &mut Diagnostics) -> IconModel {
    let element = args::ungrouped(element);
    let Ok(literal) = syn::parse2::<syn::Lit>(element.clone()) else {
        return IconModel::Value(element);
    };
    let syn::Lit::Str(uri) = literal else {
        errors.error(&element, format!("an icon of {label} is no URI")).help(WRITE_ICONS);
        return IconModel::Value(element);
    };
    let text = uri.value();
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    if !["https", "data"].iter().any(|safe| scheme.eq_ignore_ascii_case(safe)) {
        errors
            .error(&uri, format!("the icon `{text}` of {label} is no `https:` or `data:` URI"))
            .help(WRITE_ICONS)
            .note("MCP clients refuse all others");
    }
    IconModel::Uri(uri)
}

const WRITE_META: &str =
    "write keys in quotes, each with a value: `meta(\"com.example/team\" = \"release\")`";

/// Reads `meta("key" = value, ..)`.
pub(crate) fn meta(option: &Opt, label: &str, errors: &mut Diagnostics) -> Vec<MetaEntry> {
    let mut entries: Vec<MetaEntry> = Vec::new();
    let elements = option.elements();
    if elements.is_empty() {
        errors.error(&option.ident, "`meta` is empty").help(WRITE_META);
    }
    for element in elements {
        let parse = |input: ParseStream<'_>| {
            let key: LitStr = input.parse()?;
            input.parse::<Token![=]>()?;
            Ok((key, input.parse::<TokenStream>()?))
        };
        let (key, value) = match parse.parse2(args::ungrouped(element.clone())) {
            Ok((key, value)) if !value.is_empty() => (key, value),
            _ => {
                errors
                    .error(&element, "an entry of `meta` is no key with a value")
                    .help(WRITE_META);
                continue;
            }
        };
        let text = key.value();
        if entries.iter().any(|(known, _)| known.value() == text) {
            errors
                .error(&key, format!("the key `{text}` is given twice in the `meta` of {label}"))
                .help("take one out");
        }
        match fault_of_key(&text) {
            Some(KeyFault::Form) => {
                errors
                    .error(&key, format!("`{text}` is no key of `_meta`"))
                    .help("write a name, behind a domain of yours in reverse: `\"com.example/team\"`")
                    .note("both are of letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit");
            }
            Some(KeyFault::Reserved) => {
                errors
                    .error(&key, format!("the key `{text}` belongs to the Model Context Protocol"))
                    .help("write a domain of yours in front of the `/`: `\"com.example/team\"`")
                    .note(
                        "domains whose second part is `mcp` or `modelcontextprotocol` are its own",
                    );
            }
            Some(KeyFault::Ours) => {
                errors
                    .error(&key, format!("the key `{text}` is written by other options"))
                    .help("write `version = \"2\"`, or `#[deprecated]` above the function");
            }
            None => {}
        }
        entries.push((key, value));
    }
    entries
}

enum KeyFault {
    Form,
    Reserved,
    Ours,
}

/// Returns what is wrong with a key of `_meta`, by the grammar of the protocol.
fn fault_of_key(key: &str) -> Option<KeyFault> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_sound = |text: &str, inner: &str, starts: fn(char) -> bool| {
        text.starts_with(starts)
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || inner.contains(c))
    };
    let is_label = |label: &str| is_sound(label, "-", |c| c.is_ascii_alphabetic());
    let is_name = is_sound(name, "-_.", |c| c.is_ascii_alphanumeric());
    if !is_name || prefix.is_some_and(|prefix| !prefix.split('.').all(is_label)) {
        return Some(KeyFault::Form);
    }
    let second = prefix.and_then(|prefix| prefix.split('.').nth(1));
    if second.is_some_and(|label| matches!(label, "mcp" | "modelcontextprotocol")) {
        return Some(KeyFault::Reserved);
    }
    (key == "fastmcp").then_some(KeyFault::Ours)
}

/// Returns the tokens of an icon's literal or expression.
impl ToTokens for IconModel {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Uri(uri) => uri.to_tokens(tokens),
            Self::Value(value) => value.to_tokens(tokens),
        }
    }
}
