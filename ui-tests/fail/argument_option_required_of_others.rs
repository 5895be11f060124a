use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(required)] value: u32) {
    drop(value);
}

fn main() {}
