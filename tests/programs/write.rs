//! Writes a file as a process whose disk is full would: whoever starts it limits what it may write.

#![allow(clippy::print_stdout, reason = "the test that starts it reads what it says")]

use toolbox::builtin::files::Files;
use toolbox::{ToolBox, ToolCall};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("a folder");
    let toolbox = ToolBox::from(Files::in_folder(folder)?);
    let arguments = serde_json::json!({"path": "file", "content": "new ".repeat(100_000)});
    println!("{}", toolbox.call(ToolCall::new("1", "file_write", arguments)).await.text());
    Ok(())
}
