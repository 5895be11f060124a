//! Names that are constants, and literals for types that are not written as such.
use std::num::{NonZeroI32, NonZeroU8};
use std::sync::Arc;

use serde::Serialize;
use schemars::JsonSchema;
use toolbox::{ToolBox, ToolCall, tool, tools, toolset};

const NAME: &str = "find";

/// Finds.
#[tool(name = NAME)]
fn search(
    #[arg(default = 5, range = 1..=9)] limit: Option<u32>,
    #[arg(default = -1.5)] weight: Option<f64>,
    #[arg(default = true)] exact: Option<bool>,
    #[arg(default = 'x')] mark: Option<char>,
    #[arg(default = "en", examples("de", "fr"))] language: Option<String>,
    #[arg(default = Some(7))] page: Option<u32>,
    #[arg(default = 3, examples(1, 2))] times: NonZeroU8,
    #[arg(default = -3)] step: Option<NonZeroI32>,
) -> String {
    format!("{limit:?} {weight:?} {exact:?} {mark:?} {language:?} {page:?} {times} {step:?}")
}

/// Counts.
#[tool(name = concat!("count_", "words"))]
fn count() {}

struct Set;

#[toolset]
impl Set {
    /// Lists.
    #[tool(name = concat!("list_", "all"))]
    fn list(&self) {}
}

#[derive(Serialize, JsonSchema)]
struct Hit {
    title: &'static str,
}

/// Returns what others hold too.
#[tool]
fn shared() -> Arc<Vec<Hit>> {
    Arc::new(vec![Hit { title: "a" }])
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![search, count, shared]);
    toolbox.register(Set);
    assert_eq!(toolbox.names(), ["find", "count_words", "shared", "list_all"]);
    assert_eq!((search::NAME, count::NAME), ("find", "count_words"));
    let result = toolbox.call(ToolCall::new("1", "find", "{}")).await;
    assert_eq!(
        result.text(),
        r#"Some(5) Some(-1.5) Some(true) Some('x') Some("en") Some(7) 3 Some(-3)"#
    );
    let result = toolbox.call(ToolCall::new("1", "find", r#"{"limit":null,"times":1}"#)).await;
    assert!(result.text().starts_with("Some(5) "), "null is none: {}", result.text());
    let result = toolbox.call(ToolCall::new("1", "shared", "{}")).await;
    assert_eq!(result.text(), r#"[{"title":"a"}]"#);
}
