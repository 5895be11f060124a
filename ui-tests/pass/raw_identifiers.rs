//! Keywords as names of tools and arguments.
use toolbox::{ToolBox, ToolCall, tool, tools};

/// Finds what fits.
#[tool(example(r#type = "crate", r#in = 3))]
fn r#match(r#type: &str, #[arg(default)] r#in: u32) -> String {
    format!("{type} {in}", type = r#type, in = r#in)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    assert_eq!(r#match::NAME, "match");
    let toolbox = ToolBox::from(tools![r#match]);
    let result = toolbox.call(ToolCall::new("1", "match", r#"{"type":"trait"}"#)).await;
    assert_eq!(result.text(), "trait 0");
}
