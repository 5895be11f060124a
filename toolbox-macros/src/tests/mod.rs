//! The stages as functions, and what expansions look like.

mod options;
mod stages;

use proc_macro2::TokenStream;
use quote::quote;

/// Compares an expansion with the one in git.
///
/// `TOOLBOX_BLESS=1 cargo test -p toolbox-macros` writes the new one; read the diff.
fn check(name: &str, expansion: &TokenStream) {
    let text = match syn::parse2(expansion.clone()) {
        Ok(file) => prettyplease::unparse(&uncarried(file)),
        Err(error) => panic!("{error} in {expansion}"),
    };
    let path = format!("{}/src/tests/expanded/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("TOOLBOX_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the expansion can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "{path} is out of date: set TOOLBOX_BLESS to write it");
}

/// The most lines of an expansion of two arguments without options, its function not counted.
const MAX_LINES: usize = 60;

#[test]
fn an_expansion_of_two_arguments_is_short() {
    let functions = [
        quote!(
            fn add(a: i64, b: i64) -> i64 {
                a + b
            }
        ),
        quote!(
            fn add(a: i64, b: i64) {
                a + b
            }
        ),
        quote!(
            async fn add(a: i64, b: i64) -> i64 {
                a + b
            }
        ),
        quote!(
            async fn search(query: &str, context: &ToolContext) -> Result<Hit, String> {
                todo!()
            }
        ),
        quote!(
            async fn search(query: String, limit: Option<u32>) -> Result<Vec<Hit>, SearchError> {
                todo!()
            }
        ),
        quote!(
            fn search(query: String, library: State<Library>) -> HashMap<String, Hit> {
                todo!()
            }
        ),
    ];
    for function in functions {
        let function = quote!(#[doc = " Does what it says."] #function);
        let lines = |tokens: TokenStream| {
            let file = syn::parse2(tokens).expect("functions and expansions are items");
            prettyplease::unparse(&uncarried(file)).lines().count()
        };
        let expansion = lines(crate::function_tokens(crate::kind::Kind::Tool, quote!(), &function));
        let expansion = expansion - lines(function.clone());
        assert!(expansion <= MAX_LINES, "{expansion} lines for {function}");
    }
}

/// Does what the attribute `carrier` of an expansion does when it is compiled.
fn uncarried(file: syn::File) -> syn::File {
    let mut items = Vec::new();
    for mut item in file.items {
        let mut carried = Vec::new();
        if let syn::Item::Struct(syn::ItemStruct { attrs, .. })
        | syn::Item::Const(syn::ItemConst { attrs, .. }) = &mut item
        {
            attrs.retain(|attribute| match &attribute.meta {
                syn::Meta::List(list) if crate::item::is_named(attribute, "carrier") => {
                    let carried_file = syn::parse2::<syn::File>(list.tokens.clone());
                    carried.extend(carried_file.expect("what is carried are items").items);
                    false
                }
                _ => true,
            });
        }
        items.push(item);
        items.extend(carried);
    }
    syn::File { items, ..file }
}

#[test]
fn a_plain_function() {
    let expansion = crate::function_tokens(
        crate::kind::Kind::Tool,
        quote!(),
        &quote! {
            /// Adds two numbers.
            pub fn add(a: i64, b: i64) -> i64 {
                a + b
            }
        },
    );
    check("plain", &expansion);
}

#[test]
fn an_async_function() {
    let expansion = crate::function_tokens(
        crate::kind::Kind::Tool,
        quote!(read_only, timeout = "30s", example(query = "macros")),
        &quote! {
            /// Searches the documentation.
            async fn search(query: &str, context: &ToolContext) -> Result<Vec<Hit>, SearchError> {
                todo!()
            }
        },
    );
    check("async", &expansion);
}

#[test]
fn defaults_and_constraints() {
    let expansion = crate::function_tokens(
        crate::kind::Kind::Tool,
        quote!(name = "search_docs", type = SearchTool, crate = renamed),
        &quote! {
            #[cfg(docs)]
            #[doc = include_str!("search.md")]
            fn search(
                /// How many hits to return
                #[arg(default = 10, range = 1..=MOST)] limit: u32,
                #[arg(default, length = 1..9, rename = "lang", examples("en"))] language: &str,
                #[cfg(filters)] #[arg(flatten)] filter: Filter,
            ) {
            }
        },
    );
    check("constraints", &expansion);
}

#[test]
fn a_toolset() {
    let expansion = crate::toolset::expand(
        quote!(),
        &quote! {
            impl<T: Token> Github<T> {
                /// Lists the issues.
                #[tool]
                async fn issues(&self) -> String {
                    String::new()
                }

                #[cfg(version)]
                /// Tells the version.
                #[tool(name = "github_version")]
                fn version() -> &'static str {
                    "3"
                }

                fn helper(&self) {}
            }
        },
    );
    check("toolset", &expansion);
}

#[test]
fn prompts_and_resources_of_a_toolset() {
    let expansion = crate::toolset::expand(
        quote!(with = Self::limited),
        &quote! {
            impl Library {
                /// Asks for a review.
                #[prompt]
                fn review(&self, #[arg(complete = Self::titles)] title: &str) -> String {
                    title.to_owned()
                }

                /// The catalog.
                #[cfg(catalog)]
                #[resource("books://all", mime_type = "text/plain")]
                async fn catalog(self: Arc<Self>) -> String {
                    String::new()
                }
            }
        },
    );
    check("toolset_offers", &expansion);
}

#[test]
fn a_trait_and_its_implementation() {
    let of_trait = crate::toolset::expand(
        quote!(prefix = "storage"),
        &quote! {
            trait Storage: Debug {
                /// Reads a text.
                #[tool]
                async fn read(&self, key: &str) -> String;

                /// Counts the texts.
                #[cfg(counts)]
                #[tool]
                fn count(&self) -> usize {
                    0
                }

                fn helper(&self);
            }
        },
    );
    let of_type = crate::toolset::expand(
        quote!(),
        &quote! {
            impl Storage for Disk {
                /// Reads a file.
                #[tool(title = "Read")]
                async fn read(&self, key: &str) -> String {
                    key.to_owned()
                }

                fn helper(&self) {}
            }
        },
    );
    check("trait", &quote!(#of_trait #of_type));
}

#[test]
fn a_function_with_a_mistake() {
    let expansion = crate::function_tokens(
        crate::kind::Kind::Tool,
        quote!(naem = "search"),
        &quote! {
            /// Searches.
            #[must_use]
            fn search(#[arg(default = 1)] limit: u32) -> u32 {
                limit
            }
        },
    );
    check("mistake", &expansion);
}

#[test]
fn a_list_of_tools() {
    let list = crate::tools::expand(
        crate::kind::Kind::Tool,
        quote!(::toolbox; search, #[cfg(web)] web::fetch),
    );
    check("list", &quote!(fn list() -> Vec<Tool> { #list }));
}

#[test]
#[cfg(not(feature = "pattern"))]
fn a_pattern_needs_its_feature() {
    let expansion = crate::function_tokens(
        crate::kind::Kind::Tool,
        quote!(),
        &quote! {
            /// Searches.
            fn search(#[arg(pattern = "^[a-z]+$")] query: &str) {}
        },
    );
    assert!(expansion.to_string().contains("needs the feature `pattern` of `llm-toolbox`"));
}
