//! `mcp_tools!`: functions for the tools of a lock file.

use std::path::{Path, PathBuf};

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Token, bracketed};
use toolbox_codegen::Lock;

use crate::diag::{Diagnostics, nearest};

/// The name that stands for the crate `toolbox` in source.
const CRATE: &str = "__toolbox";

/// What is said of an input that cannot be read.
const USAGE: &str = "`mcp_tools!` takes the path of a lock file\nhelp: write `mcp_tools!(\"tools.lock.json\")`, or `mcp_tools!(\"tools.lock.json\", servers = [\"files\"])`";
const SERVERS: &str = "`servers` takes a list of names\nhelp: write `servers = [\"files\"]`";

/// The input: the crate, the file, and the servers that are meant.
struct Input {
    krate: TokenStream,
    file: LitStr,
    servers: Option<Vec<LitStr>>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut krate = TokenStream::new();
        while !input.peek(Token![;]) {
            krate.extend([input.parse::<TokenTree>()?]);
        }
        input.parse::<Token![;]>()?;
        let bad = |error: syn::Error| syn::Error::new(error.span(), USAGE);
        let file = input.parse().map_err(bad)?;
        let mut servers = None;
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let name: Ident = input.parse().map_err(bad)?;
            if name != "servers" {
                return Err(syn::Error::new(name.span(), USAGE));
            }
            input.parse::<Token![=]>().map_err(bad)?;
            if !input.peek(syn::token::Bracket) {
                return Err(syn::Error::new(input.span(), SERVERS));
            }
            let list;
            bracketed!(list in input);
            let names = list.parse_terminated(<LitStr as Parse>::parse, Token![,]);
            let bad = |error: syn::Error| syn::Error::new(error.span(), SERVERS);
            servers = Some(names.map_err(bad)?.into_iter().collect());
            input.parse::<Option<Token![,]>>()?;
        }
        if !input.is_empty() {
            return Err(syn::Error::new(input.span(), USAGE));
        }
        Ok(Self { krate, file, servers })
    }
}

/// Expands `mcp_tools!`.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let Input { krate, file, servers } = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Diagnostics::default();
    let source = source(&file, servers.as_deref(), &mut errors);
    if !errors.is_empty() {
        return errors.into_tokens();
    }
    source.map(|source| with_crate(source, &krate)).unwrap_or_default()
}

/// Returns the functions.
fn source(
    file: &LitStr,
    servers: Option<&[LitStr]>,
    errors: &mut Diagnostics,
) -> Option<TokenStream> {
    let (path, text) = match read(file) {
        Ok(read) => read,
        Err(text) => {
            errors
                .error(file, text)
                .help("servers that are mounted with a lock file write it: `\"lockFile\"` in `toolbox.jsonc`, or `Servers::builder().lock_file(..)`");
            return None;
        }
    };
    let mut lock = match Lock::read(&text) {
        Ok(lock) => lock,
        Err(error) => {
            errors
                .error(file, format!("`{}` is no lock file: {error}", file.value()))
                .help("name the file that `\"lockFile\"` in `toolbox.jsonc` names");
            return None;
        }
    };
    if let Some(names) = servers {
        for name in names {
            let known: Vec<_> = lock.servers().map(|(server, _)| server.to_owned()).collect();
            if known.contains(&name.value()) {
                continue;
            }
            let text = format!("`{}` has no server `{}`", file.value(), name.value());
            let error = errors.error(name, text);
            match nearest(&name.value(), known.iter().map(String::as_str)) {
                Some(near) => error.help(format!("did you mean `\"{near}\"`?")),
                None => error.help(format!("it has {}", known.join(", "))),
            };
        }
        let names: Vec<_> = names.iter().map(LitStr::value).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        lock.keep(&names).ok()?;
    }
    let unknown: Vec<_> = lock.without_definition().take(3).collect();
    if !unknown.is_empty() {
        let text = format!("`{}` holds no definition of {}", file.value(), unknown.join(", "));
        errors
            .error(file, text)
            .help("an older version wrote the file: approve the tools once more");
        return None;
    }
    // A change of the file compiles the functions again.
    let read = format!("const _: &[u8] = ::core::include_bytes!({:?});\n", path.to_string_lossy());
    match (read + &lock.rust(CRATE)).parse() {
        Ok(tokens) => Some(tokens),
        Err(error) => {
            errors.error(file, format!("`{}` makes no valid functions: {error}", file.value()));
            None
        }
    }
}

/// Reads a file of the package, or one beside the source file.
fn read(file: &LitStr) -> Result<(PathBuf, String), String> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let beside = proc_macro::is_available().then(|| file.span().unwrap().local_file()).flatten();
    let beside = beside.and_then(|own| Some(std::path::absolute(own).ok()?.parent()?.to_owned()));
    let mut places = vec![package];
    places.extend(beside.filter(|beside| *beside != places[0]));
    for place in &places {
        let path = place.join(Path::new(&file.value()));
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok((path, text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("`{}` cannot be read: {error}", file.value())),
        }
    }
    Err(format!(
        "there is no `{}` in the package's folder, nor beside this source file",
        file.value()
    ))
}

/// Puts the crate in the place of its name, and all tokens where the macro stands.
fn with_crate(source: TokenStream, krate: &TokenStream) -> TokenStream {
    let mut tokens = TokenStream::new();
    for token in source {
        match token {
            TokenTree::Ident(name) if name == CRATE => tokens.extend(krate.clone()),
            TokenTree::Group(group) => {
                let inner = with_crate(group.stream(), krate);
                let mut own = Group::new(group.delimiter(), inner);
                own.set_span(Span::call_site());
                tokens.extend([TokenTree::Group(own)]);
            }
            other => tokens.extend([other]),
        }
    }
    tokens
}
