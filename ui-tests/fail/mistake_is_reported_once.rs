use toolbox::{ToolBox, tool, tools};

/// Searches.
#[tool(naem = "search")]
fn search(query: &str) -> usize {
    query.len()
}

fn main() {
    let toolbox = ToolBox::from(tools![search]);
    toolbox.register(search::tool());
    println!("{} {}", search::NAME, search("words"));
}
