//! A tool where it is used.
use toolbox::{ToolBox, ToolCall, tool, tools};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    /// Adds.
    #[tool]
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }

    let toolbox = ToolBox::from(tools![add]);
    let inner = {
        /// Adds more.
        #[tool(name = "add_more")]
        async fn add(a: i64) -> i64 {
            a + 10
        }
        add::tool()
    };
    toolbox.register(inner);
    assert_eq!(add(1, 2), 3);
    let result = toolbox.call(ToolCall::new("1", "add_more", r#"{"a":1}"#)).await;
    assert_eq!(result.text(), "11");
}
