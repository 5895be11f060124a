use toolbox::{ToolBox, tool};

/// Searches.
#[tool]
fn search() {}

fn main() {
    ToolBox::new().register(search);
}
