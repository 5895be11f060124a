use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(flatten)] value: Option<std::collections::HashMap<String, u32>>) {
    drop(value);
}

fn main() {}
