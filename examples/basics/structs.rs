//! How do I take structs and enums as arguments, and how do I make a tool without a macro?
//!
//! `cargo run -p toolbox-basics --example structs`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    dead_code,
    reason = "an example shows what it does, by `Debug`"
)]

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::{Tool, ToolBox, ToolCall, tool};

#[derive(Debug, Deserialize, JsonSchema)]
struct Filter {
    /// Earliest year
    since: u16,
    kind: Option<Kind>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Book,
    Film,
    /// A series of so many seasons
    Series {
        seasons: u8,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Page {
    /// Which page, from 1
    #[schemars(range(min = 1))]
    page: u32,
    /// Entries a page
    size: Option<u32>,
}

/// Searches a catalog.
#[tool(read_only)]
fn search_catalog(
    /// Words to look for
    words: &[String],
    /// All of these must hold
    filters: Vec<Filter>,
    /// Its fields stand among the arguments
    #[arg(flatten)]
    page: Page,
) -> String {
    format!("{words:?} {filters:?} {page:?}")
}

#[derive(Deserialize, JsonSchema)]
struct Power {
    /// The base
    base: f64,
    /// The exponent
    exponent: i32,
}

#[tokio::main]
async fn main() -> Result<(), serde_json::Error> {
    let toolbox = ToolBox::new();
    toolbox.register(search_catalog::tool());
    toolbox.register(Tool::from_fn("power", "Raises to a power", |power: Power| async move {
        power.base.powi(power.exponent)
    }));
    toolbox.register(
        Tool::new("greet", "Greets somebody")
            .param("name", "string", "Whom")
            .call(|args| format!("Hello, {}!", args["name"].as_str().unwrap_or("stranger"))),
    );
    println!("{}\n", serde_json::to_string_pretty(&toolbox.definitions())?);
    let calls = [
        (
            "search_catalog",
            r#"{"words":["dune"],"filters":[{"since":1965,"kind":"book"},{"since":2000,"kind":{"series":{"seasons":2}}}],"page":1}"#,
        ),
        (
            "search_catalog",
            r#"{"words":["dune"],"filters":[{"since":"old","kind":"boook"},{"sinse":2000}],"page":0}"#,
        ),
        ("power", r#"{"base":2,"exponent":10}"#),
        ("greet", r#"{"name":"Ferris"}"#),
    ];
    for (name, arguments) in calls {
        let result = toolbox.call(ToolCall::new("1", name, arguments)).await;
        println!("{name}: {}", result.text());
    }
    Ok(())
}
