//! Each stage by itself.

use proc_macro2::TokenStream;
use quote::quote;

use crate::args;
use crate::diag::{Diagnostics, list, nearest};
use crate::docs::take_arguments;
use crate::item::Function;

#[test]
fn the_nearest_word_is_one_that_can_be_meant() {
    let words = ["name", "description", "title", "timeout", "tags"];
    let cases = [
        ("naem", Some("name")),
        ("desciption", Some("description")),
        ("Description", Some("description")),
        ("tilte", Some("title")),
        ("tag", Some("tags")),
        ("color", None),
        ("x", None),
        ("", None),
    ];
    for (written, expected) in cases {
        assert_eq!(nearest(written, words), expected, "{written}");
    }
    assert_eq!(list(["a", "b"]), "`a`, `b`");
}

#[test]
fn times_have_a_number_and_a_unit() {
    let cases = [
        ("500ms", Some(500)),
        ("30s", Some(30_000)),
        ("2 m", Some(120_000)),
        ("2min", Some(120_000)),
        ("1h", Some(3_600_000)),
        ("30", None),
        ("0s", None),
        ("s", None),
        ("-1s", None),
        ("1.5s", None),
        ("99999999999999999999s", None),
        ("9999999999999999h", None),
    ];
    for (text, expected) in cases {
        assert_eq!(args::milliseconds(text), expected, "{text}");
    }
}

#[test]
fn ranges_are_split_at_their_dots() {
    let split = |tokens: TokenStream| {
        args::range(tokens).map(|range| {
            let text = |end: Option<TokenStream>| end.map(|end| end.to_string());
            (text(range.low), text(range.high), range.inclusive)
        })
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(split(quote!(1..=50)), Some((text("1"), text("50"), true)));
    assert_eq!(split(quote!(1..50)), Some((text("1"), text("50"), false)));
    assert_eq!(split(quote!(1..)), Some((text("1"), None, false)));
    assert_eq!(split(quote!(..=50)), Some((None, text("50"), true)));
    assert_eq!(split(quote!(-1..=A::B)), Some((text("- 1"), text("A :: B"), true)));
    for none in [quote!(50), quote!(..), quote!(1..=), quote!(), quote!("a")] {
        assert!(split(none.clone()).is_none(), "{none}");
    }
}

#[test]
fn numbers_are_read_and_typed() {
    assert_eq!(args::number(&quote!(-1_000)), Some(-1000.0));
    assert_eq!(args::number(&quote!(2.5)), Some(2.5));
    assert_eq!(args::number(&quote!(7u8)), Some(7.0));
    assert_eq!(args::number(&quote!(MOST)), None);
    let typed = |tokens: TokenStream| args::typed_number(&tokens).map(|typed| typed.to_string());
    assert_eq!(typed(quote!(5_000_000_000)).as_deref(), Some("5000000000i64"));
    assert_eq!(
        typed(quote!(18_446_744_073_709_551_615)).as_deref(),
        Some("18446744073709551615u64")
    );
    assert_eq!(typed(quote!(7u8)).as_deref(), Some("7u8"));
    assert_eq!(typed(quote!(0.5)).as_deref(), Some("0.5"));
    assert_eq!(typed(quote!(MOST)), None);
    assert_eq!(typed(quote!("a")), None);
}

#[test]
fn commas_in_brackets_split_nothing() {
    let parts = |tokens| args::split(tokens).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(parts(quote!(a, b(c, d), e = [1, 2],)), ["a", "b (c , d)", "e = [1 , 2]"]);
    assert!(parts(quote!()).is_empty());
}

#[test]
fn options_are_read_in_order_and_every_mistake_is_reported() {
    let mut errors = Diagnostics::default();
    let tokens = quote!(name = "a", read_only, naem = "b", timeout, name = "c", tags("x", "y"), 3);
    let options = args::parse(tokens, args::TOOL, "#[tool(...)]", &mut errors);
    let names: Vec<&str> = options.iter().map(|option| option.name).collect();
    assert_eq!(names, ["name", "read_only", "tags"]);
    assert_eq!(options[2].elements().len(), 2);
    let text = errors.into_tokens().to_string();
    for expected in [
        "unknown option `naem` in `#[tool(...)]`",
        "did you mean `name`?",
        "option `timeout` needs a value",
        "option `name` is given twice",
        "`3` is no option of `#[tool(...)]`",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    assert_eq!(text.matches("compile_error").count(), 4);
}

#[test]
fn every_option_is_written_as_its_usage_says() {
    for known in [args::TOOL, args::TOOLSET, args::ARG] {
        for option in known {
            let mut errors = Diagnostics::default();
            let Ok(tokens) = option.usage.parse() else { panic!("{} is no code", option.usage) };
            args::parse(tokens, known, "", &mut errors);
            assert!(errors.is_empty(), "{}", option.usage);
        }
    }
}

#[test]
fn argument_lists_are_taken_out_of_descriptions() {
    let (text, entries) = take_arguments(
        "Searches.\n\n# Arguments\n\n* `query` - words\n  to look for\n- `limit`: how many\n\n# Errors\n\nNone.",
    );
    assert_eq!(text, "Searches.\n\n# Errors\n\nNone.");
    let entries: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.text.as_str())).collect();
    assert_eq!(entries, [("query", "words to look for"), ("limit", "how many")]);
    let (text, entries) = take_arguments("Says that\n* `this` is a list");
    assert_eq!((text.lines().count(), entries.len()), (2, 0));
}

#[test]
fn functions_are_written_as_they_were_read() {
    for function in [
        quote!(
            fn a() {}
        ),
        quote!(
            pub(crate) async fn a<'a, T: B>(
                &'a self,
                mut b: &'a [T],
                (c, d): (u8, u8),
            ) -> impl C + 'a
            where
                T: D,
            {
                b
            }
        ),
        quote!(
            unsafe extern "C" fn a(self: Arc<Self>, a::B { c, .. }: a::B) {}
        ),
        quote!(
            const fn r#match(r#type: [u8; { 1 + 2 }]) -> ! {
                loop {}
            }
        ),
    ] {
        let read: Function = match syn::parse2(function.clone()) {
            Ok(read) => read,
            Err(error) => panic!("{error} in {function}"),
        };
        // Commas aside, of which the last may come or go.
        let plain = |tokens: TokenStream| tokens.to_string().replace([',', ' '], "");
        assert_eq!(plain(quote!(#read)), plain(function));
    }
}

#[test]
fn one_module_quotes_code() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let quotes = |path: &std::path::Path| {
        let text = std::fs::read_to_string(path).unwrap();
        ["quote!", "quote_spanned!"].iter().any(|name| text.contains(name))
    };
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file() && quotes(path));
    let names: Vec<_> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["expand.rs"]);
}
