//! The server's tool was approved with other arguments than the program was written for.

use toolbox::ToolBox;

toolbox::mcp_tools!("mcp_tools.lock.json", servers = ["files"]);

async fn first_lines(toolbox: &ToolBox) -> Result<String, toolbox::client::ClientError> {
    // `encoding` is required now.
    let call = files::read_file(files::ReadFile { path: "a".into() });
    // `head` is named `limit` now, and `lines` is a number.
    let file = call.head(10).call(toolbox).await?;
    let lines: Vec<String> = file.lines;
    Ok(lines.join("\n") + &file.body)
}

fn main() {}
