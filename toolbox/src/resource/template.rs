//! Templates of URIs (RFC 6570): the variables of a URI that matches one, and nothing else.

use std::fmt;

use serde_json::{Map, Value};

/// The maximum length of a URI, in bytes.
const MAX_URI: usize = 8 * 1024;

/// A URI, or a template of URIs with variables (RFC 6570), such as `notes://{box}/{id}`.
///
/// | written | matches |
/// |---|---|
/// | `{name}` | one or more characters up to the next literal, without `/`, `?` and `#` |
/// | `{+path}`, `{path*}` | one or more characters, slashes among them |
/// | `{?page,size}` | a query at the end, each of whose parameters may be missing |
///
/// Values are percent-decoded. A URI does not match if a decoded value holds a control character,
/// if that of a `{name}` holds a slash, or if one is or holds the step `..`: so no value leads out
/// of the folder that it is joined to.
///
/// ```
/// use toolbox::resource::UriTemplate;
///
/// let template = UriTemplate::new("notes://{box}/{id}")?;
/// assert_eq!(template.matches("notes://inbox/a%20b").unwrap()["id"], "a b");
/// assert!(template.matches("notes://inbox/..").is_none());
/// assert!(template.matches("notes://inbox/a%2Fb").is_none());
/// # Ok::<(), toolbox::resource::InvalidUriError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: String,
    parts: Vec<TemplatePart>,
    /// The parameters of a query at the end, or the variables of a template that is not read.
    query: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Variable {
        name: String,
        takes_slashes: bool,
    },
    /// The rest, which is not read.
    Rest,
}

/// A text that is neither a URI nor a template of URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidUriError {
    /// The reason.
    reason: &'static str,
}

impl fmt::Display for InvalidUriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for InvalidUriError {}

impl UriTemplate {
    /// Reads a URI or a template.
    ///
    /// # Errors
    ///
    /// The text has no scheme, holds a blank or a control character, is longer than 8 KiB, or a
    /// brace is not closed, names no variable, or follows another without a literal between them.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidUriError> {
        let text = text.into();
        let invalid = |reason| Err(InvalidUriError { reason });
        if !has_scheme(&text) {
            return invalid("a URI begins with its scheme, such as `notes://`");
        }
        if text.len() > MAX_URI {
            return invalid("the URI is longer than 8 KiB");
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return invalid("a URI holds no blank and no control character");
        }
        let (mut parts, mut query) = (Vec::new(), Vec::new());
        let mut rest = text.as_str();
        while let Some(open) = rest.find(['{', '}']) {
            let (literal, from) = rest.split_at(open);
            let Some((expression, after)) =
                from.strip_prefix('{').and_then(|from| from.split_once('}'))
            else {
                return invalid("a brace is not closed, or closes nothing");
            };
            if !literal.is_empty() {
                parts.push(TemplatePart::Literal(literal.to_owned()));
            }
            match Expression::read(expression) {
                Some(Expression::Query(names)) if after.is_empty() => query = names,
                Some(Expression::Query(_)) => return invalid("a query stands at the end"),
                Some(Expression::Variable(part)) => {
                    if matches!(parts.last(), Some(TemplatePart::Variable { .. })) {
                        return invalid(
                            "two variables follow each other without a literal between them",
                        );
                    }
                    parts.push(part);
                }
                None => {
                    return invalid(
                        "the variable of a brace has no name of letters, digits and `_`",
                    );
                }
            }
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Literal(rest.to_owned()));
        }
        Ok(Self { text, parts, query })
    }

    /// Returns the URI or the template of another program, which reads it by itself: any text, and
    /// of a template, whatever begins as it does.
    pub(crate) fn foreign(text: &str, is_template: bool) -> Self {
        let text = text.to_owned();
        let Some((start, _)) = text.split_once('{').filter(|_| is_template) else {
            let parts = vec![TemplatePart::Literal(text.clone())];
            return Self { text, parts, query: Vec::new() };
        };
        let expressions = text.split('{').skip(1).filter_map(|part| part.split_once('}'));
        let names = expressions.flat_map(|(expression, _)| expression.split(','));
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let names = names.map(|name| name.trim_matches(|c: char| !is_name(c)).to_owned());
        let query = names.filter(|name| !name.is_empty()).take(64).collect();
        let parts = vec![TemplatePart::Literal(start.to_owned()), TemplatePart::Rest];
        Self { text, parts, query }
    }

    /// Returns the text of the template, or the URI.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns `true` if it has variables.
    #[must_use]
    pub fn is_template(&self) -> bool {
        self.variables().next().is_some()
    }

    /// Returns the names of the variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let of_path = self.parts.iter().filter_map(|part| match part {
            TemplatePart::Variable { name, .. } => Some(name.as_str()),
            TemplatePart::Literal(_) | TemplatePart::Rest => None,
        });
        of_path.chain(self.query.iter().map(String::as_str))
    }

    /// Returns the values of the variables in a URI; `None` if it does not match.
    ///
    /// It takes one pass over the URI.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Map<String, Value>> {
        if uri.len() > MAX_URI {
            return None;
        }
        if let [TemplatePart::Literal(start), TemplatePart::Rest] = self.parts.as_slice() {
            let rest = uri.strip_prefix(start.as_str())?;
            return (!rest.contains(char::is_control)).then(Map::new);
        }
        let mut values = Map::new();
        let mut rest = uri;
        if !self.query.is_empty()
            && let Some((path, query)) = uri.split_once('?')
        {
            rest = path;
            self.read_query(query, &mut values)?;
        }
        let mut parts = self.parts.as_slice();
        while let Some((part, following)) = parts.split_first() {
            parts = following;
            match part {
                TemplatePart::Literal(text) => rest = rest.strip_prefix(text.as_str())?,
                TemplatePart::Rest => rest = "",
                TemplatePart::Variable { name, takes_slashes } => {
                    let (value, after) = rest.split_at(end_of_value(rest, following)?);
                    values.insert(name.clone(), decoded(value, *takes_slashes)?.into());
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(values)
    }

    fn read_query(&self, query: &str, values: &mut Map<String, Value>) -> Option<()> {
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = self.query.iter().find(|own| *own == name)?;
            let value = percent_decoded(value)?;
            if value.chars().any(char::is_control) {
                return None;
            }
            values.insert(name.clone(), value.into());
        }
        Some(())
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the end of a value that is followed by these parts.
fn end_of_value(rest: &str, following: &[TemplatePart]) -> Option<usize> {
    match following {
        [TemplatePart::Literal(last)] => Some(rest.strip_suffix(last.as_str())?.len()),
        [TemplatePart::Literal(text), ..] => {
            // A value has a character at least.
            let from = rest.chars().next()?.len_utf8();
            Some(from + rest[from..].find(text.as_str())?)
        }
        _ => Some(rest.len()),
    }
}

enum Expression {
    Variable(TemplatePart),
    Query(Vec<String>),
}

impl Expression {
    fn read(text: &str) -> Option<Self> {
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if let Some(names) = text.strip_prefix('?') {
            let names: Vec<String> = names.split(',').map(str::to_owned).collect();
            return names.iter().all(|name| is_name(name)).then_some(Self::Query(names));
        }
        let reserved = text.strip_prefix('+').or_else(|| text.strip_suffix('*'));
        let name = reserved.unwrap_or(text);
        let takes_slashes = reserved.is_some();
        is_name(name).then(|| {
            Self::Variable(TemplatePart::Variable { name: name.to_owned(), takes_slashes })
        })
    }
}

fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_part)
        && !rest.is_empty()
}

/// Returns the value of a variable, if it is one that may be joined to a path.
fn decoded(text: &str, takes_slashes: bool) -> Option<String> {
    let is_end = |c| matches!(c, '?' | '#') || c == '/' && !takes_slashes;
    if text.is_empty() || text.contains(is_end) {
        return None;
    }
    let value = percent_decoded(text)?;
    let is_separator = |c| matches!(c, '/' | '\\');
    let leads_out = value.split(is_separator).any(|step| matches!(step, "." | ".."));
    let is_unfit = |c: char| c.is_control() || !takes_slashes && is_separator(c);
    (!leads_out && !value.contains(is_unfit)).then_some(value)
}

/// Decodes `%41`; `None` if an escape is broken or the bytes are not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push(u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}
