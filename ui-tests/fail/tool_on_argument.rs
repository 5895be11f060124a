use toolbox::tool;

/// Searches.
#[tool]
fn search(#[tool(description = "A number")] value: u32) {
    drop(value);
}

fn main() {}
