//! Names that an expansion uses too.
use toolbox::{ToolBox, ToolCall, tool, tools};

#[allow(non_upper_case_globals, dead_code)]
mod constants {
    pub const value: u8 = 1;
    pub const error: u8 = 1;
    pub const call: u8 = 1;
    pub const about: u8 = 1;
    pub const refusal: u8 = 1;
    pub const tools: u8 = 1;
    pub const set: u8 = 1;
    pub const this: u8 = 1;
    pub const finish: u8 = 1;
    pub const fail: u8 = 1;
    pub const default0: u8 = 1;
    pub const slot0: u8 = 1;
}
#[allow(unused_imports)]
use constants::*;

/// Has an argument of its own name.
#[tool]
fn query(query: &str) -> String {
    query.to_owned()
}

/// Takes the names of an expansion's variables.
#[tool]
async fn names(
    call: u8,
    about: u8,
    #[arg(default = 4)] slot0: u8,
    value: u8,
    error: u8,
    tool: u8,
    this: u8,
    refusal: u8,
    default0: u8,
) -> u8 {
    call + about + slot0 + value + error + tool + this + refusal + default0
}

/// Is called like a variable of an expansion.
#[tool]
fn value2(value: u8) -> Result<u8, String> {
    Ok(value)
}

/// Is called like a trait's method.
#[tool(name = "finish")]
fn tool_finish(finish: u8) -> u8 {
    finish
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![query, names, value2, tool_finish]);
    let result = toolbox.call(ToolCall::new("1", "query", r#"{"query":"x"}"#)).await;
    assert_eq!(result.text(), "x");
    let arguments = r#"{"call":1,"about":1,"value":1,"error":1,"tool":1,"this":1,"refusal":1,"default0":1}"#;
    assert_eq!(toolbox.call(ToolCall::new("1", "names", arguments)).await.text(), "12");
}
