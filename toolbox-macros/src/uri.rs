//! The URI of a resource, or the template of its URIs: its variables, and its faults.

use proc_macro2::TokenStream;
use syn::LitStr;

use crate::args;
use crate::diag::{Diagnostics, list, nearest};
use crate::item::Function;
use crate::literal::{self, Spelled};
use crate::model::{ArgumentModel, ToolModel, type_text};

/// The URI of a resource, as written.
pub(crate) struct ResourceUri {
    pub(crate) text: LitStr,
    variables: Vec<Variable>,
}

struct Variable {
    name: String,
    /// `true` for a parameter of the query, which a URI may lack.
    is_optional: bool,
}

impl ResourceUri {
    /// Reads the URI, the first of the options, and returns it with the rest of them.
    pub(crate) fn split_off(
        options: TokenStream,
        function: &Function,
        errors: &mut Diagnostics,
    ) -> (Option<Self>, TokenStream) {
        let mut parts = args::split(options.clone()).into_iter();
        let first = parts.next();
        let text =
            first.clone().and_then(|first| syn::parse2::<LitStr>(args::ungrouped(first)).ok());
        let Some(text) = text else {
            let error = match &first {
                Some(first) => errors.error(first, "the resource has no URI"),
                None => errors.error(&function.ident, "the resource has no URI"),
            };
            error
                .help("write it first, as a string: `#[resource(\"notes://{id}\")]`")
                .note("a variable in braces is the argument of that name");
            return (None, without_uri(options));
        };
        let rest = parts.flat_map(|part| {
            let comma = proc_macro2::Punct::new(',', proc_macro2::Spacing::Alone);
            part.into_iter().chain([comma.into()])
        });
        let rest = rest.collect();
        match variables(&text.value()) {
            Ok(variables) => (Some(Self { text, variables }), rest),
            Err(fault) => {
                errors.error(&text, fault.reason).help(fault.help);
                (None, rest)
            }
        }
    }

    /// Checks the variables against the arguments.
    pub(crate) fn check(&self, model: &ToolModel, errors: &mut Diagnostics) {
        let label = model.label();
        for (at, variable) in self.variables.iter().enumerate() {
            let name = &variable.name;
            if self.variables[..at].iter().any(|other| other.name == *name) {
                errors
                    .error(
                        &self.text,
                        format!("variable `{name}` stands twice in the URI of {label}"),
                    )
                    .help("give one of them another name");
            }
            let argument = model.arguments.iter().find(|argument| argument.name == *name);
            match argument {
                Some(argument) => variable.check(argument, &label, errors),
                None => self.without_argument(name, model, errors),
            }
        }
        let is_known = |variable: &Variable| {
            model.arguments.iter().any(|argument| argument.name == variable.name)
        };
        // An argument without a variable is most likely the one of a variable that is misspelt.
        let arguments = self.variables.iter().all(is_known).then_some(&model.arguments);
        for argument in arguments.into_iter().flatten() {
            let is_variable = self.variables.iter().any(|own| own.name == argument.name);
            // Values of other types may come from the program.
            let from_caller = literal::spelled(&argument.ty) != Spelled::Other;
            if !is_variable && from_caller && argument.cfgs.is_empty() {
                errors
                    .error_at(
                        argument.name_span,
                        format!(
                            "argument `{}` of {label} is no variable of its URI",
                            argument.name
                        ),
                    )
                    .help(format!("add it to the URI: `{{{}}}`, or take it out", argument.name))
                    .note("a client passes a URI and nothing else");
            }
        }
    }

    fn without_argument(&self, name: &str, model: &ToolModel, errors: &mut Diagnostics) {
        let label = model.label();
        let names = || model.arguments.iter().map(|argument| argument.name.as_str());
        let error = errors.error(
            &self.text,
            format!("variable `{name}` of {label} is no argument of the function"),
        );
        match nearest(name, names()) {
            Some(near) => error.help(format!("did you mean `{{{near}}}`?")),
            None => error.help(format!("take it as an argument: `{name}: &str`")),
        };
        if names().next().is_some() {
            error.note(format!("the arguments are {}", list(names())));
        }
    }
}

impl Variable {
    fn check(&self, argument: &ArgumentModel, label: &str, errors: &mut Diagnostics) {
        let (name, ty) = (&self.name, type_text(&argument.ty));
        let spelled = literal::spelled(&argument.ty);
        if matches!(spelled, Spelled::List | Spelled::Map) {
            errors
                .error(
                    &argument.ty,
                    format!("variable `{name}` of {label} is text, and `{ty}` is not read of text"),
                )
                .help(format!(
                    "take text, a number, a boolean or an enum of plain variants: `{name}: &str`"
                ));
        }
        let may_lack = literal::shape(&argument.ty).optional || argument.default.is_some();
        if self.is_optional && !may_lack && spelled != Spelled::Other {
            errors
                .error(
                    &argument.ty,
                    format!("a URI of {label} may lack `{name}`, and its argument may not"),
                )
                .help(format!(
                    "take an `Option`: `{name}: Option<{ty}>`, or give it a `#[arg(default)]`"
                ))
                .note("the parameters of a query, `{?..}`, may all be left out");
        }
    }
}

/// Removes a URI that is written as an option, so that it is one error.
fn without_uri(options: TokenStream) -> TokenStream {
    let parts = args::split(options).into_iter();
    let is_uri = |part: &TokenStream| {
        let first = part.clone().into_iter().next().map(|token| token.to_string());
        first.is_some_and(|word| matches!(word.as_str(), "uri" | "url" | "path" | "template"))
    };
    let rest = parts.filter(|part| !is_uri(part)).flat_map(|part| {
        let comma = proc_macro2::Punct::new(',', proc_macro2::Spacing::Alone);
        part.into_iter().chain([comma.into()])
    });
    rest.collect()
}

struct UriFault {
    reason: String,
    help: String,
}

fn fault<T>(reason: impl Into<String>, help: impl Into<String>) -> Result<T, UriFault> {
    Err(UriFault { reason: reason.into(), help: help.into() })
}

/// Returns the variables of a URI, by the rules of `toolbox::resource::UriTemplate`.
fn variables(text: &str) -> Result<Vec<Variable>, UriFault> {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        || !scheme.chars().all(is_part)
        || text.len() == scheme.len() + 1
    {
        let path = text.trim_start_matches(['/', ':']);
        let path = if path.is_empty() { "manual" } else { path };
        return fault(
            format!("the URI `{text}` has no scheme"),
            format!("begin with one of your own: `app://{path}`"),
        );
    }
    if let Some(bad) = text.chars().find(|c| c.is_control() || c.is_whitespace()) {
        return fault(
            format!("the URI `{text}` contains {bad:?}"),
            "write a blank as `%20`, and leave control characters out",
        );
    }
    let mut variables = Vec::new();
    let (mut rest, mut is_after_variable) = (text, false);
    while let Some(open) = rest.find(['{', '}']) {
        let (literal, from) = rest.split_at(open);
        let Some((expression, after)) =
            from.strip_prefix('{').and_then(|from| from.split_once('}'))
        else {
            return fault(
                format!("a brace of the URI `{text}` has no partner"),
                "write each variable as `{name}`; a brace that is text is `%7B` or `%7D`",
            );
        };
        let is_query = expression.starts_with('?');
        if is_query && !after.is_empty() {
            return fault(
                format!("the query of the URI `{text}` is not at its end"),
                format!("move `{{{expression}}}` to the end"),
            );
        }
        if is_after_variable && literal.is_empty() && !is_query {
            return fault(
                format!("two variables of the URI `{text}` follow each other"),
                format!("put text between them: `/{{{expression}}}`"),
            );
        }
        for name in names(expression) {
            let is_valid =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_valid {
                return fault(
                    format!("`{{{expression}}}` is no variable"),
                    "write `{name}`, `{+path}` for one with slashes, or `{?page,size}` for a query",
                );
            }
            variables.push(Variable { name: name.to_owned(), is_optional: is_query });
        }
        (rest, is_after_variable) = (after, true);
    }
    Ok(variables)
}

/// Returns the names in a brace.
fn names(expression: &str) -> Vec<&str> {
    match expression.strip_prefix('?') {
        Some(names) => names.split(',').collect(),
        None => vec![
            expression
                .strip_prefix('+')
                .or_else(|| expression.strip_suffix('*'))
                .unwrap_or(expression),
        ],
    }
}
