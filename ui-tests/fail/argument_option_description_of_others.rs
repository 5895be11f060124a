use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(description = "A number")] value: u32) {
    drop(value);
}

fn main() {}
