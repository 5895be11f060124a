//! Types of the program's own: generic ones, and ones the program supplies.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbox::{FromContext, ToolBox, ToolCall, ToolContext, ToolError, tool, tools};

#[derive(Deserialize, Serialize, JsonSchema, Clone)]
struct Page<T> {
    items: Vec<T>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Up,
    Down,
}

struct User(String);

impl FromContext for User {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(Self(context.call_id().to_owned()))
    }
}

/// Sorts.
#[tool(example(page = Page { items: vec![2, 1] }))]
fn sort(mut page: Page<u32>, #[arg(default)] order: Order, user: User, lent: &User) -> Page<u32> {
    page.items.sort_unstable();
    if matches!(order, Order::Down) {
        page.items.reverse();
    }
    assert_eq!(user.0, lent.0);
    page
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![sort]);
    let arguments = r#"{"page":{"items":[1,3,2]},"order":"down"}"#;
    let result = toolbox.call(ToolCall::new("1", "sort", arguments)).await;
    assert_eq!(result.text(), r#"{"items":[3,2,1]}"#);
}
