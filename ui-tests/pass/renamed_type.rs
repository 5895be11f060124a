//! A tool whose type has a name of its own, beside a module of the function's.
use toolbox::{ToolBox, ToolCall, tool, tools};

mod search {
    pub fn helper() -> u32 {
        7
    }
}

/// Searches.
#[tool(type = SearchTool)]
fn search(query: &str) -> String {
    format!("{query} {}", search::helper())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    assert_eq!((SearchTool::NAME, search("x")), ("search", "x 7".to_owned()));
    let toolbox = ToolBox::from(tools![SearchTool]);
    let result = toolbox.call(ToolCall::new("1", "search", r#"{"query":"x"}"#)).await;
    assert_eq!(result.text(), "x 7");
}
