//! What a model is told of a tool: the words of its documentation, formats, optional arguments.

#![allow(dead_code, unused_variables, reason = "only what is told of them is read")]

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use support::{now, says};
use toolbox::definition::Lint;
use toolbox::{Tool, ToolBox, ToolCall, tool, tools};

#[derive(Deserialize, JsonSchema, Debug)]
enum Kind {
    Book,
    Film,
}

/// A page of results.
///
/// # Panics
///
/// Never.
#[derive(Deserialize, JsonSchema, Debug)]
struct Page {
    /// The number of the page.
    ///
    /// ```
    /// assert_eq!(1, 1);
    /// ```
    number: u32,
}

#[derive(Deserialize, JsonSchema, Debug)]
struct Filter {
    /// Words.
    words: Option<String>,
    limit: Option<u32>,
    kind: Option<Kind>,
    tags: Option<Vec<String>>,
    page: Option<Page>,
}

/// Searches.
#[tool]
fn flat(#[arg(flatten)] filter: Filter) -> String {
    format!("{filter:?}")
}

/// Searches.
#[tool]
fn direct(
    /// Words.
    words: Option<String>,
    limit: Option<u32>,
    kind: Option<Kind>,
    tags: Option<Vec<String>>,
    page: Option<Page>,
) -> String {
    format!("{words:?} {limit:?} {kind:?} {tags:?} {page:?}")
}

#[test]
fn an_optional_field_is_shown_as_an_optional_argument_is() {
    let schema = |tool: Tool| serde_json::to_value(&tool.definition().input_schema).unwrap();
    assert_eq!(schema(flat::tool()), schema(direct::tool()));
    assert!(!schema(flat::tool()).to_string().contains("null"));
    let toolbox = ToolBox::from(tools![flat, direct]);
    for name in ["flat", "direct"] {
        for arguments in
            ["{}", r#"{"words":null,"limit":null,"kind":null,"tags":null,"page":null}"#]
        {
            let result = now(toolbox.call(ToolCall::new("1", name, arguments)));
            assert!(!result.is_error(), "{name} {arguments}: {}", result.text());
            assert_eq!(result.text().matches("None").count(), 5, "{}", result.text());
        }
    }
}

/// Does it.
///
/// And more.
///
/// # Panics
///
/// If the moon is full.
///
/// # Limits
///
/// Ten a day.
///
/// ```
/// let secret = "of programmers";
/// ```
///
/// # Errors
///
/// When it fails.
///
/// # Arguments
///
/// * `page` - The page.
///
/// # Examples
///
/// None.
#[tool]
fn documented(page: Page) {}

#[doc = concat!("Does ", "it.")]
///
/// # Errors
///
/// Sometimes.
#[tool]
fn composed(
    /// The page.
    ///
    /// # Safety
    ///
    /// Wear a helmet.
    page: u32,
) {
}

/// Unread.
#[tool(description = "Does it.\n\n# Errors\n\nAs it is written.")]
fn written() {}

#[test]
fn what_is_for_programmers_is_not_told() {
    let argument = |tool: &Tool| tool.definition().input_schema["properties"]["page"].clone();
    let description = |tool: Tool| tool.definition().description.clone();
    assert_eq!(description(documented::tool()), "Does it.\n\nAnd more.\n\n# Limits\n\nTen a day.");
    assert_eq!(description(composed::tool()), "Does it.");
    assert_eq!(description(written::tool()), "Does it.\n\n# Errors\n\nAs it is written.");
    let page = argument(&documented::tool());
    assert_eq!(page["properties"]["number"]["description"], "The number of the page.");
    assert_eq!(page["description"], "The page.");
    let page = argument(&composed::tool());
    assert_eq!(page["description"], "The page.");
    let page = argument(&direct::tool());
    assert_eq!(page["description"], "A page of results.");
}

#[derive(Deserialize, JsonSchema)]
struct Formats {
    #[schemars(email)]
    mail: String,
    /// Whom to write to.
    #[schemars(email)]
    told: String,
    #[schemars(url)]
    link: String,
    #[schemars(extend("format" = "phone"))]
    phone: String,
    #[schemars(extend("format" = "password"))]
    password: String,
    address: IpAddr,
}

/// Takes them.
#[tool]
fn formats(#[arg(flatten)] formats: Formats) {}

#[test]
fn formats_that_nothing_holds_are_told_in_words() {
    let text = |more: Value| {
        let mut schema = json!({"type": "string"});
        for (keyword, value) in more.as_object().unwrap() {
            schema[keyword] = value.clone();
        }
        schema
    };
    let schema = serde_json::to_value(&formats::tool().definition().input_schema).unwrap();
    for (name, told) in [
        ("mail", json!({"description": "An e-mail address such as `ab@example.com`"})),
        ("told", json!({"description": "Whom to write to."})),
        ("link", json!({"format": "uri"})),
        ("phone", json!({"description": "Text of the format `phone`"})),
        ("password", json!({"format": "password"})),
        ("address", json!({"description": "An IP address such as `192.0.2.1`"})),
    ] {
        assert_eq!(schema["properties"][name], text(told), "{name}");
    }
}

#[test]
fn long_descriptions_are_linted() {
    for (characters, is_long) in [(2_000, false), (2_001, true), (6_000, true)] {
        let long = "ä ".repeat(characters / 2) + &"a".repeat(characters % 2);
        let tool = says("t", "").with_description(long.clone());
        let found = ToolBox::from(tool).lints();
        let lint = Lint::LongDescription { tool: "t".to_owned(), argument: None, characters };
        assert_eq!(found.contains(&lint), is_long, "{characters}: {found:?}");
        let tool = Tool::new("t", "Does this and that.").param("a", "string", long).call(|_| "");
        let found = ToolBox::from(tool).lints();
        let argument = Some("a".to_owned());
        let lint = Lint::LongDescription { tool: "t".to_owned(), argument, characters };
        assert_eq!(found.contains(&lint), is_long, "{characters}: {found:?}");
    }
}
