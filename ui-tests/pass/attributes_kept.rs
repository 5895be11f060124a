//! Attributes of the function and its arguments stay where they are.
#![deny(warnings)]

use toolbox::{ToolBox, ToolCall, tool, tools};

/// Has attributes below.
#[tool]
#[allow(clippy::needless_return, unused_variables, non_snake_case)]
#[must_use]
#[inline]
fn below(#[allow(unused)] unused: u32, Mixed: u32) -> u32 {
    return Mixed;
}

#[must_use = "it is counted"]
#[inline(never)]
#[cold]
#[tool]
/// Has attributes above.
async fn above() -> u32 {
    1
}

/// Is out of date.
#[tool]
#[deprecated = "use `below`"]
fn old() -> u32 {
    0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    #[allow(deprecated)]
    let toolbox = ToolBox::from(tools![below, above, old]);
    let result = toolbox.call(ToolCall::new("1", "below", r#"{"unused":1,"Mixed":2}"#)).await;
    assert_eq!(result.text(), "2");
    assert_eq!(toolbox.call(ToolCall::new("1", "above", "")).await.text(), "1");
}
