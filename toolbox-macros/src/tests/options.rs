//! The options that the parser knows, the tables of the documentation, and their effect.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::args::{self, Form, OptionSpec};
use crate::kind::Kind;

/// A row of a table: the option as written, and its type.
struct Row {
    option: String,
    ty: String,
}

/// Reads the table of options below a line of a page of the macros.
fn table(page: &str, before: &str) -> Vec<Row> {
    let path = format!("{}/../toolbox/src/docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).expect("the page of the macro can be read");
    let (_, rest) = page.split_once(before).expect("the page has the line before its table");
    let rows = rest.lines().skip_while(|line| !line.starts_with("| option |"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let cell = |row: &str, at: usize| row.split('|').nth(at).unwrap_or_default().trim().to_owned();
    rows.map(|row| Row { option: cell(row, 1), ty: cell(row, 2) }).collect()
}

/// Returns whether a row documents an option as the parser reads it.
fn documents(row: &Row, spec: &OptionSpec) -> bool {
    let name = spec.name;
    let is_flag = row.ty.contains("flag");
    match spec.form {
        Form::Flag => row.option == format!("`{name}`") && row.ty == "flag",
        Form::Value => row.option == format!("`{name}`") && !is_flag,
        // Both ways to write it are in one of the two cells.
        Form::FlagOrValue => {
            let both = format!("`{name}`, `{name} = value`");
            row.option == both
                || row.option == format!("`{name}`") && row.ty.starts_with("flag, or")
        }
        Form::List => row.option.starts_with(&format!("`{name}(")) && !is_flag,
    }
}

#[test]
fn the_tables_of_the_documentation_are_the_options_of_the_parser() {
    let tables = [
        (args::TOOL, table("tool", "# Options of `#[tool(...)]`")),
        (args::ARG, table("tool", "# Options of `#[arg(...)]`")),
        (args::PROMPT, table("prompt", "# Options of `#[prompt(...)]`")),
        (args::COMPLETED_ARG, table("prompt", "# Options of `#[arg(...)]`")),
        (args::RESOURCE, table("resource", "# Options of `#[resource(...)]`")),
        (args::TOOLSET, table("toolset", "")),
    ];
    for (known, rows) in tables {
        let written: Vec<_> = rows.iter().map(|row| row.option.as_str()).collect();
        let names: Vec<_> = known.iter().map(|option| option.name).collect();
        assert_eq!(rows.len(), known.len(), "{written:?} are documented, {names:?} are known");
        for (row, option) in rows.iter().zip(known) {
            let Row { option: written, ty } = row;
            assert!(documents(row, option), "`{}` is documented as {written} ({ty})", option.name);
        }
    }
}

/// Returns the expansion of a function with an option, or without one.
fn expanded(
    attribute: &str,
    argument: &TokenStream,
    output: &TokenStream,
    option: Option<&str>,
) -> String {
    let option: TokenStream = option.unwrap_or_default().parse().expect("an option is tokens");
    let (options, arg) = match attribute {
        "arg" | "completed arg" => (quote!(), quote!(#[arg(#option)])),
        _ => (option, quote!()),
    };
    let function = quote! {
        /// Searches.
        fn look_up(#arg #argument) #output {}
    };
    let expansion = match attribute {
        "toolset" => crate::toolset::expand(options, &quote!(impl Library { #[tool] #function })),
        "prompt" | "completed arg" => crate::function_tokens(Kind::Prompt, options, &function),
        "resource" => {
            crate::function_tokens(Kind::Resource, quote!("notes://{query}", #options), &function)
        }
        _ => crate::function_tokens(Kind::Tool, options, &function),
    };
    // An argument is marked as described by any option, also by one that does nothing else.
    expansion.to_string().replace("take_described", "take")
}

#[test]
fn each_option_of_the_parser_has_an_effect() {
    let all = [
        ("tool", args::TOOL),
        ("arg", args::ARG),
        ("prompt", args::PROMPT),
        ("completed arg", args::COMPLETED_ARG),
        ("resource", args::RESOURCE),
        ("toolset", args::TOOLSET),
    ];
    for (attribute, known) in all {
        for option in known {
            let argument = match option.name {
                "default" | "range" => quote!(query: u32),
                "flatten" => quote!(query: Filter),
                _ => quote!(query: &str),
            };
            let output = (option.name == "collect").then(|| quote!(-> impl Stream<Item = u32>));
            let output = output.to_token_stream();
            let without = expanded(attribute, &argument, &output, None);
            let with = expanded(attribute, &argument, &output, Some(option.usage));
            assert_ne!(with, without, "`{}` of `{attribute}` changes nothing", option.usage);
            let needs_feature = option.name == "pattern" && cfg!(not(feature = "pattern"));
            let refused = with.contains("compile_error");
            assert_eq!(refused, needs_feature, "`{}` of `{attribute}`: {with}", option.usage);
        }
    }
}
