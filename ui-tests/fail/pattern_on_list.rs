use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(pattern = "^a$")] value: Vec<String>) {
    drop(value);
}

fn main() {}
