//! A tool with many arguments.
use toolbox::{ToolBox, ToolCall, tool, tools};

/// Adds what is given.
#[tool]
async fn add(
    a0: Option<u8>,
    a1: Option<u16>,
    a2: Option<u32>,
    a3: Option<u64>,
    a4: Option<u8>,
    a5: Option<u16>,
    a6: Option<u32>,
    a7: Option<u64>,
    a8: Option<u8>,
    a9: Option<u16>,
    a10: Option<u32>,
    a11: Option<u64>,
    a12: Option<u8>,
    a13: Option<u16>,
    a14: Option<u32>,
    a15: Option<u64>,
    a16: Option<u8>,
    a17: Option<u16>,
    a18: Option<u32>,
    a19: Option<u64>,
    a20: Option<u8>,
    a21: Option<u16>,
    a22: Option<u32>,
    a23: Option<u64>,
    a24: Option<u8>,
    a25: Option<u16>,
    a26: Option<u32>,
    a27: Option<u64>,
    a28: Option<u8>,
    a29: Option<u16>,
) -> u64 {
    u64::from(a0.unwrap_or_default()) + u64::from(a1.unwrap_or_default()) + u64::from(a2.unwrap_or_default()) + u64::from(a3.unwrap_or_default()) + u64::from(a4.unwrap_or_default()) + u64::from(a5.unwrap_or_default()) + u64::from(a6.unwrap_or_default()) + u64::from(a7.unwrap_or_default()) + u64::from(a8.unwrap_or_default()) + u64::from(a9.unwrap_or_default()) + u64::from(a10.unwrap_or_default()) + u64::from(a11.unwrap_or_default()) + u64::from(a12.unwrap_or_default()) + u64::from(a13.unwrap_or_default()) + u64::from(a14.unwrap_or_default()) + u64::from(a15.unwrap_or_default()) + u64::from(a16.unwrap_or_default()) + u64::from(a17.unwrap_or_default()) + u64::from(a18.unwrap_or_default()) + u64::from(a19.unwrap_or_default()) + u64::from(a20.unwrap_or_default()) + u64::from(a21.unwrap_or_default()) + u64::from(a22.unwrap_or_default()) + u64::from(a23.unwrap_or_default()) + u64::from(a24.unwrap_or_default()) + u64::from(a25.unwrap_or_default()) + u64::from(a26.unwrap_or_default()) + u64::from(a27.unwrap_or_default()) + u64::from(a28.unwrap_or_default()) + u64::from(a29.unwrap_or_default())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![add]);
    let result = toolbox.call(ToolCall::new("1", "add", r#"{"a0":1,"a17":2,"a29":3}"#)).await;
    assert_eq!(result.text(), "6");
}
