//! The crate under another name, beside a module that has its own.
extern crate toolbox as renamed;

mod toolbox {}

mod prelude {
    pub mod inner {
        pub use renamed::*;
    }
}

use prelude::inner::{ToolBox, ToolCall, tool, tools, toolset};

/// Greets.
#[tool(crate = renamed, example(name = "Ada"))]
async fn greet(#[arg(default = "you", length = ..20)] name: &str) -> String {
    format!("Hello, {name}!")
}

/// Adds.
#[tool(crate = crate::prelude::inner)]
fn add(#[arg(range = 0..10)] a: i64, b: i64) -> i64 {
    a + b
}

struct Set;

#[toolset(crate = crate::prelude::inner)]
impl Set {
    /// Waits.
    #[tool]
    async fn wait(&self) {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![greet, add]);
    toolbox.register(Set);
    assert_eq!(toolbox.call(ToolCall::new("1", "greet", "")).await.text(), "Hello, you!");
    assert_eq!(toolbox.call(ToolCall::new("1", "add", r#"{"a":1,"b":2}"#)).await.text(), "3");
}
