//! Arguments that the call lends.
use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::{ToolBox, ToolCall, tool, tools};

#[derive(Deserialize, JsonSchema)]
struct Filter {
    least: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Borrowed<'a> {
    #[serde(borrow)]
    name: &'a str,
}

/// Has a lifetime of its own.
#[tool]
fn echo<'a>(query: &'a str) -> &'a str {
    query
}

/// Has two.
#[tool]
async fn pick<'a, 'b: 'a>(first: &'a str, second: Option<&'b str>) -> &'a str {
    second.unwrap_or(first)
}

/// Takes everything that can be borrowed.
#[tool]
async fn all(
    text: &str,
    maybe: Option<&str>,
    words: &[String],
    slices: &[&str],
    path: &Path,
    owned_path: &PathBuf,
    filter: &Filter,
    number: &u32,
    cow: Cow<'_, str>,
    borrowed: Borrowed<'_>,
    lent: &Borrowed<'_>,
) -> String {
    std::future::ready(()).await;
    format!(
        "{text} {maybe:?} {words:?} {slices:?} {} {} {} {number} {cow} {} {}",
        path.display(),
        owned_path.display(),
        filter.least,
        borrowed.name,
        lent.name
    )
}

/// Lends what the caller leaves out.
#[tool]
fn lent_defaults(
    #[arg(default = "rust")] text: &str,
    #[arg(default)] empty: &str,
    #[arg(default = &[1, 2])] numbers: &[u32],
    #[arg(default = Path::new("/"))] path: &Path,
) -> String {
    format!("{text}{empty}{numbers:?}{}", path.display())
}

/// Takes arguments that it may change.
#[tool]
fn mutable(mut count: u32, mut words: Vec<String>) -> String {
    count += 1;
    words.push(count.to_string());
    words.concat()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![echo, pick, all, lent_defaults, mutable]);
    let text = async |name: &str, arguments: &str| {
        toolbox.call(ToolCall::new("1", name, arguments)).await.into_text()
    };
    assert_eq!(text("echo", r#"{"query":"a\nb"}"#).await, "a\nb");
    assert_eq!(text("pick", r#"{"first":"a","second":"b"}"#).await, "b");
    let arguments = r#"{"text":"t","words":["w"],"slices":["s"],"path":"p","owned_path":"o",
        "filter":{"least":1},"number":2,"cow":"c","borrowed":{"name":"n"},"lent":{"name":"m"}}"#;
    assert_eq!(text("all", arguments).await, r#"t None ["w"] ["s"] p o 1 2 c n m"#);
    assert_eq!(text("lent_defaults", "").await, "rust[1, 2]/");
    assert_eq!(text("mutable", r#"{"count":1,"words":["a"]}"#).await, "a2");
    assert_eq!(echo("x"), "x");
}
