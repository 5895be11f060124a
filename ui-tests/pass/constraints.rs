//! Ranges, lengths, patterns and defaults of all sorts.
use toolbox::{ToolBox, ToolCall, tool, tools};

const MOST: u32 = 50;
const LEAST: f64 = -1.5;

mod limits {
    pub const WORDS: usize = 3;
}

/// Searches.
#[tool]
fn search(
    #[arg(range = 1..=MOST, default = MOST / 5)] limit: u32,
    #[arg(range = LEAST..1.5)] weight: Option<f64>,
    #[arg(range = -5..)] offset: Option<i64>,
    #[arg(range = ..5_000_000_000)] size: Option<u64>,
    #[arg(range = 0..=18_446_744_073_709_551_615)] hash: Option<u64>,
    #[arg(length = ..=limits::WORDS)] words: Option<Vec<String>>,
    #[arg(length = 1..8, pattern = "^[a-z]+$", examples("rust", "go"))] query: &str,
    #[arg(default = String::from("en"), rename = "lang")] language: String,
    #[arg(default = vec![1, 2], examples(vec![3], vec![]))] pages: Vec<u32>,
) -> String {
    format!("{limit} {weight:?} {offset:?} {size:?} {hash:?} {words:?} {query} {language} {pages:?}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![search]);
    let call = |arguments: &str| toolbox.call(ToolCall::new("1", "search", arguments));
    let result = call(r#"{"query":"rust","size":4999999999}"#).await;
    assert_eq!(result.text(), "10 None None Some(4999999999) None None rust en [1, 2]");
    for refused in [
        r#"{"query":"rust","limit":51}"#,
        r#"{"query":"rust","weight":-2}"#,
        r#"{"query":"rust","offset":-6}"#,
        r#"{"query":"rust","size":5000000000}"#,
        r#"{"query":"rust","words":["a","b","c","d"]}"#,
        r#"{"query":"Rust"}"#,
        r#"{"query":""}"#,
    ] {
        assert!(call(refused).await.is_error(), "{refused}");
    }
}
