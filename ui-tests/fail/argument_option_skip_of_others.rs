use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(skip)] value: u32) {
    drop(value);
}

fn main() {}
